"""`proc/driver/nvidia`: what the driver says of its GPUs without NVML.

>>> fields("Model: \\t\\t NVIDIA H100 80GB HBM3\\nGPU UUID: \\t GPU-1b2c\\nDevice Minor: \\t 0\\n")["Device Minor"]
'0'
>>> driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023")
'535.129.03'
>>> driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build")
'550.54.15'
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gputopo.parsers.sysfs_root.pci import function_address
from gputopo.parsers.sysfs_root.read import Tree, integer, line, text
from gputopo.terms.pci_address import PciAddress

GPUS = "proc/driver/nvidia/gpus"
_VERSION = re.compile(r"Module\b.*?\s(\d{2,4}\.\d{1,3}(?:\.\d{1,3})?)(?:\s|$)")
_UUID = re.compile(r"GPU-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")


class DriverGpu(NamedTuple):
    uuid: str | None  # None where the driver prints question marks: not initialised yet
    name: str | None
    minor: int | None
    memory_numa_node: int | None
    excluded: bool


def driver_gpus(tree: Tree) -> dict[PciAddress, DriverGpu]:
    found = {}
    for name in tree.names(GPUS) or ():
        address = function_address(name.lower())
        if address is not None:
            found[address] = _gpu(tree, f"{GPUS}/{name}")
    return found


def _gpu(tree: Tree, folder: str) -> DriverGpu:
    said = fields(text(tree, f"{folder}/information") or "")
    memory = fields(text(tree, f"{folder}/numa_status") or "")
    uuid = said.get("GPU UUID", "")
    minor, node = integer(said.get("Device Minor")), integer(memory.get("Node"))
    return DriverGpu(
        uuid if _UUID.match(uuid) else None,
        said.get("Model"),
        minor if minor is not None and minor >= 0 else None,
        node if node is not None and node >= 0 else None,
        said.get("GPU Excluded", "").lower() == "yes",
    )


def fields(content: str) -> dict[str, str]:
    """`Key: \\t value` lines; a key without a value is left out."""
    found = {}
    for row in content.splitlines():
        key, colon, value = row.partition(":")
        if colon and value.strip():
            found[key.strip()] = value.strip()
    return found


def version_of_driver(tree: Tree) -> str | None:
    return driver_version(text(tree, "proc/driver/nvidia/version") or "") or line(tree, "sys/module/nvidia/version")


def driver_version(content: str) -> str | None:
    match = _VERSION.search(content.partition("\n")[0])
    return match[1] if match else None
