"""&& and || hold back an error as long as another term can decide; the order of the terms is no part of the answer."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.cel.program import Device, RuntimeError_, evaluate
from gputopo.cel.values import CelMap, Uint, map_key

DEVICE = Device("d", {}, {})
TERMS = {"true": True, "false": False, "1 / 0 == 1": RuntimeError_("division by zero")}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(sorted(TERMS)), min_size=2, max_size=4), st.sampled_from(["&&", "||"]))
def test_a_deciding_term_wins_over_errors_wherever_it_stands(terms: list[str], operator: str) -> None:
    decisive = operator == "||"
    values = [TERMS[term] for term in terms]
    if decisive in values:
        right: object = decisive
    else:
        right = next((value for value in values if isinstance(value, RuntimeError_)), not decisive)
    for order in list(permutations(terms))[:6]:
        assert evaluate(f" {operator} ".join(order), DEVICE) == right


@settings(max_examples=60, deadline=None)
@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_integers_divide_as_go_divides(one: int, other: int) -> None:
    if other == 0 or (one == -(2**63) and other == -1):
        return
    text = f"({one} / {other}) * {other} + {one} % {other} == {one}"
    assert evaluate(text, DEVICE) is True


def test_numbers_of_different_types_are_one_key() -> None:
    table = CelMap({1: "a"})
    assert table.find(Uint(1)) == ("a", True)
    assert table.find(1.0) == ("a", True)
    assert table.find(True) == (None, False)
    assert map_key(True) != map_key(1)
