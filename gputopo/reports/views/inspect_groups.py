"""Groups of the wiring: devices of one socket and NUMA node, and the line that heads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gputopo.reports.blocks import Row, Title, cell
from gputopo.reports.views.words import Device, cpu_list, gibibytes, numbers
from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.node import Gpu, NodeTopology, NumaNode

FAR = 1 << 30  # sorts what is unknown behind what is known
_KINDS = {"gpu-memory": "GPU memory", "memory": "memory without CPUs"}


class Group(NamedTuple):
    """Sorts by NUMA node; unknown places come last. `numa`: (`FAR`,) where it is not known."""

    packages: tuple[str, ...]
    numa: tuple[int, ...]
    cpus: str  # only where the NUMA node is not known; "~" where the CPUs are not either


def group_of(device: Device) -> Group:
    packages = device.packages if device.packages is not None else ("~",)
    if device.numa_nodes is not None:
        return Group(packages, device.numa_nodes, "")
    cpus = str(device.cpus) if isinstance(device, Gpu) and device.cpus is not None else "~"
    return Group(packages, (FAR,), cpus)


def title(node: NodeTopology, group: Group) -> Title:
    """`socket 0   NUMA 0   CPUs 0-55,112-167 (112)   1007 GiB`."""
    parts = [_sockets(node, group.packages), _numa(group)]
    known = [numa for numa in node.numa_nodes or () if numa.number in group.numa]
    cpus, cut = _cpus(node, group, known)
    if cpus is not None:
        count = f" ({len(cpus)})" if len(cpus) > 1 and not cut else ""
        parts.append(f"CPUs {cpu_list(cpus)}{count}{cut}" if cpus else "no CPUs")
    memory = [numa.memory_bytes for numa in known]
    if memory and None not in memory:
        parts.append(gibibytes(sum(amount or 0 for amount in memory)))
    return Title(tuple(cell(part) for part in parts if part))


def _sockets(node: NodeTopology, packages: tuple[str, ...]) -> str:
    if packages == ("~",) or not packages:
        return "socket unknown" if node.packages and packages else ""
    by_id = {package.id: package.number for package in node.packages or ()}
    known = [by_id[id] for id in packages if id in by_id]
    if len(known) < len(packages):
        return ""
    return f"socket{'s' if len(known) > 1 else ''} {numbers(known)}"


def _numa(group: Group) -> str:
    if group.numa == (FAR,):
        return "NUMA unknown"
    return f"NUMA {numbers(group.numa)}" if group.numa else "no NUMA node"


def _cpus(node: NodeTopology, group: Group, known: list[NumaNode]) -> tuple[CpuSet | None, str]:
    """The NUMA node's CPUs; where no source has them, what its GPUs have in common as their affinity."""
    sets = [numa.cpus for numa in known]
    if sets and all(cpus is not None for cpus in sets):
        mask = 0
        for cpus in sets:
            mask |= cpus.mask if cpus is not None else 0
        return CpuSet(mask), ""
    here = [gpu for gpu in node.gpus if group_of(gpu) == group]
    affinities = {gpu.cpus for gpu in here}
    if len(affinities) != 1:
        return None, ""
    complete = {gpu.cpus_complete for gpu in here}
    cut = " (cut)" if False in complete else " (may be cut)" if None in complete else ""
    only = affinities.pop()
    return only, cut if only else ""


def idle_numa_nodes(node: NodeTopology, used: Iterable[Group]) -> list[Row | Title]:
    """NUMA nodes that no device is near, a line for those that are alike."""
    taken = {number for group in used for number in group.numa}
    taken |= {gpu.memory_numa_node for gpu in node.gpus if gpu.memory_numa_node is not None}
    alike: dict[tuple[tuple[str, ...], str], list[int]] = {}
    for numa in node.numa_nodes or ():
        if numa.number not in taken:
            what = _KINDS.get(numa.kind or "", "no listed device")
            alike.setdefault((numa.packages or (), what), []).append(numa.number)
    return [
        Title((cell(_sockets(node, packages)), cell(f"NUMA {numbers(some)}"), cell(what, "dim")))
        for (packages, what), some in alike.items()
    ]
