"""The smallest change that makes a refused claim possible, each tried by running the allocation again.

One change at a time; where none does, two at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import NamedTuple

from gputopo.allocate.dra.allocate import attempt
from gputopo.allocate.dra.behaviour import Behaviour
from gputopo.allocate.dra.objects import ALL, Allocated, Claim, Constraint, DeviceId, World
from gputopo.allocate.dra.selectors import Selectors

_MOST_FREED = 64
_MOST_PAIRS = 300


class Change(NamedTuple):
    """`kind`: constraint, count, free; two joined by "+". What it says is an instruction."""

    kind: str
    says: str


class _Try(NamedTuple):
    group: str  # one success of a group is enough; "" for none
    change: Change
    make: Callable[[World], World]


def changes(
    world: World, selectors: Selectors, how: Behaviour, out_of_time: Callable[[], bool] | None = None
) -> tuple[Change, ...]:
    """Of a count only the largest that is possible; of pairs the first that is."""
    found: list[Change] = []
    done: set[str] = set()
    tries = list(_tries(world))

    def works(other: World) -> bool:
        return attempt(other, selectors, how, out_of_time=out_of_time).satisfied is True

    for one in tries:
        if out_of_time is not None and out_of_time():
            return tuple(found)
        if one.group not in done and works(one.make(world)):
            found.append(one.change)
            done |= {one.group} - {""}
    if found:
        return tuple(found)
    for number, (one, other) in enumerate(combinations(tries, 2)):
        if number == _MOST_PAIRS or (out_of_time is not None and out_of_time()):
            break
        if (one.group != other.group or not one.group) and works(other.make(one.make(world))):
            kinds, says = f"{one.change.kind}+{other.change.kind}", f"{one.change.says}, and {other.change.says}"
            return (Change(kinds, says),)
    return ()


def _tries(world: World) -> Iterator[_Try]:
    for at, claim in enumerate(world.claims):
        for constraint in claim.constraints:
            kind = "matchAttribute" if constraint.match_attribute is not None else "distinctAttribute"
            attribute = constraint.match_attribute or constraint.distinct_attribute
            says = f"drop the constraint {kind} {attribute} of {claim}"
            yield _Try("", Change("constraint", says), _without_constraint(at, constraint))
    for at, claim in enumerate(world.claims):
        for number, request in enumerate(claim.requests):
            ask = request.exactly
            if request.first_available or ask.mode == ALL:
                continue
            for count in range(ask.number - 1, 0, -1):
                says = f"ask for {count} instead of {ask.number} in request {request.name} of {claim}"
                yield _Try(f"{at}/{number}", Change("count", says), _with_count(at, number, count))
    held = sorted(world.allocated.devices)
    for id in held[:_MOST_FREED]:
        yield _Try("", Change("free", f"free {id}"), _without_held(frozenset((id,))))
    if len(held) > 1:
        everything = Change("free", f"free all {len(held)} allocated devices")
        yield _Try("", everything, _without_held(frozenset(held)))


def _without_constraint(at: int, constraint: Constraint) -> Callable[[World], World]:
    def make(world: World) -> World:
        kept = tuple(one for one in world.claims[at].constraints if one is not constraint)
        return _with(world, at, world.claims[at]._replace(constraints=kept))

    return make


def _with_count(at: int, number: int, count: int) -> Callable[[World], World]:
    def make(world: World) -> World:
        requests = list(world.claims[at].requests)
        requests[number] = requests[number]._replace(exactly=requests[number].exactly._replace(number=count))
        return _with(world, at, world.claims[at]._replace(requests=tuple(requests)))

    return make


def _without_held(ids: frozenset[DeviceId]) -> Callable[[World], World]:
    def make(world: World) -> World:
        held = world.allocated
        return world._replace(allocated=Allocated(held.devices - ids, held.shared - ids, held.capacity))

    return make


def _with(world: World, at: int, claim: Claim) -> World:
    return world._replace(claims=(*world.claims[:at], claim, *world.claims[at + 1 :]))
