"""The matrix, as `nvidia-smi topo -m` would print it where the evidence decides; `?` where not."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.reports.blocks import SELF, Block, Cell, Matrix, Text, cell, level_cell
from gputopo.reports.views.words import PairsOf, one_domain, short_pci
from gputopo.topology.node import NodeTopology, Pair

_STAR = cell("* the PCIe level; whether NVLink joins the two is not known", "dim")
_SELF = cell(SELF, "dim")


def letters(node: NodeTopology, pairs: PairsOf, which: str) -> tuple[Block, ...]:
    """GPU rows against all devices; `full` adds the NIC rows, `none` leaves it out."""
    gpus = [gpu.id for gpu in node.gpus]
    nics = [nic.id for nic in node.nics or ()]
    rows = gpus + nics if which == "full" else gpus
    if which == "none" or not rows or len(gpus) + len(nics) < 2 or not pairs:
        return ()
    columns = (*gpus, *nics)
    short = one_domain(node)
    labels = tuple(short_pci(id, one_domain=short) for id in columns)
    table = Matrix(
        labels,
        tuple((short_pci(id, one_domain=short), _cells(id, columns, pairs.get(id, {}))) for id in rows),
    )
    starred = any(_is_half_known(pair) for id in rows for pair in pairs.get(id, {}).values())
    return (table, Text(_STAR)) if starred else (table,)


def _cells(id: str, columns: Sequence[str], pairs: dict[str, Pair]) -> tuple[Cell, ...]:
    return tuple([_SELF if other == id else _letter(pairs.get(other)) for other in columns])


def _letter(pair: Pair | None) -> Cell:
    if pair is not None and _is_half_known(pair) and pair.pcie is not None:
        return cell(f"{pair.pcie.name}*", pair.pcie.name)
    return level_cell(pair.level if pair is not None else None)


def _is_half_known(pair: Pair) -> bool:
    """The PCIe level is known; NVLink, which would be printed instead of it, is not."""
    return pair.level is None and pair.pcie is not None
