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
from gputopo.topology.gpu_sets import Sight, Weakest
from gputopo.topology.node import NodeTopology

__all__ = ["LISTED", "Family", "Outcome", "Viewer", "Weakest"]

LISTED = 200  # outcomes listed one by one; beyond that families only (CONTRACT §3)


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
        self._sight = Sight(node)
        self._of_mig = {mig.uuid: gpu.id for gpu in node.gpus for mig in gpu.mig if mig.uuid}

    def gpus(self, devices: Sequence[str]) -> tuple[str, ...]:
        """The GPUs behind some units, each once."""
        found = [physical(device) for device in devices]
        return tuple(dict.fromkeys(self._of_mig.get(one, one) for one in found))

    def outcome(self, devices: Sequence[str], score: int | None = None, defect: str | None = None) -> Outcome:
        gpus = self.gpus(devices)
        return Outcome(gpus, tuple(devices), score, *self._sight.see(gpus), defect=defect)
