"""NCCL's path types as numbers: what `(distance 7 > 4)` means depends on the version that printed it.

    >>> of_version("2.18.5").names[7], of_version("2.26.2").names[7]
    ('SYS', 'PHB')
    >>> of_limit(4, 7).name                       # no version in the log: PXB is 4, and 7 is a path inside a node
    '2.12-2.24'
    >>> of_limit(4, 6) is None                    # SYS in 2.8-2.10, PHB in 2.12-2.24
    True

Source: NCCL src/graph/topo.h and src/include/graph.h (PATH_*) at every tag from v2.6.4-1 to v2.30.7-1.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Numbering(NamedTuple):
    name: str
    since: tuple[int, int, int]
    names: tuple[str, ...]  # by number


NUMBERINGS: tuple[Numbering, ...] = (
    Numbering("2.6-2.7", (2, 6, 0), ("LOC", "NVL", "PIX", "PXB", "PHB", "SYS", "NET")),
    Numbering("2.8-2.10", (2, 8, 0), ("LOC", "NVL", "NVB", "PIX", "PXB", "PHB", "SYS")),
    # 2.25 has the same numbers.
    Numbering("2.12-2.24", (2, 12, 0), ("LOC", "NVL", "NVB", "PIX", "PXB", "PXN", "PHB", "SYS", "NET", "DIS")),
    Numbering(
        "2.26", (2, 26, 0), ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "PXN", "PHB", "SYS", "NET", "DIS")
    ),
    Numbering(
        "2.27.3", (2, 27, 0), ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "PXN", "P2C", "PHB", "SYS", "NET", "DIS")
    ),
    Numbering(
        "2.27.5+", (2, 27, 5), ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS")
    ),
)  # fmt: skip
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
_DEFAULT_LIMIT = "PXB"
_FARTHEST = ("PHB", "SYS")  # of a GPU and a NIC beyond the limit; PXN is asked of the other GPU


def of_version(version: str) -> Numbering | None:
    """The numbering of a version such as `2.18.5`; None before 2.6, which has no path types."""
    match = _VERSION.match(version)
    if match is None:
        return None
    wanted = (int(match[1]), int(match[2]), int(match[3] or 0))
    return next((one for one in reversed(NUMBERINGS) if one.since <= wanted), None)


def of_limit(limit: int, distance: int) -> Numbering | None:
    """The one numbering in which `limit` is the default level and `distance` a path beyond it that a NIC can have.

    An inference, to be named as such. None where none or several fit; of those that agree on both names the newest.
    """
    fitting = [
        one
        for one in NUMBERINGS
        if max(limit, distance) < len(one.names)
        and one.names[limit] == _DEFAULT_LIMIT
        and one.names[distance] in _FARTHEST
    ]
    return fitting[-1] if len({one.names[distance] for one in fitting}) == 1 else None
