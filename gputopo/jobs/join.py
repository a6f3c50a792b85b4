"""A node, logs, and what was asked, as one `Job`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gputopo.job_records import BenchmarkRecord, FrameworkRecord
from gputopo.jobs.benchmark_places import place as place_benchmark
from gputopo.jobs.hops import hops
from gputopo.jobs.log_lines import title
from gputopo.jobs.measured import measured
from gputopo.jobs.model import Foreign, Job, RankPlace, SpokenLog
from gputopo.jobs.rank_places import Placed, placed
from gputopo.jobs.tensor_groups import groups
from gputopo.nccl_records import CommunicatorRecord, NcclJob
from gputopo.topology.node import Gpu, NodeTopology, NoteAssumption


class Asked(NamedTuple):
    """What the person says. `gpus` are ids of the node, in the order written: rank 0 first."""

    gpus: tuple[str, ...] | None = None
    pod: str | None = None
    pod_gpus: tuple[str, ...] | None = None
    tensor_parallel: int | None = None
    measured: float | None = None


class _Heard(NamedTuple):
    spoken: SpokenLog
    job: NcclJob
    communicator: CommunicatorRecord
    placed: Placed


def join(node: NodeTopology | None, logs: Sequence[SpokenLog], asked: Asked) -> Job:
    """`node` None: no topology is among the sources; its GPUs are then those that the log names."""
    from_log = node is None
    if node is None:
        node = _named_in(logs)
    heard = _heard(node, logs)
    own = _chosen([one for one in heard if not one.placed.foreign], asked)
    # A job over several nodes has communicators of the others in its log, too; nothing is taken of a log without any of
    # this one.
    here = {one.spoken.source.id for one in heard if not one.placed.foreign}
    strange = (*(_foreign(one) for one in heard if one.placed.foreign), *_foreign_runs(node, logs))
    first = {one.source: one for one in reversed(strange) if one.source not in here}
    foreign = tuple(reversed(first.values()))
    others = set(first)
    # Files that are one log with that of another node are not of this node either.
    others |= {
        one.source.id for one in logs
        if one.log.part_of is not None and logs[one.log.part_of].source.id in others and not one.log.nccl
    }  # fmt: skip
    logs_here = [one for one in logs if one.source.id not in others]
    runs = tuple(
        (one.source.id, run)
        for one in logs_here for run in one.log.benchmarks if not place_benchmark(node, run).foreign
    )  # fmt: skip
    framework, framework_source = _framework(logs_here)
    gpus, basis, narrowed, notes = _set(node, own, runs, asked, title(logs, own.spoken) if own else "")
    ranks, order_notes = _ranks(own, gpus, narrowed)
    size = asked.tensor_parallel or (framework.setting("tensor_parallel") if framework else None)
    by_rank = {one.rank: one.gpu for one in ranks if one.gpu is not None}
    counted = measured(runs, len(gpus) if narrowed and own is None else None) if asked.measured is None else None
    return Job(
        node, gpus, basis, narrowed, tuple(logs),
        nccl=own.job if own else next((job for one in logs_here for job in one.log.nccl), None),
        source=own.spoken.source.id if own else next((one.source.id for one in logs_here if one.log.nccl), None),
        communicator=own.communicator if own else None,
        ranks=ranks,
        hosts=own.placed.hosts if own else (),
        nodes=own.placed.nodes if own else None,
        hops=hops(own.communicator, by_rank, own.spoken.source.id) if own else (),
        framework=framework,
        framework_source=framework_source,
        tensor_parallel=size,
        groups=groups(node, sorted(by_rank.items()), size) if size and size > 1 and by_rank else (),
        measured=asked.measured if asked.measured is not None else counted[2] if counted else None,
        measured_by="--measured" if asked.measured is not None else counted[0] if counted else "",
        runs=runs,
        pod=asked.pod,
        foreign=foreign,
        from_log=from_log,
        assumptions=(*notes, *(own.placed.assumptions if own else ()), *(order_notes if size else ())),
    )  # fmt: skip


def _named_in(logs: Sequence[SpokenLog]) -> NodeTopology:
    """The GPUs that logs name by bus id or number: of one host, since numbers of several would mix."""
    found: dict[str, Gpu] = {}
    for one in logs:
        for job in one.log.nccl:
            for communicator in job.communicators:
                hosts = {rank.speaker.host for rank in communicator.ranks}
                for rank in communicator.ranks if len(hosts) == 1 else ():
                    number = rank.nvml_index if rank.nvml_index is not None else rank.cuda_device
                    if number is not None:
                        pci = str(rank.pci) if rank.pci is not None else None
                        found.setdefault(f"GPU{number}", Gpu(f"GPU{number}", number, pci=pci))
        for run in one.log.benchmarks:
            for place in run.ranks:
                known = found.setdefault(f"GPU{place.device}", Gpu(f"GPU{place.device}", place.device))
                found[known.id] = known._replace(name=known.name or place.name)
    gpus = sorted(found.values(), key=lambda gpu: gpu.nvml_index or 0)
    return NodeTopology(gpus=tuple(gpus), sources=tuple(one.source for one in logs))


def _heard(node: NodeTopology, logs: Sequence[SpokenLog]) -> list[_Heard]:
    return [
        _Heard(one, job, communicator, placed(node, communicator))
        for one in logs for job in one.log.nccl for communicator in job.communicators
    ]  # fmt: skip


def _foreign(one: _Heard) -> Foreign:
    buses = tuple(dict.fromkeys(bus for bus, _ in one.placed.foreign))
    return Foreign(one.spoken.source.id, buses, one.placed.foreign[0][1])


def _foreign_runs(node: NodeTopology, logs: Sequence[SpokenLog]) -> Iterator[Foreign]:
    """Benchmarks on buses that the node does not have."""
    for one in logs:
        for run in one.log.benchmarks:
            buses = place_benchmark(node, run).foreign
            if buses:
                yield Foreign(one.source.id, buses, run.line)


def _chosen(heard: Sequence[_Heard], asked: Asked) -> _Heard | None:
    """The communicator that the job is judged by: that of the most ranks on this node, the first of them."""
    wanted = set(asked.gpus or asked.pod_gpus or ())

    def worth(one: _Heard) -> tuple[int, int, int]:
        own = {rank.gpu for rank in one.placed.ranks if rank.gpu}
        return (len(own & wanted) if wanted else 0, len(own), len(one.communicator.peers))

    return max(heard, key=worth, default=None)


def _set(
    node: NodeTopology, own: _Heard | None, runs: Sequence[tuple[str, BenchmarkRecord]], asked: Asked, log: str
) -> tuple[tuple[str, ...], str, bool, tuple[NoteAssumption, ...]]:  # fmt: skip
    """(GPUs, what says so, whether it is narrower than "all", assumptions)"""
    if asked.gpus is not None:
        return asked.gpus, "--gpus", True, ()
    if asked.pod_gpus is not None:
        return asked.pod_gpus, f"--pod {asked.pod}", True, ()
    said = [rank.gpu for rank in own.placed.ranks if rank.gpu is not None] if own else []
    if own is not None and said:
        return tuple(dict.fromkeys(said)), log, True, ()
    run = max((one for _, one in runs if one.ranks), key=lambda one: len(one.ranks), default=None)
    places = place_benchmark(node, run) if run is not None else None
    if places is not None and places.gpus is not None:
        text = "the devices of the benchmark are the node's GPU numbers (CUDA_VISIBLE_DEVICES unset)"
        return places.gpus, "the benchmark's devices", True, () if places.by_bus else (NoteAssumption((), text, None),)
    return tuple(gpu.id for gpu in node.gpus), "every GPU of the node", False, ()


def _ranks(
    own: _Heard | None, gpus: tuple[str, ...], narrowed: bool
) -> tuple[tuple[RankPlace, ...], tuple[NoteAssumption, ...]]:  # fmt: skip
    if own is not None and any(one.gpu for one in own.placed.ranks):
        return own.placed.ranks, ()
    note = "ranks are in the order of the GPUs" + ("" if narrowed else " of the node") + ": no log says otherwise"
    return tuple(RankPlace(at, gpu, None, None, "order") for at, gpu in enumerate(gpus)), (
        NoteAssumption((), note, None),
    )


def _framework(logs: Sequence[SpokenLog]) -> tuple[FrameworkRecord | None, str | None]:
    return next(((one.log.framework, one.source.id) for one in logs if one.log.framework is not None), (None, None))
