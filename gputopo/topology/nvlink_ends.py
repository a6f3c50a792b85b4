"""Where the NVLinks of a GPU end and how many end there, all of them or none."""

from __future__ import annotations

from typing import NamedTuple

from gputopo.topology.node import Gpu, Link, NodeTopology

_KINDS = ("gpu", "switch", "cpu")


class End(NamedTuple):
    """`id`: of a GPU or NVSwitch, or a PCI address; `None` is a switch that the driver does not show."""

    id: str | None
    kind: str  # "gpu" | "switch" | "cpu"


def nvlink_ends(node: NodeTopology, gpu: Gpu) -> dict[End, int] | None:
    """`None` where the evidence does not say which NVLinks the GPU has."""
    return _listed(gpu) if gpu.links else _by_pairs(node, gpu)


def _listed(gpu: Gpu) -> dict[End, int] | None:
    """By the GPU's list of links; `None` where the far end of one is not known."""
    ends: dict[End, int] = {}
    for link in gpu.links:
        if link.state not in (None, "active"):
            continue
        end = _far_end(link)
        if end is None:
            return None
        ends[end] = ends.get(end, 0) + link.times
    return ends


def _far_end(link: Link) -> End | None:
    if link.remote_kind not in _KINDS or (link.remote is None and link.remote_kind != "switch"):
        return None
    return End(link.remote, link.remote_kind)


def _by_pairs(node: NodeTopology, gpu: Gpu) -> dict[End, int] | None:
    """By what is printed of pairs: to every other GPU directly, or all through switches."""
    active = gpu.nvlinks.active if gpu.nvlinks is not None else None
    if active == 0:
        return {}
    gpus = {one.id for one in node.gpus}
    pairs = [pair for pair in node.pairs if gpu.id in (pair.a, pair.b) and {pair.a, pair.b} <= gpus]
    if not pairs or len(pairs) != len(gpus) - 1 or any(pair.nvlinks is None for pair in pairs):
        return None
    linked = [pair for pair in pairs if pair.nvlinks]
    if linked and all(pair.via_switch is True for pair in linked) and active:
        return {End(None, "switch"): active}
    if any(pair.via_switch is not False for pair in linked):
        return None
    return {End(pair.b if pair.a == gpu.id else pair.a, "gpu"): pair.nvlinks or 0 for pair in linked}
