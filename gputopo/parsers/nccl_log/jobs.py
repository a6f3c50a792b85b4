"""Communicators to jobs, and what of a log is not there: said, never filled in.

A job is what shares processes: all communicators of one set of processes. Lines of processes that are in none stand
with the one job of the log, or, where several jobs are mixed, in a job of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from gputopo.nccl_records import CommunicatorRecord, NcclJob, Speaker
from gputopo.parsers.nccl_log.bracket import bracket_of, with_devices
from gputopo.parsers.nccl_log.communicators import Communicator, communicators, record
from gputopo.parsers.nccl_log.gathered import Gathered, Part, Process
from gputopo.records import Gap

_WHOLE_LOG = "the whole log of every rank, with NCCL_DEBUG=INFO"
_SHOWN = 16  # ranks named in a gap
_Any = TypeVar("_Any")


def jobs(log: Gathered) -> tuple[NcclJob, ...]:
    """The jobs of a log, in order of appearance; () where NCCL printed nothing."""
    _settle_hosts(log)
    found = communicators(log.parts)
    groups = _groups([*found], list(log.processes.values()))
    of_log = _version(log.processes.values())
    made = [_job(some, processes, log, of_log) for some, processes in groups]
    return tuple(sorted(made, key=lambda job: job.line))


def _settle_hosts(log: Gathered) -> None:
    """A host with another print glued to it is that of its process, where lines of that process name it cleanly."""
    hosts: dict[int, set[str]] = {}
    for speaker in log.processes:
        if speaker.host is not None and speaker.pid is not None:
            hosts.setdefault(speaker.pid, set()).add(speaker.host)
    alias: dict[Speaker, Speaker] = {}
    for speaker in log.processes:
        if speaker.pid is None:
            continue
        others = hosts.get(speaker.pid, set()) - {speaker.host}
        ends = [one for one in others if speaker.host is None or speaker.host.endswith(one)]
        if len(ends) == 1:
            alias[speaker] = Speaker(ends[0], speaker.pid)
    for part in log.parts:
        part.speaker = alias.get(part.speaker, part.speaker)
    for process in log.processes.values():
        process.speaker = alias.get(process.speaker, process.speaker)


def _groups(found: list[Communicator], processes: list[Process]) -> list[tuple[list[Communicator], list[Process]]]:
    """Communicators that share processes, with those processes."""
    group_of: dict[Speaker, int] = {}
    merged: dict[int, int] = {}

    def root(n: int) -> int:
        while merged[n] != n:
            merged[n] = merged[merged[n]]
            n = merged[n]
        return n

    named = [one for one in found if one.nranks is not None]
    nameless = [one for one in found if one.nranks is None]
    for n, one in enumerate(named):
        merged[n] = n
        for speaker in one.speakers:
            merged[root(group_of.setdefault(speaker, n))] = root(n)
    groups: dict[int, tuple[list[Communicator], list[Process]]] = {}
    for n, one in enumerate(named):
        groups.setdefault(root(n), ([], []))[0].append(one)
    rest: list[Communicator] = []
    for one in nameless:
        at = group_of.get(one.speakers[0])
        if at is not None:
            groups[root(at)][0].append(one)
        else:
            rest.append(one)
    made = list(groups.values())
    owner = {speaker: groups[root(n)] for speaker, n in group_of.items()}
    for some in _fitting(rest):
        group: tuple[list[Communicator], list[Process]] = ([some], [])
        made.append(group)
        owner.update(dict.fromkeys(some.speakers, group))
    lonely = []
    for process in processes:
        if process.speaker in owner:
            owner[process.speaker][1].append(process)
        else:
            lonely.append(process)
    if not lonely:
        return made
    if len(made) == 1:
        made[0][1].extend(lonely)
    elif not made or any(process.speaker.pid is not None or process.warnings or process.env for process in lonely):
        made.append(([], lonely))
    return made


def _fitting(nameless: list[Communicator]) -> list[Communicator]:
    """Nameless parts of processes that are in no communicator: one job, if no rank stands for two devices."""
    if len(nameless) < 2:
        return nameless
    places: dict[int, set[tuple[str | None, str | None]]] = {}
    for one in nameless:
        for part in one.parts:
            for seen in part.peers.values():
                if seen is not None:
                    mine = seen.receiver_device if seen.rank == seen.receiver else seen.sender_device
                    if mine is not None:
                        places.setdefault(seen.rank, set()).add((part.speaker.host, mine))
    fit = all(len(devices) == 1 for devices in places.values())
    by_host: dict[str | None, Communicator] = {}
    for one in nameless:
        for part in one.parts:
            key = None if fit else part.speaker.host
            by_host.setdefault(key, Communicator(None, None)).parts.append(part)
    return list(by_host.values())


def _job(
    found: list[Communicator], processes: list[Process], log: Gathered, of_log: tuple[str, str | None] | None
) -> NcclJob:  # fmt: skip
    made = tuple(record(one) for one in found)
    parts = [part for one in found for part in one.parts]
    version, cuda = _version(processes) or of_log or (None, None)
    bracket = bracket_of(made, version)
    gaps = [*_gaps(found, made), *_cut(parts), *log.gaps()]
    made = tuple(with_devices(one, bracket) for one in made)
    if version is None:
        why = "no line says the version of NCCL, or several do"
        gaps.append(Gap((), "ncclVersion", why, "the log from its beginning: NCCL version …"))
    first = min([*(one.line for one in made), *(process.first for process in processes)], default=1)
    devices = {(one.net, one.name, one.number): one for process in processes for one in process.devices.values()}
    return NcclJob(
        made,
        tuple(dict.fromkeys(process.speaker for process in processes if process.speaker.pid is not None)),
        version,
        cuda,
        _one(process.cuda_driver for process in processes),
        bracket,
        env=tuple(one for process in processes for one in process.env.values()),
        warnings=_by_line(one for process in processes for one in process.warnings.values()),
        network=next((process.network for process in processes if process.network), None),
        net_devices=tuple(devices.values()),
        relaxed_ordering=next((process.relaxed for process in processes if process.relaxed is not None), None),
        gdr_distances=_by_line(one for process in processes for one in process.gdr.values()),
        denied=_by_line(one for process in processes for one in process.denied.values()),
        affinity=_by_line(one for process in processes for one in process.affinity.values()),
        fabric=_by_line(one for process in processes for one in process.fabric.values()),
        missing_devices=tuple(dict.fromkeys(one for process in processes for one in process.missing)),
        xml_node_limit=next((process.xml_limit for process in processes if process.xml_limit), None),
        shm_needed_bytes=next((process.shm_bytes for process in processes if process.shm_bytes), None),
        libibverbs_missing=any(process.libibverbs for process in processes),
        whole=not any(gap.attribute in ("ranks", "lines", "communicators") for gap in gaps),
        gaps=tuple(gaps),
        line=first,
    )


def _version(processes: Iterable[Process]) -> tuple[str, str | None] | None:
    """The one version that these processes name, with its CUDA version. Most print it without saying who they are."""
    said = {version: cuda for process in processes for version, cuda in process.versions.items()}
    return said.popitem() if len(said) == 1 else None


def _one(values: Iterable[str | None]) -> str | None:
    """The one value that is said; None where none is, or several are."""
    said = {value for value in values if value is not None}
    return said.pop() if len(said) == 1 else None


def _by_line(found: Iterable[_Any]) -> tuple[_Any, ...]:
    return tuple(sorted(found, key=lambda one: one.line))  # type: ignore[attr-defined]


def _gaps(found: list[Communicator], made: tuple[CommunicatorRecord, ...]) -> list[Gap]:
    gaps = []
    for one, said in zip(found, made):
        name = f"communicator {said.id}" if said.id else "a communicator"
        if one.mixed:
            why = f"several communicators of {said.nranks} ranks cannot be told apart: no commId, the same hosts"
            gaps.append(Gap((), "ranks", why, "a log of one job", said.line))
        if said.nranks is None:
            why = "connections of a communicator whose init lines are not in the log"
            gaps.append(Gap((), "ranks", why, _WHOLE_LOG, said.line))
            continue
        there = {rank.rank for rank in said.ranks}
        if len(there) < said.nranks:
            why = f"{name}: init lines of {len(there)} of its {said.nranks} ranks are in the log"
            gaps.append(Gap((), "ranks", why, _WHOLE_LOG, said.line))
        begun = [rank.rank for rank in said.ranks if not rank.complete]
        if begun:
            why = f"{name}: no Init COMPLETE of {_list(begun)}: the log ends before it, or the job hangs or fails there"
            gaps.append(Gap((), "ranks", why, _WHOLE_LOG, said.line))
    return gaps


def _list(ranks: list[int]) -> str:
    shown = ", ".join(map(str, ranks[:_SHOWN]))
    more = f" and {len(ranks) - _SHOWN} more" if len(ranks) > _SHOWN else ""
    return f"rank {shown}{more}" if len(ranks) == 1 else f"ranks {shown}{more}"


def _cut(parts: list[Part]) -> list[Gap]:
    count = sum(part.cut for part in parts)
    if not count:
        return []
    first = min(part.cut_line for part in parts if part.cut)
    lines = "1 line is" if count == 1 else f"{count:,} lines are"
    return [Gap((), "lines", f"{lines} cut in the middle, or others are mixed into them", _WHOLE_LOG, first)]
