"""What a ring of a set cannot exceed, without a search: every directed link by how many hops go over it.

facts/nccl.md §2.1: on NVLink alone the narrowest GPU's sum of links into the set or the switch; else the hops of one
ring in the order of the PCI tree, islands kept together, and the link that is loaded most for what it is. Against
NCCL's ring on the recorded sets: never below it but for the speeds it tries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gputopo.nccl.hops import Field
from gputopo.nccl.path_types import PathType

_WHOLE = 5  # fifths


class Bound(NamedTuple):
    """GB/s of a ring over the set; `link`: the number in System.links that ends it.

    `None` on NVLink alone, and where there is no way.
    """

    gbps: float
    link: int | None


def ring_bound(field: Field, places: Sequence[int] | None = None) -> Bound:
    """`places`: the GPUs of the set, `None` all of the field. Two at least."""
    chosen = range(field.size) if places is None else places
    near = max(field.hops[a][b].type for a in chosen for b in chosen if a != b)
    if near is PathType.DIS:
        return Bound(0.0, None)
    if near <= PathType.NVB:
        return Bound(min(_nvlink(field, gpu, chosen) for gpu in chosen), None)
    return _by_load(field, _in_tree_order(field, chosen))


def _nvlink(field: Field, gpu: int, chosen: Sequence[int]) -> float:
    """The first link out of the device of every way in the set, each once."""
    first = {
        step[0] for other in chosen if other != gpu for step in field.hops[gpu][other].steps if step[0] in field.nvlinks
    }
    own = {number for number in first if field.nvlinks[number] == gpu}
    return sum(field.room[number] for number in own) / 1000


def _in_tree_order(field: Field, chosen: Sequence[int]) -> list[int]:
    """As in the file, but GPUs with NVLink between them next to each other."""
    waiting, order = sorted(chosen), list[int]()
    while waiting:
        order.append(waiting.pop(0))
        for gpu in order[-1:]:
            near = [other for other in waiting if field.hops[gpu][other].type <= PathType.NVB]
            waiting = [*near, *(other for other in waiting if other not in near)]
    return order


def _by_load(field: Field, order: Sequence[int]) -> Bound:
    load: dict[int, int] = {}
    for gpu, following in zip(order, [*order[1:], order[0]]):
        for link, fifths in field.hops[gpu][following].steps:
            load[link] = load.get(link, 0) + fifths
    room = field.room
    link = min(load, key=lambda number: room[number] / load[number])
    return Bound(room[link] * _WHOLE / load[link] / 1000, link)
