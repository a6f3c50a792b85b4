"""A sequence of pods, told: what each may get, which is the first that goes wrong, and what would avoid it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from gputopo.allocate.outcome import Outcome
from gputopo.allocate.sequence.events import Event, Start, starts
from gputopo.allocate.sequence.goodness import Goodness
from gputopo.allocate.sequence.orders import MOST_ORDERS, Order, every_order, judged, suiting_sets
from gputopo.allocate.sequence.repair import Plan, repair
from gputopo.allocate.sequence.walk import Answers, Fate, Step, walk
from gputopo.allocate.state import State

NEVER, SOMETIMES, ALWAYS = "never", "sometimes", "always"
FEW_ORDERS = 200  # tried where nobody asked for all of them


class Told(NamedTuple):
    """One event. `refused` and `split`: never, sometimes, always, None: not decided; of an end both are "never"."""

    event: Event
    refused: str | None
    split: str | None
    sets: tuple[tuple[str, ...], ...]  # that the pod can get, of each kind of state one example
    split_sets: tuple[tuple[str, ...], ...]
    reason: str | None  # of a refusal
    states: tuple[State, ...]  # after it; states that differ in GPUs wired alike are one
    complete: bool

    @property
    def troubled(self) -> bool:
        """What the evidence leaves open is no trouble, and no promise either."""
        return bool({self.refused, self.split} & {SOMETIMES, ALWAYS})

    @property
    def decided(self) -> bool:
        return None not in (self.refused, self.split)


class Repair(NamedTuple):
    """`before`: one state in which the sequence ends badly; `plan` None: no restart helps."""

    before: State
    target: str
    plan: Plan | None


class Forecast(NamedTuple):
    mechanism: str
    version: str
    start: State
    told: tuple[Told, ...]
    first: Told | None  # the first event that may be refused or split
    orders: tuple[Order, ...]  # those tried, as given first
    orders_complete: bool
    placement: dict[str, tuple[str, ...]] | None  # a good set for every pod at once; None: there is none
    repair: Repair | None

    @property
    def clean_orders(self) -> tuple[Order, ...]:
        return tuple(order for order in self.orders if order.clean)

    @property
    def best_order(self) -> Order:
        return min(self.orders, key=lambda order: (not order.complete, order.refused, order.split))


def forecast(answers: Answers, state: State, events: Sequence[Event], *, all_orders: bool = False) -> Forecast:
    """What the events leave behind. Other orders are tried for sequences in which nothing ends."""
    goodness = Goodness(state.node, state.units)
    pods = starts(events)

    def good(outcome: Outcome) -> bool:
        return goodness.is_good(outcome.gpus) is True

    steps = walk(answers, state, events)
    told = tuple(_told(step, goodness) for step in steps)
    first = next((one for one in told if one.troubled), None)
    tried: tuple[Order, ...] = ()
    complete = True
    if pods and len(pods) == len(events) and (all_orders or first is not None):
        most = MOST_ORDERS if all_orders else FEW_ORDERS
        found = tuple(islice(every_order(pods), most + 1))
        complete = len(found) <= most
        tried = tuple(judged(answers, state, order, good) for order in found[:most])
    return Forecast(
        answers.mechanism.name, answers.mechanism.version, state, told, first, tried, complete,
        suiting_sets(state, pods, lambda gpus: goodness.is_good(gpus) is True) if first is not None else None,
        _repair(answers, state, events, goodness) if first is not None else None,
    )  # fmt: skip


def _told(step: Step, goodness: Goodness) -> Told:
    refused = [fate for fate in step.fates if fate.outcome is None and fate.admitted is False]
    unknown = any(fate.outcome is None and fate.admitted is not False for fate in step.fates)
    given = [fate for fate in step.fates if fate.outcome is not None]
    verdicts = [goodness.is_good(_gpus(fate)) for fate in given]
    split = [fate for fate, good in zip(given, verdicts) if good is False]
    return Told(
        step.event,
        _how_often(len(refused), len(step.fates), unknown),
        _how_often(len(split), len(given), unknown or None in verdicts),
        _sets(given), _sets(split),
        next((fate.reason for fate in refused if fate.reason), None),
        step.states, step.complete,
    )  # fmt: skip


def _how_often(some: int, all_: int, unknown: bool) -> str | None:
    """`unknown`: in some state it is not known whether it happens."""
    if not some:
        return None if unknown else NEVER
    return ALWAYS if some == all_ and not unknown else SOMETIMES


def _gpus(fate: Fate) -> tuple[str, ...]:
    assert fate.outcome is not None
    return fate.outcome.gpus


def _sets(fates: Sequence[Fate]) -> tuple[tuple[str, ...], ...]:
    return tuple(dict.fromkeys(fate.outcome.devices for fate in fates if fate.outcome is not None))


def _repair(answers: Answers, state: State, events: Sequence[Event], goodness: Goodness) -> Repair | None:
    """For the last pod that has a set that is not good, in the first state in which it has."""
    sizes = {start.owner: start.size for start in starts(events)}
    for at in range(len(events) - 1, -1, -1):
        event = events[at]
        if not isinstance(event, Start):
            continue
        steps = walk(answers, state, events[: at + 1], keep=sizes)
        split = [
            fate for fate in steps[-1].fates
            if fate.outcome is not None and goodness.is_good(fate.outcome.gpus) is False
        ]  # fmt: skip
        if not split:
            continue
        return _repaired(answers, split[0], event, sizes, goodness)
    return None


def _repaired(
    answers: Answers, fate: Fate, start: Start, sizes: Mapping[str, int], goodness: Goodness
) -> Repair:  # fmt: skip
    """The pod gets a good set; no other one that is restarted loses one."""
    assert fate.outcome is not None
    before = answers.after(fate.state, start, fate.outcome)
    held = {one.owner: one.devices for one in before.held}

    def wanted(owner: str, outcome: Outcome) -> bool:
        if goodness.is_good(outcome.gpus):
            return True
        return owner != start.owner and goodness.is_good(held[owner]) is not True

    return Repair(before, start.owner, repair(answers, before, start.owner, sizes, wanted))


__all__ = ["ALWAYS", "NEVER", "SOMETIMES", "Forecast", "Repair", "Told", "forecast"]
