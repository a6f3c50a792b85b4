"""`<nvlink>` and `<c2c>` rows of a GPU, all of them or none: NCCL asks NVML only for a GPU that has no row.

A `<gpu>` without rows says that there are no NVLinks, so where they are not known there is no `<gpu>` either.
"""

from __future__ import annotations

from gputopo.topology.node import Gpu, Link, NodeTopology

# Read by `class` 0x03* and 0x0680: src/graph/topo.cc, kvDictPciClass.
_CLASS = {"gpu": "0x030200", "switch": "0x068000", "cpu": "0x068001"}
_HIDDEN = "fffffff:ffff:ff"  # NCCL's word for a far end that the driver does not show; taken as an NVSwitch


def nvlink_rows(node: NodeTopology, gpu: Gpu) -> list[str] | None:
    """`None` where the evidence does not say which NVLinks the GPU has."""
    rows = _listed(node, gpu) if gpu.links else _by_pairs(node, gpu)
    if rows is None:
        return None
    return [
        f'<nvlink target="{target}" count="{count}" tclass="{_CLASS[kind]}"/>' for (target, kind), count in rows.items()
    ]


def _listed(node: NodeTopology, gpu: Gpu) -> dict[tuple[str, str], int] | None:
    """By the GPU's list of links; `None` where the far end of one is not known."""
    rows: dict[tuple[str, str], int] = {}
    for link in gpu.links:
        if link.state not in (None, "active"):
            continue
        end = _far_end(node, link)
        if end is None:
            return None
        rows[end] = rows.get(end, 0) + link.times
    return rows


def _far_end(node: NodeTopology, link: Link) -> tuple[str, str] | None:
    if link.remote_kind not in _CLASS:
        return None
    if link.remote is None:
        return (_HIDDEN, "switch") if link.remote_kind == "switch" else None
    named = {one.id: one.pci for one in node.gpus} | {one.id: one.pci for one in node.nvswitches or ()}
    target = named.get(link.remote, link.remote)
    return None if target is None else (target, link.remote_kind)


def _by_pairs(node: NodeTopology, gpu: Gpu) -> dict[tuple[str, str], int] | None:
    """By what is printed of pairs: to every other GPU directly, or all through switches."""
    active = gpu.nvlinks.active if gpu.nvlinks is not None else None
    if active == 0:
        return {}
    pci = {one.id: one.pci for one in node.gpus}
    pairs = [pair for pair in node.pairs if gpu.id in (pair.a, pair.b) and {pair.a, pair.b} <= set(pci)]
    if not pairs or len(pairs) != len(node.gpus) - 1 or any(pair.nvlinks is None for pair in pairs):
        return None
    linked = [pair for pair in pairs if pair.nvlinks]
    if linked and all(pair.via_switch is True for pair in linked) and active:
        return {(_HIDDEN, "switch"): active}
    if any(pair.via_switch is not False for pair in linked):
        return None
    return {(str(pci[pair.b if pair.a == gpu.id else pair.a]), "gpu"): pair.nvlinks or 0 for pair in linked}


def c2c_row(gpu: Gpu) -> list[str]:
    """MB/s a link and the number of links."""
    found = gpu.c2c or {}
    if "count" not in found or "gbpsPerLink" not in found:
        return []
    return [f'<c2c bw="{round(found["gbpsPerLink"] * 1000)}" count="{round(found["count"])}"/>']
