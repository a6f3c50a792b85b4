r"""What GPUDirect needs beside a short path: kernel modules, ACS of the bridges, ATS, IOMMU groups.

    sys/module/nvidia_peermem        the module that lets RDMA NICs reach GPU memory (nv_peer_mem of old)
    sys/kernel/mm/memory_peers/nv_mem/version   it is registered with the RDMA stack
    sys/module/nvidia_fs             GPUDirect Storage
    proc/driver/nvidia-fs/modules    the drivers it serves, nvme only where that is built for it
    proc/modules                     all that is loaded: what is not in it is not there
    proc/driver/nvidia/version       NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15 ...
    sys/bus/pci/devices/*/config     ACS and ATS, past byte 0x100: root only
    sys/kernel/iommu_groups          empty: the IOMMU is off

Facts without a verdict, and none for a node without NVIDIA GPUs. A module whose absence cannot be told from
a capture that left it out is not spoken of. ACS and ATS are spelled as `lspci -vvv` does.

    >>> kernel_module("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build")
    'open'
    >>> kernel_module("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023")
    'proprietary'
    >>> sorted(loaded_modules("nvidia_peermem 20480 0 - Live 0x0\nib_uverbs 163840 1 nvidia_peermem, Live 0x0"))
    ['ib_uverbs', 'nvidia_peermem']
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.parsers.sysfs_root.devices import Devices
from gputopo.parsers.sysfs_root.extended import acs_control, ats_enabled
from gputopo.parsers.sysfs_root.pci import HOST_BRIDGE, Function
from gputopo.parsers.sysfs_root.read import Tree, last_name, line, text
from gputopo.records import NicRecord, NvmeRecord, Observation
from gputopo.terms.pci_address import PciAddress

MODULES = ("nvidia_peermem", "nv_peer_mem", "nvidia_fs")
_PEERS = "sys/kernel/mm/memory_peers"
_SERVED = "proc/driver/nvidia-fs/modules"
_GROUPS = "sys/kernel/iommu_groups"
# In sys/module of every kernel: the folder was taken as a whole, so that what is not in it is not loaded.
_BUILT_IN = frozenset(("kernel", "printk", "pcie_aspm", "rcupdate", "workqueue"))
_FLAGS_ON = ("ReqRedir+", "CmpltRedir+", "UpstreamFwd+", "EgressCtrl+", "SrcValid+")


def observations(tree: Tree, devices: Devices) -> tuple[Observation, ...]:
    """All of it, in one order; () where there is no NVIDIA GPU."""
    if not any(gpu.vendor == "nvidia" for gpu in devices.gpus or ()):
        return ()
    return (*_modules(tree), *_disks(devices), *_iommu(tree, devices), *_acs(devices), *_ats(devices))


# Modules


def _modules(tree: Tree) -> Iterator[Observation]:
    listed = text(tree, "proc/modules")
    names = frozenset(tree.names("sys/module") or ()) | loaded_modules(listed or "")
    whole = listed is not None or len(names & _BUILT_IN) > 1
    for name in MODULES:
        if name in names:
            yield Observation("gpudirect-module", (), f"{name} is loaded")
        elif whole:
            yield Observation("gpudirect-module-absent", (), f"{name} is not loaded")
    peers = tree.names(_PEERS)
    if peers is not None:
        registered = [name for name in peers if name.startswith("nv_mem")]
        yield Observation("gpudirect-memory-peers", (), f"{_PEERS} has {', '.join(registered) or 'no nv_mem'}")
    served = text(tree, _SERVED)
    if served is not None:
        yield Observation("gpudirect-storage-drivers", (), served_drivers(served))
    kind = kernel_module(line(tree, "proc/driver/nvidia/version") or "")
    if kind is not None:
        yield Observation("nvidia-kernel-module", (), f"the {kind} kernel module of NVIDIA")


def loaded_modules(content: str) -> frozenset[str]:
    """The names in `/proc/modules`: the first word of each line."""
    return frozenset(words[0] for row in content.splitlines() if (words := row.split()))


def served_drivers(content: str) -> str:
    """The drivers that are registered, `NAME: VERSION` a line (gds-nvidia-fs, nvfs-proc.c).

    >>> served_drivers("nvme: 1.0\\nwekafsio: \\n")
    'nvme wekafsio'
    """
    rows = (row.partition(":") for row in content.splitlines())
    return " ".join(name.strip() for name, colon, _ in rows if colon and name.strip())


def kernel_module(version: str) -> str | None:
    """`open` or `proprietary`, by the first line of `/proc/driver/nvidia/version`."""
    if "Open Kernel Module" in version:
        return "open"
    return "proprietary" if "Kernel Module" in version else None


def _disks(devices: Devices) -> Iterator[Observation]:
    """The kernel driver of each disk; one that has none, or in a capture without links, is not named."""
    drivers: dict[str, list[str]] = {}
    by_address = {function.address: function for function in devices.functions}
    for record in devices.nvme or ():
        function = by_address.get(record.pci) if isinstance(record.pci, PciAddress) else None
        if function is not None and function.driver is not None:
            drivers.setdefault(function.driver, []).append(function.label)
    for name, labels in drivers.items():
        yield Observation("nvme-driver", tuple(labels), name)


# IOMMU


def _iommu(tree: Tree, devices: Devices) -> Iterator[Observation]:
    """Groups of NICs and disks (those of GPUs: iommu.py), and that there are none at all."""
    if tree.names(_GROUPS) == ():
        yield Observation("iommu-off", (), f"{_GROUPS} is empty: the IOMMU is off")
        return
    groups = {}
    for function in _peers(devices):
        if function.has_link("iommu_group") and (group := last_name(tree.resolve(f"{function.path}/iommu_group"))):
            said = line(tree, f"{_GROUPS}/{group}/type")
            groups[function.label] = f"group {group}{f' ({said})' if said else ''}"
    if groups:
        told = ", ".join(f"{label}: {group}" for label, group in groups.items())
        yield Observation("iommu-groups-of-peers", tuple(groups), told)


def _peers(devices: Devices) -> Iterator[Function]:
    """NICs and disks; virtual functions are left out, there may be hundreds."""
    by_address = {function.address: function for function in devices.functions}
    records: tuple[NicRecord | NvmeRecord, ...] = (*(devices.nics or ()), *(devices.nvme or ()))
    for record in records:
        if isinstance(record, NicRecord) and record.virtual_function_of is not None:
            continue
        function = by_address.get(record.pci) if isinstance(record.pci, PciAddress) else None
        if function is not None:
            yield function


# Access control and address translation


def _acs(devices: Devices) -> Iterator[Observation]:
    """The bridges above listed devices: what redirects peer traffic, what does not, what was not read."""
    by_label = {function.label: function for function in devices.functions}
    unread = []
    for bridge in devices.bridges:
        if HOST_BRIDGE.match(bridge.label):
            continue
        function = by_label.get(bridge.label)
        control = acs_control(function.config) if function is not None else None
        if control is None:
            unread.append(bridge.label)
            continue
        on = any(flag in _FLAGS_ON for flag in control.split())
        said = f"ACSCtl: {control}" if control else "no ACS capability"
        yield Observation("acs-enabled" if on else "acs-off", (bridge.label,), said)
    if unread:
        yield Observation("acs-not-read", tuple(unread), "config space past byte 256 was not read: only root can")


def _ats(devices: Devices) -> Iterator[Observation]:
    by_address = {function.address: function for function in devices.functions}
    gpus = [by_address[gpu.pci] for gpu in devices.gpus or () if gpu.pci in by_address]
    for function in (*gpus, *_peers(devices)):
        enabled = ats_enabled(function.config)
        if enabled is not None:
            yield Observation("ats", (function.label,), f"ATSCtl: Enable{'+' if enabled else '-'}")
