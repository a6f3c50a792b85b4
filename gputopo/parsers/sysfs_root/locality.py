"""Which NUMA nodes a PCI function is near: `numa_node`, `local_cpus` and what contradicts them.

`numa_node` is -1 where the firmware gave no proximity, then `local_cpus` is every CPU; and either
may be wrong. In this order: a node that the local CPUs agree with; the nodes of local CPUs that
are fewer than all; the nearest bridge above that knows; the only node of the machine; unknown.

    >>> two = Machine(CpuSet.parse_list("0-7"), {0: CpuSet.parse_list("0-3"), 1: CpuSet.parse_list("4-7")}, (0, 1))
    >>> own_nodes(1, CpuSet.parse_list("4-7"), two), own_nodes(None, CpuSet.parse_list("0-1"), two)
    (Place(nodes=(1,), why='', conflict=False), Place(nodes=(0,), why='', conflict=False))
    >>> own_nodes(1, CpuSet.parse_list("0-7"), two)         # QLogic HCA of a four-node Nehalem
    Place(nodes=None, why='numa_node is 1, but local_cpus are all CPUs, of 2 nodes', conflict=True)
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.parsers.sysfs_root.pci import Function
from gputopo.parsers.sysfs_root.read import cpu_set
from gputopo.records import NumaNodeRecord
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.unknown import Said, Unknown

_SETTLED_BY = "nvidia-smi topo -m, or NVML's memory affinity"


class Machine(NamedTuple):
    """What the CPU side of the tree says, against which devices are held."""

    online: CpuSet | None
    node_cpus: dict[int, CpuSet]  # nodes that have CPUs, as far as known
    nodes: tuple[int, ...]  # every online node; () = not known
    all_known: bool = True  # the CPUs of every node are known

    @property
    def only_node(self) -> int | None:
        """The one node with CPUs, where it is certain that there is no other."""
        if not self.all_known or len(self.node_cpus) != 1:
            return None
        return next(iter(self.node_cpus))

    def nodes_of(self, cpus: CpuSet) -> tuple[int, ...]:
        return tuple(number for number, own in self.node_cpus.items() if own & cpus)


class Place(NamedTuple):
    """`nodes` is `None` where nothing is known, with `why`; a contradiction is a `conflict`."""

    nodes: tuple[int, ...] | None
    why: str = ""
    conflict: bool = False


def machine_of(online: CpuSet | None, records: tuple[NumaNodeRecord, ...] | None) -> Machine:
    node_cpus: dict[int, CpuSet] = {}
    all_known = bool(records)
    for record in records or ():
        if isinstance(record.cpus, CpuSet):
            if record.cpus:
                node_cpus[record.number] = record.cpus
        else:
            all_known = False
    return Machine(online, node_cpus, tuple(record.number for record in records or ()), all_known)


def local_cpus(function: Function) -> CpuSet | None:
    """The files as they are; a mask of zero says nothing, since a device is near some CPU or none known."""
    path = function.path
    return cpu_set(function.tree, f"{path}/local_cpus", f"{path}/local_cpulist") or None


def near_cpus(function: Function, machine: Machine) -> Said[CpuSet]:
    """The local CPUs that are online; all of them on several nodes is the kernel's "not known"."""
    local = local_cpus(function)
    if local is None:
        return None
    near = local if machine.online is None else local & machine.online
    if not near:
        return Unknown(f"local_cpus are {local}, which this machine does not have online", _SETTLED_BY)
    if _says_nothing(near, machine):
        return Unknown("local_cpus are all CPUs of several NUMA nodes: the firmware gave no proximity", _SETTLED_BY)
    return near


def near_nodes(function: Function, machine: Machine, above: tuple[Function, ...]) -> tuple[Said[tuple[int, ...]], str]:
    """NUMA nodes of a function, and its contradiction if there is one. `above`: bridges, nearest first."""
    own = own_nodes(function.numa_node, local_cpus(function), machine)
    if own.nodes is not None or own.conflict:
        said = own.nodes if own.nodes is not None else Unknown(own.why, _SETTLED_BY)
        return said, own.why if own.conflict else ""
    for bridge in above:
        place = own_nodes(bridge.numa_node, local_cpus(bridge), machine)
        if place.nodes is not None and not place.conflict:
            return place.nodes, ""
    if machine.only_node is not None:
        return (machine.only_node,), ""
    return Unknown(own.why, _SETTLED_BY), ""


def own_nodes(numa: int | None, local: CpuSet | None, machine: Machine) -> Place:
    """What the function's own two files say."""
    near = local if local is None or machine.online is None else local & machine.online
    if near is not None and not near:
        return Place(None, f"local_cpus are {local}, which this machine does not have online", conflict=True)
    if numa is None or numa < 0:
        return _by_cpus(numa, near, machine)
    if machine.nodes and numa not in machine.nodes:
        return Place(None, f"numa_node is {numa}, which this machine does not have", conflict=True)
    own = machine.node_cpus.get(numa, CpuSet() if machine.all_known else None)
    if near is None or own is None or near <= own:
        return Place((numa,))
    if _says_nothing(near, machine):
        return Place(
            None,
            f"numa_node is {numa}, but local_cpus are all CPUs, of {len(machine.node_cpus)} nodes",
            conflict=True,
        )
    nodes = machine.nodes_of(near)
    return Place(nodes or None, f"numa_node is {numa}, but local_cpus are {near}, of nodes {nodes}", conflict=True)


def _by_cpus(numa: int | None, near: CpuSet | None, machine: Machine) -> Place:
    said = "there is no numa_node" if numa is None else f"numa_node is {numa}"
    if near is None:
        return Place(None, f"{said} and no local_cpus")
    if machine.online is None or not machine.node_cpus:
        return Place(None, f"{said}, and the CPUs of the NUMA nodes are not known")
    if near == machine.online:
        return Place(None, f"{said} and local_cpus are all CPUs: the firmware gave no proximity")
    nodes = machine.nodes_of(near)
    if not nodes or not machine.all_known:
        return Place(None, f"{said}, and no NUMA node is known to have the local CPUs {near}")
    return Place(nodes)


def _says_nothing(near: CpuSet, machine: Machine) -> bool:
    return near == machine.online and len(machine.node_cpus) > 1
