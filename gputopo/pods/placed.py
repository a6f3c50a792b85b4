"""Where a set of devices is: sockets and NUMA nodes of the node's GPUs, else what the kubelet says of their NUMA."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.pods.model import Device, Placed
from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.gpu_sets import Sight
from gputopo.topology.node import NodeTopology

NOWHERE = Placed((), (), (), None, None, None)
UNSAID = Placed(None, None, None, None, None, None)  # it has GPUs, no source says which


def placed(devices: Sequence[Device], sight: Sight) -> Placed:
    """Of the GPUs among the devices. A set of one crosses nothing."""
    gpus = [one for one in devices if one.is_gpu]
    if not gpus:
        return NOWHERE
    resolved = all(one.gpu is not None for one in gpus)
    ids = tuple(dict.fromkeys(one.gpu for one in gpus if one.gpu is not None))
    if resolved:
        order = {gpu: at for at, gpu in enumerate(sight.gpus)}
        ids = tuple(sorted(ids, key=lambda one: order.get(one, len(order))))
        seen = sight.see(ids)
        numa = seen.numa_nodes if seen.numa_nodes is not None else _said(gpus)
        cross = seen.cross_numa if seen.cross_numa is not None else _crosses(numa)
        return Placed(ids, seen.packages, numa, seen.cross_package, cross, seen)
    numa = _said(gpus)
    return Placed(None, None, numa, None, _crosses(numa), None)


def _said(gpus: Sequence[Device]) -> tuple[int, ...] | None:
    """What the kubelet says; None where of one device it says nothing."""
    if any(not one.numa_nodes for one in gpus):
        return None
    return tuple(sorted({number for one in gpus for number in one.numa_nodes or ()}))


def _crosses(numa: tuple[int, ...] | None) -> bool | None:
    return None if numa is None else len(numa) > 1


def numa_of_cpus(node: NodeTopology, cpus: CpuSet | None) -> tuple[int, ...] | None:
    """The NUMA nodes that these CPUs are of; None where a CPU's node is not known."""
    if cpus is None or not len(cpus):
        return None
    found, rest = [], cpus
    for one in node.numa_nodes or ():
        if one.cpus is not None and (cpus & one.cpus):
            found.append(one.number)
            rest = rest - one.cpus
    return tuple(sorted(found)) if found and not len(rest) else None


def packages_of_cpus(node: NodeTopology, cpus: CpuSet | None) -> tuple[str, ...] | None:
    if cpus is None or not len(cpus):
        return None
    numa = numa_of_cpus(node, cpus)
    if numa is not None:
        by_number = {one.number: one.packages for one in node.numa_nodes or ()}
        packages = [by_number.get(number) for number in numa]
        if all(packages):
            return tuple(sorted({one for each in packages for one in each or ()}))
    found = [one.id for one in node.packages or () if one.cpus is not None and (cpus & one.cpus)]
    return tuple(found) or None
