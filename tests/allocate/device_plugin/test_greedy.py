"""greedyAlloc: the spreads hold every multiset that ties allow, and no other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.allocate.device_plugin.greedy import Units, greedy
from tests.allocate.device_plugin import brute_force


@st.composite
def questions(draw: Any) -> tuple[list[Units], int]:
    count = draw(st.integers(1, 4))
    units = []
    for at in range(count):
        total = draw(st.integers(1, 4))
        units.append(Units(f"G{at}", total, draw(st.integers(0, total))))
    return units, draw(st.integers(0, sum(one.free for one in units)))


@settings(max_examples=100, deadline=None)
@given(questions(), st.sampled_from(["distributed", "packed"]), st.booleans())
def test_every_multiset_and_no_other(question: Any, policy: str, least_picked: bool) -> None:
    units, wanted = question
    spreads = greedy(units, wanted, policy, least_picked=least_picked)
    made = {tuple(sorted(counts.items())) for spread in spreads for counts in spread.members()}
    free = {one.device: one.free for one in units}
    total = {one.device: one.total for one in units}
    assert made == brute_force.greedy(free, total, wanted, policy, least_picked=least_picked)
    assert sum(spread.ways for spread in spreads) == len(made)  # no multiset is in two families


def test_too_few_are_refused_and_nothing_is_picked_for_nothing() -> None:
    units = [Units("G0", 4, 2)]
    assert greedy(units, 3, "distributed", least_picked=True) == []
    assert [spread.forced for spread in greedy(units, 0, "packed", least_picked=True)] == [{}]


def test_packed_fills_one_gpu_of_equal_ones() -> None:
    spreads = greedy([Units(f"G{at}", 4, 4) for at in range(8)], 4, "packed", least_picked=True)
    assert [(spread.choose, spread.times, spread.ways) for spread in spreads] == [(1, 4, 8)]


def test_an_unknown_policy_is_named() -> None:
    with pytest.raises(ValueError, match="spread"):
        greedy([Units("G0", 1, 1)], 1, "spread", least_picked=True)
