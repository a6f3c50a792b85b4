"""A job on one node: which GPUs, which ranks, what its log says. Ids are those of the node; `None` is unknown."""

from __future__ import annotations

from typing import NamedTuple

from gputopo.job_records import BenchmarkRecord, FrameworkRecord, JobLog
from gputopo.nccl_records import CommunicatorRecord, NcclJob
from gputopo.topology.gpu_sets import SetSeen
from gputopo.topology.node import NodeTopology, NoteAssumption, Source


class SpokenLog(NamedTuple):
    """A log and the source that it is."""

    source: Source
    log: JobLog


class RankPlace(NamedTuple):
    """A rank of the communicator. `gpu` None: not on this node, or not known."""

    rank: int
    gpu: str | None
    host: str | None
    pid: int | None
    basis: str  # "busId", "nvmlDev", "order"


class Hop(NamedTuple):
    """How NCCL connected two ranks of this node. `line` is of `source`."""

    a: str
    b: str
    ranks: tuple[int, int]
    kind: str  # P2P, SHM, NET
    transport: str
    source: str
    line: int


class Group(NamedTuple):
    """GPUs that work as one: a tensor-parallel group."""

    number: int
    gpus: tuple[str, ...]
    ranks: tuple[int, ...]
    seen: SetSeen


class Foreign(NamedTuple):
    """A log that is not of this node: the bus ids it names that the node does not have."""

    source: str
    buses: tuple[str, ...]
    line: int


class Job(NamedTuple):
    """`narrowed` False: nobody said which GPUs the job has, so `gpus` is all of them."""

    node: NodeTopology
    gpus: tuple[str, ...]
    basis: str  # what says that these are the job's
    narrowed: bool
    logs: tuple[SpokenLog, ...] = ()
    nccl: NcclJob | None = None
    source: str | None = None  # sources[].id of the log that `nccl` is in
    communicator: CommunicatorRecord | None = None
    ranks: tuple[RankPlace, ...] = ()
    hosts: tuple[str, ...] = ()  # of the communicator's ranks on this node
    nodes: int | None = None  # that the job is on
    hops: tuple[Hop, ...] = ()
    framework: FrameworkRecord | None = None
    framework_source: str | None = None
    tensor_parallel: int | None = None
    groups: tuple[Group, ...] = ()
    measured: float | None = None  # GB/s of bus bandwidth
    measured_by: str = ""
    runs: tuple[tuple[str, BenchmarkRecord], ...] = ()  # (source, run)
    pod: str | None = None
    foreign: tuple[Foreign, ...] = ()
    from_log: bool = False  # the node is not among the sources: its GPUs are those that the log names
    assumptions: tuple[NoteAssumption, ...] = ()

    @property
    def one_node(self) -> bool | None:
        return None if self.nodes is None else self.nodes == 1
