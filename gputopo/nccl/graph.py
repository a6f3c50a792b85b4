"""One graph that a search found: how many channels, how wide each, by which ways."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from gputopo.nccl.path_types import PathType


class Pattern(IntEnum):
    """NCCL's own numbers, as in `Pattern 4` of its log."""

    BALANCED_TREE = 1
    TREE = 3
    RING = 4
    NVLS = 5


class Graph(NamedTuple):
    """As searched: the log's coll channels are twice `channels`. No channels: `why`."""

    pattern: Pattern
    channels: int = 0
    gbps: float = 0.0  # of one channel inside the node
    gbps_inter: float = 0.0  # what the search supposes of the way to the NIC; limits NVLS
    type: PathType = PathType.SYS  # farthest way used
    type_inter: PathType = PathType.PIX
    same_channels: bool = True
    cross_nic: int = 0
    hops: int = 0
    order: tuple[tuple[int, ...], ...] = ()  # places of the GPUs, a row a channel; of NVLS the head alone
    why: str = ""

    @property
    def total_gbps(self) -> float:
        return self.channels * self.gbps
