"""The letters of a machine, computed once and for all spellings: PCIe level, NVLinks, NV#.

The rule is that of the sysfs tree as NVML and nvidia-smi answer it (checked on DGX-2, DGX A100 and
two desktops, club-3090 issues 1125, 1140, 1229, nccl issue 1505): another host bridge is NODE
where both are on one NUMA node, else SYS; no common bridge is PHB; at most one further bridge on
each side of the last common one is PIX, more is PXB. Where every device has a PCI domain of its
own (GB200) `topo -m` prints SYS between all of them, on one NUMA node too.
"""

from __future__ import annotations

from tests.machines.machine import Gpu, Machine, Nic

NEAR_TO_FAR = ("PIX", "PXB", "PHB", "NODE", "SYS")
Device = Gpu | Nic


def device_id(device: Device) -> str:
    return f"GPU{device.number}" if isinstance(device, Gpu) else device.id


def devices(machine: Machine) -> tuple[Device, ...]:
    """GPUs and RDMA NICs in the order of the matrix."""
    return (*machine.gpus, *machine.rdma_nics)


def chain(machine: Machine, parent: str) -> list[str]:
    """The bridges from the host bridge down to `parent`, ids as in sysfs."""
    parents = {bridge.pci: bridge.parent for bridge in machine.bridges}
    path = [parent]
    while path[-1] in parents:
        path.append(parents[path[-1]])
    return path[::-1]


def pcie_level(machine: Machine, a: Device, b: Device) -> str:
    """Letter between two devices, a planted one included."""
    ids = {device_id(a), device_id(b)}
    for one, other, level in machine.planted.letters:
        if {one, other} == ids:
            return level
    return _level(machine, a, b)


def _level(machine: Machine, a: Device, b: Device) -> str:
    first, second = chain(machine, a.parent), chain(machine, b.parent)
    if first[0] != second[0]:
        one_domain = a.pci.split(":")[0] == b.pci.split(":")[0]
        return "NODE" if one_domain and a.numa is not None and a.numa == b.numa else "SYS"
    common = 0
    while common < min(len(first), len(second)) and first[common] == second[common]:
        common += 1
    if common == 1:
        return "PHB"
    return "PIX" if len(first) - common <= 1 and len(second) - common <= 1 else "PXB"


def into_fabric(gpu: Gpu) -> int:
    return sum(count for _, count in gpu.fabric)


def nvlinks(machine: Machine, a: Device, b: Device) -> tuple[int, bool | None]:
    """Links between two GPUs, and whether over a switch: (count, via switch); (0, None) for none."""
    if not (isinstance(a, Gpu) and isinstance(b, Gpu)):
        return 0, None
    direct = dict(a.peers).get(b.number, 0)
    count, via = direct or min(into_fabric(a), into_fabric(b)), not direct
    for one, other, said in machine.planted.nvlinks:
        if {one, other} == {a.number, b.number}:
            count = said
    return (count, via) if count else (0, None)


def printed(machine: Machine, a: Device, b: Device) -> str:
    """The cell of `topo -m`: NV# hides the PCIe letter."""
    count, _ = nvlinks(machine, a, b)
    return f"NV{count}" if count else pcie_level(machine, a, b)
