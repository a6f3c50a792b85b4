"""The square tables of AMD's tools, and what they say of two GPUs. Shared by rocm-smi and amd-smi.

    >>> table = read_table(["       GPU0         GPU1", "GPU0   0            15", "GPU1   15"])
    >>> table.columns, table.rows["GPU0"], table.short
    (('GPU0', 'GPU1'), {'GPU0': '0', 'GPU1': '15'}, ('GPU1',))

Link types, weights and hops are AMD's own measure; neither tool prints how many xGMI links join two
GPUs, nor where two PCIe paths meet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gputopo.records import Gap, Observation

LABEL = re.compile(r"GPU\d{1,4}\Z|[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]\Z")
MOST_GPUS = 256  # 8 cards in 8 partitions are 64


class Table(NamedTuple):
    columns: tuple[str, ...]
    rows: dict[str, dict[str, str]]  # row label → column label → cell as printed
    short: tuple[str, ...]  # rows of which a part is printed, or none


def read_table(lines: Sequence[str]) -> Table | None:
    """The table that begins in the first line with a label; ends at the first line that is no row of it."""
    columns: tuple[str, ...] = ()
    rows: dict[str, dict[str, str]] = {}
    for line in lines:
        words = line.split()
        if not columns:
            if words and all(LABEL.match(word.lower() if ":" in word else word) for word in words):
                columns = tuple(map(label, words))
            elif words:
                return None
            continue
        if not words or label(words[0]) not in columns or label(words[0]) in rows or len(words) > len(columns) + 1:
            break
        rows[label(words[0])] = dict(zip(columns, words[1:]))
    if not columns or len(set(columns)) != len(columns) or len(columns) > MOST_GPUS:
        return None
    short = tuple(column for column in columns if len(rows.get(column, ())) < len(columns))
    return Table(columns, rows, short)


def label(word: str) -> str:
    """`GPU0` as printed, an address in lower case."""
    return word.lower() if ":" in word else word


def observations(tables: Mapping[str, Table], line: int | None) -> tuple[Observation, ...]:
    """`link-type` for each pair: all that the tables say of it. Both directions where they differ."""
    columns = next(iter(tables.values())).columns if tables else ()
    found = []
    for at, a in enumerate(columns):
        for b in columns[at + 1 :]:
            forward, backward = _said(tables, a, b), _said(tables, b, a)
            if forward or backward:
                found.append(Observation("link-type", (a, b), forward or backward, line))
            if forward and backward and forward != backward:
                found.append(Observation("link-type", (b, a), backward, line))
    return tuple(found)


def _said(tables: Mapping[str, Table], a: str, b: str) -> str:
    cells = ((name, table.rows.get(a, {}).get(b)) for name, table in tables.items())
    return ", ".join(f"{name} {cell}" for name, cell in cells if cell is not None)


def gaps(tables: Mapping[str, Table], tool: str, settled_by: str, line: int | None) -> list[Gap]:
    """No PCIe level is in any of these tables; rows that are cut are named."""
    columns = next(iter(tables.values())).columns if tables else ()
    found = []
    if len(columns) > 1:
        why = f"{tool} prints link type, weight and hops of two GPUs: no PCIe level, no number of xGMI links"
        found.append(Gap((), "pcie", why, settled_by, line))
    for name, table in tables.items():
        if table.short:
            found.append(Gap(table.short, "row", f"its row of the table {name!r} is cut or missing", settled_by, line))
    return found
