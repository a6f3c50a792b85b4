"""A set of GPUs as the node sees it: its sockets, NUMA nodes and weakest pair.

    >>> from gputopo.topology.node import Gpu
    >>> gpus = tuple(Gpu(f"GPU{n}", packages=(f"PKG{n}",), numa_nodes=(n,)) for n in range(2))
    >>> node = NodeTopology(gpus=gpus, pairs=(Pair("GPU0", "GPU1", "NV4", nvlinks=4, cross_package=True),))
    >>> Sight(node).see(("GPU0", "GPU1"))
    SetSeen(packages=('PKG0', 'PKG1'), numa_nodes=(0, 1), cross_package=True, cross_numa=None, \
weakest=Weakest(a='GPU0', b='GPU1', level='NV4'))
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple, TypeVar

from gputopo.topology.node import NodeTopology, Pair

T = TypeVar("T", str, int)


class Weakest(NamedTuple):
    """The pair of a set with the fewest NVLinks, and of those the farthest on PCIe."""

    a: str
    b: str
    level: str


class SetSeen(NamedTuple):
    """`None` is unknown; of `weakest` also: there is no pair."""

    packages: tuple[str, ...] | None
    numa_nodes: tuple[int, ...] | None
    cross_package: bool | None
    cross_numa: bool | None
    weakest: Weakest | None


class Sight:
    """Sees sets of one node; builds its index of pairs once."""

    def __init__(self, node: NodeTopology) -> None:
        self.gpus = {gpu.id: gpu for gpu in node.gpus}
        self._pairs = {frozenset((pair.a, pair.b)): pair for pair in node.pairs}

    def pairs(self, gpus: Sequence[str]) -> list[Pair | None]:
        return [self._pairs.get(frozenset(two)) for two in combinations(gpus, 2)]

    def see(self, gpus: Sequence[str]) -> SetSeen:
        pairs = self.pairs(gpus)
        known = [self.gpus.get(gpu) for gpu in gpus]
        return SetSeen(
            _union([gpu.packages if gpu else None for gpu in known]),
            _union([gpu.numa_nodes if gpu else None for gpu in known]),
            _any([pair and pair.cross_package for pair in pairs]),
            _any([pair and pair.cross_numa for pair in pairs]),
            _weakest(pairs),
        )


def _union(sets: Sequence[tuple[T, ...] | None]) -> tuple[T, ...] | None:
    if any(one is None for one in sets):
        return None
    return tuple(sorted({member for one in sets if one is not None for member in one}))


def _any(flags: Sequence[bool | None]) -> bool | None:
    """True when one is; False when all are known and none is; else unknown."""
    if any(flags):
        return True
    return None if any(flag is None for flag in flags) else False


def _weakest(pairs: Sequence[Pair | None]) -> Weakest | None:
    """`None` for a single GPU, and where an undecided pair could be the weakest."""
    ranked = []
    for pair in pairs:
        if pair is None or pair.level is None or pair.nvlinks is None:
            return None
        depth = 0 if pair.nvlinks else -int(pair.pcie) if pair.pcie is not None else None
        if depth is None:
            return None
        ranked.append((pair.nvlinks, depth, Weakest(pair.a, pair.b, pair.level)))
    return min(ranked, key=lambda one: one[:2])[2] if ranked else None
