"""All states after each event, since a mechanism may answer a request with one of several sets.

States that will answer alike are one: which GPUs are free counts only as far as they are wired
differently (fold.py), and of holdings only those of pods that end later. So four pods of one GPU each
on two sockets of eight GPUs leave 5 states, not 43,680.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from gputopo.allocate.answer import Answer
from gputopo.allocate.outcome import Outcome
from gputopo.allocate.protocol import Mechanism
from gputopo.allocate.request import Request
from gputopo.allocate.sequence.events import End, Event, Start
from gputopo.allocate.sequence.fold import Fold
from gputopo.allocate.state import State
from gputopo.topology.node import NodeTopology

MOST_STATES = 4096  # followed at a time; beyond that the walk says that it is not complete


class Fate(NamedTuple):
    """What one request met in one state that can be."""

    state: State  # before
    outcome: Outcome | None  # None: refused (`admitted` False), or what it gets is not known
    admitted: bool | None
    reason: str | None = None


class Step(NamedTuple):
    event: Event
    fates: tuple[Fate, ...]  # of a start: every state it can meet with every outcome; of an end: ()
    states: tuple[State, ...]  # after it
    complete: bool  # False: more can happen than was followed


class Answers:
    """A mechanism's answers on one node, each asked for once: they depend on what is free and on the size."""

    def __init__(self, mechanism: Mechanism, node: NodeTopology, resource: str = "nvidia.com/gpu") -> None:
        self.mechanism = mechanism
        self._resource = resource
        self._fold = Fold(node)
        self._known: dict[tuple[object, ...], Answer] = {}

    def request(self, start: Start) -> Request:
        return Request(size=start.size, resource=self._resource, owner=start.owner)

    def ask(self, state: State, start: Start) -> Answer:
        key = (state.free, state.cpus, state.memory, start.size)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self.mechanism.answer(state, self.request(start))
        return known

    def kind(self, state: State, told_apart: set[str]) -> object:
        """Equal for states between which no further answer can tell."""
        labels = dict.fromkeys(state.free, "free")
        labels |= {unit: one.owner for one in state.held if one.owner in told_apart for unit in one.devices}
        return (self._fold.key(labels), state.cpus, state.memory)

    def after(self, state: State, start: Start, outcome: Outcome) -> State:
        return self.mechanism.step(state, self.request(start), outcome)


def walk(answers: Answers, state: State, events: Sequence[Event], *, keep: Iterable[str] = ()) -> tuple[Step, ...]:
    """A step per event. `keep`: owners whose holdings tell states apart although they do not end."""
    steps = []
    states: tuple[State, ...] = (state,)
    complete = True
    for place, event in enumerate(events):
        told_apart = {*keep, *(later.owner for later in events[place:] if isinstance(later, End))}
        if isinstance(event, End):
            fates: tuple[Fate, ...] = ()
            after = [_released(one, event.owner) for one in states]
        else:
            fates, after, whole = _start(answers, states, event)
            complete = complete and whole
        states = _distinct(answers, after, told_apart)
        if len(states) > MOST_STATES:
            states, complete = states[:MOST_STATES], False
        steps.append(Step(event, fates, states, complete))
    return tuple(steps)


def _start(
    answers: Answers, states: Iterable[State], start: Start
) -> tuple[tuple[Fate, ...], list[State], bool]:
    fates, after, complete = [], [], True
    for state in states:
        answer = answers.ask(state, start)
        complete = complete and answer.outcomes_complete
        if answer.admitted is None and not answer.outcomes:
            complete = False  # what it gets is not known, so neither is what comes after it
        if answer.admitted is not True or not answer.outcomes:
            fates.append(Fate(state, None, answer.admitted, answer.reason))
            after.append(state)
        for outcome in answer.outcomes:
            if answer.admitted is False:
                break
            fates.append(Fate(state, outcome, answer.admitted))
            after.append(answers.after(state, start, outcome))
    return tuple(fates), after, complete


def _released(state: State, owner: str) -> State:
    """A pod that was refused holds nothing, so its end changes nothing."""
    return state.released(owner) if any(holding.owner == owner for holding in state.held) else state


def _distinct(answers: Answers, states: Iterable[State], told_apart: set[str]) -> tuple[State, ...]:
    found: dict[object, State] = {}
    for state in states:
        found.setdefault(answers.kind(state, told_apart), state)
    return tuple(found.values())


Good = Callable[[Outcome], bool]


def bad(step: Step, good: Good) -> tuple[Fate, ...]:
    """What may happen to this request that should not: refused, or a set that is not good."""
    return tuple(fate for fate in step.fates if fate.outcome is None or not good(fate.outcome))

