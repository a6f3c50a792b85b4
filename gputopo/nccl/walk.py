"""One search at one speed: channel by channel, GPU by GPU, until it is perfect or its steps are spent.

Source: src/graph/search.cc of NVIDIA/nccl v2.30.7 (ncclTopoSearchRec, ncclTopoSearchRecGpu, ncclTopoCompareGraphs):
depth first, each entered GPU costs a step, first in the order of the file, then as the last channel, then freely.
Recursion there, a stack of generators here: 72 GPUs with 16 channels are deeper than Python goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gputopo.nccl.graph import Graph, Pattern
from gputopo.nccl.hops import Field, Hop
from gputopo.nccl.path_types import PathType

PERFECT = -1
_LOOK = 255  # steps between two looks at the deadline


class Attempt(NamedTuple):
    """What a search tries; GB/s of one channel."""

    pattern: Pattern
    gbps: float
    gbps_inter: float
    type: PathType
    same_channels: bool
    cross_nic: int
    fewest: int
    most: int
    hops: int = 0  # NCCL goes on counting from what it has found


class TimeIsUpError(Exception):
    """The caller's deadline; never leaves nccl/."""


_Steps = tuple[tuple[int, int], ...]
_Part = Iterator["_Part"]  # of the search: yields the parts below it


class Walk:
    """`best` is the graph to beat, then the best found; `steps` is what is left, PERFECT when nothing can be better."""

    def __init__(self, field: Field, attempt: Attempt, best: Graph, steps: int, expired: Callable[[], bool]) -> None:
        self.field = field
        self.attempt = attempt
        self.best = best
        self.steps = steps
        self.expired = expired
        self.last = field.size - 1
        self.ring = attempt.pattern is Pattern.RING
        self.room = list(field.room)
        self.hops = _allowed(field, attempt)
        self.links = [[hop.links for hop in row] for row in field.hops]
        self.order = _orders(field, attempt.pattern)
        self.rows: list[list[int]] = []
        self.channels = 0
        self.taken = attempt.hops

    def run(self) -> None:
        stack = [self._channel()]
        looks = 0
        while stack and self.steps > 0:
            looks += 1
            if not looks & _LOOK and self.expired():
                raise TimeIsUpError
            following = next(stack[-1], None)
            if following is None:
                stack.pop()
            else:
                stack.append(following)

    def _channel(self) -> _Part:
        """Every beginning of the next channel."""
        number = self.channels
        if len(self.rows) == number:
            self.rows.append([0] * self.field.size)
        row = self.rows[number]
        yield self._forced(range(self.field.size) if number == 0 else self.rows[number - 1], row)
        if number and self.attempt.same_channels:
            return
        for first in range(self.field.size):
            if self.steps <= 0:
                return
            self.steps -= 1
            yield self._free(first, 0, 1 << first, row)

    def _forced(self, order: Sequence[int], row: list[int]) -> _Part:
        """One order alone."""
        if self.steps <= 0:
            return
        self.steps -= 1
        row[0] = before = order[0]
        taken: list[_Steps] = []
        counted = self.taken
        for place in range(1, self.field.size):
            gpu = order[place]
            steps = self.hops[before][gpu]
            if steps is None or not self._take(steps):
                break
            taken.append(steps)
            self.taken += self.links[before][gpu]
            if self.steps <= 0:
                return
            self.steps -= 1
            row[place] = before = gpu
        else:
            yield from self._close(before, row)
        for steps in taken:
            self._give(steps)
        self.taken = counted

    def _free(self, gpu: int, place: int, visited: int, row: list[int]) -> _Part:
        """Every GPU that may follow."""
        row[place] = gpu
        if place == self.last:
            yield from self._close(gpu, row)
            return
        hops, links = self.hops[gpu], self.links[gpu]
        room = self.room
        for following in self.order[gpu]:
            if visited >> following & 1:
                continue
            steps = hops[following]
            if steps is None:
                continue
            for link, amount in steps:
                if room[link] < amount:
                    break
            else:
                if self.steps <= 0:
                    return
                self.steps -= 1
                for link, amount in steps:
                    room[link] -= amount
                self.taken += links[following]
                yield self._free(following, place + 1, visited | 1 << following, row)
                for link, amount in steps:
                    room[link] += amount
                self.taken -= links[following]

    def _close(self, gpu: int, row: list[int]) -> _Part:
        """The last GPU of a channel: a ring goes back to its first."""
        if not self.ring:
            yield from self._found()
            return
        first = row[0]
        steps = self.hops[gpu][first]
        if steps is not None and self._take(steps):
            self.taken += self.links[gpu][first]
            yield from self._found()
            self._give(steps)
            self.taken -= self.links[gpu][first]

    def _found(self) -> _Part:
        """One channel more."""
        if self.steps <= 0:
            return
        self.steps -= 1
        self.channels += 1
        if self.channels >= self.attempt.fewest and self._is_better():
            self.best = self._graph()
            if self.channels == self.attempt.most:
                self.steps = PERFECT
        if self.channels < self.attempt.most:
            yield self._channel()
        self.channels -= 1

    def _is_better(self) -> bool:
        """Wider in all; else as wide, alike and shorter."""
        attempt, best = self.attempt, self.best
        total, known = self.channels * attempt.gbps, best.channels * best.gbps
        if total != known:
            return total > known
        alike = attempt.pattern is best.pattern and attempt.cross_nic == best.cross_nic
        return alike and self.taken < best.hops

    def _graph(self) -> Graph:
        attempt = self.attempt
        order = tuple(tuple(row) for row in self.rows[: self.channels])
        return Graph(
            attempt.pattern, self.channels, attempt.gbps, attempt.gbps_inter, attempt.type, PathType.PIX,
            attempt.same_channels, attempt.cross_nic, self.taken, order,
        )  # fmt: skip

    def _take(self, steps: _Steps) -> bool:
        room = self.room
        for link, amount in steps:
            if room[link] < amount:
                return False
        for link, amount in steps:
            room[link] -= amount
        return True

    def _give(self, steps: _Steps) -> None:
        for link, amount in steps:
            self.room[link] += amount


def amounts(hop: Hop, gbps: float, times: int = 1) -> _Steps:
    """MB/s that a channel of this speed takes of each link."""
    speed = round(gbps * 1000) * times
    return tuple((link, speed * fifths // 5) for link, fifths in hop.steps)


def _allowed(field: Field, attempt: Attempt) -> list[list[_Steps | None]]:
    """`None` where a way is too far; a tree is used in both directions."""

    def may(a: int, b: int) -> bool:
        far = field.hops[a][b].type
        if attempt.pattern is not Pattern.RING:
            far = max(far, field.hops[b][a].type)
        return far <= attempt.type and far < PathType.DIS

    places = range(field.size)
    return [[amounts(field.hops[a][b], attempt.gbps) if may(a, b) else None for b in places] for a in places]


def _orders(field: Field, pattern: Pattern) -> list[list[int]]:
    """Which GPU to try next: the widest way, then the shortest; on NVSwitches the neighbours only."""
    size = field.size
    orders = []
    for gpu in range(size):
        hops = field.hops[gpu]
        others = [(gpu + step) % size for step in range(1, size)]
        others = [other for other in others if hops[other].links]
        if field.has_switch:
            first = [(gpu + 1) % size, (gpu - 1) % size]
            if pattern is Pattern.TREE:
                first = first[:1]
            elif pattern is Pattern.BALANCED_TREE:
                first.reverse()
            # Each is put before the ones that were put there.
            others = [other for other in dict.fromkeys(reversed(first)) if other in others]
        else:
            # Python's sort keeps the order of equal ones: nearest by place.
            others.sort(key=lambda other: (-int(hops[other].gbps), hops[other].links))
        orders.append(others)
    return orders
