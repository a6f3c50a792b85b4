"""go-gpuallocator's BestEffort policy for one order of the available devices: the exact answer.

Upstream: NVIDIA/go-gpuallocator v0.6.0 gpuallocator/besteffort_policy.go (as vendored by
k8s-device-plugin v0.18.0 … v0.20.0). It cuts *all* available devices into sets of the wanted size,
takes the first partition with the highest total, and of that the first set with the highest score. So
it does not look for the best set, and the scores of devices nobody asked for count.

Two defects of it are answered as they are:

- the padded set can win: the answer then holds `None`, on which the device plugin dies (PR #80);
- partitions of 7 or 8 sets share memory (`append(accum, set)`): the kept partition's sets from the
  sixth on are overwritten by those of the last partition with the same first five.

    >>> bridged = [[0, 220, 10, 10], [220, 0, 10, 10], [10, 10, 0, 20], [10, 10, 20, 0]]
    >>> best_effort(bridged, available=[3, 1, 2, 0], required=[], size=2)
    [1, 0]
    >>> best_effort(bridged, available=[3, 1, 2, 0], required=[3], size=2)
    [3, 2]
    >>> best_effort(bridged, available=[3, 1, 2, 0], required=[], size=1)      # no topology at all
    [3]
    >>> best_effort(bridged, available=[3, 1], required=[], size=3)            # upstream: "cannot"
    []
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gputopo.allocate.device_plugin.partitions import Partitions

Scores = Sequence[Sequence[int]]


def best_effort(
    scores: Scores, available: Sequence[int], required: Sequence[int], size: int
) -> list[int | None]:  # fmt: skip
    """What Allocate returns, in its order (that of `available`); `None` = its padding, [] = it refuses.

    scores[a][b]: upstream's points for the pair when a stands before b in `available`. Raises
    ValueError when a device is available twice.
    """
    if refuses(available, required, size):
        return []
    if size == 1:
        return [required[0] if required else available[0]]
    partitions = over(scores, available, required, size)
    kept = partitions.first_best(partitions.everything)
    return _devices(partitions, available, _choose(partitions, with_aliasing(partitions, kept)))


def _devices(partitions: Partitions, available: Sequence[int], chosen: int) -> list[int | None]:
    padding: list[int | None] = [None] * (partitions.size - chosen.bit_count()) if chosen else []
    return [available[position] for position in partitions.positions(chosen)] + padding


class Cut(NamedTuple):
    """The partition upstream finds best, and the set it would return if partitions shared no memory."""

    total: int
    chosen: list[int | None]
    score: int  # of the set


def best_cut(scores: Scores, available: Sequence[int], required: Sequence[int], size: int) -> Cut | None:
    """`None` where upstream returns before it cuts anything."""
    if refuses(available, required, size):
        return None
    if size == 1:
        return Cut(0, [required[0] if required else available[0]], 0)
    partitions = over(scores, available, required, size)
    chosen = _choose(partitions, partitions.first_best(partitions.everything))
    return Cut(
        partitions.best(partitions.everything), _devices(partitions, available, chosen), partitions.score[chosen]
    )


def refuses(available: Sequence[int], required: Sequence[int], size: int) -> bool:
    """Whether Allocate returns the empty list without a look at the scores.

    A required device given twice counts twice here, once afterwards. The guard for more required than
    available came with v0.3.2; without it the answer is the same.
    """
    if len(set(available)) != len(available):
        raise ValueError(f"a device is available twice: {list(available)}")
    return size <= 0 or size > len(available) or len(required) > size or not set(required) <= set(available)


def over(scores: Scores, available: Sequence[int], required: Sequence[int], size: int) -> Partitions:
    """The partitions of the available devices, by their positions."""
    wanted = set(required)
    return Partitions(
        [[scores[a][b] for b in available] for a in available],
        size,
        sum(1 << len(available) - 1 - at for at, device in enumerate(available) if device in wanted),
    )


def kept_sets(count: int) -> int:
    """How many of a stored partition's sets are not overwritten, of `count` sets.

    Go doubles a slice's memory when it is full (1, 2, 4, 8, 16), which copies it; the appends up to the
    next doubling share that copy with their siblings. One set past it is still the partition's own.

    >>> [kept_sets(count) for count in (2, 4, 5, 6, 7, 8, 9, 11)]
    [2, 3, 5, 5, 5, 5, 9, 9]
    """
    return 1 + (1 << (count - 1).bit_length() - 1) if count > 1 else 1


def with_aliasing(partitions: Partitions, kept: list[int]) -> list[int]:
    """The partition as upstream finds it in memory when it comes to choose a set.

    When only one set is past the kept ones, it is what the kept ones leave, so nothing changes.
    """
    head = kept[: kept_sets(len(kept))]
    left = partitions.everything
    for one in head:
        left ^= one
    return head + partitions.last(left)


def _choose(partitions: Partitions, sets: list[int]) -> int:
    """The first set with the highest score among those with all that is required; 0: there is none."""
    required = partitions.required
    chosen = 0
    for one in sets:
        if one & required == required and (not chosen or partitions.score[one] > partitions.score[chosen]):
            chosen = one
    return chosen
