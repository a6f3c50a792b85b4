"""GPUDirect in words, under the wiring: which near pairs are ready, which are not, what was not read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gputopo.reports.blocks import Block, Cell, KeyValue, cell
from gputopo.reports.views.words import cut, one_domain, several, short_pci
from gputopo.topology.node import GpuDirect, NodeTopology

_KINDS = {"rdma": "RDMA", "gds": "Storage"}
_VERDICTS = {"ready": "ready", "not": "no", "unknown": "not decided"}
_MOST_PAIRS, _MOST_LINES = 2, 4
_LONGEST = 200


def gpudirect(node: NodeTopology) -> tuple[Block, ...]:
    """A line for all near pairs of a kind that have the same verdict for the same reason; reads once for all."""
    short = one_domain(node)
    lines: list[tuple[str, tuple[Cell, ...]]] = []
    for kind, word in _KINDS.items():
        alike = _alike(path for path in node.gpudirect if path.kind == kind)
        shown = list(alike.items())[:_MOST_LINES]
        for place, ((verdict, because), paths) in enumerate(shown):
            head = f"{_VERDICTS.get(verdict, verdict)}: {_who(paths, short)}"
            lines.append(("" if place else word, (cell(head), cell(cut(because, _LONGEST), "dim"))))
        if len(shown) < len(alike):
            lines.append(("", (cell(f"and {len(alike) - len(shown)} other reasons (-o json)", "dim"),)))
    missing = dict.fromkeys(read for path in node.gpudirect for read in path.missing)
    if missing:
        lines.append(("to read", (cell(" | ".join(missing), "dim"),)))
    return tuple(
        KeyValue("" if place else "GPUDirect", tuple(part for part in parts if part), key, "dim")
        for place, (key, parts) in enumerate(lines)
    )


def _alike(paths: Iterable[GpuDirect]) -> dict[tuple[str, str], list[GpuDirect]]:
    """By verdict and reason, the most frequent first."""
    found: dict[tuple[str, str], list[GpuDirect]] = {}
    for path in paths:
        found.setdefault((path.verdict, path.because), []).append(path)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def _who(paths: Sequence[GpuDirect], short: bool) -> str:
    """`GPU0-mlx5_0 GPU1-mlx5_1`; where there are many, the GPUs and their devices."""
    if len(paths) <= _MOST_PAIRS:
        return " ".join(f"{path.gpu}-{short_pci(path.device, one_domain=short)}" for path in paths)
    devices = list(dict.fromkeys(short_pci(path.device, one_domain=short) for path in paths))
    return f"{several(dict.fromkeys(path.gpu for path in paths))} with {several(devices, 3)}"
