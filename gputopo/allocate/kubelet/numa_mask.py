"""Sets of NUMA node ids as bit masks, and the order in which the managers go through them.

Upstream: pkg/kubelet/cm/topologymanager/bitmask/bitmask.go (IterateBitMasks): by size, inside a size
lexicographic in the order of the list.

    >>> [bits(mask) for mask in masks_in_order((0, 1, 2))]
    [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from gputopo.allocate.kubelet.stops import KubeletStops

WIDEST = 64  # bits of a mask; a larger id is never set
MOST_NODES = 20  # 2^20 masks; beyond that the real kubelet stalls too


def mask_of(ids: Iterable[int]) -> int:
    """The mask of some ids; ids that a mask cannot hold are in none."""
    mask = 0
    for number in ids:
        if 0 <= number < WIDEST:
            mask |= 1 << number
    return mask


def bits(mask: int) -> tuple[int, ...]:
    return tuple(number for number in range(mask.bit_length()) if mask >> number & 1)


def masks_in_order(ids: Sequence[int]) -> Iterator[int]:
    """Every non-empty subset. Raises KubeletStops where there are too many to go through."""
    if len(ids) > MOST_NODES:
        raise KubeletStops(f"2^{len(ids)} combinations of NUMA nodes: the kubelet itself stalls on them")
    single = [1 << number for number in ids]
    for size in range(1, len(ids) + 1):
        for chosen in combinations(single, size):
            mask = 0
            for bit in chosen:
                mask |= bit
            yield mask


def narrower(mask: int, other: int) -> bool:
    """Fewer nodes, or as many and the smaller number (IsNarrowerThan)."""
    return (mask.bit_count(), mask) < (other.bit_count(), other)
