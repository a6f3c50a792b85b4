"""A node as its kubelet sees it: what cAdvisor would tell, and where each unit of the device plugin sits.

A node does not say which CPUs are threads of one core. Linux numbers the first threads of all cores before
the second ones, so with CPUs 0 to N-1, n and n+N/2 are taken for one core where each such pair lies in one
NUMA node, else each CPU for a core of its own; a named assumption in both cases.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gputopo.allocate.kubelet.device_hints import Device
from gputopo.allocate.kubelet.machine import Cpu, Machine
from gputopo.allocate.state import physical
from gputopo.topology.node import Gpu, NodeTopology, NoteAssumption, NumaNode

_MINUS_ONE = "pci-numa-node-minus-one"  # what the sysfs parser observes
_WITHOUT_SMT = frozenset(("aarch64",))


class Undecided(Exception):
    """The evidence does not hold what the kubelet's answer depends on."""

    def __init__(self, what: str, settled_by: str) -> None:
        super().__init__(what, settled_by)
        self.what = what
        self.settled_by = settled_by


class Seen(NamedTuple):
    machine: Machine
    assumptions: tuple[NoteAssumption, ...]


def machine(node: NodeTopology, *, cpus: bool, memory: bool) -> Seen:
    """`cpus`, `memory`: whether these managers look at it. Raises Undecided."""
    numa = node.numa_nodes or ()
    ids = {one.number for one in numa} | {number for gpu in node.gpus for number in gpu.numa_nodes or ()}
    if not ids:
        raise Undecided("the NUMA nodes of this machine are not known", "lscpu, or nvidia-smi topo -m")
    assumptions: list[NoteAssumption] = []
    made = _cpus(node, numa, assumptions) if cpus else ()
    sizes = _memory(numa) if memory else {}
    distances = {one.number: _row(one.distances) for one in numa if one.distances is not None}
    return Seen(Machine(tuple(sorted(ids)), made, distances, sizes), tuple(assumptions))


def _row(distances: dict[int, int]) -> tuple[int, ...]:
    """Indexed by node id; ids that are not there are never asked for."""
    return tuple(distances.get(number, 0) for number in range(max(distances, default=-1) + 1))


def _memory(numa: Iterable[NumaNode]) -> dict[int, dict[str, int]]:
    sizes = {}
    for one in numa:
        if one.memory_bytes is None:
            raise Undecided(f"the memory of NUMA node {one.number} is not known", "numactl --hardware")
        sizes[one.number] = {"memory": one.memory_bytes}
    return sizes


def _cpus(node: NodeTopology, numa: tuple[NumaNode, ...], assumptions: list[NoteAssumption]) -> tuple[Cpu, ...]:
    of: dict[int, int] = {}
    for one in numa:
        if one.cpus is None:
            raise Undecided(f"the CPUs of NUMA node {one.number} are not known", "lscpu")
        of.update(dict.fromkeys(one.cpus, one.number))
    if not of:
        raise Undecided("the CPUs of this machine are not known", "lscpu")
    sockets = _sockets(node, numa, assumptions)
    half = _threads_apart(node, of)
    text = f"CPUs n and n+{half} are two threads of one core" if half else "every CPU is a core of its own"
    if half or not _known_without_smt(node):
        assumptions.append(NoteAssumption(("node",), f"{text} (to settle: lscpu -e)", None))
    return tuple(
        Cpu(cpu, number, sockets[number], cpu - half if half and cpu >= half else cpu)
        for cpu, number in sorted(of.items())
    )


def _known_without_smt(node: NodeTopology) -> bool:
    return bool(node.packages) and all(package.arch in _WITHOUT_SMT for package in node.packages or ())


def _threads_apart(node: NodeTopology, of: dict[int, int]) -> int | None:
    half = len(of) // 2
    if _known_without_smt(node) or not half or len(of) % 2 or max(of) != len(of) - 1:
        return None
    return half if all(of[cpu] == of[cpu + half] for cpu in range(half)) else None


def _sockets(
    node: NodeTopology, numa: tuple[NumaNode, ...], assumptions: list[NoteAssumption]
) -> dict[int, int]:  # fmt: skip
    numbers = {package.id: package.number for package in node.packages or ()}
    found = {}
    for one in numa:
        mine = [numbers[id] for id in one.packages or () if id in numbers]
        if len(mine) != 1 and one.cpus:
            text = "every NUMA node is a socket (to settle: lscpu)"
            assumptions.append(NoteAssumption(("node",), text, None))
            return {node.number: node.number for node in numa}
        found[one.number] = mine[0] if mine else -1
    return found


def devices(node: NodeTopology, units: Iterable[str], unhealthy: frozenset[str] = frozenset()) -> dict[str, Device]:
    """Where each unit sits, as the device plugin reports it. Raises Undecided."""
    gpus = {gpu.id: gpu for gpu in node.gpus}
    gpus |= {mig.uuid: gpu for gpu in node.gpus for mig in gpu.mig if mig.uuid}
    found = {}
    for unit in units:
        gpu = gpus.get(physical(unit)) or gpus.get(physical(unit).split(":", 1)[0])
        if gpu is None:
            raise Undecided(f"{unit} is no GPU of this node", "the same node's nvidia-smi -L")
        found[unit] = Device(_numa(node, gpu), unit not in unhealthy)
    return found


def _numa(node: NodeTopology, gpu: Gpu) -> tuple[int, ...] | None:
    """The plugin reports the one `numa_node` of the PCI device, or no topology where that is -1.

    It reads sysfs alone, so a NUMA node that only another source knows is not what it reports.
    """
    if any(seen.kind == _MINUS_ONE and gpu.id in seen.subjects for seen in node.observations):
        return None
    if gpu.numa_nodes is None:
        what = f"the NUMA node of {gpu.id} is not known, and every hint depends on it"
        raise Undecided(what, "nvidia-smi topo -m, or /sys/bus/pci/devices/*/numa_node")
    if len(gpu.numa_nodes) > 1:
        with_cpus = [one.number for one in node.numa_nodes or () if one.cpus and one.number in gpu.numa_nodes]
        if len(with_cpus) != 1:
            what = f"{gpu.id} is near NUMA nodes {gpu.numa_nodes}; the plugin reports one of them"
            raise Undecided(what, "/sys/bus/pci/devices/*/numa_node")
        return (with_cpus[0],)
    return gpu.numa_nodes or None
