"""Figures that somebody published for a class of machine: what such a set reaches, measured or promised.

A class is told by the chip, by how NVLink joins the set, and by the links of a GPU. Large messages, bus GB/s of an
all-reduce. NCCL's own model is off here by up to a third (facts/nccl.md §2.1): it knows nothing of what NVLS saves in
sets of five to seven, nor of what a GPU can move.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from gputopo.nccl.set_wiring import SetWiring

_ISSUES = "https://github.com/NVIDIA"
_H100 = ("H100 SXM", 90, True, 18)
_H800 = ("H800 SXM", 90, True, 8)
_B200 = ("B200", 100, True, 18)
_B300 = ("B300", 103, True, 18)
_A100 = ("A100 SXM4", 80, True, 12)
_A100_PAIR = ("A100 PCIe with three bridges", 80, False, 12)
_DGX1 = ("V100 SXM2 cube mesh", 70, False, 6)
_1455 = f"{_ISSUES}/nccl/issues/1455"
_2140 = f"{_ISSUES}/nccl/issues/2140"
_AZURE = "https://github.com/Azure/AI-benchmarking-guide Azure_Results/ND_GB200_v6_results.md"
_BENCHES = "https://github.com/Panlichen/nccl-tests"


class Published(NamedTuple):
    """`machine`: where the figure comes from; `how`: measured, or what a maintainer expects."""

    machine: str
    algorithm: str
    gbps: float
    how: str
    source: str


class _Row(NamedTuple):
    machine: tuple[str, int, bool, int]  # name, compute capability, by NVSwitch, NVLinks of a GPU
    gpus: range
    algorithm: str
    gbps: float
    how: str
    source: str


_ROWS = (
    _Row(_H100, range(8, 9), "NVLS", 480.0, "a maintainer's expectation", f"{_ISSUES}/nccl-tests/issues/212"),
    _Row(_H100, range(5, 6), "NVLS", 420.0, "measured", _1455),
    _Row(_H100, range(6, 7), "NVLS", 440.0, "measured", _1455),
    _Row(_H100, range(7, 8), "NVLS", 460.0, "measured", _1455),
    _Row(_H100, range(2, 5), "Ring", 367.0, "measured; NVLS gains nothing for so few", _1455),
    _Row(_H100, range(5, 9), "Ring", 367.0, "measured", _1455),
    _Row(_H800, range(8, 9), "NVLS", 215.0, "measured", f"{_ISSUES}/nccl/issues/1374"),
    _Row(_H800, range(8, 9), "Ring", 164.5, "measured", f"{_BENCHES} test_scripts/h800_8card"),
    _Row(_B200, range(8, 9), "NVLS", 830.0, "measured", f"{_ISSUES}/nccl/issues/1807"),
    _Row(_B200, range(4, 5), "Ring", 679.6, "measured on a GB200 tray", _AZURE),
    _Row(_B300, range(8, 9), "NVLS", 845.0, "measured", _2140),
    _Row(_B300, range(8, 9), "Ring", 695.0, "measured", _2140),
    _Row(_A100, range(8, 9), "Ring", 230.0, "a maintainer's expectation", f"{_ISSUES}/nccl-tests/issues/149"),
    _Row(_DGX1, range(8, 9), "Ring", 134.8, "measured", f"{_BENCHES} test_scripts/v100_8card_para"),
    _Row(_A100_PAIR, range(2, 3), "Ring", 208.0, "measured", f"{_ISSUES}/nccl-tests/issues/178"),
)


class Leaving(NamedTuple):
    """What a set lost by one GPU outside of its NVLink island."""

    machine: str
    inside: float
    outside: float
    source: str


LEAVING = Leaving("an A100 PCIe pair with a third GPU", 208.0, 20.0, f"{_ISSUES}/nccl-tests/issues/178")


def published(wiring: SetWiring, sm: int, algorithms: Collection[str] | None = None) -> Published | None:
    """The best figure for this class of set, by the algorithms that NCCL may use (`None` all)."""
    if wiring.unknown or len(wiring.islands) != 1 or len(set(wiring.links)) != 1:
        return None
    found = [
        row
        for row in _ROWS
        if row.machine[1:] == (sm, wiring.by_switch, wiring.links[0])
        and len(wiring.gpus) in row.gpus
        and (algorithms is None or row.algorithm in algorithms)
    ]
    if not found:
        return None
    best = max(found, key=lambda row: row.gbps)
    return Published(best.machine[0], best.algorithm, best.gbps, best.how, best.source)
