"""BestEffort: one order exactly as upstream, all orders exactly its outcome set."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.allocate.device_plugin import best_effort, best_effort_outcomes
from gputopo.allocate.device_plugin.one_order import best_cut
from tests.allocate.device_plugin import brute_force

PIX, PXB, NODE, SYS = 50, 40, 20, 10


def table(count: int, pairs: dict[tuple[int, int], int], others: int = 0) -> list[list[int]]:
    scores = [[0 if a == b else others for b in range(count)] for a in range(count)]
    for (a, b), score in pairs.items():
        scores[a][b] = scores[b][a] = score
    return scores


def two_sockets(count: int) -> list[list[int]]:
    half = count // 2
    return [[0 if a == b else NODE if a // half == b // half else SYS for b in range(count)] for a in range(count)]


HGX = two_sockets(8)
# DGX-1 V100: NVLinks of the hybrid cube mesh (`nvidia-smi topo -m`), PIX pairs 0-1 2-3 4-5 6-7, PHB inside a socket.
_NVLINKS = {
    (0, 1): 1, (0, 2): 1, (0, 3): 2, (0, 4): 2, (1, 2): 2, (1, 3): 1, (1, 5): 2, (2, 3): 2, (2, 6): 1, (3, 7): 1,
    (4, 5): 1, (4, 6): 1, (4, 7): 2, (5, 6): 2, (5, 7): 1, (6, 7): 2,
}  # fmt: skip
DGX1V = table(8, {
    (a, b): 100 * _NVLINKS.get((a, b), 0) + (PIX if a // 2 == b // 2 else 30 if a // 4 == b // 4 else SYS)
    for a in range(8) for b in range(a + 1, 8)
})  # fmt: skip


@st.composite
def questions(draw: Any, most: int) -> tuple[list[list[int]], list[int], list[int], int]:
    count = draw(st.integers(1, most))
    points = draw(st.sampled_from([(0, 10), (10, 20), (10, 20, 50), (10, 110, 220), (10, 10, 10, 1250)]))
    pairs = {(a, b): draw(st.sampled_from(points)) for a in range(count) for b in range(a + 1, count)}
    available = draw(st.permutations(range(count)))[: draw(st.integers(0, count))]
    required = draw(st.lists(st.sampled_from(available), max_size=3)) if available and draw(st.booleans()) else []
    return table(count, pairs), available, required, draw(st.integers(0, count + 1))


@settings(max_examples=100, deadline=None)
@given(questions(8))
def test_one_order_is_answered_as_the_enumeration_does(question: Any) -> None:
    assert best_effort(*question) == brute_force.one_order(*question)


@settings(max_examples=60, deadline=None)
@given(questions(6))
def test_the_outcome_set_is_what_all_orders_together_give(question: Any) -> None:
    assert best_effort_outcomes(*question) == brute_force.every_order(*question)


def test_size_one_ignores_every_link() -> None:
    assert best_effort(HGX, [5, 0, 3], [], 1) == [5]
    assert best_effort_outcomes(HGX, [5, 0, 3], [], 1) == {(0,), (3,), (5,)}


def test_hgx_gives_twelve_pairs_or_one_of_two_halves() -> None:
    pairs = best_effort_outcomes(HGX, range(8), [], 2)
    assert pairs == {(a, b) for a in range(8) for b in range(a + 1, 8) if a // 4 == b // 4}
    assert best_effort_outcomes(HGX, range(8), [], 4) == {(0, 1, 2, 3), (4, 5, 6, 7)}


def test_a_dgx_1v_gives_six_pairs() -> None:
    assert len(best_effort_outcomes(DGX1V, range(8), [], 2)) == 6


def test_the_total_of_the_node_goes_before_the_best_set() -> None:
    # Three in a row: the strong middle pair would leave two devices alone.
    scores = table(4, {(0, 1): 60, (1, 2): 100, (2, 3): 60})
    assert best_effort(scores, [0, 1, 2, 3], [], 2) == [0, 1]


def test_upstreams_padding_can_be_what_is_returned() -> None:
    one_bridge = [list(row) for row in HGX]
    one_bridge[0][1] = one_bridge[1][0] = NODE + 1200
    assert (0, 1, None) in best_effort_outcomes(one_bridge, [0, 1, 4, 5, 6], [], 3)
    assert None in best_effort(one_bridge, [0, 1, 4, 5, 6], [], 3)


def test_what_is_required_comes_along_in_the_order_of_available() -> None:
    # The first cut with 3 in a full set, of those with the total 30, is {7,6} {5,3} {4}.
    assert best_effort(HGX, [7, 6, 5, 4, 3], [3], 2) == [5, 3]
    assert best_effort_outcomes(HGX, range(8), [0, 5], 4) >= {(0, 1, 2, 5), (0, 4, 5, 6)}


@pytest.mark.parametrize(
    ("available", "required", "size"), [([0, 1], [], 3), ([0, 1], [], 0), ([0, 1], [2], 2), ([0, 1, 2], [0, 1, 2], 2)]
)
def test_a_refusal_is_empty(available: list[int], required: list[int], size: int) -> None:
    assert best_effort(HGX, available, required, size) == []
    assert best_effort_outcomes(HGX, available, required, size) == {()}


def test_the_cut_is_told_beside_the_set() -> None:
    cut = best_cut(HGX, range(8), [], 4)
    assert cut is not None
    assert (cut.total, cut.chosen, cut.score) == (240, [0, 1, 2, 3], 120)


def test_bad_questions_are_named() -> None:
    with pytest.raises(ValueError, match="twice"):
        best_effort(HGX, [0, 0], [], 1)
    with pytest.raises(ValueError, match="one way"):
        best_effort_outcomes([[0, 1], [2, 0]], [0, 1], [], 2)
