"""GPU partitions of Koordinator: the sets that may be handed out, and which of them is taken.

Read at koordinator-sh/koordinator a7a1b76 (2026-07-24): pkg/scheduler/plugins/deviceshare/allocator_gpu.go
(allocateByPartition, selectPartitionByBinPack) and allocator_gpu_helper.go (GetGPUPartitionIndexer,
GPUPartitionIndexOfNVIDIAHopper). The comment in the code and docs/proposals say that the highest
allocationScore is preferred; the code walks the scores *upwards*. Both readings can be asked for here.

    >>> table = {2: [Partition((0, 1), 1), Partition((2, 3), 5)]}
    >>> pick(index(table), 2, used=0, total=0b1111).partition.minors
    (0, 1)
    >>> pick(index(table, highest_first=True), 2, used=0, total=0b1111).partition.minors
    (2, 3)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from gputopo.allocate.go_sort import go_sorted
from gputopo.allocate.koordinator.devices import mask

INSUFFICIENT = "Insufficient Partitioned GPU Devices"
NO_TABLE = "node(s) missing GPU Partition Table"
UNSUPPORTED = "node(s) Unsupported number of GPU requests"

WEIGHTS = ((8, 10000), (4, 100), (2, 1))  # what a partition of this size that stays free is worth


class Partition(NamedTuple):
    minors: tuple[int, ...]
    score: int = 0  # allocationScore
    bandwidth: Fraction | None = None  # ringBusBandwidth
    link: str = ""  # gpuLinkType

    @property
    def mask(self) -> int:
        return mask(self.minors)


Table = Mapping[int, Sequence[Partition]]
Index = Mapping[int, Sequence[Sequence[Partition]]]  # size → groups of one score, in the order walked


class Pick(NamedTuple):
    """`partition` None: `refusal` is the scheduler's word. `candidates`: (partition, its bin-pack score)."""

    partition: Partition | None
    refusal: str = ""
    candidates: tuple[tuple[Partition, int], ...] = ()


def index(table: Table, highest_first: bool = False) -> Index:
    """Partitions of one size by score, lowest first as the code has it."""
    found = {}
    for size, partitions in table.items():
        scores = sorted({one.score for one in partitions}, reverse=highest_first)
        found[size] = [[one for one in partitions if one.score == score] for score in scores]
    return found


def pick(
    indexed: Index | None, size: int, used: int, total: int, bandwidth: Fraction | None = None, restricted: bool = False
) -> Pick:  # fmt: skip
    """The partition for `size` GPUs. used, total: minors as bits."""
    if indexed is None:
        return Pick(None, NO_TABLE)
    if not indexed.get(size):
        return Pick(None, UNSUPPORTED)
    feasible: list[Partition] = []
    for group in indexed[size]:
        feasible = [one for one in group if _feasible(one, used, total, bandwidth)]
        if feasible or restricted:
            break
    if not feasible:
        return Pick(None, INSUFFICIENT)
    if len(feasible) == 1:
        return Pick(feasible[0], "", ((feasible[0], 0),))
    scored = [(one, left_over(indexed, size, used | one.mask)) for one in feasible]
    best = go_sorted(scored, lambda a, b: a[1] > b[1])[0][0]
    return Pick(best, "", tuple(scored))


def left_over(indexed: Index, size: int, taken: int) -> int:
    """The bin-pack score: what stays whole, of this size and larger, in each size's first score group."""
    return sum(
        weight * one.score
        for large, weight in WEIGHTS
        if large >= size and indexed.get(large)
        for one in indexed[large][0]
        if not one.mask & taken
    )


def _feasible(partition: Partition, used: int, total: int, bandwidth: Fraction | None) -> bool:
    own = partition.mask
    if own & used or own & total != own:
        return False
    return bandwidth is None or (partition.bandwidth is not None and partition.bandwidth >= bandwidth)


def _hopper() -> Table:
    sizes = {size: [tuple(range(first, first + size)) for first in range(0, 8, size)] for size in (1, 2, 4, 8)}
    return {size: [Partition(minors, 1, None, "NVLink") for minors in sets] for size, sets in sizes.items()}


HOPPER: Table = _hopper()
HOPPER_MODELS = ("H100", "H800", "H20")


def built_in(labels: Mapping[str, str]) -> Table | None:
    """The table for a Node without one in its Device object; koordlet's own label, H100-80GB-HBM3, has none.

    >>> built_in({"node.koordinator.sh/gpu-model": "H100"}) is HOPPER
    True
    >>> built_in({"node.koordinator.sh/gpu-model": "H100-80GB-HBM3"})
    """
    if labels.get("node.koordinator.sh/gpu-vendor", "") not in ("", "nvidia"):
        return None
    return HOPPER if labels.get("node.koordinator.sh/gpu-model", "") in HOPPER_MODELS else None
