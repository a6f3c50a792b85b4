"""Which set of GPUs would be best, and whether one set is better than another (the order of CONTRACT §3).

*Better*, among sets of one size: a nearer weakest pair (more NVLinks, then PIX, PXB, PHB, NODE, SYS), then
fewer packages, then fewer NUMA nodes, then fewer pairs at the weakest level. A tie is not better. Where
the evidence leaves a level open, a set has a best and a worst case, and the answer may be `None`.

    >>> from gputopo.terms.path_level import PathLevel as L
    >>> def pair(a, b, level): return Pair(f"GPU{a}", f"GPU{b}", pcie=level, nvlinks=0)
    >>> gpus = tuple(Gpu(f"GPU{n}", packages=(f"PKG{n // 2}",), numa_nodes=(n // 2,)) for n in range(4))
    >>> far = tuple(pair(a, b, L.SYS) for a in (0, 1) for b in (2, 3))
    >>> node = NodeTopology(gpus=gpus, pairs=(pair(0, 1, L.NODE), pair(2, 3, L.PIX), *far))
    >>> best(node, ["GPU0", "GPU1", "GPU2", "GPU3"], 2).sets
    (('GPU2', 'GPU3'),)
    >>> Judge(node).better(("GPU0", "GPU1"), ("GPU0", "GPU2"))
    True
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

from gputopo.terms.path_level import LEVELS
from gputopo.topology.node import Gpu, NodeTopology, Pair

MOST_SETS = 200_000  # 20 GPUs, any size; more are not searched
_FAR = 100  # rank of a level, behind every number of NVLinks
_NO_NVLINKS_KNOWN = (0, _FAR + int(LEVELS[-1]))


class Quality(NamedTuple):
    """A set's place in the order, smaller is better; each part (least, most), `None` where nothing is known."""

    weakest: tuple[int, int] | None
    packages: tuple[int, int] | None
    numa_nodes: tuple[int, int] | None
    pairs_at_weakest: tuple[int, int] | None


class Best(NamedTuple):
    """Sets that no other set is certainly better than. `decided`: the evidence leaves no other candidate."""

    sets: tuple[tuple[str, ...], ...]
    decided: bool


class Judge:
    """Compares sets of one node; builds its index of pairs once."""

    def __init__(self, node: NodeTopology) -> None:
        self._gpus = {gpu.id: gpu for gpu in node.gpus}
        self._ranks: dict[frozenset[str], tuple[int, int]] = {
            frozenset((pair.a, pair.b)): _rank(pair) for pair in node.pairs
        }

    def quality(self, gpus: Sequence[str]) -> Quality:
        ranks = [self._ranks.get(frozenset(two), _NO_NVLINKS_KNOWN) for two in combinations(gpus, 2)]
        known = [self._gpus[gpu] for gpu in gpus if gpu in self._gpus]
        weakest = (max(low for low, _ in ranks), max(high for _, high in ranks)) if ranks else (0, 0)
        at = None
        if weakest[0] == weakest[1]:
            sure = sum(low == high == weakest[0] for low, high in ranks)
            at = (sure, sum(high >= weakest[0] for _, high in ranks))
        whole = len(known) == len(gpus)
        return Quality(
            weakest,
            _count(known, "packages") if whole else None,
            _count(known, "numa_nodes") if whole else None,
            at,
        )

    def better(self, first: Sequence[str], second: Sequence[str]) -> bool | None:
        """Whether the first set is better than the second; `None`: it depends on what is not known."""
        if set(first) == set(second):
            return False
        return is_better(self.quality(first), self.quality(second))


def is_better(first: Quality, second: Quality) -> bool | None:
    for one, other in zip(first, second):
        if one is None or other is None:
            if one is None and other is None:
                continue  # neither says it: the next part decides
            return None
        if one[1] < other[0]:
            return True
        if other[1] < one[0]:
            return False
        if not one[0] == one[1] == other[0] == other[1]:
            return None
    return False


def best(node: NodeTopology, candidates: Sequence[str], size: int, required: Iterable[str] = ()) -> Best | None:
    """The best sets of `size` out of the candidates; `None`: there is none, or too many to look at."""
    must = tuple(dict.fromkeys(required))
    rest = [one for one in candidates if one not in must]
    free = size - len(must)
    if size < 1 or free < 0 or free > len(rest) or not set(must) <= set(candidates):
        return None
    if comb(len(rest), free) > MOST_SETS:
        return None
    judge = Judge(node)
    order = {one: at for at, one in enumerate(candidates)}
    found: dict[Quality, list[tuple[str, ...]]] = {}
    for chosen in combinations(rest, free):
        one = tuple(sorted((*must, *chosen), key=order.__getitem__))
        found.setdefault(judge.quality(one), []).append(one)
    kept = [quality for quality in found if not any(is_better(other, quality) for other in found)]
    decided = all(is_better(one, other) is False for one in kept for other in kept)
    return Best(tuple(one for quality in kept for one in found[quality]), decided)


def islands(node: NodeTopology, gpus: Sequence[str]) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
    """NVLink islands that a set keeps together (it lies in one, or holds it whole) and those it breaks.

    An island is broken where the set takes some of it and leaves some, and has GPUs outside it.
    """
    taken = set(gpus)
    kept: list[tuple[str, ...]] = []
    broken: list[tuple[str, ...]] = []
    for island in node.islands.nvlink:
        inside = taken & set(island)
        if not inside:
            continue
        (kept if inside in (taken, set(island)) else broken).append(island)
    return tuple(kept), tuple(broken)


def _rank(pair: Pair) -> tuple[int, int]:
    """(nearest, farthest) it can be: NVLinks before any PCIe level, more of them before fewer."""
    levels = (pair.pcie,) if pair.pcie is not None else pair.pcie_candidates or LEVELS
    near, far = _FAR + int(min(levels)), _FAR + int(max(levels))
    if pair.nvlinks is None:
        return 0, far
    return (-pair.nvlinks, -pair.nvlinks) if pair.nvlinks else (near, far)


def _count(gpus: Sequence[Gpu], attribute: str) -> tuple[int, int] | None:
    sets = [getattr(gpu, attribute) for gpu in gpus]
    if any(one is None for one in sets):
        return None
    count = len({member for one in sets for member in one})
    return count, count
