"""One set a mechanism can return, and families of sets too many to list.

    >>> family = Family(forced=("GPU0",), choose=2, of=("GPU1", "GPU2", "GPU3"))
    >>> family.ways, next(family.members())
    (3, ('GPU0', 'GPU1', 'GPU2'))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

from gputopo.allocate.state import physical
from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.node import NodeTopology, Pair

LISTED = 200  # outcomes listed one by one; beyond that families only (CONTRACT §3)


class Weakest(NamedTuple):
    """The pair of a set with the fewest NVLinks, and of those the farthest on PCIe."""

    a: str
    b: str
    level: str


class Outcome(NamedTuple):
    """A set, seen on the node. `None` is unknown; `devices` empty: the mechanism names no device."""

    gpus: tuple[str, ...]
    devices: tuple[str, ...]
    score: int | None = None  # upstream's score of this set; None also where it depends on what is undecided
    packages: tuple[str, ...] | None = None
    numa_nodes: tuple[int, ...] | None = None
    cross_package: bool | None = None
    cross_numa: bool | None = None
    weakest: Weakest | None = None
    cpus: CpuSet | None = None
    memory_nodes: tuple[int, ...] | None = None
    defect: str | None = None  # what upstream does wrong with this set, e.g. "padded"


class Family(NamedTuple):
    """`forced` and any `choose` of `of`, each taken `times` times (replicas of one GPU)."""

    forced: tuple[str, ...]
    choose: int
    of: tuple[str, ...]
    times: int = 1

    @property
    def ways(self) -> int:
        return comb(len(self.of), self.choose)

    def members(self) -> Iterator[tuple[str, ...]]:
        """Every set (with repetitions where `times` or `forced` has them), in the order of `of`."""
        for chosen in combinations(self.of, self.choose):
            yield self.forced + tuple(one for one in chosen for _ in range(self.times))


class Viewer:
    """Describes sets of one node; builds its index of pairs once."""

    def __init__(self, node: NodeTopology) -> None:
        self._gpus = {gpu.id: gpu for gpu in node.gpus}
        self._of_mig = {mig.uuid: gpu.id for gpu in node.gpus for mig in gpu.mig if mig.uuid}
        self._pairs = {frozenset((pair.a, pair.b)): pair for pair in node.pairs}

    def gpus(self, devices: Sequence[str]) -> tuple[str, ...]:
        """The GPUs behind some units, each once."""
        found = [physical(device) for device in devices]
        return tuple(dict.fromkeys(self._of_mig.get(one, one) for one in found))

    def outcome(self, devices: Sequence[str], score: int | None = None, defect: str | None = None) -> Outcome:
        gpus = self.gpus(devices)
        pairs = [self._pairs.get(frozenset(two)) for two in combinations(gpus, 2)]
        known = [self._gpus[gpu] for gpu in gpus if gpu in self._gpus]
        whole = len(known) == len(gpus)
        packages = [gpu.packages for gpu in known if gpu.packages is not None]
        numa = [gpu.numa_nodes for gpu in known if gpu.numa_nodes is not None]
        return Outcome(
            gpus=gpus,
            devices=tuple(devices),
            score=score,
            packages=_union(packages) if whole and len(packages) == len(known) else None,
            numa_nodes=_union(numa) if whole and len(numa) == len(known) else None,
            cross_package=_any([pair and pair.cross_package for pair in pairs]),
            cross_numa=_any([pair and pair.cross_numa for pair in pairs]),
            weakest=_weakest(pairs),
            defect=defect,
        )


def _union(sets: Sequence[tuple[str, ...]] | Sequence[tuple[int, ...]]) -> tuple:  # type: ignore[type-arg]
    return tuple(sorted({one for members in sets for one in members}))


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
