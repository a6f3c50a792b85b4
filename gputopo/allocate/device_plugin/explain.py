"""Why BestEffort answers what it answers: how the sets split the node, their totals, and what would win instead.

A *way* is all sets of the wanted size that lie alike over the sockets (or NUMA nodes) and score alike:
the set's score, the best the devices left over can be cut into, and the sum that upstream maximises.

    >>> near = [[0 if a == b else 20 if a // 2 == b // 2 else 10 for b in range(4)] for a in range(4)]
    >>> for way in ways(near, ["x", "x", "y", "y"], size=2):
    ...     print(way.shape, way.left, way.score, way.rest, way.total, way.sets, way.wins)
    (2, 0) (2, 0) 20 20 40 2 True
    (1, 1) (1, 1) 10 10 20 4 False
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import comb
from typing import NamedTuple

from gputopo.allocate.device_plugin.aligned import Aligned, aligned
from gputopo.allocate.device_plugin.partitions import IMPOSSIBLE, Partitions
from gputopo.allocate.state import State
from gputopo.topology.node import NodeTopology

MOST_SETS = 5000  # more are not told one by one


class Way(NamedTuple):
    shape: tuple[int, ...] | None  # devices of the set by group, descending; None: groups are not known
    left: tuple[int, ...] | None  # of the devices left over
    score: int
    rest: int  # the best total of what is left over
    sets: int
    wins: bool  # its total is the highest; whether it is returned depends on the partition's other sets

    @property
    def total(self) -> int:
        return self.score + self.rest


def ways(
    scores: Sequence[Sequence[int]], groups: Sequence[str] | None, size: int, required: Sequence[int] = ()
) -> tuple[Way, ...]:  # fmt: skip
    """By total, highest first; () where there are too many sets. groups: of each device; positions as in scores."""
    count = len(scores)
    free = size - len(required)
    if size < 2 or not 0 <= free <= count - len(required) or comb(count - len(required), free) > MOST_SETS:
        return ()
    partitions = Partitions(scores, size)
    must = partitions.mask(required)
    names = sorted(set(groups)) if groups is not None else []
    of_group = [partitions.mask([at for at in range(count) if groups[at] == name]) for name in names if groups]
    found: Counter[tuple[tuple[int, ...] | None, tuple[int, ...] | None, int, int]] = Counter()
    for more in partitions.subsets(partitions.everything ^ must, free):
        one = must | more
        left = partitions.everything ^ one
        rest = partitions.best(left)
        if rest != IMPOSSIBLE:
            shape, behind = (_shape(one, of_group), _shape(left, of_group)) if groups is not None else (None, None)
            found[shape, behind, partitions.score[one], rest] += 1
    highest = max((score + rest for _, _, score, rest in found), default=0)
    made = [
        Way(shape, left, score, rest, sets, score + rest == highest)
        for (shape, left, score, rest), sets in found.items()
    ]
    return tuple(sorted(made, key=lambda way: (-way.total, -way.score, way.shape or ())))


def _shape(mask: int, groups: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(((mask & group).bit_count() for group in groups), reverse=True))


class Grouping(NamedTuple):
    """What the devices are counted by: sockets, or NUMA nodes where those say more."""

    noun: str  # "socket" | "NUMA node"
    of: dict[str, str]  # GPU → its group


def grouping(node: NodeTopology, gpus: Sequence[str]) -> Grouping | None:
    """`None` where the evidence does not place every one of these GPUs in exactly one."""
    known = {gpu.id: gpu for gpu in node.gpus}
    packages = {id: known[id].packages for id in gpus}
    numa = {id: known[id].numa_nodes for id in gpus}
    by_package = {id: one[0] for id, one in packages.items() if one is not None and len(one) == 1}
    by_numa = {id: str(one[0]) for id, one in numa.items() if one is not None and len(one) == 1}
    finer = len(set(by_numa.values())) > len(set(by_package.values()))
    if len(by_package) == len(gpus) and not (finer and len(by_numa) == len(gpus)):
        numbers = {package.id: str(package.number) for package in node.packages or ()}
        return Grouping("socket", {id: numbers.get(one, one) for id, one in by_package.items()})
    return Grouping("NUMA node", by_numa) if len(by_numa) == len(gpus) else None


def freed(state: State, required: Sequence[str], size: int, limit: int) -> dict[str, Aligned]:
    """Each GPU in use → what could be answered if it alone came back."""
    free = set(state.free)
    return {
        unit: aligned(state.node, [one for one in state.units if one in free or one == unit], required, size, limit)
        for unit in state.units
        if unit not in free
    }
