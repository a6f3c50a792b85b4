"""The same node twice in a fleet: known again by its GPUs' UUIDs, by its boot id, or by its name.

A name is no proof where the GPUs' UUIDs are known and differ: two clusters may both have a `gpu-01`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gputopo.fleet.part import At, Node

BY_GPUS, BY_BOOT, BY_NAME = "GPU UUIDs", "boot id", "name"


class Twice(NamedTuple):
    """`nodes`: in the order of reading; the first counts, the others do not. `by`: how it is known again."""

    by: str
    nodes: tuple[Node, ...]


def twice(nodes: Iterable[Node]) -> tuple[Twice, ...]:
    """Each node that was read several times, in the order of reading."""
    every = sorted(nodes, key=lambda node: node.at)
    found: dict[At, tuple[str, list[Node]]] = {}
    first: dict[tuple[str, str], Node] = {}
    for node in every:
        keys = _keys(node)
        known = next(((by, first[by, key]) for by, key in keys if (by, key) in first), None)
        if known is not None and not (known[0] == BY_NAME and _differ(known[1], node)):
            by, one = known
            found.setdefault(one.at, (by, [one]))[1].append(node)
            node = one
        for key in keys:
            first.setdefault(key, node)
    return tuple(Twice(by, tuple(own)) for by, own in found.values())


def _keys(node: Node) -> Sequence[tuple[str, str]]:
    said = ((BY_GPUS, node.keys.gpus), (BY_BOOT, node.keys.boot), (BY_NAME, node.keys.name))
    return [(by, key) for by, key in said if key]


def _differ(one: Node, other: Node) -> bool:
    return bool(one.keys.gpus and other.keys.gpus and one.keys.gpus != other.keys.gpus)
