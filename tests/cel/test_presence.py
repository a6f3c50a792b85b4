"""What a selector makes sure of before it reads an attribute, held against the evaluator itself."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gputopo.cel.program import Device, RuntimeError_, evaluate
from gputopo.cel.references import left_without, references

DOMAIN = "device.attributes['d.example.com']"
NAMES = ("a", "b", "c")


def leaves() -> st.SearchStrategy[str]:
    name = st.sampled_from(NAMES)
    return st.one_of(
        name.map(lambda one: f"has({DOMAIN}.{one})"),
        name.map(lambda one: f"{DOMAIN}.{one} == 1"),
        name.map(lambda one: f"{DOMAIN}['{one}'] > 0"),
        name.map(lambda one: f"'{one}' in {DOMAIN}"),
        name.map(lambda one: f"{DOMAIN}[?'{one}'].hasValue()"),
        name.map(lambda one: f"{DOMAIN}.?{one}.orValue(1) == 1"),
        name.map(lambda one: f"cel.bind(m, {DOMAIN}, has(m.{one}) && m.{one} == 1)"),
        name.map(lambda one: f"[1, 2].exists(x, has({DOMAIN}.{one}) && {DOMAIN}.{one} == x)"),
        st.sampled_from(["true", "false"]),
    )


def joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        pair.map(lambda two: f"({two[0]} && {two[1]})"),
        pair.map(lambda two: f"({two[0]} || {two[1]})"),
        inner.map(lambda one: f"!({one})"),
        st.tuples(inner, inner, inner).map(lambda three: f"({three[0]} ? {three[1]} : {three[2]})"),
        pair.map(lambda two: f"(({two[0]}) == ({two[1]}))"),
    )


SELECTORS = st.recursive(leaves(), joined, max_leaves=7)


def answers(text: str, absent: str) -> list[object]:
    """On devices that lack one attribute and have the others, with values that compare either way."""
    others = [name for name in NAMES if name != absent]
    return [
        evaluate(text, Device("d.example.com", dict(zip(others, values)), {}))
        for values in ((1, 1), (0, 1), (1, 0), (0, 0), (2, 2))
    ]


@settings(max_examples=100, deadline=None)
@given(SELECTORS, st.sampled_from(NAMES))
@example(f"(has({DOMAIN}.a) ? {DOMAIN}.a == 1 : false)", "a")
@example(f"({DOMAIN}.a == 1 && has({DOMAIN}.a))", "a")
@example(f"(!(has({DOMAIN}.a)) || {DOMAIN}.a == 1)", "a")
@example(f"((has({DOMAIN}.a) || true) && {DOMAIN}.a == 1)", "a")
@example(f"(!({DOMAIN}.a == 1) ? false : has({DOMAIN}.a))", "a")
def test_what_is_guarded_never_fails_and_what_is_left_is_what_the_evaluator_says(text: str, absent: str) -> None:
    found = answers(text, absent)
    if all(one.guarded for one in references(text) if one.name == absent):
        assert not any(isinstance(one, RuntimeError_) for one in found), text
    left = left_without(text, "attributes", "d.example.com", absent)
    if left is not None:
        assert found == [left] * len(found), text


@pytest.mark.parametrize(
    ("text", "guarded"),
    [
        (f"has({DOMAIN}.a) && {DOMAIN}.a == 1", [True, True]),
        (f"has({DOMAIN}.b) && {DOMAIN}.a == 1", [True, False]),
        (f"has({DOMAIN}.a) || {DOMAIN}.a == 1", [True, False]),
        (f"!has({DOMAIN}.a) || {DOMAIN}.a == 1", [True, True]),
        (f"!has({DOMAIN}.a) && {DOMAIN}.a == 1", [True, False]),
        (f"has({DOMAIN}.a) ? {DOMAIN}.a == 1 : {DOMAIN}.a == 2", [True, True, False]),
        (f"(has({DOMAIN}.a) ? {DOMAIN}.a : 3) == 1", [True, True]),
        (f"has({DOMAIN}.a) == ({DOMAIN}.a == 1)", [True, False]),
        (f"has(device.attributes['other'].a) && {DOMAIN}.a == 1", [True, False]),
        (f"has(device.capacity['d.example.com'].a) && {DOMAIN}.a == 1", [True, False]),
        (f"{DOMAIN}.?a.orValue(0) == 1", [True]),
    ],
)
def test_each_read_is_guarded_or_not(text: str, guarded: list[bool]) -> None:
    assert [one.guarded for one in references(text)] == guarded
