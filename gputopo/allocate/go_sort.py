"""The order in which Go's `sort.Slice` and `sort.Sort` leave equal elements.

Both are pattern-defeating quicksort (Go 1.19 and later, src/sort/zsortfunc.go, read at go1.26.8),
which is insertion sort, thus stable, up to 12 elements, and deterministic but not stable beyond.
The first of several equally good answers is therefore exactly known where the order before is.

    >>> go_sorted([(1, "a"), (0, "b"), (1, "c"), (0, "d")], lambda x, y: x[0] < y[0])
    [(0, 'b'), (0, 'd'), (1, 'a'), (1, 'c')]
    >>> [place for _, place in go_sorted([(0, place) for place in range(14)], lambda x, y: x[0] < y[0])]
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")
INSERTION = 12  # up to here: insertion sort
_NINTHER = 50
_RISING, _FALLING, _UNKNOWN = 1, 2, 0
_MASK = (1 << 64) - 1


def go_sorted(items: Iterable[T], less: Callable[[T, T], bool]) -> list[T]:
    """`items` as Go's sort would leave them under `less`."""
    data = list(items)
    _Sorter(data, less).sort(0, len(data), len(data).bit_length())
    return data


class _Sorter(Generic[T]):
    """Go's functions, name by name, on one list."""

    def __init__(self, data: list[T], less: Callable[[T, T], bool]) -> None:
        self._data = data
        self._of = less
        self._swaps = 0

    def less(self, i: int, j: int) -> bool:
        return self._of(self._data[i], self._data[j])

    def swap(self, i: int, j: int) -> None:
        self._data[i], self._data[j] = self._data[j], self._data[i]

    def sort(self, a: int, b: int, limit: int) -> None:
        balanced = partitioned = True
        while b - a > INSERTION:
            length = b - a
            if limit == 0:
                self._heap_sort(a, b)
                return
            if not balanced:
                self._break_patterns(a, b)
                limit -= 1
            pivot, hint = self._choose_pivot(a, b)
            if hint == _FALLING:
                self._data[a:b] = self._data[a:b][::-1]
                pivot, hint = (b - 1) - (pivot - a), _RISING
            if balanced and partitioned and hint == _RISING and self._partial_insertion_sort(a, b):
                return
            if a > 0 and not self.less(a - 1, pivot):
                a = self._partition_equal(a, b, pivot)
                continue
            mid, partitioned = self._partition(a, b, pivot)
            left, right = mid - a, b - mid
            balanced = min(left, right) >= length // 8
            if left < right:
                self.sort(a, mid, limit)
                a = mid + 1
            else:
                self.sort(mid + 1, b, limit)
                b = mid
        self._insertion_sort(a, b)

    def _insertion_sort(self, a: int, b: int) -> None:
        for i in range(a + 1, b):
            j = i
            while j > a and self.less(j, j - 1):
                self.swap(j, j - 1)
                j -= 1

    def _heap_sort(self, a: int, b: int) -> None:
        size = b - a
        for i in range((size - 1) // 2, -1, -1):
            self._sift_down(i, size, a)
        for i in range(size - 1, -1, -1):
            self.swap(a, a + i)
            self._sift_down(0, i, a)

    def _sift_down(self, root: int, high: int, first: int) -> None:
        while (child := 2 * root + 1) < high:
            if child + 1 < high and self.less(first + child, first + child + 1):
                child += 1
            if not self.less(first + root, first + child):
                return
            self.swap(first + root, first + child)
            root = child

    def _partition(self, a: int, b: int, pivot: int) -> tuple[int, bool]:
        self.swap(a, pivot)
        i, j = self._meet(a, a + 1, b - 1)
        if i > j:
            self.swap(j, a)
            return j, True
        while i <= j:
            self.swap(i, j)
            i, j = self._meet(a, i + 1, j - 1)
        self.swap(j, a)
        return j, False

    def _meet(self, a: int, i: int, j: int) -> tuple[int, int]:
        while i <= j and self.less(i, a):
            i += 1
        while i <= j and not self.less(j, a):
            j -= 1
        return i, j

    def _partition_equal(self, a: int, b: int, pivot: int) -> int:
        self.swap(a, pivot)
        i, j = a + 1, b - 1
        while True:
            while i <= j and not self.less(a, i):
                i += 1
            while i <= j and self.less(a, j):
                j -= 1
            if i > j:
                return i
            self.swap(i, j)
            i, j = i + 1, j - 1

    def _partial_insertion_sort(self, a: int, b: int) -> bool:
        i = a + 1
        for _ in range(5):
            while i < b and not self.less(i, i - 1):
                i += 1
            if i == b:
                return True
            if b - a < _NINTHER:
                return False
            self.swap(i, i - 1)
            if i - a >= 2:
                for j in range(i - 1, 0, -1):
                    if not self.less(j, j - 1):
                        break
                    self.swap(j, j - 1)
            if b - i >= 2:
                for j in range(i + 1, b):
                    if not self.less(j, j - 1):
                        break
                    self.swap(j, j - 1)
        return False

    def _break_patterns(self, a: int, b: int) -> None:
        length = b - a
        if length < 8:
            return
        random, modulus = length, 1 << length.bit_length()
        middle = a + (length // 4) * 2
        for place in range(middle - 1, middle + 2):
            random ^= (random << 13) & _MASK
            random ^= random >> 7
            random ^= (random << 17) & _MASK
            other = random & (modulus - 1)
            self.swap(place, a + (other - length if other >= length else other))

    def _choose_pivot(self, a: int, b: int) -> tuple[int, int]:
        length = b - a
        self._swaps = 0
        i, j, k = (a + length // 4 * times for times in (1, 2, 3))
        if length >= 8:
            if length >= _NINTHER:
                i, j, k = (self._median(one - 1, one, one + 1) for one in (i, j, k))
            j = self._median(i, j, k)
        return j, {0: _RISING, 12: _FALLING}.get(self._swaps, _UNKNOWN)

    def _median(self, a: int, b: int, c: int) -> int:
        a, b = self._order(a, b)
        b, c = self._order(b, c)
        a, b = self._order(a, b)
        return b

    def _order(self, a: int, b: int) -> tuple[int, int]:
        if self.less(b, a):
            self._swaps += 1
            return b, a
        return a, b
