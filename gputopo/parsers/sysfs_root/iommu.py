"""IOMMU groups of devices, and what the kernel command line says about the IOMMU.

Devices below one switch in separate groups mean that ACS sends their peer traffic up to the root;
in one group, that it may pass. No group at all: the IOMMU is off. `type` (5.11+) tells whether a
group translates (`DMA`, `DMA-FQ`) or not (`identity`).

    >>> iommu_options("BOOT_IMAGE=/vmlinuz root=/dev/sda2 ro intel_iommu=on iommu=pt pci=realloc,noats")
    'intel_iommu=on iommu=pt pci=realloc,noats'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.parsers.sysfs_root.pci import Function
from gputopo.parsers.sysfs_root.read import Tree, last_name, line, text
from gputopo.records import Observation

_OPTIONS = (
    "iommu",
    "iommu.passthrough",
    "iommu.strict",
    "intel_iommu",
    "amd_iommu",
    "pci",
    "pcie_acs_override",
)


def observations(tree: Tree, devices: tuple[Function, ...]) -> Iterator[Observation]:
    """`iommu-groups` of the devices, and `kernel-iommu-options` where the command line is there."""
    groups = {device.label: group for device in devices if (group := _group(device)) is not None}
    if groups:
        said = ", ".join(f"{label}: group {group}{_type(tree, group)}" for label, group in groups.items())
        yield Observation("iommu-groups", tuple(groups), said)
    options = iommu_options(text(tree, "proc/cmdline") or "")
    if options:
        yield Observation("kernel-iommu-options", (), options)


def _group(device: Function) -> str | None:
    if not device.has_link("iommu_group"):
        return None
    return last_name(device.tree.resolve(f"{device.path}/iommu_group"))


def _type(tree: Tree, group: str) -> str:
    said = line(tree, f"sys/kernel/iommu_groups/{group}/type")
    return f" ({said})" if said else ""


def iommu_options(command: str) -> str:
    return " ".join(word for word in command.split() if word.partition("=")[0] in _OPTIONS)
