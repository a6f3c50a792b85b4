"""How a pod gets a good set for certain: the fewest pods to delete, and the order to start them again.

A plan is proved, not promised: it is found by asking the mechanism again in every state that can be
on the way, and holds only if no outcome of any of them is worse than what is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, permutations
from typing import NamedTuple

from gputopo.allocate.outcome import Outcome
from gputopo.allocate.sequence.events import Start
from gputopo.allocate.sequence.walk import Answers, Step, walk
from gputopo.allocate.state import State

MOST_DELETED = 5

Wanted = Callable[[str, Outcome], bool]


class Restarted(NamedTuple):
    owner: str
    sets: tuple[tuple[str, ...], ...]  # every set it can get


class Plan(NamedTuple):
    target: str
    delete: tuple[str, ...]
    start: tuple[Restarted, ...]  # in this order

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """What the target can get; exactly one where the plan is certain."""
        return next(one.sets for one in self.start if one.owner == self.target)

    @property
    def certain(self) -> bool:
        return len(self.sets) == 1


def repair(
    answers: Answers, state: State, target: str, sizes: Mapping[str, int], wanted: Wanted,
    movable: Callable[[str], bool] = lambda owner: True,
) -> Plan | None:  # fmt: skip
    """The plan with the fewest deletions after which `target` has one answer, and that a wanted one.

    sizes: units of each owner's request. `wanted(owner, outcome)` says of every pod that is started
    again whether this would do. Where no plan leaves one answer, one whose answers are all wanted.
    `None`: there is no plan of up to MOST_DELETED deletions.
    """
    others = [one.owner for one in state.held if one.owner != target and movable(one.owner)]
    second: Plan | None = None
    for count in range(min(MOST_DELETED, len(others) + 1)):
        for more in combinations(others, count):
            freed = state
            for owner in (target, *more):
                freed = freed.released(owner)
            for order in _orders(target, more):
                started = _proved(answers, freed, [Start(owner, sizes[owner]) for owner in order], wanted)
                if started is None:
                    continue
                plan = Plan(target, (target, *more), started)
                if plan.certain:
                    return plan
                second = second or plan
    return second


def _orders(target: str, others: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The one that needs the good set first, before the orders in which it waits."""
    orders = list(permutations((target, *others)))
    return iter(sorted(orders, key=lambda order: order.index(target)))


def _proved(answers: Answers, state: State, starts: list[Start], wanted: Wanted) -> tuple[Restarted, ...] | None:
    restarted = []
    for step in walk(answers, state, starts):
        sets = _sets(step, wanted)
        if sets is None:
            return None
        restarted.append(Restarted(step.event.owner, sets))
    return tuple(restarted)


def _sets(step: Step, wanted: Wanted) -> tuple[tuple[str, ...], ...] | None:
    """Every set of a step, once; `None` when it may be refused or get one that is not wanted."""
    if not step.complete:
        return None
    found: dict[tuple[str, ...], None] = {}
    for fate in step.fates:
        if fate.outcome is None or not wanted(step.event.owner, fate.outcome):
            return None
        found[tuple(sorted(fate.outcome.devices, key=fate.state.units.index))] = None
    return tuple(found)
