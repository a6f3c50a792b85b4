"""The pair scores that HAMi's device plugin would annotate for a node.

Read at Project-HAMi/HAMi 4707fb0 (2026-08-21): pkg/device/nvidia/calculate_score.go and links.go. As
go-gpuallocator's (PCIe class SYS 10 … PIX 50, plus 100 a direct NVLink), but through NVSwitches a pair
counts the smaller number of active switch links of the two, and a pair that does not see the same
number of links from both sides scores 0. More than 18 links count as none.
"""

from __future__ import annotations

from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import Gpu, NodeTopology, Pair

PCIE = {PathLevel.SYS: 10, PathLevel.NODE: 20, PathLevel.PHB: 30, PathLevel.PXB: 40, PathLevel.PIX: 50}
MOST_LINKS = 18  # of a type that nvlinkCountToType knows
PER_LINK = 100


class PairRange:
    """The lowest and the highest score of a pair, and what it is made of where that is one value."""

    __slots__ = ("a", "b", "high", "low", "terms")

    def __init__(self, a: str, b: str, low: int, high: int, terms: tuple[tuple[str, int], ...]) -> None:
        self.a, self.b, self.low, self.high, self.terms = a, b, low, high, terms


def of_node(node: NodeTopology) -> tuple[PairRange, ...]:
    """One entry per pair of GPUs, in the node's order."""
    gpus = {gpu.id: gpu for gpu in node.gpus}
    pairs = {frozenset((pair.a, pair.b)): pair for pair in node.pairs if pair.a in gpus and pair.b in gpus}
    found = []
    ids = list(gpus)
    for at, a in enumerate(ids):
        for b in ids[at + 1 :]:
            pair = pairs.get(frozenset((a, b))) or Pair(a, b)
            found.append(_range(pair, gpus[a], gpus[b]))
    return tuple(found)


def _range(pair: Pair, a: Gpu, b: Gpu) -> PairRange:
    levels = (pair.pcie,) if pair.pcie is not None else pair.pcie_candidates or tuple(PCIE)
    classes = [PCIE[level] for level in levels]
    few, many = _links(pair, a, b)
    terms: tuple[tuple[str, int], ...] = ()
    if few == many and len(set(classes)) == 1:
        terms = ((levels[0].name, classes[0]), *(((f"NVLink x{few}", PER_LINK * few),) if few else ()))
    return PairRange(pair.a, pair.b, min(classes) + PER_LINK * few, max(classes) + PER_LINK * many, terms)


def _links(pair: Pair, a: Gpu, b: Gpu) -> tuple[int, int]:
    """The lowest and highest number of NVLinks that HAMi can have counted."""
    if pair.nvlinks is None:
        return 0, MOST_LINKS
    counts = {pair.nvlinks}
    if pair.nvlinks and pair.via_switch is not False:
        own = [gpu.nvlinks.active for gpu in (a, b) if gpu.nvlinks is not None and gpu.nvlinks.active is not None]
        if len(own) == 2:
            counts = {min(own)} if pair.via_switch else {min(own), pair.nvlinks}
    counts = {count if count <= MOST_LINKS else 0 for count in counts}
    return min(counts), max(counts)
