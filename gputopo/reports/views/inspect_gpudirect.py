"""GPUDirect in words, under the wiring: which near pairs are ready, which are not, what was not read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gputopo.reports.blocks import Block, KeyValue, cell
from gputopo.reports.views.words import cut, one_domain, several, short_pci
from gputopo.topology.node import GpuDirect, NodeTopology

_KINDS = {"rdma": "RDMA", "gds": "Storage"}
_VERDICTS = {"ready": "ready", "not": "not possible", "unknown": "not decided"}
_MOST_PATHS = 4
_LONGEST = 160


def gpudirect(node: NodeTopology) -> tuple[Block, ...]:
    """A line for all near pairs of a kind that have the same verdict for the same reason."""
    made: list[Block] = []
    short = one_domain(node)
    for key, paths in _alike(node.gpudirect).items():
        kind, verdict, because, missing = key
        head = f"{_KINDS.get(kind, kind)} {_who(paths, short)}: {_VERDICTS.get(verdict, verdict)}"
        parts = [cell(head), cell(cut(because, _LONGEST))]
        if missing:
            parts.append(cell(f"to read: {cut(', '.join(missing), _LONGEST)}", "dim"))
        made.append(KeyValue("" if made else "GPUDirect", tuple(part for part in parts if part), role="dim"))
    return tuple(made)


def _alike(paths: Iterable[GpuDirect]) -> dict[tuple[str, str, str, tuple[str, ...]], list[GpuDirect]]:
    found: dict[tuple[str, str, str, tuple[str, ...]], list[GpuDirect]] = {}
    for path in paths:
        found.setdefault((path.kind, path.verdict, path.because, path.missing), []).append(path)
    return found


def _who(paths: Sequence[GpuDirect], short: bool) -> str:
    """`GPU0-mlx5_0 GPU1-mlx5_1`; where there are many, the GPUs and the number of devices."""
    if len(paths) <= _MOST_PATHS:
        return " ".join(f"{path.gpu}-{short_pci(path.device, one_domain=short)}" for path in paths)
    devices = dict.fromkeys(path.device for path in paths)
    return f"{several(dict.fromkeys(path.gpu for path in paths))} with {len(devices)} near devices"
