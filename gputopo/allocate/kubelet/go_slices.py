"""Combinations as cpumanager/cpu_assignment.go (iterateCombinations) makes them, shared memory included.

Go's `append` writes into the array it was given while that has room. Room grows 1, 2, 4, 8, so from the
fourth element on siblings share one array, and a combination that was kept is overwritten by its sibling:

    >>> kept = [combo for combo in combinations([0, 1, 2, 3, 4], 4)]
    >>> [combo.values() for combo in kept]
    [[0, 1, 2, 4], [0, 1, 2, 4], [0, 1, 3, 4], [0, 2, 3, 4], [1, 2, 3, 4]]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence


class Slice:
    """A Go slice of ints: an array that others may share, and a length."""

    __slots__ = ("array", "length")

    def __init__(self, array: list[int], length: int) -> None:
        self.array = array
        self.length = length

    def values(self) -> list[int]:
        """The numbers as they are now."""
        return self.array[: self.length]

    def append(self, number: int) -> Slice:
        array = self.array
        if self.length == len(array):
            array = [*array, *[0] * (len(array) or 1)]
        array[self.length] = number
        return Slice(array, self.length + 1)


def combinations(numbers: Sequence[int], size: int) -> Iterator[Slice]:
    """Every subset of a size, lexicographic. Read `values()` before the next is asked for."""
    if size >= 1:
        yield from _extend(numbers, size, 0, Slice([], 0))


def _extend(numbers: Sequence[int], size: int, start: int, so_far: Slice) -> Iterator[Slice]:
    if size == 0:
        yield so_far
        return
    for place in range(start, len(numbers) - size + 1):
        yield from _extend(numbers, size - 1, place + 1, so_far.append(numbers[place]))
