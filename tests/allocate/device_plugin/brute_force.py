"""BestEffort and greedyAlloc read literally: every partition, every order, every tie. Slow, for a few devices.

Written from NVIDIA/go-gpuallocator v0.6.0 gpuallocator/besteffort_policy.go and NVIDIA/k8s-device-plugin
v0.20.0 internal/rm/allocate.go, line by line, and from nothing of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations

Set = tuple[int | None, ...]


def partitions(devices: Sequence[int | None], size: int, padding: int) -> Iterator[list[Set]]:
    if len(devices) == size:
        yield [tuple(devices)]
        return
    for places in combinations(range(1, len(devices)), size - 1):
        chosen = (devices[0], *(devices[place] for place in places))
        nils = chosen.count(None)
        if nils not in (0, padding):
            continue
        rest = [one for at, one in enumerate(devices) if at and at not in places]
        for others in partitions(rest, size, padding):
            yield [chosen, *others]


def set_score(scores: Sequence[Sequence[int]], one: Set) -> int:
    return sum(scores[a][b] for a, b in combinations(one, 2) if a is not None and b is not None)


def one_order(
    scores: Sequence[Sequence[int]], available: Sequence[int], required: Sequence[int], size: int
) -> list[int | None]:
    if size <= 0 or len(available) < size or len(required) > size or len(required) > len(available):
        return []
    if size == 1:
        singles = [[(one,)] for one in available]
        candidates: Iterator[list[Set]] = iter(singles)  # type: ignore[arg-type]
    else:
        padding = -len(available) % size
        candidates = partitions([*available, *[None] * padding], size, padding)
    best, best_score = None, 0
    for partition in candidates:
        if not any(set(required) <= set(one) and None not in one for one in partition):
            continue
        score = sum(set_score(scores, one) for one in partition)
        if best is None or score > best_score:
            best, best_score = partition, score
    sets = [one for one in best or () if set(required) <= set(one)]
    if not sets:
        return []
    return list(max(sets, key=lambda one: set_score(scores, tuple(one))))


def every_order(
    scores: Sequence[Sequence[int]], available: Sequence[int], required: Sequence[int], size: int
) -> set[Set]:
    found = set()
    for order in permutations(available):
        answer = one_order(scores, order, required, size)
        devices = sorted(one for one in answer if one is not None)
        found.add((*devices, *[None] * (len(answer) - len(devices))))
    return found


def greedy(
    free: Mapping[str, int], total: Mapping[str, int], wanted: int, policy: str, *, least_picked: bool
) -> set[tuple[tuple[str, int], ...]]:
    """Multisets of devices: at each step any of those that sort first."""
    found: set[tuple[tuple[str, int], ...]] = set()
    states = {tuple(sorted((one, 0) for one in free))}
    for _ in range(wanted):
        following = set()
        for state in states:
            picked = dict(state)
            open_devices = [one for one in free if picked[one] < free[one]]
            keys = {}
            for one in open_devices:
                allocated = total[one] - (free[one] - picked[one])
                keys[one] = (allocated if policy == "distributed" else -allocated, picked[one] if least_picked else 0)
            first = min(keys.values())
            for one in open_devices:
                if keys[one] == first:
                    following.add(tuple(sorted({**picked, one: picked[one] + 1}.items())))
        states = following
    for state in states:
        found.add(tuple((one, count) for one, count in state if count))
    return found
