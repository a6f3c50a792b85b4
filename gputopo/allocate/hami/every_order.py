"""Every set that HAMi can choose when the order of the register annotation is not known, without trying orders.

GPUs with equal sort keys can stand in any order, others cannot; so GPUs form *ties*, walked from the last.
Without topology-aware the ties fill up one by one and the last one is cut anywhere. With it the first of
the sets with the highest sum wins, in the order of positions: S can be first unless another such set T
holds the same GPUs of the earlier ties and all that S has of the next one and more, for then T stands
before S in every order. Scores may be ranges (low, high): S can have the highest sum iff it has it when
its own pairs are at their highest and all others at their lowest, since that favours S against every T.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from gputopo.allocate.hami.devices import Gpu
from gputopo.allocate.hami.fit import Pod, fit_ordered, full, refused
from gputopo.allocate.hami.order import TOPOLOGY, key, ordered
from gputopo.allocate.hami.request import Wanted

Range = tuple[int, int]
Ranges = Mapping[frozenset[str], Range]  # {UUID, UUID} → lowest and highest score; absent: 0

_MOST_RIVALS = 600  # sets with undecided scores that are compared each with each; beyond, it would take minutes


class Every(NamedTuple):
    """`forced` and any `choose` of `of`, or (of topology-aware) `sets`; empty `sets` and no forced: `reason`."""

    sets: tuple[tuple[str, ...], ...] = ()
    forced: tuple[str, ...] = ()
    choose: int = 0
    of: tuple[str, ...] = ()
    reason: str = ""
    complete: bool = True

    def all(self) -> tuple[tuple[str, ...], ...]:
        if self.sets or self.reason:
            return self.sets
        return tuple(self.forced + chosen for chosen in combinations(self.of, self.choose))


def every(gpus: Sequence[Gpu], wanted: Wanted, pod: Pod, ranges: Ranges) -> Every:
    """The outcomes over every order of `gpus`."""
    one = fit_ordered(ordered(gpus, pod.policy, wanted), wanted, pod)
    if one.chosen is None:  # whether it fits does not depend on the order among equals
        return Every(reason=one.reason)
    ties = fitting(gpus, wanted, pod)
    if pod.policy.has(TOPOLOGY):
        return _best(ties, wanted.number, ranges)
    forced: list[str] = []
    for tie in ties:
        left = wanted.number - len(forced)
        if len(tie) >= left:
            whole = len(tie) == left
            return Every(forced=tuple(forced) + (tie if whole else ()), choose=0 if whole else left,
                         of=() if whole else tie)  # fmt: skip
        forced += tie
    raise AssertionError("a container that fits has enough GPUs")


def fitting(gpus: Sequence[Gpu], wanted: Wanted, pod: Pod) -> list[tuple[str, ...]]:
    """The ties of fitting GPUs in the order of the search; with numa-bind those of the NUMA node that counts."""
    groups: dict[tuple[float, ...], list[Gpu]] = {}
    for gpu in gpus:
        groups.setdefault(key(gpu, pod.policy, wanted), []).append(gpu)
    ties: list[tuple[str, ...]] = []
    numa: int | None = -1
    for _, members in sorted(groups.items(), reverse=True):
        seen = [gpu for gpu in members if not refused(gpu, pod)]
        if not seen:
            continue
        if pod.policy.numa_bind and seen[0].numa != numa:
            numa, ties = seen[0].numa, []
        tie = tuple(gpu.id for gpu in seen if not full(gpu, wanted, pod))
        if tie:
            ties.append(tie)
        if not pod.policy.has(TOPOLOGY) and sum(map(len, ties)) >= wanted.number:
            break
    return ties


def _best(ties: Sequence[tuple[str, ...]], number: int, ranges: Ranges) -> Every:
    found = [one for tie in ties for one in tie]
    if len(found) == number:
        return Every(sets=(tuple(found),))
    rank = {one: at for at, tie in enumerate(ties) for one in tie}
    if number == 1:
        return Every(sets=tuple((one,) for one in found if _can_be_worst(one, found, rank, ranges)))
    sets = list(combinations(found, number))
    floor = max(_sum(one, ranges, 0) for one in sets)
    able = [one for one in sets if _sum(one, ranges, 1) >= floor]
    if all(low == high for low, high in ranges.values()):
        return Every(sets=_first_ones(able, rank, len(ties)))
    if len(able) > _MOST_RIVALS:  # those that have the highest sum if every score is at its lowest
        sure = [one for one in able if _sum(one, ranges, 0) == floor]
        return Every(sets=_first_ones(sure, rank, len(ties)), complete=False)
    return Every(sets=tuple(one for one in able if _can_be_best(one, able, rank, ranges)))


def _first_ones(
    sets: Sequence[tuple[str, ...]], rank: Mapping[str, int], ties: int
) -> tuple[tuple[str, ...], ...]:  # fmt: skip
    """Of sets with equal sums those that no other one stands before in every order."""
    if ties == 1:
        return tuple(sets)
    by_tie = [
        tuple(frozenset(gpu for gpu in one if rank[gpu] == tie) for tie in range(ties)) for one in sets
    ]
    behind: dict[tuple[frozenset[str], ...], set[frozenset[str]]] = {}
    for parts in by_tie:
        for tie in range(ties):
            behind.setdefault(parts[:tie], set()).add(parts[tie])
    return tuple(
        one
        for one, parts in zip(sets, by_tie)
        if not any(parts[tie] < rival for tie in range(ties) for rival in behind[parts[:tie]])
    )


def _sum(chosen: Sequence[str], ranges: Ranges, end: int) -> int:
    return sum(ranges.get(frozenset(pair), (0, 0))[end] for pair in combinations(chosen, 2))


def _can_be_best(
    one: tuple[str, ...], sets: Sequence[tuple[str, ...]], rank: Mapping[str, int], ranges: Ranges
) -> bool:  # fmt: skip
    own = {frozenset(pair) for pair in combinations(one, 2)}
    best = _sum(one, ranges, 1)
    for other in sets:
        if other == one:
            continue
        theirs = 0
        for pair in combinations(other, 2):
            both = frozenset(pair)
            theirs += ranges.get(both, (0, 0))[both in own]
        if theirs > best or (theirs == best and _always_before(other, one, rank)):
            return False
    return True


def _always_before(other: tuple[str, ...], one: tuple[str, ...], rank: Mapping[str, int]) -> bool:
    for tie in sorted({rank[gpu] for gpu in one + other}):
        theirs, ours = ({gpu for gpu in chosen if rank[gpu] == tie} for chosen in (other, one))
        if theirs != ours:
            return ours < theirs
    return False


def _can_be_worst(one: str, found: Sequence[str], rank: Mapping[str, int], ranges: Ranges) -> bool:
    own = sum(ranges.get(frozenset((one, other)), (0, 0))[0] for other in found if other != one)
    for rival in found:
        if rival == one:
            continue
        theirs = 0
        for other in found:
            if other != rival:
                theirs += ranges.get(frozenset((rival, other)), (0, 0))[0 if other == one else 1]
        if theirs < own or (theirs == own and rank[rival] < rank[one]):
            return False
    return True
