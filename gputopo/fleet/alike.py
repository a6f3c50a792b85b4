"""Nodes put together by their form: a table of each part of a fleet, and one table out of several.

    >>> one = alike([(("form a",), Member(0, "x.txt", None)), (("form b",), Member(1, "y.txt", "n2"))])
    >>> more = alike([(("form a",), Member(2, "z.txt", None))])
    >>> [[member.source for member in members] for members in merge(one, more).values()]
    [['x.txt', 'z.txt'], ['y.txt']]
    >>> merge(more, one) == merge(one, more)
    True
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gputopo.fleet.canonical import Form


class Member(NamedTuple):
    """A saved node: its place in the order of reading, where it was found, its name where the evidence says it."""

    at: int
    source: str
    node: str | None


Members = tuple[Member, ...]  # in the order of reading; the first stands for all


def alike(nodes: Iterable[tuple[Form, Member]]) -> dict[Form, Members]:
    """Forms in the order in which they are met; nodes in the order of reading."""
    found: dict[Form, list[Member]] = {}
    for form, member in nodes:
        found.setdefault(form, []).append(member)
    return {form: tuple(members) for form, members in found.items()}


def merge(one: Mapping[Form, Members], other: Mapping[Form, Members]) -> dict[Form, Members]:
    """Associative and commutative, for tables of different nodes."""
    found = {form: tuple(sorted((*one.get(form, ()), *other.get(form, ())))) for form in (*one, *other)}
    return dict(sorted(found.items(), key=lambda each: each[1][0].at))
