"""What the environment tells NCCL about ways, and its version.

>>> level("PXB").name, level("3").name, level("9").name, level("NODE")
('PXB', 'PHB', 'SYS', None)
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.nccl.path_types import PathType, Version
from gputopo.nccl.versions import VERIFIED

_OLD_LEVELS = (PathType.LOC, PathType.PIX, PathType.PXB, PathType.PHB, PathType.SYS, PathType.SYS)


class Settings(NamedTuple):
    """`None` is NCCL's own choice."""

    version: Version = VERIFIED
    p2p_level: PathType | None = None  # NCCL_P2P_LEVEL; LOC is NCCL_P2P_DISABLE=1
    gdr_level: PathType | None = None  # NCCL_NET_GDR_LEVEL
    gdr_read: bool | None = None  # NCCL_NET_GDR_READ
    nvb: bool = True  # not NCCL_NVB_DISABLE=1
    pxn: bool = True  # not NCCL_PXN_DISABLE=1


DEFAULTS = Settings()


def level(text: str) -> PathType | None:
    """NCCL_P2P_LEVEL and NCCL_NET_GDR_LEVEL: a name up to SYS, or an old number; `None` where NCCL takes neither."""
    if text in PathType.__members__ and PathType[text] <= PathType.SYS:
        return PathType[text]
    digits = text[: next((n for n, letter in enumerate(text) if not letter.isdecimal()), len(text))]
    if not digits or not digits.isascii():
        return None
    return _OLD_LEVELS[min(int(digits[:9]), len(_OLD_LEVELS) - 1)]
