"""Kind `nccl-logs`: what a reader must find in an NCCL log, row by row of its index."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gputopo.job_records import JobLog
from gputopo.jobs import said
from gputopo.nccl_records import CommunicatorRecord, NcclJob, SystemLink, SystemRecord
from gputopo.parsers.nccl_tests import bus_bandwidth
from gputopo.parsers.recognise_job import read

EMULATED = "104c8232"  # what QEMU's switch says it is
IGNORED: dict[str, str] = {}
Answer = dict[str, Any]


class LogCase(NamedTuple):
    name: str
    expected: dict[str, Any]  # `truth` of the row
    path: Path


class Heard(NamedTuple):
    """A log as the keys ask for it."""

    log: JobLog
    job: NcclJob
    communicators: tuple[CommunicatorRecord, ...]

    @property
    def systems(self) -> list[SystemRecord]:
        return [system for one in self.communicators for system in one.systems]

    @property
    def switches(self) -> list[SystemLink]:
        """Lines of a switch below a CPU."""
        return [
            link
            for system in self.systems
            for link in system.links
            if link.kind == "PCI" and link.child.startswith("PCI/")
        ]


def cases(path: Path) -> Iterator[LogCase]:
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield LogCase(row["file"], row["truth"], path.parent / row["file"])


def answer(case: LogCase) -> Answer:
    with case.path.open(encoding="utf-8", errors="replace") as lines:
        log = read(lines)
    assert len(log.nccl) == 1, f"{len(log.nccl)} jobs in one log"
    heard = Heard(log, log.nccl[0], log.nccl[0].communicators)
    return {key: found(heard) for key, found in _KEYS.items()}


def compare(expected: dict[str, Any], got: Answer) -> list[str]:
    wanted = {**dict.fromkeys(_FALSE_IF_ABSENT, False), **expected}
    differences = [f"{key} is no known key" for key in wanted.keys() - got.keys()]
    for key in wanted.keys() & got.keys():
        if key == "busbw" and got[key] is not None and abs(got[key] - wanted[key]) <= 0.1:
            continue
        if got[key] != wanted[key] or type(got[key]) is not type(wanted[key]):
            differences.append(f"{key}: {wanted[key]!r} recorded, {got[key]!r} read")
    return sorted(differences)


def _first(heard: Heard, name: str) -> Any:
    """The first communicator's value that is said."""
    return next((value for one in heard.communicators if (value := getattr(one, name)) is not None), None)


def _count(name: str) -> Callable[[Heard], Any]:
    return lambda heard: getattr(said.counts(heard.job), name, None)


def _search(name: str) -> Callable[[Heard], Any]:
    return lambda heard: getattr(said.ring_search(heard.job), name, None)


def _distance(heard: Heard) -> Any:
    return next((one for one in heard.job.gdr_distances if not one.enabled), None)


def _of_distance(name: str) -> Callable[[Heard], Any]:
    return lambda heard: getattr(_distance(heard), name, None)


def _numbering(heard: Heard) -> Any:
    record = _distance(heard)
    return said.numbering(heard.job, record) if record else None


def _path_name(name: str) -> Callable[[Heard], Any]:
    def found(heard: Heard) -> Any:
        numbering = _numbering(heard)
        return numbering.names[getattr(_distance(heard), name)] if numbering else None

    return found


def _bus_id(heard: Heard, rank: int | None = None) -> str | None:
    """As printed: without domain 0, dots and leading zeros."""
    ranks = sorted((one for each in heard.communicators for one in each.ranks if one.pci), key=lambda one: one.line)
    pci = next((one.pci for one in ranks if rank is None or one.rank == rank), None)
    return f"{pci.domain << 20 | pci.bus << 12 | pci.device << 4 | pci.function:x}" if pci else None


def _cpu(heard: Heard) -> str | None:
    cpus = [cpu for system in heard.systems for cpu in system.cpus]
    return f"{cpus[0].arch}/{cpus[0].vendor}/{cpus[0].model}" if cpus else None


def _busbw(heard: Heard) -> float | None:
    runs = [rate for run in heard.log.benchmarks if (rate := bus_bandwidth(run)) is not None]
    return round(runs[-1], 1) if runs else None


def _denied(heard: Heard) -> list[int] | None:
    return next(([one.a, one.b] for one in heard.job.denied if one.nvlink), None)


_KEYS: dict[str, Callable[[Heard], Any]] = {
    "transport": lambda heard: said.transport(heard.job),
    "inter_node": lambda heard: said.inter_node(heard.job),
    "net": lambda heard: said.network(heard.job),
    "hcas": lambda heard: [one.name for one in heard.job.net_devices if one.net == "IB" and one.port is not None],
    "bracket": lambda heard: heard.job.bracket,
    "channels": lambda heard: next(
        (count for one in heard.communicators if (count := said.ring_channels(one)) is not None), None
    ),
    "coll_channels": _count("coll"),
    "nvls_channels": _count("nvls"),
    "p2p_channels": _count("p2p"),
    "ring_channels": _search("channels"),
    "bw": _search("bw_intra"),
    "type": _search("type_intra"),
    "upstream_bw": lambda heard: heard.switches[0].gbps if heard.switches else None,
    "switch_id": lambda heard: heard.switches[0].detail if heard.switches else None,
    "cpu": _cpu,
    "vm": lambda heard: any(link.detail.startswith(EMULATED) for link in heard.switches),
    "gdr": lambda heard: said.gdr(heard.job),
    "hcas_without_gdr": lambda heard: [one.name for one in heard.job.net_devices if one.gdr is False],
    "distance": _of_distance("distance"),
    "limit": _of_distance("limit"),
    "distance_name": _path_name("distance"),
    "limit_name": _path_name("limit"),
    "enum": lambda heard: getattr(_numbering(heard), "name", None),
    "busId": _bus_id,
    "busId_rank0": lambda heard: _bus_id(heard, 0),
    "nNodes": lambda heard: _first(heard, "nodes"),
    "mnnvl": lambda heard: _first(heard, "mnnvl"),
    "nvls": lambda heard: _first(heard, "nvls"),
    "nvls_nchannels": lambda heard: _first(heard, "nvls_channels"),
    "fabric_state": lambda heard: next((one.state for one in heard.job.fabric), None),
    "fabric_health_mask": lambda heard: next((one.health_mask for one in heard.job.fabric), None),
    "isAllDirectP2p": lambda heard: _first(heard, "all_direct_p2p"),
    "isAllCudaP2p": lambda heard: _first(heard, "all_cuda_p2p"),
    "p2p_not_supported": lambda heard: any(not one.nvlink for one in heard.job.denied),
    "gpus": _denied,
    "missing_busids": lambda heard: list(heard.job.missing_devices),
    "xml_node_limit": lambda heard: heard.job.xml_node_limit,
    "shm_needed_bytes": lambda heard: heard.job.shm_needed_bytes,
    "libibverbs_missing": lambda heard: heard.job.libibverbs_missing,
    "nvls_error": lambda heard: any(one.kind == "nvls" for one in heard.job.warnings),
    "fatal": lambda heard: any(one.fatal for one in heard.job.warnings),
    "busbw": _busbw,
}
_FALSE_IF_ABSENT = ("fatal", "nvls_error", "libibverbs_missing", "p2p_not_supported")
COMPARED = frozenset(_KEYS)
