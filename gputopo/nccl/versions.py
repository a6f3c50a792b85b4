"""What changed from one NCCL to the next: speeds of links, how far P2P goes, the speeds a search tries.

Read at the tags of NVIDIA/nccl (src/graph/topo.h, topo.cc, paths.cc, search.cc), each row from the first tag that has
it. Only v2.30.7 has been compared with NCCL's own answers: those of other versions are an assumption, and the shape of
the search is that of v2.30.7 for all of them.

    >>> nvlink_gbps(90, (2, 19, 3)), nvlink_gbps(90, (2, 30, 7)), nvlink_gbps(80, (2, 10, 3))
    (20.0, 20.6, 22.0)
    >>> parse("2.30.7+cuda12.9"), parse("v2.18.3-1"), parse("twelve")
    ((2, 30, 7), (2, 18, 3), None)
"""

from __future__ import annotations

import re

from gputopo.nccl.path_types import Version

VERIFIED: Version = (2, 30, 7)
_VERSION = re.compile(r"v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?")

# GB/s of one link, by the lowest compute capability (×10) it holds for; 86 is alone. 0: older than Pascal.
_Speeds = dict[int, float]
_NVLINK: tuple[tuple[Version, _Speeds], ...] = (
    ((2, 27, 5), {100: 40.1, 90: 20.6, 80: 20.0, 70: 20.0, 60: 18.0, 0: 20.0}),
    ((2, 25, 1), {100: 40.0, 90: 20.6, 80: 20.0, 70: 20.0, 60: 18.0, 0: 20.0}),
    ((2, 20, 3), {90: 20.6, 80: 20.0, 70: 20.0, 60: 18.0, 0: 20.0}),
    ((2, 18, 1), {90: 20.0, 80: 20.0, 70: 20.0, 60: 18.0, 0: 20.0}),
    ((2, 10, 3), {80: 22.0, 70: 22.0, 60: 18.0, 0: 22.0}),
    ((0, 0, 0), {80: 21.0, 70: 21.0, 60: 18.0, 0: 21.0}),
)
_SM86 = 12.0

_INTRA = (40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0)
_OLD_INTRA = (44.0, 30.0, 22.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0)
_OLDEST = (42.0, 30.0, 24.0, 21.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.4, 1.2, 0.24, 0.12)
# GB/s of one channel that a search tries, by the lowest compute capability of the set.
_TABLES: tuple[tuple[Version, int, tuple[float, ...]], ...] = (
    ((2, 29, 2), 100, (90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0)),
    ((2, 27, 3), 100, (90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0)),
    ((2, 25, 1), 100, (90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 19.0)),
    ((2, 21, 5), 90, (60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0)),
    ((2, 19, 1), 90, (60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 6.0, 3.0)),
    ((2, 18, 1), 90, (60.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 6.0, 3.0)),
    ((2, 16, 5), 90, (66.0, 33.0, 24.0, 20.0, 15.0, 12.0, 6.0, 3.0)),
    ((2, 18, 1), 0, _INTRA),
    ((2, 10, 3), 0, _OLD_INTRA),
    ((0, 0, 0), 0, _OLDEST),
)


def parse(text: str) -> Version | None:
    """`2.30.7`, `v2.18.3-1`, `2.26` → three numbers; `None` where there is none."""
    found = _VERSION.match(text.strip())
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None


def nvlink_gbps(sm: int, version: Version) -> float:
    """One NVLink in one direction, GB/s as NCCL counts it (less than the wire rate); `sm` is 90 for Hopper."""
    if sm == 86:
        return _SM86
    table = next(speeds for first, speeds in _NVLINK if version >= first)
    return next(gbps for lowest, gbps in table.items() if max(sm, 0) >= lowest)


def channel_speeds(sm: int, version: Version) -> tuple[float, ...]:
    """What the search inside a node tries, GB/s of one channel, fastest first."""
    return next(speeds for first, lowest, speeds in _TABLES if version >= first and max(sm, 0) >= lowest)
