"""A fleet as a table, a row for each thing that was read: as CSV for a spreadsheet, as Parquet for a notebook.

    status   ok, odd, twice (read before), unreadable
    odd      the fields that are not as with most nodes of the product, by "; "
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from gputopo.errors import GputopoError
from gputopo.fleet.part import Node
from gputopo.fleet.report import Report, Shape, named, said, where
from gputopo.reports.sanitise import clean

COLUMNS: dict[str, type] = {
    "source": str, "node": str, "status": str, "machine": str, "models": str, "gpus": int, "numaNodes": int,
    "packages": int, "nics": int, "shape": str, "evidence": str, "odd": str, "errors": str, "warnings": str,
    "free": int, "lost": int, "crossingPods": int, "reason": str,
}  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t")  # what a spreadsheet would carry out


def rows(report: Report) -> Iterator[dict[str, Any]]:
    """In the order of reading."""
    odd: dict[Any, list[str]] = {}
    for one in report.compared.odd:
        for node in one.nodes:
            odd.setdefault(node.at, []).append(f"{where(one)}: {said(one.found)}, usual {said(one.expected)}")
    made: dict[Any, dict[str, Any]] = {}
    for shape in report.shapes:
        for node in shape.members:
            made[node.at] = _row(node, shape, odd.get(node.at, []))
    for again in report.twice:
        for node in again.nodes[1:]:
            reason = f"the same node as {named(again.nodes[0])}, by its {again.by}"
            made[node.at] = {"source": node.source, "node": node.name, "status": "twice", "reason": reason}
    for lost in report.lost:
        made[lost.at] = {"source": lost.source, "status": "unreadable", "reason": lost.reason}
    for _, row in sorted(made.items()):
        yield {name: row.get(name) for name in COLUMNS}


def _row(node: Node, shape: Shape, odd: list[str]) -> dict[str, Any]:
    by = {word: " ".join(rule for rule, own in node.findings if own == word) for word in ("error", "warning")}
    held = node.held
    return {
        "source": node.source, "node": node.name, "status": "odd" if odd else "ok", "machine": shape.product.product,
        "models": " + ".join(shape.outline.models) or None, "gpus": shape.outline.gpus,
        "numaNodes": shape.outline.numa_nodes, "packages": shape.outline.packages, "nics": shape.outline.nics,
        "shape": shape.fingerprint, "evidence": shape.evidence, "odd": "; ".join(odd) or None,
        "errors": by["error"] or None, "warnings": by["warning"] or None,
        "free": None if held is None else held.free, "lost": None if held is None else held.lost,
        "crossingPods": None if held is None else sum(one.pods for one in held.crossing),
    }  # fmt: skip


def csv(report: Report) -> str:
    """RFC 4180 with line feeds. A cell that a spreadsheet would take for a formula begins with an apostrophe."""
    from csv import writer

    out = io.StringIO()
    made = writer(out, lineterminator="\n")
    made.writerow(COLUMNS)
    for row in rows(report):
        made.writerow([_cell(value) for value in row.values()])
    return out.getvalue()


def _cell(value: object) -> str:
    text = "" if value is None else clean(str(value))
    return f"'{text}" if text.startswith(_FORMULA) else text


def parquet(report: Report) -> bytes:
    """Raises GputopoError where pyarrow is absent."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise GputopoError(
            "-o parquet needs pyarrow, which is not installed", "", "pip install 'gputopo[parquet]', or -o csv"
        ) from None
    types = {str: pyarrow.string(), int: pyarrow.int64()}
    schema = pyarrow.schema([(name, types[kind]) for name, kind in COLUMNS.items()])
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows(report)), schema), out)
    return out.getvalue()
