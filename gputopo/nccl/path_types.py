"""How NCCL calls the way between two devices, near to far, and the numbers its logs print for it.

Source: NVIDIA/nccl src/include/graph.h and src/graph/topo.h at the tags named below (facts/nccl.md §2). There is no
NODE: what nvidia-smi calls NODE is PHB here.

    >>> PathType.PHB < PathType.SYS, PathType.NVL.name
    (True, 'NVL')
    >>> number(PathType.PHB, (2, 19, 3)), number(PathType.PHB, (2, 30, 7)), number(PathType.C2C, (2, 19, 3))
    (6, 8, None)
"""

from __future__ import annotations

from enum import IntEnum

Version = tuple[int, int, int]


class PathType(IntEnum):
    """The order of v2.28 and later; a way is as far as its farthest part."""

    LOC = 0  # itself
    NVL = 1  # NVLink, directly or through NVSwitches
    NVB = 2  # NVLink through one other GPU
    C2C = 3  # the coherent link between a GPU and its CPU
    PIX = 4  # one PCIe switch
    PXB = 5  # several PCIe switches, no CPU
    P2C = 6  # C2C to the CPU, then PCIe to a NIC
    PXN = 7  # a NIC through a GPU near it
    PHB = 8  # through a CPU
    SYS = 9  # between two NUMA nodes
    NET = 10
    DIS = 11  # no way


# First version → the names in the order of their numbers, 0 first.
_NUMBERED: tuple[tuple[Version, tuple[str, ...]], ...] = (
    ((2, 27, 5), tuple(PathType.__members__)),
    ((2, 27, 3), ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "PXN", "P2C", "PHB", "SYS", "NET", "DIS")),
    ((2, 26, 2), ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "PXN", "PHB", "SYS", "NET", "DIS")),
    ((2, 18, 1), ("LOC", "NVL", "NVB", "PIX", "PXB", "PXN", "PHB", "SYS", "NET", "DIS")),
    ((2, 12, 7), ("LOC", "NVL", "NVB", "PIX", "PXB", "PXN", "PHB", "SYS")),
    ((2, 8, 3), ("LOC", "NVL", "NVB", "PIX", "PXB", "PHB", "SYS")),
    ((2, 6, 4), ("LOC", "NVL", "PIX", "PXB", "PHB", "SYS", "NET")),
)


def names(version: Version) -> tuple[str, ...]:
    """The types a version knows, by number; those of 2.6 for what is older."""
    return next((known for first, known in _NUMBERED if version >= first), _NUMBERED[-1][1])


def number(type: PathType, version: Version) -> int | None:
    """What a log of this version prints; `None` where it has no such type."""
    known = names(version)
    return known.index(type.name) if type.name in known else None
