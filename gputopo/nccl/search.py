"""NCCL's search for one graph: which speeds, how far, alike channels or not, then doubled and raised.

Source: src/graph/search.cc of NVIDIA/nccl v2.30.7 (ncclTopoCompute, ncclTopoDupChannels), one node alone. What a search
cannot find again is not searched again: a farther type that no pair has gives the same answer in the same steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gputopo.nccl.graph import Graph, Pattern
from gputopo.nccl.hops import Field
from gputopo.nccl.nvls_walk import nvls_walk
from gputopo.nccl.path_types import PathType, Version
from gputopo.nccl.versions import channel_speeds
from gputopo.nccl.walk import PERFECT, Attempt, Walk

_ALL_STEPS = 1 << 19
_STEPS = 1 << 14
_SAME_CHANNEL_STEPS = 1 << 8
_NVLS_HEADS = 32
_WORTH_DOUBLING = 25.0
_NO_NET = "Could not find any local path from gpu 0 to net."


def find(
    field: Field, pattern: Pattern, fewest: int, most: int, version: Version, expired: Callable[[], bool]
) -> Graph:  # fmt: skip
    """The graph of one pattern with so many channels. Raises TimeIsUpError."""
    return _Search(field, pattern, fewest, most, version, expired).run()


class _Search:
    def __init__(
        self, field: Field, pattern: Pattern, fewest: int, most: int, version: Version, expired: Callable[[], bool]
    ) -> None:  # fmt: skip
        self.field = field
        self.expired = expired
        self.speeds = channel_speeds(field.sm, version)
        self.types = [row[b].type for a, row in enumerate(field.hops) for b in range(field.size) if a != b]
        self.nearest = min([PathType.SYS, *self.types])
        self.farthest = max([PathType.LOC, *self.types])
        self.nvls = pattern is Pattern.NVLS
        self.crosses_nics = field.nets > 1 and pattern in (Pattern.RING, Pattern.BALANCED_TREE)
        if self.nvls:
            fewest = most = min(_NVLS_HEADS, field.size)
        if pattern is Pattern.RING and field.split_nvlink and most >= 2 and fewest == 1:
            fewest = 2
        self.graph = Graph(pattern, type=self.nearest, same_channels=not self.nvls)
        self.at = self._first_speed(pattern, fewest)
        speed = self.speeds[self.at]
        self.attempt = Attempt(pattern, speed, speed, self.nearest, not self.nvls, 0, fewest, most)
        self.left = _ALL_STEPS
        self.known: dict[tuple[object, ...], int] = {}

    def _first_speed(self, pattern: Pattern, fewest: int) -> int:
        """The first that one way, and all links of a GPU with the fewest channels, can carry."""
        total, devices = self.field.total, self.field.devices
        if devices > 1 and pattern is not Pattern.RING:
            total = total * devices / (devices - 1)  # a tree does not come back to where it began
        at = 0
        while at < len(self.speeds) - 1 and (
            self.speeds[at] > self.field.widest or self.speeds[at] * fewest > total * (1 + 1e-7)
        ):
            at += 1
        return at

    def run(self) -> Graph:
        if self.nvls and (not self.field.has_switch or self.field.sm < 90):
            return self.graph._replace(why="needs NVSwitches and Hopper or later")
        for _ in self._first_pass():
            pass
        self._double()
        self._raise()
        if not self.graph.channels and not self.nvls:
            return self._fallback()
        return self.graph

    def _walk(self) -> int:
        """One search; what is left of its steps, PERFECT where nothing can be better."""
        steps = _SAME_CHANNEL_STEPS if self.attempt.same_channels else _STEPS
        self.left -= steps
        key = self._key()
        if key in self.known:
            return self.known[key]
        before = self.graph
        if self.nvls:
            self.graph, steps = nvls_walk(self.field, self.attempt, before, steps)
        else:
            walk = Walk(self.field, self.attempt, before, steps, self.expired)
            walk.run()
            self.graph, steps = walk.best, walk.steps
        if self.graph is before:
            self.known[key] = steps
        return steps

    def _key(self) -> tuple[object, ...]:
        """What the outcome of a search depends on."""
        attempt, graph = self.attempt, self.graph
        reached = max((type for type in self.types if type <= attempt.type), default=attempt.type)
        shape = attempt.pattern if self.field.has_switch else None
        alike = attempt.pattern is graph.pattern and attempt.cross_nic == graph.cross_nic
        return (
            reached, attempt.gbps, attempt.gbps_inter, attempt.same_channels, shape, alike, attempt.hops,
            attempt.fewest, attempt.most, graph.channels, graph.gbps, graph.gbps_inter, graph.hops,
        )  # fmt: skip

    def _is_enough(self, steps: int) -> bool:
        return steps == PERFECT or self.graph.channels * self.graph.gbps_inter >= self.field.total

    def _first_pass(self) -> Iterator[None]:
        """From the fastest speed down until there is a graph, and a little on."""
        while True:
            steps = self._walk()
            if self._is_enough(steps):
                return
            if not self._vary(steps):
                return
            yield

    def _vary(self, steps: int) -> bool:
        """What to try next: other channels, a simpler tree, a farther type, across NICs, the next speed."""
        attempt, graph, field = self.attempt, self.graph, self.field
        by_amd = field.cpu.arch == "x86" and field.cpu.vendor == "amd" and attempt.type is PathType.SYS
        if attempt.same_channels and not by_amd:
            self.attempt = attempt._replace(same_channels=False)
            return True
        attempt = attempt._replace(same_channels=not self.nvls)
        self.left += steps
        if self.left < 0 and graph.channels:
            self.attempt = attempt
            return False
        if field.sm >= 90 and attempt.pattern is Pattern.BALANCED_TREE:
            self.attempt = attempt._replace(pattern=Pattern.TREE)
            return True
        attempt = attempt._replace(pattern=graph.pattern)
        if attempt.type < self.farthest and (not graph.channels or attempt.type < graph.type):
            self.attempt = attempt._replace(type=PathType(attempt.type + 1))
            if self.attempt.type < PathType.DIS:
                return True
        attempt = attempt._replace(type=self.nearest)
        if self.crosses_nics and attempt.cross_nic == 0 and graph.pattern in (Pattern.RING, Pattern.BALANCED_TREE):
            self.attempt = attempt._replace(cross_nic=2)
            return True
        attempt = attempt._replace(cross_nic=0)
        if self.at < len(self.speeds) - 1 and (
            not graph.channels or self.speeds[self.at + 1] / graph.gbps_inter > 0.49
        ):
            self.at += 1
            speed = self.speeds[self.at]
            self.attempt = attempt._replace(gbps=speed, gbps_inter=speed)
            return True
        self.attempt = attempt
        return False

    def _double(self) -> None:
        """Wide channels are cut in two, since one block of the GPU cannot fill them."""
        graph = self.graph
        if not graph.channels or self.nvls or graph.gbps < _WORTH_DOUBLING:
            return
        if self.field.sm > 80 and graph.gbps < 2 * _WORTH_DOUBLING and graph.channels > 4:
            return
        channels = min(graph.channels * 2, self.attempt.most)
        parts = -(-channels // graph.channels)
        order = (*graph.order, *graph.order[: channels - graph.channels])
        self.graph = graph._replace(
            channels=channels, gbps=graph.gbps / parts, gbps_inter=graph.gbps_inter / parts, order=order
        )

    def _raise(self) -> None:
        """As many channels, faster."""
        graph = self.graph
        at = 0
        while self.speeds[at] > graph.gbps_inter and at < len(self.speeds) - 1:
            at += 1
        speed = self.speeds[at]
        self.attempt = Attempt(
            graph.pattern, speed, speed, graph.type, graph.same_channels, graph.cross_nic,
            graph.channels, self.attempt.most, graph.hops,
        )  # fmt: skip
        steps = PERFECT
        while steps and at > 0:
            attempt, graph = self.attempt, self.graph
            faster = self.speeds[at - 1]
            if graph.pattern is Pattern.RING:
                self.attempt = attempt._replace(gbps=faster, gbps_inter=faster)
            elif self.nvls and attempt.gbps_inter == graph.gbps_inter and attempt.gbps_inter < attempt.gbps * 2:
                self.attempt = attempt._replace(fewest=graph.channels, most=graph.channels, gbps_inter=faster)
            elif attempt.gbps == graph.gbps and attempt.gbps < attempt.gbps_inter * 2:
                self.attempt = attempt._replace(gbps=faster)
            else:
                return
            at -= 1
            steps = self._walk()

    def _fallback(self) -> Graph:
        """One slow channel in the order of the file, by the NIC: NCCL needs one for it."""
        graph = self.graph._replace(gbps=0.1, type=PathType.SYS, gbps_inter=0.0)
        if not self.field.nets:
            return graph._replace(type_inter=PathType.DIS, why=_NO_NET)
        order = (tuple(range(self.field.size)),)
        return graph._replace(channels=1, gbps_inter=0.1, type_inter=PathType.SYS, order=order)
