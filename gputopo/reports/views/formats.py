"""`formats` as blocks: what each is, what it tells and cannot, how to get it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gputopo.reports.blocks import Blank, Block, KeyValue, cell


def blocks(rows: Iterable[Mapping[str, Any]]) -> tuple[Block, ...]:
    """`rows`: id, what, tells, cannot, and get, a list of command lines."""
    made: list[Block] = []
    for row in rows:
        made += [
            Blank(),
            KeyValue(row["id"], (cell(row["what"]),)),
            KeyValue("  tells", (cell(row["tells"]),), role="dim"),
            KeyValue("  cannot", (cell(row["cannot"]),), role="dim"),
        ]
        made += [KeyValue("" if n else "  get", (cell(line),), role="dim") for n, line in enumerate(row["get"])]
    return tuple(made)
