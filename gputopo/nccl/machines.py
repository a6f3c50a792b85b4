"""A node as NCCL sees it: the graph of one set of GPUs, every way in it, what had to be supposed."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from gputopo.nccl.build import build
from gputopo.nccl.detours import refuse_p2p, reroute_nets, through_c2c
from gputopo.nccl.file_values import RefusalError
from gputopo.nccl.kept import Kept, check, every_gpu, trimmed
from gputopo.nccl.path_types import PathType
from gputopo.nccl.reach import Reach
from gputopo.nccl.settings import DEFAULTS, Settings
from gputopo.nccl.system import Gpu, Net, System
from gputopo.nccl.versions import VERIFIED
from gputopo.records import NcclElement

_NOT_VERIFIED = "answers as NCCL {0}: only those of {1} were compared with NCCL itself"


class Refused(NamedTuple):
    """NCCL does not start with this file. `reason` in NCCL's own words where it has any."""

    reason: str
    line: int | None
    code: int  # ncclResult_t


class Machine(NamedTuple):
    """GPUs and NICs are called by their place in `gpus` and `nets`, which is NCCL's order."""

    file: Kept  # all GPUs of the file
    settings: Settings
    system: System  # of this set alone
    reach: Reach
    assumptions: tuple[str, ...]
    names: dict[str, str]  # of a node: GPU id → bus id

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        return self.system.gpus

    @property
    def nets(self) -> tuple[Net, ...]:
        return self.system.nets


class Way(NamedTuple):
    """How one device reaches another; GB/s in one direction, of the narrowest link. DIS and 0: not at all."""

    type: PathType
    gbps: float


class Ways(NamedTuple):
    """By places: (from GPU, to GPU) and (from GPU, to NIC)."""

    pairs: dict[tuple[int, int], Way]
    nics: dict[tuple[int, int], Way]


def machine_of(
    file: NcclElement,
    settings: Settings = DEFAULTS,
    *,
    sm: int | None = None,
    gpus: Collection[str] | None = None,
    said: tuple[str, ...] = (),
    is_file: bool = True,
    names: dict[str, str] | None = None,
) -> Machine | Refused:
    """A `<system>` of a topology file. `gpus`: the bus ids of the communicator, `None` all; `sm`: see kept.py.

    `is_file`: NCCL's limits for files hold; `names`: GPU id → bus id.
    """
    try:
        if is_file:
            check(file)
        return of_set(every_gpu(file, sm), settings, gpus, said, names or {})
    except RefusalError as refusal:
        return Refused(refusal.reason, refusal.line, refusal.code)


def subset(machine: Machine, gpus: Collection[str]) -> Machine | Refused:
    """The same node for a communicator of these GPUs (bus ids)."""
    try:
        return of_set(machine.file, machine.settings, gpus, machine.assumptions, machine.names)
    except RefusalError as refusal:
        return Refused(refusal.reason, refusal.line, refusal.code)


def of_set(
    file: Kept, settings: Settings, gpus: Collection[str] | None, said: tuple[str, ...], names: dict[str, str]
) -> Machine:  # fmt: skip
    """Raises `RefusalError`."""
    system = build(trimmed(file.system, frozenset(file.busids if gpus is None else gpus)), settings.version)
    if not system.gpus:
        raise RefusalError("no GPU of the communicator is in the file", code=4)
    reach = Reach(system, settings)
    refuse_p2p(reach)
    through_c2c(reach)
    reroute_nets(reach)
    assumptions = dict.fromkeys((*said, *file.assumptions))
    if settings.version != VERIFIED:
        versions = (".".join(map(str, version)) for version in (settings.version, VERIFIED))
        assumptions[_NOT_VERIFIED.format(*versions)] = None
    return Machine(file, settings, system, reach, tuple(assumptions), names)


def ways(machine: Machine) -> Ways:
    reach, gpus = machine.reach, machine.gpus
    pairs = {
        (a, b): _way(reach, one.vertex, other.vertex)
        for a, one in enumerate(gpus)
        for b, other in enumerate(gpus)
        if a != b
    }
    nics = {
        (a, n): _way(reach, gpu.vertex, net.vertex) for a, gpu in enumerate(gpus) for n, net in enumerate(machine.nets)
    }
    return Ways(pairs, nics)


def _way(reach: Reach, source: int, target: int) -> Way:
    path = reach.way(source, target)
    return Way(path.type, path.gbps)
