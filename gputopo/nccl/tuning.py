"""NCCL's own model of an all-reduce inside a node: bus bandwidth and latency of each algorithm and protocol.

Source: src/graph/tuning.cc of NVIDIA/nccl v2.30.7 (ncclTopoTuneModel, ncclTopoGetAlgoTime), facts/nccl.md §2.1 and §9.
The constants are those of v2.30.7 for every version.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from gputopo.nccl.graph import Graph, Pattern
from gputopo.nccl.graphs_of import Graphs
from gputopo.nccl.path_types import PathType


class Chip(NamedTuple):
    """GB/s: what LL reaches in all, then what one channel reaches; `nvls`: part of the wire."""

    ll: float
    ring_ll128: float
    tree_ll128: float
    tree: float
    nvls: float


# By the lowest compute capability it holds for.
_CHIPS = (
    (100, Chip(282.0, 40.0, 55.6, 70.0, 0.74)),
    (90, Chip(141.0, 36.7, 36.7, 38.7, 0.85)),
    (80, Chip(87.7, 20.0, 20.0, 24.0, 0.0)),
    (0, Chip(39.0, 20.0, 20.0, 26.5, 0.0)),
)
# Microseconds: at the start, then a step by NVLink, a step by PCIe.
_LATENCY = {
    ("Tree", "LL"): (6.8, 0.6, 1.0),
    ("Tree", "LL128"): (14.0, 1.25, 1.9),
    ("Tree", "Simple"): (8.4, 4.0, 4.0),
    ("Ring", "LL"): (6.6, 0.6, 1.0),
    ("Ring", "LL128"): (14.0, 1.9, 2.5),
    ("Ring", "Simple"): (8.4, 3.4, 5.7),
    ("NVLS", "Simple"): (0.0, 25.0, 0.0),
}


class Estimate(NamedTuple):
    """Bus bandwidth in GB/s for large messages, and the time of a message of no size in microseconds."""

    algorithm: str  # Tree · Ring · NVLS
    protocol: str  # LL · LL128 · Simple
    bus_gbps: float
    latency_us: float


def chip_of(sm: int) -> Chip:
    return next(chip for lowest, chip in _CHIPS if max(sm, 0) >= lowest)


def estimates(graphs: Graphs) -> tuple[Estimate, ...]:
    """What NCCL may choose from; what it does not allow is left out, and all of it where there is no ring."""
    ring, tree, nvls, field = graphs.ring, graphs.tree, graphs.nvls, graphs.field
    if ring is None or not ring.channels or field.size < 2:
        return ()
    chip = chip_of(field.sm)
    ranks = field.size
    found: list[tuple[str, str, float, Graph]] = []
    if tree is not None:
        found += [("Tree", *one, tree) for one in _tree(tree, chip)]
    found += [("Ring", *one, ring) for one in _ring(ring, chip)]
    if nvls is not None and nvls.channels >= 2:
        part = _single(chip.nvls) * (nvls.channels - 1) / nvls.channels
        found.append(("NVLS", "Simple", nvls.channels * min(2 * nvls.gbps * part, nvls.gbps_inter), nvls))
    return tuple(
        Estimate(algorithm, protocol, _as_kept(algorithm, gbps, ranks), _latency(algorithm, protocol, graph, ranks))
        for algorithm, protocol, gbps, graph in found
        if gbps > 0 and (protocol != "LL128" or _takes_ll128(graph, graphs))
    )


def _single(value: float) -> float:
    """As a C float: 13.8 × ¾ is printed as 10.4 there."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _as_kept(algorithm: str, gbps: float, ranks: int) -> float:
    """NCCL keeps the bandwidth of the data, not of the bus."""
    per_bus = 0.5 if algorithm == "Tree" else _single(ranks / (2 * (ranks - 1)))
    return _single(_single(_single(gbps) * per_bus) * 2 * (ranks - 1) / ranks)


def _ring(ring: Graph, chip: Chip) -> list[tuple[str, float]]:
    total = ring.total_gbps
    return [
        ("LL", min(chip.ll, total * 0.5)),
        ("LL128", min(total * 0.92, ring.channels * chip.ring_ll128)),
        ("Simple", total),
    ]


def _tree(tree: Graph, chip: Chip) -> list[tuple[str, float]]:
    total = _single(min(_single(tree.total_gbps) * 0.92, tree.channels * chip.tree))
    part = 0.85 if tree.pattern is Pattern.TREE else 1.0
    return [
        ("LL", _single(min(total / 3.8, chip.ll)) * part),
        ("LL128", _single(min(total * (7 / 9), tree.channels * chip.tree_ll128)) * part),
        ("Simple", total * part),
    ]


def _takes_ll128(graph: Graph, graphs: Graphs) -> bool:
    """By NVLink only, and from Volta on; unlike chips only from Hopper on."""
    field = graphs.field
    farthest = PathType.PXN if field.sm >= 90 else PathType.PXB
    near = graph.type <= PathType.NVB and graph.type_inter <= farthest
    return near and field.sm >= 70 and (field.same_sm or field.sm >= 90)


def _latency(algorithm: str, protocol: str, graph: Graph, ranks: int) -> float:
    start, by_nvlink, by_pcie = _LATENCY[algorithm, protocol]
    step = by_nvlink if graph.type is PathType.NVL else by_pcie
    steps = 1 if algorithm == "NVLS" else 2 * (ranks - 1)
    return start + steps * step
