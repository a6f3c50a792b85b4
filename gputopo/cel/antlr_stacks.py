"""Sets of call stacks for ANTLR's prediction: who called the rules that are open, as a graph that shares its tails.

Two equal sets are one object. Source: antlr4-go (PredictionContext).

>>> a, b = pushed(EMPTY, 7), pushed(EMPTY, 9)
>>> both = merged(a, b, wildcard=False)
>>> [state for state, _ in both.calls], merged(b, a, wildcard=False) is both, merged(a, EMPTY, wildcard=True) is EMPTY
([7, 9], True, True)
"""

from __future__ import annotations


class Stacks:
    """`calls`: the states to return to, each with the stacks below it."""

    __slots__ = ("calls",)

    def __init__(self, calls: tuple[tuple[int, Stacks], ...]) -> None:
        self.calls = calls


EMPTY = Stacks(())
_KNOWN: dict[tuple[tuple[int, Stacks], ...], Stacks] = {}


def pushed(stacks: Stacks, state: int) -> Stacks:
    return _one(((state, stacks),))


def merged(one: Stacks, other: Stacks, wildcard: bool) -> Stacks:
    """Both sets. With `wildcard` the empty stack stands for any caller."""
    if one is other:
        return one
    if one is EMPTY or other is EMPTY:
        # Without the wildcard antlr4-go loses the empty stack here; only `start` is called by nobody.
        return EMPTY if wildcard else other if one is EMPTY else one
    calls = dict(one.calls)
    for state, below in other.calls:
        here = calls.get(state)
        calls[state] = below if here is None else merged(here, below, wildcard)
    return _one(tuple(sorted(calls.items(), key=_state)))


def known() -> int:
    return len(_KNOWN)


def forget() -> None:
    """Drops what is known; no set from before may be used with one from after."""
    _KNOWN.clear()


def _state(call: tuple[int, Stacks]) -> int:
    return call[0]


def _one(calls: tuple[tuple[int, Stacks], ...]) -> Stacks:
    found = _KNOWN.get(calls)
    if found is None:
        found = _KNOWN[calls] = Stacks(calls)
    return found
