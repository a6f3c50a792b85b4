"""Kind `nccl-busbw`: reported all-reduce figures (data/nccl/busbw.jsonl) against our ceiling and expectation.

A row names a class of machine, not a file: its node is written here, by the class alone, as the topology file NCCL
dumps there. No measured value of a healthy set may be above the ceiling. Of a single healthy node with NVLink the
expectation is within 15 % of what was measured, or of what a maintainer expects; a floor is no prediction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from gputopo.evidence.piece import Piece
from gputopo.inspection import nodes
from gputopo.nccl import SetRates, all_reduce, graphs, machine, rates
from gputopo.nccl.machines import Machine
from gputopo.topology.node import NodeTopology
from tests.nccl.files import AMD, GEN3, GEN4, GEN5, INTEL_SPR, cpu, gpu, nvswitch_node, switch, system, to_gpu

COMPARED = frozenset({
    "class", "n_gpus", "nodes", "algo", "busbw_GBps", "figure", "healthy", "wire_ceiling_GBps",
    "nccl_2_30_7_model_busbw",
})  # fmt: skip
IGNORED = {
    "id": "the name of the row",
    "gpu": "in `class`",
    "topology": "in `class`, for people",
    "healthy_why": "why `healthy` says what it says",
    "ceiling_how": "the derivation of wire_ceiling_GBps; ours is in docs/bandwidth.md",
    "kind": "how it was measured, for people; `figure` is the part that decides",
    "url": "where it was said",
}
_WITHIN = 0.15
_CLOSE = 0.1  # GB/s of two ceilings
_NVLINK = ("hgx-", "dgx1-", "bridged-", "nvl72-")
_ALGORITHMS = ("NVLS", "Ring", "Tree")
_said: list[str] = []

# The cube mesh of a DGX-1: from each GPU, links to the others.
_MESH = (
    {1: 1, 2: 1, 3: 2, 4: 2}, {0: 1, 2: 2, 3: 1, 5: 2}, {0: 1, 1: 2, 3: 2, 6: 1}, {0: 2, 1: 1, 2: 2, 7: 1},
    {0: 2, 5: 1, 6: 1, 7: 2}, {1: 2, 4: 1, 6: 2, 7: 1}, {2: 1, 4: 1, 5: 2, 7: 2}, {3: 1, 4: 2, 5: 1, 6: 2},
)  # fmt: skip


def _mesh() -> str:
    each = [gpu(n, 70, *(to_gpu(to, links) for to, links in row.items()), speed=GEN3) for n, row in enumerate(_MESH)]
    return system(*(cpu(numa, INTEL_SPR, *each[4 * numa : 4 * numa + 4]) for numa in (0, 1)))


def _pairs(sm: int, links: int, speed: str = GEN4) -> Callable[[int], str]:
    """Bridged pairs, two a NUMA node."""
    each = [gpu(n, sm, to_gpu(n ^ 1, links), speed=speed) for n in range(4)]
    return lambda count: system(cpu(0, AMD, *each[:2]), cpu(1, AMD, *each[2:]))


def _cards(sm: int, speed: str, says: str = AMD) -> Callable[[int], str]:
    """PCIe cards on both sockets, two below a switch where there are as many."""

    def text(count: int) -> str:
        half = (count + 1) // 2
        each = [gpu(n, sm, speed=speed) for n in range(count)]
        sides = [each[:half], each[half:]]
        if count == 8:
            sides = [[switch(2 * s + k, *side[2 * k : 2 * k + 2], speed=speed) for k in (0, 1)]
                     for s, side in enumerate(sides)]  # fmt: skip
        return system(cpu(0, says, *sides[0]), cpu(1, says, *sides[1]))

    return text


# class → the topology file of a node with so many GPUs in the communicator.
_NODES: dict[str, Callable[[int], str]] = {
    "hgx-h100": lambda count: nvswitch_node(90, 18),
    "hgx-h200": lambda count: nvswitch_node(90, 18),
    "hgx-h800": lambda count: nvswitch_node(90, 8),
    "hgx-a100": lambda count: nvswitch_node(80, 12, speed=GEN4),
    "dgx1-v100": lambda count: _mesh(),
    "bridged-a100-pcie": _pairs(80, 12),
    "bridged-h100-nvl": _pairs(90, 12, GEN5),
    "bridged-h100-pcie": _pairs(90, 12, GEN5),
    "bridged-2080ti": _pairs(75, 2, GEN3),
    "pcie-a100": _cards(80, GEN4),
    "pcie-4090": _cards(89, GEN4),
    "pcie-5090": _cards(120, GEN5, INTEL_SPR),
    "nvl72-gb200": lambda count: nvswitch_node(100, 18, count),
    "nvl72-gb300": lambda count: nvswitch_node(103, 18, count),
}


class RateCase(NamedTuple):
    name: str
    expected: dict[str, Any]


class Answered(NamedTuple):
    rates: SetRates
    model: float | None  # NCCL's own, whatever `rates.expected` is


def cases(path: Path) -> Iterator[RateCase]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            row = json.loads(line)
            yield RateCase(row["id"], row)


@lru_cache
def _node(kind: str, count: int) -> NodeTopology:
    [node] = nodes([Piece(f"{kind}.xml", data=_NODES[kind](count).encode())])
    return node


def answer(case: RateCase) -> Answered | None:
    """`None`: several nodes with a network between them, of which nothing here speaks."""
    row = case.expected
    if _by_network(row):
        _said.append(f"{case.name}: {row['nodes']} nodes and the network between them: not of one node, left out")
        return None
    if not row["healthy"] and row["wire_ceiling_GBps"] is None:
        _said.append(f"{case.name}: a fault, and which links carry its traffic is not told: left out")
        return None
    node = _node(row["class"], row["n_gpus"])
    gpus = [one.id for one in node.gpus][: row["n_gpus"]]
    allowed = _allowed(row["algo"])
    found = rates(node, gpus, algorithms=allowed)
    part = machine(node, gpus=gpus)
    assert isinstance(part, Machine)
    model = max((one.bus_gbps for one in all_reduce(graphs(part)) if allowed is None or one.algorithm in allowed),
                default=None)  # fmt: skip
    _said.append(
        f"{case.name}: {row['figure']} {row['busbw_GBps']:g}, expected {_number(found.expected)} "
        f"({found.basis.partition(' ')[0]}; NCCL's model {_number(model)}), ceiling {_number(found.ceiling)}"
        f"{'' if row['healthy'] else '; not healthy, not compared with the figure'}"
    )
    return Answered(found, model)


def compare(expected: dict[str, Any], got: Answered | None) -> list[str]:
    if got is None:
        return []
    differences = []
    ceiling, figure = got.rates.ceiling, expected["busbw_GBps"]
    if ceiling is None:
        return [f"no ceiling: {got.rates.ceiling_basis}"]
    if expected["healthy"] and figure > ceiling:
        differences.append(f"{figure} measured, above our ceiling {ceiling}")
    if abs(ceiling - expected["wire_ceiling_GBps"]) > _CLOSE:
        differences.append(f"ceiling {expected['wire_ceiling_GBps']} recorded, {ceiling} answered")
    if _predicts(expected):
        ours = got.rates.expected
        if ours is None or abs(ours - figure) > _WITHIN * figure:
            differences.append(f"{figure} {expected['figure']}, {ours} expected ({got.rates.basis})")
    model = expected["nccl_2_30_7_model_busbw"]
    if model is not None and (got.model is None or abs(got.model - model) > max(0.02 * model, 0.1)):
        differences.append(f"NCCL's model {model} recorded, {got.model} answered")
    return differences


def notes() -> list[str]:
    """Every row, its figure against both of our numbers."""
    told, _said[:] = list(_said), []
    return told


def _predicts(row: dict[str, Any]) -> bool:
    healthy_node = row["healthy"] and row["nodes"] == 1
    return healthy_node and row["class"].startswith(_NVLINK) and row["figure"] in ("measured", "expectation")


def _by_network(row: dict[str, Any]) -> bool:
    """Nodes of one NVLink domain have no network card between them and are like one."""
    return row["nodes"] > 1 and not row["class"].startswith("nvl72-")


def _allowed(algo: str) -> frozenset[str] | None:
    """The words before what is said in brackets; `auto` is NCCL's own choice."""
    words = algo.partition("(")[0]
    found = frozenset(name for name in _ALGORITHMS if name in words)
    return found or None


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{round(value, 1):g}"
