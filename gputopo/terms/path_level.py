"""How far apart two devices are on PCIe: the letters of `nvidia-smi topo -m`.

The numbers are NVML's common-ancestor levels (nvml.h, nvmlGpuTopologyLevel_t), so a level
compares as "nearer than". SOC, printed by drivers before NODE and SYS existed, means SYS.

    >>> PathLevel.PHB < PathLevel.SYS
    True
    >>> PathLevel(30).name
    'PHB'
"""

from __future__ import annotations

from enum import IntEnum


class PathLevel(IntEnum):
    """Near to far. There is no member for "unknown": that is `None`."""

    PIX = 10  # at most one PCIe bridge (one switch)
    PXB = 20  # several PCIe switches, below one host bridge
    PHB = 30  # through a PCIe host bridge
    NODE = 40  # between host bridges of one NUMA node
    SYS = 50  # between NUMA nodes


LEVELS: tuple[PathLevel, ...] = tuple(PathLevel)
BY_NAME: dict[str, PathLevel] = {level.name: level for level in LEVELS} | {"SOC": PathLevel.SYS}
