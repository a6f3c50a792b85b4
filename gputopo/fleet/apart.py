"""How a set of GPUs lies on its node beside the best set of its size that is free."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from gputopo.allocate.best import Best, Judge, best, islands
from gputopo.allocate.device_plugin.why import set_name
from gputopo.topology.node import NodeTopology

NEARER = "{} ({}) would be nearer than {} ({})"
_TRIED = 200  # best sets that are looked at for the one that lies best
_Set = tuple[str, ...]


class Apart(NamedTuple):
    """`better`: whether a free set is better. `ways`: how the set is split where that one is not."""

    better: bool
    ways: tuple[str, ...] = ()
    than: _Set = ()


class _Lie(NamedTuple):
    packages: int | None
    numa_nodes: int | None
    outside: bool  # no NVLink island holds all of it
    broken: int  # NVLink islands


class Ruler:
    """Of one node; asks for each size once."""

    def __init__(self, node: NodeTopology, free: Sequence[str]) -> None:
        self._node = node
        self._free = tuple(free)
        self._judge = Judge(node)
        self._gpus = {gpu.id: gpu for gpu in node.gpus}
        self._pairs = {frozenset((pair.a, pair.b)): pair for pair in node.pairs}
        self._best: dict[int, Best | None] = {}
        self._rivals: dict[int, list[_Set]] = {}

    def best(self, size: int) -> Best | None:
        if size not in self._best:
            found = self._best[size] = best(self._node, self._free, size)
            # Of sets that are equally good the one that lies in fewest places; of open evidence one for each case.
            rivals: dict[object, _Set] = {}
            for one in sorted((found.sets if found is not None else ())[:_TRIED], key=self._places):
                rivals.setdefault(self._judge.quality(one), one)
            self._rivals[size] = list(rivals.values())
        return self._best[size]

    def apart(self, gpus: _Set) -> Apart | None:
        """`None`: the evidence leaves open whether a better set was free."""
        if self.best(len(gpus)) is None:
            return None
        better: list[_Set] = []
        unknown = False
        for rival in self._rivals[len(gpus)]:
            verdict = self._judge.better(rival, gpus)
            unknown = unknown or verdict is None
            if verdict:
                better.append(rival)
        for rival in better:
            ways = self._ways(gpus, rival)
            if ways:
                return Apart(True, ways, rival)
        if unknown:
            return None
        return Apart(True, (), better[0]) if better else Apart(False)

    def _ways(self, gpus: _Set, rival: _Set) -> tuple[str, ...]:
        own, other = self._lie(gpus), self._lie(rival)
        found = []
        if _more(own.packages, other.packages):
            found.append("crosses sockets")
        elif _more(own.numa_nodes, other.numa_nodes):
            found.append("crosses NUMA nodes")
        if own.outside and not other.outside:
            found.append("leaves an NVLink island")
        elif own.broken and not other.broken:
            found.append("breaks an NVLink island")
        return tuple(found)

    def _lie(self, gpus: _Set) -> _Lie:
        outside = not any(set(gpus) <= set(island) for island in self._node.islands.nvlink)
        broken = len(islands(self._node, gpus)[1])
        return _Lie(self._places_of(gpus, "packages"), self._places_of(gpus, "numa_nodes"), outside, broken)

    def _places(self, gpus: _Set) -> tuple[int, int, bool, int]:
        lie = self._lie(gpus)
        return (lie.packages or 0, lie.numa_nodes or 0, lie.outside, lie.broken)

    def _places_of(self, gpus: _Set, attribute: str) -> int | None:
        found = [getattr(self._gpus[gpu], attribute) for gpu in gpus if gpu in self._gpus]
        if len(found) < len(gpus) or any(one is None for one in found):
            return None
        return len({place for one in found for place in one})

    def name(self, gpus: Sequence[str]) -> str:
        return set_name(sorted(gpus, key=lambda one: (len(one), one)))

    def where(self, gpus: _Set) -> str:
        """`in one socket`, `over 2 sockets, as every set of 8 must be`."""
        for noun, attribute in (("socket", "packages"), ("NUMA node", "numa_nodes")):
            number = self._places_of(gpus, attribute)
            if number == 1:
                return f"in one {noun}"
            if number is not None:
                return f"over {number} {noun}s, and no better set of {len(gpus)} is free"
        return f"and no better set of {len(gpus)} is free"

    def shape(self, gpus: _Set) -> str:
        """` (3+1)`: how many in each socket, else in each NUMA node."""
        for attribute in ("packages", "numa_nodes"):
            homes = [getattr(self._gpus[gpu], attribute) for gpu in gpus]
            if all(home is not None and len(home) == 1 for home in homes):
                counts = sorted(Counter(home[0] for home in homes).values(), reverse=True)
                return f" ({'+'.join(map(str, counts))})" if len(counts) > 1 else ""
        return ""

    def joined(self, gpus: _Set) -> str:
        """Said of a set in which every pair has NVLinks: the host side is what is apart."""
        pairs = [self._pairs.get(frozenset(two)) for two in combinations(gpus, 2)]
        if not pairs or not all(pair is not None and pair.nvlinks for pair in pairs):
            return ""
        return "NVLinks join every pair of it: host memory and NICs are farther, GPU-GPU traffic is not"

    def level(self, gpus: _Set) -> str:
        """Of the weakest pair."""
        pairs = [self._pairs.get(frozenset(two)) for two in combinations(gpus, 2)]
        ranked = [(pair.nvlinks or 0, -int(pair.pcie or 0), pair.level or "?") for pair in pairs if pair is not None]
        return min(ranked)[2] if ranked else "?"


def _more(own: int | None, other: int | None) -> bool:
    return own is not None and other is not None and own > other
