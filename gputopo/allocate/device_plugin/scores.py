"""What go-gpuallocator sees between two GPUs: one PCIe level and the NVLinks that end at the other.

Upstream: NVIDIA/go-gpuallocator v0.6.0 gpuallocator/device.go, internal/links/device.go and
besteffort_policy.go. Both are added: a pair at NODE with 4 direct NVLinks scores 20 + 400. NVLinks
into an NVSwitch end at the switch and count nothing ("TODO: Handle NVSwitch semantics"). Where the
evidence leaves a level or the kind of links open, a pair has several `Points`.

    >>> pair = Pair("GPU0", "GPU1", pcie=PathLevel.NODE, pcie_candidates=(PathLevel.NODE,), nvlinks=4, via_switch=False)
    >>> [points.score for points in options(pair, limit=36)]
    [420]
    >>> [points.score for points in options(pair._replace(via_switch=True), limit=36)]
    [20]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gputopo.terms.path_level import LEVELS, PathLevel
from gputopo.topology.node import Gpu, NodeTopology, Pair

# Points of NVML's levels. "Same board" (60) is not told apart from PIX by any source but NVML itself.
PCIE_POINTS = {PathLevel.PIX: 50, PathLevel.PXB: 40, PathLevel.PHB: 30, PathLevel.NODE: 20, PathLevel.SYS: 10}
NVLINK_POINTS = 100
MOST_NVLINKS = 18  # the state machine that counts them ends there
_NOT_COMPUTE = ("DGX Display", "NVIDIA DGX Display")  # go-nvlib skips these devices


class Points(NamedTuple):
    """One possibility for a pair."""

    level: PathLevel
    nvlinks: int  # that the allocator counts

    @property
    def score(self) -> int:
        return PCIE_POINTS[self.level] + NVLINK_POINTS * self.nvlinks

    @property
    def terms(self) -> tuple[tuple[str, int], ...]:
        pcie = (self.level.name, PCIE_POINTS[self.level])
        return (pcie, (f"NVLink x{self.nvlinks}", NVLINK_POINTS * self.nvlinks)) if self.nvlinks else (pcie,)


class OneSided(NamedTuple):
    """NVLinks of a pair that differ by direction: from a to b, from b to a, as the allocator counts them."""

    a: str
    b: str
    forward: int
    backward: int

    @property
    def panics(self) -> bool:
        """Upstream compares how many kinds of link each side has: NVLinks on one side only kill it."""
        return (self.forward == 0) != (self.backward == 0)


def seen_gpus(node: NodeTopology) -> tuple[Gpu, ...]:
    """The GPUs that NVML gives the plugin, in its order."""
    own = [gpu for gpu in node.gpus if gpu.vendor in (None, "nvidia") and gpu.name not in _NOT_COMPUTE]
    if all(gpu.nvml_index is not None for gpu in own):
        own.sort(key=lambda gpu: gpu.nvml_index or 0)
    return tuple(own)


def options(pair: Pair, limit: int, counted: OneSided | None = None) -> tuple[Points, ...]:
    """Every possibility, nearest level first. `counted`: the links as both GPUs' own lists have them.

    limit: links of a higher number are never asked for; without a list of links the first ones are meant.
    """
    levels = (pair.pcie,) if pair.pcie is not None else pair.pcie_candidates or LEVELS
    if counted is not None:
        counts: tuple[int, ...] = (counted.forward,)
    elif pair.nvlinks is None:
        # Printed PCIe levels alone do not say that there are no NVLinks.
        counts = tuple(range(MOST_NVLINKS + 1)) if pair.via_switch is not True else (0,)
    elif pair.via_switch is None:
        counts = tuple(dict.fromkeys((_counted(pair.nvlinks, limit), 0)))
    else:
        counts = (0,) if pair.via_switch else (_counted(pair.nvlinks, limit),)
    return tuple(Points(level, count) for count in counts for level in levels)


def _counted(nvlinks: int, limit: int) -> int:
    return min(nvlinks, limit, MOST_NVLINKS)


def listed_links(node: NodeTopology, limit: int) -> dict[frozenset[str], OneSided]:
    """The direct links of each pair whose two GPUs list their links with visible far ends, numbers below limit."""
    gpus = seen_gpus(node)
    found = {}
    for at, first in enumerate(gpus):
        for second in gpus[at + 1 :]:
            forward, backward = _to(first, second, limit), _to(second, first, limit)
            if forward is not None and backward is not None:
                found[frozenset((first.id, second.id))] = OneSided(first.id, second.id, forward, backward)
    return found


def _to(gpu: Gpu, peer: Gpu, limit: int) -> int | None:
    """Links from a GPU that end at a peer; `None` where a link's state, far end or number is not known."""
    if not gpu.links:
        return None
    count = 0
    for link in gpu.links:
        if link.state is None:
            return None
        if link.state != "active" or link.remote_kind == "switch":
            continue
        if link.remote is None:
            return None
        if link.remote in (peer.id, peer.pci):
            if link.number is None and gpu.nvlinks is not None and (gpu.nvlinks.total or limit + 1) > limit:
                return None
            count += link.times if link.number is None or link.number < limit else 0
    return min(count, MOST_NVLINKS)


def one_sided(node: NodeTopology, limit: int) -> tuple[OneSided, ...]:
    """Pairs whose NVLinks differ by direction."""
    return tuple(pair for pair in listed_links(node, limit).values() if pair.forward != pair.backward)


def failing_gpus(node: NodeTopology) -> tuple[tuple[str, ...], str] | None:
    """GPUs for which NVML answers with an error, and the words of the evidence; `None`: there is none.

    Upstream reads every physical GPU for every request of whole GPUs: one lost GPU fails all of them.
    """
    lost = [seen for seen in node.observations if seen.kind == "gpu-lost"]
    if not lost:
        return None
    return tuple(dict.fromkeys(id for seen in lost for id in seen.subjects)), lost[0].text


def pair_table(node: NodeTopology, ids: Sequence[str]) -> dict[tuple[int, int], Pair]:
    """Position pairs (low, high) → the node's pair; pairs the node does not list are made up as unknown."""
    known = {frozenset((pair.a, pair.b)): pair for pair in node.pairs}
    return {
        (a, b): known.get(frozenset((ids[a], ids[b])), Pair(ids[a], ids[b]))
        for a in range(len(ids))
        for b in range(a + 1, len(ids))
    }
