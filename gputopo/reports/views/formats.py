"""`formats` as blocks: what each is, what it tells and cannot, how to get it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gputopo.reports.blocks import Blank, Block, KeyValue, Text, cell

_BESIDE = "beside a node, for gputopo allocate and gputopo pods:"
_JOB = "what a job writes, for gputopo diagnose:"


def blocks(rows: Iterable[Mapping[str, Any]]) -> tuple[Block, ...]:
    """`rows`: id, what, tells, cannot, get (a list of command lines), node: evidence of one, job: what a job writes."""
    made: list[Block] = []
    under = ""
    for row in rows:
        heading = _JOB if row["job"] else "" if row["node"] else _BESIDE
        if heading != under:
            under = heading
            made += [Blank(), Text(cell(heading, "strong"))]
        made += [
            Blank(),
            KeyValue(row["id"], (cell(row["what"]),)),
            KeyValue("  tells", (cell(row["tells"]),), role="dim"),
            KeyValue("  cannot", (cell(row["cannot"]),), role="dim"),
        ]
        made += [KeyValue("" if n else "  get", (cell(line),), role="dim") for n, line in enumerate(row["get"])]
    return tuple(made)
