"""A root folder with `sys/` (and `proc/`): a live node, `/host`, or what hwloc-gather-topology wrote.

    sys/bus/pci/devices/0000:1b:00.0 -> ../../../devices/pci0000:17/0000:17:00.0/0000:18:00.0/0000:19:08.0/0000:1b:00.0
    sys/devices/pci0000:17/…/0000:1b:00.0/class       0x030200
    sys/devices/pci0000:17/…/0000:1b:00.0/numa_node   0
    sys/devices/system/node/node0/cpulist             0-7,16-23
    sys/devices/system/cpu/cpu0/topology/physical_package_id   0
    proc/driver/nvidia/gpus/0000:1b:00.0/information  GPU UUID: GPU-…

Kernel Documentation/ABI/testing/sysfs-bus-pci, -devices-node, -devices-system-cpu. Any file may be
missing, cut or damaged: what it would have said is `Unknown` or `None`, and nothing raises.

    >>> class Empty:
    ...     def read(self, path): return None
    ...     def names(self, path): return ("devices",) if path == "sys" else None
    ...     def resolve(self, path): return None
    ...     def is_link(self, path): return False
    >>> [records] = parse(Empty())
    >>> records.gpus, [gap.attribute for gap in records.gaps]
    (None, ['packages', 'numaNodes', 'gpus', 'nics', 'nvme'])
"""

from __future__ import annotations

from gputopo.parsers.sysfs_root import gpudirect, host, kernel
from gputopo.parsers.sysfs_root.cgroup import allowed_cpus
from gputopo.parsers.sysfs_root.cpuinfo import cpu_facts
from gputopo.parsers.sysfs_root.cpus import online_cpus, package_ids, packages
from gputopo.parsers.sysfs_root.devices import Devices, devices_of
from gputopo.parsers.sysfs_root.locality import machine_of
from gputopo.parsers.sysfs_root.numa import numa_nodes
from gputopo.parsers.sysfs_root.nvidia import driver_gpus, version_of_driver
from gputopo.parsers.sysfs_root.read import Tree, line
from gputopo.records import Assumption, Gap, NodeRecords, NumaNodeRecord, PackageRecord, SystemRecord
from gputopo.terms.cpu_set import CpuSet

__all__ = ["parse"]
_ALL_ALLOWED = "no cpuset was captured: the process that took this may use every CPU that is online"


def parse(tree: Tree) -> tuple[NodeRecords, ...]:
    """The one node whose root the tree is."""
    online = online_cpus(tree)
    ids = package_ids(tree, online)
    driver = driver_gpus(tree)
    memory = frozenset(gpu.memory_numa_node for gpu in driver.values() if gpu.memory_numa_node is not None)
    nodes = numa_nodes(tree, online, ids, memory)
    facts = cpu_facts(tree, host.release_of(tree))
    found_packages = packages(ids, online, nodes, facts)
    devices = devices_of(tree, machine_of(online, nodes), driver)
    allowed = allowed_cpus(tree, online)
    return (
        NodeRecords(
            "sysfs-root",
            grain="sysfs",
            system=_system(tree, online if allowed is None else allowed, facts.flags, devices),
            packages=found_packages,
            numa_nodes=nodes,
            bridges=devices.bridges,
            nvswitches=devices.nvswitches,
            gpus=devices.gpus,
            gpus_complete=devices.captured and devices.complete,
            nics=devices.nics,
            nics_complete=devices.captured and devices.complete,
            nvme=devices.nvme,
            gaps=(*_cpu_gaps(found_packages, nodes), *devices.gaps),
            observations=(
                *devices.observations,
                *gpudirect.observations(tree, devices),
                *kernel.observations(tree, host.view_of(tree)),
            ),
            assumptions=(Assumption((), _ALL_ALLOWED),) if allowed is None and online else (),
        ),
    )


def _system(tree: Tree, allowed: CpuSet | None, flags: frozenset[str], devices: Devices) -> SystemRecord:
    view = host.view_of(tree)
    return SystemRecord(
        name=host.name_of(tree, view),
        boot_id=line(tree, "proc/sys/kernel/random/boot_id"),
        product=host.product_of(tree),
        kernel=host.release_of(tree),
        driver=version_of_driver(tree),
        view=view,
        virtual=host.is_virtual(tree, flags, devices.functions),
        allowed_cpus=allowed,
    )


def _cpu_gaps(packages: tuple[PackageRecord, ...] | None, nodes: tuple[NumaNodeRecord, ...] | None) -> tuple[Gap, ...]:
    gaps = []
    if packages is None:
        why = "no CPU says its package (sys/devices/system/cpu/cpu*/topology/physical_package_id)"
        gaps.append(Gap((), "packages", why, "lscpu"))
    if nodes is None:
        gaps.append(Gap((), "numaNodes", "there is no sys/devices/system/node", "numactl --hardware"))
    return tuple(gaps)
