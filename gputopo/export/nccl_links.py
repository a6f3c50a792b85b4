"""`<nvlink>` and `<c2c>` rows of a GPU, all of them or none: NCCL asks NVML only for a GPU that has no row.

A `<gpu>` without rows says that there are no NVLinks, so where they are not known there is no `<gpu>` either.
"""

from __future__ import annotations

from gputopo.topology.node import Gpu, NodeTopology
from gputopo.topology.nvlink_ends import nvlink_ends

# Read by `class` 0x03* and 0x0680: src/graph/topo.cc, kvDictPciClass.
_CLASS = {"gpu": "0x030200", "switch": "0x068000", "cpu": "0x068001"}
_HIDDEN = "fffffff:ffff:ff"  # NCCL's word for a far end that the driver does not show; taken as an NVSwitch


def nvlink_rows(node: NodeTopology, gpu: Gpu) -> list[str] | None:
    """`None` where the evidence does not say which NVLinks the GPU has, or where one ends."""
    ends = nvlink_ends(node, gpu)
    if ends is None:
        return None
    named = {one.id: one.pci for one in node.gpus} | {one.id: one.pci for one in node.nvswitches or ()}
    rows: dict[tuple[str, str], int] = {}
    for end, count in ends.items():
        target = _HIDDEN if end.id is None else named.get(end.id, end.id)
        if target is None:
            return None
        rows[target, end.kind] = rows.get((target, end.kind), 0) + count
    return [
        f'<nvlink target="{target}" count="{count}" tclass="{_CLASS[kind]}"/>' for (target, kind), count in rows.items()
    ]


def c2c_row(gpu: Gpu) -> list[str]:
    """MB/s a link and the number of links."""
    found = gpu.c2c or {}
    if "count" not in found or "gbpsPerLink" not in found:
        return []
    return [f'<c2c bw="{round(found["gbpsPerLink"] * 1000)}" count="{round(found["count"])}"/>']
