"""What the rules over a fleet look at, in words: fleet/ compares, these say what it means."""

from __future__ import annotations

from typing import NamedTuple

SHOWN = 20  # nodes that a finding names


class OddSeen(NamedTuple):
    """`field`: as in the JSON document, with the devices it is of: `gpus[0-3].numaNodes`."""

    field: str
    found: str
    expected: str
    agree: int
    of: int
    product: str
    nodes: tuple[str, ...]


class TwiceSeen(NamedTuple):
    by: str
    sources: tuple[str, ...]


class LostSeen(NamedTuple):
    reason: str
    sources: tuple[str, ...]


class SplitSeen(NamedTuple):
    field: str
    product: str
    values: tuple[tuple[str, int], ...]


class FleetSeen(NamedTuple):
    odd: tuple[OddSeen, ...] = ()
    lost: tuple[LostSeen, ...] = ()
    twice: tuple[TwiceSeen, ...] = ()
    split: tuple[SplitSeen, ...] = ()


def some(names: tuple[str, ...], most: int = 3) -> str:
    """
    >>> some(("a", "b", "c", "d", "e"))
    'a, b, c and 2 more'
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")
