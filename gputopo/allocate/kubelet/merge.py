"""The Topology Manager's merge of all hints into one, and its four policies.

Upstream: topologymanager/policy.go (HintMerger), numa_info.go, policy_{none,best_effort,restricted,
single_numa_node}.go. The real code walks every permutation of hints; its comparison is a total order,
so the best of the *distinct* merged hints is the same (and the order of the lists does not matter):

1. A preferred one beats all others. It needs every hint preferred and all masks that are set identical.
2. Preferred ones among themselves: the fitter wins.
3. Others: with B = the most nodes that some list's narrowest hint needs, first those of B nodes, then
   narrower ones from the largest down, then wider ones from the smallest up; inside a size the fitter.
4. Fitter: fewer nodes, then the smaller mask; with prefer-closest-numa-nodes, at equal size, first the
   smaller average distance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gputopo.allocate.kubelet.hints import Hint, ProviderHints, flatten, single_node_only
from gputopo.allocate.kubelet.numa_mask import bits, mask_of

NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE = "none", "best-effort", "restricted", "single-numa-node"
POLICIES = (NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE)


class NumaInfo(NamedTuple):
    """`distances` by node id, each a row indexed by node id; only prefer-closest-numa-nodes reads them."""

    ids: tuple[int, ...]
    distances: Mapping[int, Sequence[int]]
    closest: bool = False


class Merged(NamedTuple):
    hint: Hint
    admit: bool


def merge(numa: NumaInfo, policy: str, providers: Iterable[ProviderHints]) -> Merged:
    """The hint that is stored, and whether the policy admits with it. `none` looks at nothing."""
    if policy == NONE:
        return Merged(Hint(None, False), True)
    lists = flatten(providers)
    if policy == SINGLE_NUMA_NODE:
        hint = best_hint(numa._replace(closest=False), single_node_only(lists))
        if hint.mask == mask_of(numa.ids):
            hint = Hint(None, hint.preferred)
    else:
        hint = best_hint(numa, lists)
    return Merged(hint, policy == BEST_EFFORT or hint.preferred)


def best_hint(numa: NumaInfo, lists: Sequence[Sequence[Hint]]) -> Hint:
    everything = mask_of(numa.ids)
    preferred = _preferred(everything, lists)
    if preferred:
        return Hint(min(preferred, key=lambda mask: _fitness(numa, mask)), True)
    masks = _merged(everything, lists)
    if not masks:
        return Hint(everything, False)
    most = _most_needed(lists)
    return Hint(min(masks, key=lambda mask: (_rank(mask.bit_count(), most), _fitness(numa, mask))), False)


def _preferred(everything: int, lists: Sequence[Sequence[Hint]]) -> set[int]:
    """The non-empty masks of permutations whose hints are all preferred and whose masks are one mask."""
    common: set[int | None] = {None}  # None: no hint of the permutation has named a mask
    for hints in lists:
        masks = {hint.mask for hint in hints if hint.preferred}
        kept = {mask for mask in common if mask in masks or None in masks}
        common = kept | masks if None in common else kept
    return {everything if mask is None else mask & everything for mask in common} - {0}


def _merged(everything: int, lists: Sequence[Sequence[Hint]]) -> set[int]:
    """The non-empty masks of all permutations, preferred or not."""
    reached = {everything}
    for hints in lists:
        masks = {everything if hint.mask is None else hint.mask for hint in hints}
        reached = {one & other for one in reached for other in masks}
    return reached - {0}


def _most_needed(lists: Sequence[Sequence[Hint]]) -> int:
    sizes = [[hint.mask.bit_count() for hint in hints if hint.mask is not None] for hints in lists]
    return max((min(found) for found in sizes if found), default=0)


def _rank(size: int, most: int) -> tuple[int, int]:
    if size == most:
        return 0, 0
    return (1, -size) if size < most else (2, size)


def _fitness(numa: NumaInfo, mask: int) -> tuple[int, float, int]:
    return mask.bit_count(), _average(numa, mask) if numa.closest else 0.0, mask


def _average(numa: NumaInfo, mask: int) -> float:
    """Over all ordered pairs, a node with itself included (CalculateAverageFor)."""
    nodes = bits(mask)
    return sum(float(numa.distances[one][other]) for one in nodes for other in nodes) / len(nodes) ** 2
