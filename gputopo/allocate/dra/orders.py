"""Every answer that is possible where the order of pools is Go's random map order (up to 1.35, `stable` of 1.36).

Only pools that can matter are put in every order: those with a device that a request can select, or whose selectors
fail, or that are broken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

from gputopo.allocate.dra.allocate import Attempt, attempt
from gputopo.allocate.dra.behaviour import Behaviour
from gputopo.allocate.dra.candidates import Selectable, lined_up
from gputopo.allocate.dra.failure import Failure
from gputopo.allocate.dra.objects import World
from gputopo.allocate.dra.pools import Pool, gather, has_binding_conditions
from gputopo.allocate.dra.selectors import Selectors

MOST_ORDERS = 720  # six pools


class Outcomes(NamedTuple):
    """`complete` False: there are more orders than were tried."""

    attempts: tuple[Attempt, ...]
    complete: bool
    orders: int = 1  # that were tried

    @property
    def satisfied(self) -> bool | None:
        """`None`: it depends on the order, or is not decided."""
        answers = {one.satisfied for one in self.attempts}
        return answers.pop() if len(answers) == 1 and self.complete else None


def outcomes(
    world: World, selectors: Selectors, how: Behaviour, out_of_time: Callable[[], bool] | None = None
) -> Outcomes:
    if how.sorted_pools:
        return Outcomes((attempt(world, selectors, how, out_of_time=out_of_time),), True)
    try:
        pools = gather(world.slices, world.node, how)
    except Failure as failure:
        return Outcomes((Attempt(False, failure=failure),), True)
    found: dict[object, Attempt] = {}
    tried = 0
    complete = True
    for order in _orders(pools, world, selectors, how):
        if tried == MOST_ORDERS or (tried and out_of_time is not None and out_of_time()):
            complete = False
            break
        tried += 1
        one = attempt(world, selectors, how, order, out_of_time)
        found.setdefault((one.satisfied, one.devices, str(one.failure or "")), one)
    return Outcomes(tuple(found.values()), complete, tried)


def _orders(
    pools: Sequence[Pool], world: World, selectors: Selectors, how: Behaviour
) -> Iterator[list[Pool]]:
    """The pools that matter in every order, the others behind them."""
    matter = [pool for pool in pools if _matters(pool, world, selectors, how)]
    rest = [pool for pool in pools if pool not in matter]
    if not how.binding_last:
        return (list(order) + rest for order in permutations(matter))
    first = [pool for pool in matter if not has_binding_conditions(pool)]
    last = [pool for pool in matter if has_binding_conditions(pool)]
    return (
        [*front, *(one for one in rest if not has_binding_conditions(one)), *back,
         *(one for one in rest if has_binding_conditions(one))]
        for front in permutations(first)
        for back in permutations(last)
    )  # fmt: skip


def _matters(pool: Pool, world: World, selectors: Selectors, how: Behaviour) -> bool:
    if pool.invalid or pool.incomplete:
        return True
    selectable = Selectable(world.node, world.claims, selectors, how)
    for at, claim in enumerate(world.claims):
        for number, request in enumerate(claim.requests):
            for place, ask in enumerate(request.first_available or (request.exactly,)):
                of_class = world.classes.get(ask.device_class)
                for one in lined_up([pool]):
                    try:
                        if selectable.matches((at, number, place), ask, of_class, one):
                            return True
                    except Failure:
                        return True
    return False
