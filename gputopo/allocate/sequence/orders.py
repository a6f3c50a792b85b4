"""The same pods in every order, and sets that would suit them all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from gputopo.allocate.sequence.events import Start
from gputopo.allocate.sequence.walk import Answers, Good, bad, walk
from gputopo.allocate.state import State

MOST_ORDERS = 5040


class Order(NamedTuple):
    starts: tuple[Start, ...]
    refused: int  # requests that may be refused
    split: int  # requests that may get a set that is not good
    complete: bool

    @property
    def clean(self) -> bool:
        return self.complete and not self.refused and not self.split


def every_order(starts: Sequence[Start], most: int = MOST_ORDERS) -> Iterator[tuple[Start, ...]]:
    """Each order once, pods of one size in the order given: they are interchangeable."""
    return _orders(_by_size(starts), len(starts), most)


def _by_size(starts: Sequence[Start]) -> dict[int, tuple[Start, ...]]:
    sizes = dict.fromkeys(start.size for start in starts)
    return {size: tuple(start for start in starts if start.size == size) for size in sizes}


def _orders(left: dict[int, tuple[Start, ...]], length: int, most: int) -> Iterator[tuple[Start, ...]]:
    stack: list[tuple[tuple[Start, ...], dict[int, tuple[Start, ...]]]] = [((), left)]
    given = 0
    while stack and given < most:
        done, rest = stack.pop()
        if len(done) == length:
            given += 1
            yield done
            continue
        for size in reversed(rest):
            first, *others = rest[size]
            after = {**rest, size: tuple(others)} if others else {s: p for s, p in rest.items() if s != size}
            stack.append(((*done, first), after))


def judged(answers: Answers, state: State, starts: Sequence[Start], good: Good) -> Order:
    """What may go wrong in one order."""
    steps = walk(answers, state, starts)
    wrong = [bad(step, good) for step in steps]
    return Order(
        tuple(starts),
        refused=sum(any(fate.outcome is None for fate in fates) for fates in wrong),
        split=sum(any(fate.outcome is not None for fate in fates) for fates in wrong),
        complete=all(step.complete for step in steps),
    )


def suiting_sets(
    state: State, starts: Sequence[Start], good: Callable[[tuple[str, ...]], bool]
) -> dict[str, tuple[str, ...]] | None:
    """A good set for every pod, no unit twice; `None` when there is no such placement."""
    pods = sorted(starts, key=lambda start: -start.size)

    def place(at: int, free: tuple[str, ...]) -> dict[str, tuple[str, ...]] | None:
        if at == len(pods):
            return {}
        for chosen in combinations(free, pods[at].size):
            if not good(chosen):
                continue
            rest = place(at + 1, tuple(unit for unit in free if unit not in chosen))
            if rest is not None:
                return {pods[at].owner: chosen, **rest}
        return None

    return place(0, state.free)
