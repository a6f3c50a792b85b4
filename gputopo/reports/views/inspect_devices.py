"""With -v: how each GPU is called elsewhere, since every tool has a numbering of its own."""

from __future__ import annotations

from gputopo.reports.blocks import Block, Cell, Column, Row, Table, cell
from gputopo.reports.views.words import cut, gibibytes
from gputopo.topology.node import Gpu, NodeTopology


def names_of_gpus(node: NodeTopology) -> tuple[Block, ...]:
    if not node.gpus:
        return ()
    rows = tuple(Row(_cells(gpu)) for gpu in node.gpus)
    return (Table("GPUS", (), tuple(Column() for _ in rows[0].cells), rows),)


def _cells(gpu: Gpu) -> tuple[Cell, ...]:
    numbers = (("index", gpu.nvml_index), ("minor", gpu.minor), ("module", gpu.module_id))
    return (
        cell(gpu.id, "strong"),
        *(cell(f"{name} {number}") if number is not None else () for name, number in numbers),
        cell(gpu.pci or ""),
        cell(gpu.uuid or ""),
        cell(gibibytes(gpu.memory_bytes) if gpu.memory_bytes is not None else ""),
        cell(cut(" ".join(gpu.aliases), 60)),
    )
