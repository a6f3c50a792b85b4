"""A part of a fleet, and one part out of two: what a worker answers, and how the answers become one.

`merge` is associative and commutative, and `EMPTY` changes nothing, so it does not matter who read what, in which
order the answers come, or how often two of them were put together before. Nodes that are alike in all that is
compared share one `Features`; of each there are some words more.

    >>> from gputopo.fleet.features import Features
    >>> from gputopo.fleet.shape import Outline
    >>> same = Features("HGX", ("H100",), "bundle", "f00", True, "f00…", Outline(8, (), 2, 2, 8), ())
    >>> one, other = (Part({same: (Node((at, 0), f"n{at}.txt"),)}) for at in (1, 0))
    >>> [node.source for node in merge(one, other).nodes[same]]
    ['n0.txt', 'n1.txt']
    >>> merge(one, other) == merge(other, one)
    True
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.fleet.features import Features

At = tuple[int, int]  # which of the things that were read, which node in it


class Keys(NamedTuple):
    """By what a node is known again. `gpus`: a digest of the UUIDs of all its GPUs."""

    gpus: str | None = None
    boot: str | None = None
    name: str | None = None


class Crossing(NamedTuple):
    """Pods of one owner on one node that cross sockets (or NUMA nodes, where sockets are not known)."""

    owner: str
    pods: int
    avoidable: int  # of these, with a better set free


class Held(NamedTuple):
    """`free`, `lost`: GPUs that no pod has, and those of them that no set within one socket can have."""

    free: int | None = None
    lost: int | None = None
    crossing: tuple[Crossing, ...] = ()


class Node(NamedTuple):
    """`findings`: code and severity of each rule that has something to say, once."""

    at: At
    source: str
    name: str | None = None
    keys: Keys = Keys()
    findings: tuple[tuple[str, str], ...] = ()
    held: Held | None = None


class Lost(NamedTuple):
    """What could not be read, and why."""

    at: At
    source: str
    reason: str


class Part(NamedTuple):
    nodes: dict[Features, tuple[Node, ...]] = {}  # noqa: RUF012  (never mutated)
    lost: tuple[Lost, ...] = ()

    @property
    def size(self) -> int:
        return len(self.lost) + sum(map(len, self.nodes.values()))


EMPTY = Part()


def merge(one: Part, other: Part) -> Part:
    """Of parts that were read of different things."""
    nodes = {}
    for features in dict.fromkeys((*one.nodes, *other.nodes)):
        mine, more = one.nodes.get(features, ()), other.nodes.get(features, ())
        nodes[features] = tuple(sorted((*mine, *more), key=_at)) if mine and more else mine or more
    in_order = dict(sorted(nodes.items(), key=lambda each: each[1][0].at))
    return Part(in_order, tuple(sorted((*one.lost, *other.lost), key=_at)))


def _at(one: Node | Lost) -> At:
    return one.at


class Sum:
    """Many parts, put together in pairs of like size: n of them cost n log n, not n²."""

    def __init__(self) -> None:
        self._stack: list[Part] = []

    def add(self, part: Part) -> None:
        while self._stack and self._stack[-1].size <= part.size:
            part = merge(self._stack.pop(), part)
        self._stack.append(part)

    @property
    def total(self) -> Part:
        found = EMPTY
        for part in reversed(self._stack):
            found = merge(found, part)
        return found
