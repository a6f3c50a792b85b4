"""GPUs and other accelerators, and NVSwitches, by PCI class.

PCI Code and ID Assignment Specification: 03 display (0300 VGA, 0302 3D, 0380 other), 12 processing
accelerator, 0b40 co-processor (NEC vector engine, Xeon Phi). A display of a board-management chip
or a hypervisor is none. An NVSwitch is a 0680 "other bridge" of NVIDIA (10de:1ac2, 22a3); so are
parts of its nForce chipsets of 2005 to 2010, whose device ids lie below 0x1000.

    >>> is_accelerator(0x0302, 0x10DE), is_accelerator(0x0300, 0x1A03), is_accelerator(0x0403, 0x10DE)
    (True, False, False)
    >>> is_nvswitch(0x0680, 0x10DE, 0x22A3), is_nvswitch(0x0680, 0x10DE, 0x0373)
    (True, False)
"""

from __future__ import annotations

from gputopo.parsers.sysfs_root.locality import Machine, near_cpus, near_nodes
from gputopo.parsers.sysfs_root.nvidia import DriverGpu
from gputopo.parsers.sysfs_root.pci import Function
from gputopo.records import GpuRecord, Key, NvSwitchRecord
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Unknown

NVIDIA = 0x10DE
_VENDORS = {NVIDIA: "nvidia", 0x1002: "amd"}
# Matrox, ASPEED, Cirrus, QEMU, VMware, virtio, Red Hat (QXL), Microsoft (Hyper-V).
_DISPLAY_VENDORS = frozenset((0x102B, 0x1A03, 0x1013, 0x1234, 0x15AD, 0x1AF4, 0x1B36, 0x1414))
_DISPLAYS = (0x0300, 0x0380)  # 0380: bochs-display and virtio-gpu; 0302 of Microsoft is a shared GPU


def is_accelerator(class_code: int | None, vendor: int | None) -> bool:
    if class_code is None:
        return False
    if class_code in _DISPLAYS and vendor in _DISPLAY_VENDORS:
        return False
    return class_code >> 8 in (0x03, 0x12) or class_code == 0x0B40


def is_nvswitch(class_code: int | None, vendor: int | None, device: int | None) -> bool:
    return class_code == 0x0680 and vendor == NVIDIA and (device is None or device >= 0x1000)


def vendor_name(vendor: int | None) -> str | None:
    """`nvidia`, `amd`; the number where it has no name here."""
    return None if vendor is None else _VENDORS.get(vendor, f"0x{vendor:04x}")


def gpu_record(
    function: Function, above: tuple[Function, ...], machine: Machine, said: DriverGpu | None
) -> tuple[GpuRecord, str]:
    """The record, and the contradiction of its locality ("" = none)."""
    nodes, conflict = near_nodes(function, machine, above)
    cpus = near_cpus(function, machine)
    record = GpuRecord(
        function.label,
        keys=keys(function.address, said),
        uuid=uuid(said),
        name=said.name if said else None,
        # the driver lists only its own: a capture may have dropped `vendor` and `driver`
        vendor=vendor_name(function.vendor) or ("nvidia" if said else None),
        pci=function.address,
        minor=said.minor if said else None,
        driver=function.driver or ("nvidia" if said else None),
        numa_nodes=nodes,
        cpus=cpus,
        cpus_complete=True if isinstance(cpus, CpuSet) else None,
        memory_numa_node=said.memory_numa_node if said else None,
        pcie=function.pcie(),
        chain=function.chain,
    )
    return record, conflict


def driver_only(address: PciAddress, said: DriverGpu) -> GpuRecord:
    """A GPU that the driver names where PCI itself was not captured."""
    return GpuRecord(
        str(address),
        keys=keys(address, said),
        uuid=uuid(said),
        name=said.name,
        vendor="nvidia",
        pci=address,
        minor=said.minor,
        driver="nvidia",
        memory_numa_node=said.memory_numa_node,
        chain=Unknown("sys/bus/pci/devices was not captured", "a capture with I/O devices"),
    )


def uuid(said: DriverGpu | None) -> str | Unknown | None:
    if said is None:
        return None
    return said.uuid or (Unknown("the driver has not initialised this GPU") if said.name else None)


def keys(address: PciAddress, said: DriverGpu | None) -> tuple[Key, ...]:
    found = [Key("pci", str(address))]
    if said is not None and said.uuid:
        found.insert(0, Key("uuid", said.uuid))
    if said is not None and said.minor is not None:
        found.append(Key("minor", str(said.minor)))
    return tuple(found)


def nvswitch_record(function: Function) -> NvSwitchRecord:
    return NvSwitchRecord(function.label, (Key("pci", function.label),), function.address)
