"""The order of Go's sort.Slice: keys, and the places in which go1.26.8 printed them after sorting by key."""

from __future__ import annotations

import pytest

from gputopo.allocate.go_sort import go_sorted

RECORDED = [
    ("0 0 0 -1 -1 -1 -2 -2 -2 -3 -3 -3 -4 -4 -4 -5 -5", "16 15 14 13 12 9 11 10 8 7 6 5 4 3 0 2 1"),
    ("0 2 1 1 2 2 2 1 2 0 1 2 0 0 0 1 1 1 0 1 2 0", "9 21 18 0 14 13 12 15 3 7 10 19 2 17 16 11 4 5 6 8 20 1"),
    ("0 4 2 0 3 3 4 0 2 1 2 0 3 2 2 1 3 3 3", "11 3 0 7 15 9 2 14 13 8 10 4 12 5 16 17 18 6 1"),
    ("0 0 0 -1 -1 -1 -2 -2 -2 -3 -3 -3 -4 -4 -4 -5 -5 -5", "17 16 15 14 13 12 9 11 10 8 7 6 5 4 3 0 2 1"),
    ("0 2 2 0 0 1 0 1 0 0 0 2 1 1 0 2", "8 9 14 3 4 10 0 6 7 5 12 13 1 11 2 15"),
    (
        "0 0 0 -1 -1 -1 -2 -2 -2 -3 -3 -3 -4 -4 -4 -5 -5 -5 -6 -6 -6 -7 -7 -7 -8 -8 -8 -9 -9 -9 -10 -10 -10 -11 -11 "
        "-11 -12 -12 -12 -13 -13 -13 -14 -14 -14 -15 -15 -15 -16 -16 -16 -17 -17 -17 -18 -18 -18 -19 -19 -19",
        "59 58 57 56 55 54 51 53 52 48 49 50 45 47 46 42 44 43 41 40 39 38 37 36 33 35 34 31 30 32 27 29 28 26 25 24 "
        "23 22 21 18 20 19 16 17 15 12 14 13 9 11 10 8 7 6 5 4 3 0 2 1",
    ),
]


@pytest.mark.parametrize(("keys", "places"), RECORDED)
def test_equal_elements_stand_where_go_leaves_them(keys: str, places: str) -> None:
    items = [(int(key), place) for place, key in enumerate(keys.split())]
    found = go_sorted(items, lambda a, b: a[0] < b[0])
    assert [place for _, place in found] == [int(place) for place in places.split()]


@pytest.mark.parametrize("count", range(13))
def test_up_to_twelve_the_sort_is_stable(count: int) -> None:
    items = [(place % 3, place) for place in range(count)]
    assert go_sorted(items, lambda a, b: a[0] < b[0]) == sorted(items)
