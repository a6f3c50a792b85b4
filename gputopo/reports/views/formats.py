"""`formats` as blocks: what each is, what it tells and cannot, how to get it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gputopo.reports.blocks import Blank, Block, KeyValue, Text, cell


def blocks(rows: Iterable[Mapping[str, Any]]) -> tuple[Block, ...]:
    """`rows`: id, what, tells, cannot, get (a list of command lines) and node, whether it is evidence of one."""
    made: list[Block] = []
    beside = False
    for row in rows:
        if not row["node"] and not beside:
            beside = True
            made += [Blank(), Text(cell("beside a node, for gputopo allocate and gputopo pods:", "strong"))]
        made += [
            Blank(),
            KeyValue(row["id"], (cell(row["what"]),)),
            KeyValue("  tells", (cell(row["tells"]),), role="dim"),
            KeyValue("  cannot", (cell(row["cannot"]),), role="dim"),
        ]
        made += [KeyValue("" if n else "  get", (cell(line),), role="dim") for n, line in enumerate(row["get"])]
    return tuple(made)
