"""The best ways to cut devices into sets of one size, over bit masks: the core of BestEffort.

go-gpuallocator enumerates every partition of the available devices into sets of `size`; when that
does not divide their number n, padding fills one set, so one *short* set has n mod size devices. A
partition's score is the sum of its sets' scores. Here instead: with a mask of the devices not yet
placed, the set that holds the first of them runs through all its possibilities (dynamic programming;
whether the short set is still due is seen from the mask's number of bits).

The device at position p of n is bit n-1-p. So "first remaining device" is a mask's highest bit, and of
two sets upstream enumerates first the numerically larger (lexicographic order, padding last).

    >>> table = Partitions([[0, 9, 1], [9, 0, 1], [1, 1, 0]], size=2)
    >>> table.best(table.everything)
    9
    >>> [table.positions(one) for one in table.first_best(table.everything)]
    [(0, 1), (2,)]
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add

IMPOSSIBLE = -1  # no partition has a full set with all that is required; real totals are never negative


def set_scores(scores: Sequence[Sequence[int]]) -> list[int]:
    """The score of every set of positions, by mask. scores[p][q], p before q, is the pair's score.

    By doubling: of the sets with a new highest bit, each is a known one plus that device's pairs.
    """
    count = len(scores)
    table = [0]
    for bit in range(count):
        own = scores[count - 1 - bit]
        row = [0]
        for other in range(bit):
            pair = own[count - 1 - other]
            row += [one + pair for one in row]
        table += map(add, table, row)
    return table


class Partitions:
    """Partitions of some devices into sets of `size`, at most one of them short.

    required: a mask all of which must be in one full set.
    """

    def __init__(self, scores: Sequence[Sequence[int]], size: int, required: int = 0) -> None:
        self.count = len(scores)
        self.size = size
        self.short = self.count % size  # devices in the short set; 0: there is none
        self.required = required
        self.everything = (1 << self.count) - 1
        self.score = set_scores(scores)
        self._best: dict[int, int] = {0: 0}
        self._subsets: dict[tuple[int, int], list[int]] = {}

    def number_of_sets(self) -> int:
        return -(-self.count // self.size)

    def positions(self, mask: int) -> tuple[int, ...]:
        last = self.count - 1
        return tuple(last - bit for bit in range(last, -1, -1) if mask >> bit & 1)

    def mask(self, positions: Sequence[int]) -> int:
        mask = 0
        for position in positions:
            mask |= 1 << self.count - 1 - position
        return mask

    def sets(self, mask: int) -> list[int]:
        """The sets that may hold the first device of a mask that still is to be cut, in no order."""
        highest = 1 << mask.bit_length() - 1
        rest = mask ^ highest
        due = mask.bit_count() % self.size
        required = self.required
        if not required & mask:
            found = [highest | one for one in self.subsets(rest, self.size - 1)]
        elif required & mask != required:
            return []
        elif required & highest:
            others = required ^ highest
            free = self.size - required.bit_count()
            return [required | one for one in self.subsets(rest ^ others, free)] if free >= 0 else []
        else:
            rest ^= required
            found = [highest | one for one in self.subsets(rest, self.size - 1)]
            free = self.size - required.bit_count() - 1
            if free >= 0:
                found += [highest | required | one for one in self.subsets(rest, free)]
        if due:
            found += [highest | one for one in self.subsets(rest, due - 1)]
        return found

    def all_sets(self, mask: int) -> list[int]:
        """As `sets`, whatever is required; the short set may be the last."""
        if mask.bit_count() in (self.size, self.short):
            return [mask]
        highest = 1 << mask.bit_length() - 1
        rest, due = mask ^ highest, mask.bit_count() % self.size
        found = [highest | one for one in self.subsets(rest, self.size - 1)]
        return found + [highest | one for one in self.subsets(rest, due - 1)] if due else found

    def subsets(self, mask: int, size: int) -> list[int]:
        """All subsets of a mask with `size` members. Kept, since masks share their low parts."""
        if size == 0:
            return [0]
        if size == 1:
            return _bits(mask)
        key = (mask, size)
        found = self._subsets.get(key)
        if found is None:
            members = mask.bit_count()
            if size >= members:
                found = [mask] if size == members else []
            else:
                highest = 1 << mask.bit_length() - 1
                lower = mask ^ highest
                found = self.subsets(lower, size) + [highest | one for one in self.subsets(lower, size - 1)]
            self._subsets[key] = found
        return found

    def best(self, mask: int) -> int:
        """The highest total of a partition of these devices; IMPOSSIBLE when none is admissible."""
        known = self._best.get(mask)
        if known is not None:
            return known
        members = mask.bit_count()
        if members == self.size:
            found = self.score[mask] if mask & self.required in (0, self.required) else IMPOSSIBLE
        elif members == self.short:
            found = IMPOSSIBLE if mask & self.required else self.score[mask]
        else:
            sets = self.sets(mask)
            best, score = self.best, self.score
            totals = [score[one] + best(mask ^ one) for one in sets]
            if self.required & mask:
                totals = [total for total, one in zip(totals, sets) if best(mask ^ one) != IMPOSSIBLE]
            found = max(totals, default=IMPOSSIBLE)
        self._best[mask] = found
        return found

    def best_sets(self, mask: int) -> list[int]:
        """The sets with the first device of a mask that start a best partition of it, in no order."""
        wanted, best, score = self.best(mask), self.best, self.score
        if wanted == IMPOSSIBLE:
            return []
        return [one for one in self._first_sets(mask) if score[one] + best(mask ^ one) == wanted]

    def _first_sets(self, mask: int) -> list[int]:
        if mask.bit_count() in (self.size, self.short):
            return [mask]
        return [one for one in self.sets(mask) if self.best(mask ^ one) != IMPOSSIBLE]

    def first_best(self, mask: int) -> list[int]:
        """The partition upstream keeps: of the best ones the first it comes to."""
        found = []
        while mask:
            one = max(self.best_sets(mask))
            found.append(one)
            mask ^= one
        return found

    def last(self, mask: int) -> list[int]:
        """The partition upstream comes to last, admissible or not."""
        found = []
        while mask:
            highest = 1 << mask.bit_length() - 1
            due = mask.bit_count() % self.size
            # Padding sorts last, so the set that comes last holds it while it is due.
            take = (due or self.size) - 1
            one = highest
            rest = mask ^ highest
            for bit in _bits(rest)[:take]:
                one |= bit
            found.append(one)
            mask ^= one
        return found


def _bits(mask: int) -> list[int]:
    """The members of a mask as masks of one, lowest first."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low)
        mask ^= low
    return found
