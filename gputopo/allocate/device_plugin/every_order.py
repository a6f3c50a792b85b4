"""Every set BestEffort can return when `available` comes in random order, as the kubelet hands it over.

Derived from the algorithm (one_order.py), exact including ties; brute force over all orders agrees
(tests). With q sets a partition, of which memory sharing leaves the first h as they were:

- a full set S can win when some best partition holds S and, with nothing required, no set above S. S's
  devices come first in an order that shows it. With something required S is the set that holds it.
- the padded set P can win when nothing is required, some best partition holds P and no set above P, and
  P comes before the sets T that tie with it. Padding sorts last, so P is come to first only if no best
  partition of P and T has a full set that contains P.
- from the sixth set on (q = 7 or 8, so size 2 for up to 18 devices): see `_shared_memory`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from gputopo.allocate.device_plugin.one_order import Scores, kept_sets, over, refuses
from gputopo.allocate.device_plugin.partitions import IMPOSSIBLE, Partitions

REFUSAL: tuple[int | None, ...] = ()
# Upstream enumerates: 16 devices take it 0.1 to 123 s, 18 hours. With 19, other sizes than 2 share memory.
MOST_DEVICES = 18


def best_effort_outcomes(
    scores: Scores, available: Sequence[int], required: Sequence[int], size: int
) -> set[tuple[int | None, ...]]:
    """Each outcome sorted, `None` (padding, on which the plugin dies) last; a refusal is the empty tuple.

    scores[a][b] == scores[b][a]: points for the pair. Raises ValueError where they differ (then the
    score depends on the order too), for a device available twice and for more than MOST_DEVICES.
    """
    if refuses(available, required, size):
        return {REFUSAL}
    if size == 1:
        return {(required[0],)} if required else {(device,) for device in available}
    _check(scores, available)
    ordered = sorted(available)
    partitions = over(scores, ordered, required, size)
    found = (_shared_memory if _memory_is_shared(partitions) else _unshared)(partitions)
    return {_devices(partitions, ordered, one) for one in found}


def _check(scores: Scores, available: Sequence[int]) -> None:
    for a, b in combinations(available, 2):
        if scores[a][b] != scores[b][a]:
            raise ValueError(f"devices {a} and {b} score {scores[a][b]} one way and {scores[b][a]} the other")
    if len(available) > MOST_DEVICES:
        raise ValueError(f"{len(available)} devices are available; outcome sets are computed for {MOST_DEVICES}")


def _devices(partitions: Partitions, ordered: Sequence[int], mask: int) -> tuple[int | None, ...]:
    devices = tuple(ordered[position] for position in partitions.positions(mask))
    return devices + (None,) * (partitions.size - len(devices)) if devices else REFUSAL


def _memory_is_shared(partitions: Partitions) -> bool:
    sets = partitions.number_of_sets()
    return sets - kept_sets(sets) > 1


def _unshared(partitions: Partitions) -> Iterator[int]:
    """Winning sets where every stored partition stays as it was."""
    total, count = partitions.best(partitions.everything), partitions.number_of_sets()
    score, required = partitions.score, partitions.required
    limits = Limits(partitions)
    # A set that no other of its partition exceeds has at least the mean score.
    least = IMPOSSIBLE if required else -(-total // count)
    for one in _full_sets(partitions):
        if score[one] < least or not _in_best(partitions, one, total):
            continue
        if required or limits.lowest(partitions.everything ^ one) <= score[one]:
            yield one
    if required or not partitions.short:
        return
    for one in partitions.subsets(partitions.everything, partitions.short):
        if score[one] >= least and _in_best(partitions, one, total) and _padded_wins(partitions, limits, one):
            yield one


def _full_sets(partitions: Partitions) -> list[int]:
    required = partitions.required
    free = partitions.size - required.bit_count()
    return [required | one for one in partitions.subsets(partitions.everything ^ required, free)]


def _in_best(partitions: Partitions, one: int, total: int) -> bool:
    return partitions.score[one] + _best_rest(partitions, one) == total


def _best_rest(partitions: Partitions, one: int) -> int:
    """The best total beside a set, which holds all that is required or nothing of it."""
    return partitions.best(partitions.everything ^ one)


def _padded_wins(partitions: Partitions, limits: Limits, padded: int) -> bool:
    rest = partitions.everything ^ padded
    cap = partitions.score[padded]
    if limits.lowest(rest) > cap:
        return False
    return any(not _overtaken(partitions, padded, tied) for tied in limits.tied(rest, cap))


def _overtaken(partitions: Partitions, padded: int, others: int) -> bool:
    """Whether a best partition of these devices has a full set that contains all of the padded one."""
    devices = padded | others
    wanted = partitions.best(devices)
    if wanted == IMPOSSIBLE or wanted != partitions.score[padded] + partitions.best(others):
        return True  # the padded set is in no best partition of these
    for more in partitions.subsets(others, partitions.size - padded.bit_count()):
        full, left = padded | more, others ^ more
        if _splits_required(partitions, full) or partitions.best(left) == IMPOSSIBLE:
            continue
        if partitions.score[full] + partitions.best(left) == wanted:
            return True
    return False


def _splits_required(partitions: Partitions, one: int) -> bool:
    return one & partitions.required not in (0, partitions.required)


class Limits:
    """How low the highest set score of a best partition can be, and which sets reach a cap."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self._lowest: dict[int, int] = {0: IMPOSSIBLE}
        self._any: dict[int, int] = {0: IMPOSSIBLE}
        self._tied: dict[tuple[int, int], set[int]] = {}

    def lowest(self, mask: int) -> int:
        """Over the best partitions of a mask, the least highest score of a set."""
        known = self._lowest.get(mask)
        if known is None:
            score = self._partitions.score
            known = self._lowest[mask] = min(
                max(score[one], self.lowest(mask ^ one)) for one in self._partitions.best_sets(mask)
            )
        return known

    def lowest_of_any(self, mask: int) -> int:
        """The same over all partitions, best or not, and whatever is required."""
        known = self._any.get(mask)
        if known is None:
            score = self._partitions.score
            known = self._any[mask] = min(
                max(score[one], self.lowest_of_any(mask ^ one)) for one in self._partitions.all_sets(mask)
            )
        return known

    def tied(self, mask: int, cap: int) -> set[int]:
        """For every best partition of a mask without a set above `cap`: its devices in sets that reach it."""
        if not mask:
            return {0}
        key = (mask, cap)
        known = self._tied.get(key)
        if known is None:
            known = self._tied[key] = set()
            score = self._partitions.score
            for one in self._partitions.best_sets(mask):
                if score[one] <= cap and self.lowest(mask ^ one) <= cap:
                    here = one if score[one] == cap else 0
                    known |= {here | tied for tied in self.tied(mask ^ one, cap)}
        return known


def _shared_memory(partitions: Partitions) -> Iterator[int]:
    """Winning sets (0: none, so a refusal) where the stored partition's tail is overwritten.

    The head, `kept_sets` long, can be any sets of a best partition, in any order; but the padded one only
    last, and only if no best partition of it and the tail's devices pairs it. The tail, the last partition
    of the devices left, can be any partition of them (their order decides); its padded set comes first.
    Then, with nothing required, the first set with the highest score wins, a head's set before a tail's;
    else the first that holds all that is required, which in a tail may be padded, or not exist.
    """
    found: set[int] = set()
    limits = Limits(partitions)
    for head, tail, padded in _cuts(partitions):
        if partitions.required:
            new = _holding_required(partitions, head, tail, padded)
        else:
            new = _highest(partitions, limits, head, tail, padded, found)
        for one in new:
            if one not in found:
                found.add(one)
                yield one


def _cuts(partitions: Partitions) -> Iterator[tuple[int, int, int]]:
    """(devices of the head, devices of the tail, padded set in the head or 0) of all best partitions."""
    everything, size, short = partitions.everything, partitions.size, partitions.short
    total = partitions.best(everything)
    count = partitions.number_of_sets()
    behind = count - kept_sets(count)
    for tail in partitions.subsets(everything, behind * size - (size - short if short else 0)):
        head = everything ^ tail
        if _sum(partitions, head, tail) == total:
            yield head, tail, 0
    if not short:
        return
    for tail in partitions.subsets(everything, behind * size):
        head = everything ^ tail
        if _sum(partitions, head, tail) != total:
            continue
        for padded in partitions.subsets(head & ~partitions.required, short):
            rest = head ^ padded
            if partitions.score[padded] + partitions.best(rest) != partitions.best(head):
                continue
            if not _overtaken(partitions, padded, tail):
                yield rest, tail, padded


def _sum(partitions: Partitions, head: int, tail: int) -> int:
    if _splits_required(partitions, head):
        return IMPOSSIBLE
    one, other = partitions.best(head), partitions.best(tail)
    return IMPOSSIBLE if IMPOSSIBLE in (one, other) else one + other


def _highest(
    partitions: Partitions, limits: Limits, head: int, tail: int, padded: int, found: set[int]
) -> Iterator[int]:
    score, size = partitions.score, partitions.size
    total = partitions.best(head)
    behind = limits.lowest_of_any(tail)
    least = max(limits.lowest(head), score[padded])
    if (
        padded and score[padded] >= max(behind, least) and padded not in found
        and any(not _overtaken(partitions, padded, tied | tail) for tied in limits.tied(head, score[padded]))
    ):  # fmt: skip
        yield padded
    for one in partitions.subsets(head, size):
        if one in found or score[one] < behind or score[one] + partitions.best(head ^ one) != total:
            continue
        if limits.lowest(head ^ one) <= score[one]:
            yield one
    for one in partitions.subsets(tail, size):
        if one not in found and score[one] > least and score[one] >= limits.lowest_of_any(tail ^ one):
            yield one


def _holding_required(partitions: Partitions, head: int, tail: int, padded: int) -> Iterator[int]:
    required, size = partitions.required, partitions.size
    if required & head:
        total = partitions.best(head)
        for more in partitions.subsets(head ^ required, size - required.bit_count()):
            one = required | more
            if partitions.score[one] + partitions.best(head ^ one) == total:
                yield one
        return
    for more in partitions.subsets(tail ^ required, size - required.bit_count()):
        yield required | more
    if not padded and partitions.short and required.bit_count() <= partitions.short:
        for more in partitions.subsets(tail ^ required, partitions.short - required.bit_count()):
            yield required | more
    if required.bit_count() > 1:
        yield 0
