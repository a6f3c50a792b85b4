"""Answers too many to list, as families: any so many of a group of devices that share what the constraints ask for."""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.allocate.dra.asks import prepare
from gputopo.allocate.dra.behaviour import Behaviour
from gputopo.allocate.dra.candidates import Selectable, lined_up
from gputopo.allocate.dra.constraints import MatchAttribute
from gputopo.allocate.dra.objects import DeviceId, World
from gputopo.allocate.dra.pools import gather
from gputopo.allocate.dra.pruning import Pruned, leaves_traces, pruning_for
from gputopo.allocate.dra.search import Search
from gputopo.allocate.dra.selectors import Selectors


def groups(world: World, selectors: Selectors, how: Behaviour) -> list[tuple[int, tuple[DeviceId, ...]]] | None:
    """(how many, of which) for one claim with one request and matchAttribute alone; `None`: not of that form.

    Every set of a group is an answer, and every answer is in one group.
    """
    if len(world.claims) != 1 or len(world.claims[0].requests) != 1 or world.claims[0].requests[0].first_available:
        return None
    pools = gather(world.slices, world.node, how)
    prepared = prepare(world, pools, Selectable(world.node, world.claims, selectors, how), how)
    lined = lined_up(pools)
    wanted = prepared.wanted[0, 0, 0]
    simple = all(isinstance(one, MatchAttribute) for one in prepared.constraints[0])
    if wanted.all_devices is not None or not simple or any(one.device.consumes for one in lined):
        return None
    search = Search(world, lined, prepared, Selectable(world.node, world.claims, selectors, how), how)
    pruning = pruning_for(search)
    if pruning is None or leaves_traces(search) or any(one.device.allow_multiple for one in lined):
        return None
    covering = [at for at, one in enumerate(prepared.constraints[0]) if one.covers(wanted.request, "")]
    found = []
    for mask in _split(pruning, pruning.masks[0, 0, 0], covering):
        ids = tuple(one.id for one in lined if mask >> one.place & 1)
        if len(ids) >= wanted.number:
            found.append((wanted.number, ids))
    return found


def _split(pruning: Pruned, mask: int, covering: list[int]) -> Iterator[int]:
    """The devices apart by the values of every covering constraint."""
    if not covering:
        yield mask
        return
    for having in pruning.by_value[0][covering[0]].values():
        if having & mask:
            yield from _split(pruning, mask & having, covering[1:])
