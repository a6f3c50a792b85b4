"""A set of GPUs as the search sees it: what a step from one to another takes of which links.

Source: src/graph/search.cc of NVIDIA/nccl v2.30.7 (ncclTopoSearchInit, followPath, ncclTopoSearchNextGpuSort).
Bandwidths are whole MB/s here: NCCL rounds what is left of a link to that after every step.
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.nccl.breadth_first import Path, paths_to
from gputopo.nccl.cpus import Cpu
from gputopo.nccl.path_types import PathType
from gputopo.nccl.reach import Reach
from gputopo.nccl.system import LOC_GBPS, Kind, System

_WHOLE, _INTEL = 5, 6  # fifths: through an Intel CPU PCIe carries packets of 64 bytes, a fifth more of it


class Hop(NamedTuple):
    """`steps`: (link, fifths of the channel's speed)."""

    type: PathType
    gbps: float
    links: int
    steps: tuple[tuple[int, int], ...]


class Field(NamedTuple):
    """hops[a][b] between GPUs by place; `to_switch[a]`, `from_switch[a]` on NVSwitch machines, else empty."""

    size: int
    room: tuple[int, ...]  # MB/s of every link
    hops: tuple[tuple[Hop, ...], ...]
    to_switch: tuple[Hop, ...]
    from_switch: tuple[Hop, ...]
    widest: float  # GB/s: maxBw of the log
    total: float  # GB/s: totalBw of the log
    devices: int
    sm: int  # lowest of the set
    same_sm: bool
    cpu: Cpu
    has_switch: bool
    nets: int
    split_nvlink: bool
    nvlinks: dict[int, int]  # links out of a GPU by NVLink → its place


def field_of(reach: Reach) -> Field:
    system = reach.system
    room = tuple(int(link.gbps * 1000 + 1e-6) for link in system.links)
    hops = tuple(tuple(_hop(system, a, reach.way(a, b)) for b in reach.gpus) for a in reach.gpus)
    switch = system.switch
    to_switch: tuple[Hop, ...] = ()
    from_switch: tuple[Hop, ...] = ()
    if switch is not None:
        to_switch = tuple(_hop(system, gpu, reach.way(gpu, switch)) for gpu in reach.gpus)
        from_switch = tuple(_hop(system, switch, reach.way(switch, gpu)) for gpu in reach.gpus)
    alone = len(reach.gpus) == 1
    levels = {gpu.sm for gpu in system.gpus}
    return Field(
        len(reach.gpus),
        room,
        hops,
        to_switch,
        from_switch,
        LOC_GBPS if alone else _widest(reach),
        LOC_GBPS if alone else max(_total(system, device) for device in system.devices),
        len(system.devices),
        min(levels),
        len(levels) == 1,
        system.numas[0].cpu,
        switch is not None,
        len(system.nets),
        _split(hops),
        _nvlinks(system),
    )


def _hop(system: System, start: int, path: Path) -> Hop:
    steps = []
    by_cpu = path.type is PathType.PHB and system.vertices[start].kind is Kind.GPU and _passes_intel(system, path)
    for number in path.links:
        link = system.links[number]
        steps.append((number, _INTEL if by_cpu and link.type is PathType.PIX else _WHOLE))
        if link.type is PathType.NVL and _is_power(system, link.target):
            # POWER's NVLink to the CPU is one way at a time: the other direction is taken too.
            back = next(
                n for n in system.vertices[link.target].links
                if system.links[n].target == link.source and system.links[n].type is PathType.NVL
            )  # fmt: skip
            steps.append((back, _WHOLE))
    return Hop(path.type, path.gbps, len(path.links), tuple(steps))


def _cpu_at(system: System, vertex: int) -> Cpu | None:
    return next((numa.cpu for numa in system.numas if numa.vertex == vertex), None)


def _passes_intel(system: System, path: Path) -> bool:
    cpus = (_cpu_at(system, system.links[number].target) for number in path.links)
    return any(cpu is not None and cpu.vendor == "intel" for cpu in cpus)


def _is_power(system: System, vertex: int) -> bool:
    cpu = _cpu_at(system, vertex)
    return cpu is not None and cpu.arch == "power"


def _widest(reach: Reach) -> float:
    """Between two devices by the way before P2P was refused."""
    system = reach.system
    found = 0.0
    for device in system.devices:
        reached = paths_to(system, device, reach.settings.nvb)
        others = [path for vertex, path in reached.items() if vertex in system.devices and path.links]
        found = max([found, *(path.gbps for path in others)])
    return found


def _total(system: System, device: int) -> float:
    links = system.links_of(device)
    nvlink = sum(link.gbps for link in links if link.type is PathType.NVL)
    pcie = [link.gbps for link in links if link.type is PathType.PIX]
    return max(nvlink, pcie[-1] if pcie else 0.0)


def _nvlinks(system: System) -> dict[int, int]:
    found: dict[int, int] = {}
    for place, gpu in enumerate(system.gpus):
        for link in system.links_of(gpu.device):
            if link.type is PathType.NVL:
                found[link.number] = place
    return found


def _split(hops: tuple[tuple[Hop, ...], ...]) -> bool:
    """Two groups of GPUs with NVLink inside and none between (ncclTopoSplitNvLink)."""
    domain = list(range(len(hops)))
    for one in range(len(hops)):
        own = domain[one]
        for other in range(one + 1, len(hops)):
            if hops[one][other].type is PathType.NVL:
                domain[other] = own
    return sum(domain.count(number) > 1 for number in set(domain)) == 2
