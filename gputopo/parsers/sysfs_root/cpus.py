"""CPUs that are online and the packages (sockets) they sit in, out of `sys/devices/system/cpu`.

A package id is opaque: 36 on a GB10, node 0 in package 1 on a Xeon L5640; -1 where the firmware
has no table. Offline CPUs have no `topology` folder. `core_siblings` may contradict
`physical_package_id`; the id is what the kernel itself uses.
"""

from __future__ import annotations

from gputopo.parsers.sysfs_root.cpuinfo import CpuFacts
from gputopo.parsers.sysfs_root.read import Tree, cpu_list, integer, number
from gputopo.records import NumaNodeRecord, PackageRecord
from gputopo.terms.cpu_set import HIGHEST_CPU, CpuSet
from gputopo.terms.unknown import Said, Unknown

CPU = "sys/devices/system/cpu"


def online_cpus(tree: Tree) -> CpuSet | None:
    """The CPUs that are online, or `None` where the tree does not say.

    Captures of `cpuN/topology` alone have no `online` file: a CPU with a topology is online.
    """
    online = cpu_list(tree, f"{CPU}/online")
    if online:
        return online
    found = [cpu for cpu in _cpu_folders(tree) if tree.names(f"{CPU}/cpu{cpu}/topology")]
    return CpuSet.of(found) if found else None


def _cpu_folders(tree: Tree) -> list[int]:
    numbers = (integer(name[3:]) for name in tree.names(CPU) or () if name.startswith("cpu"))
    return sorted(cpu for cpu in numbers if cpu is not None and 0 <= cpu <= HIGHEST_CPU)


def package_ids(tree: Tree, online: CpuSet | None) -> dict[int, int]:
    """CPU → physical_package_id, of the online CPUs that have one."""
    found = {}
    for cpu in _cpu_folders(tree):
        if online is not None and cpu in online:
            package = number(tree, f"{CPU}/cpu{cpu}/topology/physical_package_id")
            if package is not None and package >= 0:
                found[cpu] = package
    return found


def packages(
    ids: dict[int, int], online: CpuSet | None, nodes: tuple[NumaNodeRecord, ...] | None, facts: CpuFacts
) -> tuple[PackageRecord, ...] | None:
    """One record a package, by number; `None` where no CPU says where it sits."""
    members: dict[int, list[int]] = {}
    for cpu, package in sorted(ids.items()):
        members.setdefault(package, []).append(cpu)
    partial = online is None or len(ids) < len(online)
    found = []
    for package, cpus in sorted(members.items()):
        vendor, family, model = facts.of_cpu(cpus[0])
        own: Said[CpuSet] = Unknown("some CPUs do not say their package") if partial else CpuSet.of(cpus)
        near = _nodes_of(package, CpuSet.of(cpus), nodes)
        found.append(PackageRecord(package, own, near, vendor, family, model, facts.arch))
    return tuple(found) or None


def _nodes_of(package: int, cpus: CpuSet, nodes: tuple[NumaNodeRecord, ...] | None) -> Said[tuple[int, ...]]:
    """The nodes with a CPU in the package; a node without CPUs is in none."""
    if nodes is None:
        return None
    found, placed = [], CpuSet()
    for node in nodes:
        if node.packages is None or isinstance(node.packages, Unknown):
            return Unknown(f"the package of NUMA node {node.number} is not known")
        if package in node.packages:
            found.append(node.number)
        if isinstance(node.cpus, CpuSet):
            placed = placed | node.cpus
    if not cpus <= placed:
        return Unknown(f"its CPUs {cpus - placed} are in no NUMA node that is online")
    return tuple(found)
