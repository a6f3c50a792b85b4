"""What an answer leaves behind: the free units where every outcome leaves the same, and the largest next request.

    >>> from gputopo.topology.node import NodeTopology
    >>> from gputopo.allocate.request import Request
    >>> state = State.of(NodeTopology(), ("GPU0", "GPU1", "GPU2"))
    >>> answer = Answer("m", "1", "gpu", Request(2), True, (Outcome(("GPU0",), ("GPU0", "GPU2")),))
    >>> aftermath(answer, state, lambda outcome: state.taken("a", outcome.devices), lambda state, size: True)
    After(free=('GPU1',), largest=1, left=1)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gputopo.allocate.answer import Answer
from gputopo.allocate.outcome import Outcome
from gputopo.allocate.state import State

FOLLOWED = 40  # outcomes whose state is asked again; beyond them the largest request is left open

Admits = Callable[[State, int], "bool | None"]  # whether a request of this size would be admitted in this state


class After(NamedTuple):
    """Of a refusal: as it is now. `None`: the outcomes differ, or it was not followed."""

    free: tuple[str, ...] | None
    largest: int | None  # the next request that would be admitted, whichever the outcome was
    left: int | None = None  # free units


def aftermath(
    answer: Answer, state: State, step: Callable[[Outcome], State], admits: Admits
) -> After:  # fmt: skip
    """`largest`: what is admitted in each state that can be. 0: nothing is."""
    if answer.admitted is False:
        return After(state.free, _largest(state, admits, answer.request.size - 1), len(state.free))
    if not answer.outcomes or any(one.defect for one in answer.outcomes):
        return After(None, None)
    whole = answer.outcomes_complete and len(answer.outcomes) <= FOLLOWED
    states = [step(one) for one in (answer.outcomes if whole else answer.outcomes[:1])]
    left = {len(one.free) for one in states}
    if not whole:
        return After(None, None, left.pop())
    frees = {one.free for one in states}
    free = frees.pop() if len(frees) == 1 else None
    largest: int | None = max(left)
    for one in {(one.free, one.memory): one for one in states}.values():
        if largest is not None:
            largest = _largest(one, admits, largest)
    return After(free, largest, left.pop() if len(left) == 1 else None)


def _largest(state: State, admits: Admits, most: int) -> int | None:
    """`None`: of a larger one than the largest that is certain the evidence does not say it."""
    for size in range(min(most, len(state.free)), 0, -1):
        admitted = admits(state, size)
        if admitted is None:
            return None
        if admitted:
            return size
    return 0
