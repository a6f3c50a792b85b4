"""Changes of a text by the place of what they replace.

>>> apply("count: 4 # why", [Edit(7, 8, "2"), Edit(0, 0, "- ")])
'- count: 2 # why'
>>> fits([Edit(0, 3, "a")], [Edit(3, 5, "b")]), fits([Edit(0, 3, "a")], [Edit(2, 5, "b")])
(True, False)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple


class Edit(NamedTuple):
    """The characters from `start` up to `end`, code points from 0, become `text`."""

    start: int
    end: int
    text: str


class Mend(NamedTuple):
    """The edits that mend a fault, all or none of them; without edits, why there are none."""

    edits: tuple[Edit, ...] = ()
    why_not: str = ""


NO_MEND = Mend()


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Edits that fit together, in any order."""
    parts: list[str] = []
    place = 0
    for start, end, new in sorted(edits, key=_order):
        parts += [text[place:start], new]
        place = end
    return "".join([*parts, text[place:]])


def fits(edits: Sequence[Edit], more: Sequence[Edit]) -> bool:
    """Whether no two overlap. Two insertions at one place have no order, so they do not fit."""
    ordered = sorted([*edits, *more], key=_order)
    return all(
        one.end <= following.start and not (one.start == one.end == following.start)
        for one, following in pairwise(ordered)
    )


def joined(mends: Iterable[Mend]) -> Mend:
    """All of them as one; none, if one cannot be made or two do not fit together."""
    edits: tuple[Edit, ...] = ()
    for one in mends:
        if one.why_not:
            return one
        if not fits(edits, one.edits):
            return Mend((), "two of its changes are at one place")
        edits += one.edits
    return Mend(tuple(sorted(edits, key=_order)))


def _order(edit: Edit) -> tuple[int, int]:
    return edit.start, edit.end
