r"""`nvidia-smi --query-gpu=FIELD,… --format=csv[,noheader][,nounits]`.

>>> node, = read_queries(["index, pci.bus_id, pcie.link.width.max, memory.total [MiB]",
...                       "0, 00000000:3B:00.0, 16, 46068 MiB", "1, 00000000:AF:00.0, [N/A], 46068 MiB"])
>>> [(gpu.label, str(gpu.pci), gpu.memory_bytes, gpu.pcie) for gpu in node.gpus][0]
('GPU0', '0000:3b:00.0', 48305799168, Pcie(generation=None, width=None, max_generation=None, max_width=16))
>>> node.gpus[1].pcie.why
'nvidia-smi printed [N/A]'
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gputopo.parsers.limits import at_most_nodes
from gputopo.parsers.nvidia_smi_list.columns import KNOWN, guess_columns, row_observations, row_record
from gputopo.parsers.nvidia_smi_values import counts_from_zero, keyed
from gputopo.records import Assumption, Gap, GpuRecord, NodeRecords, Observation, SystemRecord

FORMAT = "nvidia-smi-list"
_FIELD = re.compile(r"([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*)(?: \[(?:MiB|W|MHz|%|us|C)\])?\Z")
_ADDRESS_OR_UUID = re.compile(
    r"GPU-[0-9a-fA-F]{8}-|(?<![0-9A-Fa-f:])[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]"
)
_LONE = ("uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id")
_NEXT = "nvidia-smi --query-gpu=index,name,uuid,pci.bus_id --format=csv"


class Table:
    """Rows under one header; `guessed` where there is none (`noheader`)."""

    __slots__ = ("fields", "guessed", "line", "rows")

    def __init__(self, fields: list[str], line: int, guessed: bool = False) -> None:
        self.fields = fields
        self.line = line
        self.guessed = guessed
        self.rows: list[tuple[list[str], int]] = []


def read_queries(lines: Sequence[str]) -> list[NodeRecords]:
    """Every answer to `--query-gpu` in a text, in order."""
    return [node for table in find_tables(lines) if (node := _build(table)) is not None]


def header_fields(line: str) -> list[str] | None:
    """The field names of a CSV header, units left out; `None` where the line is none."""
    cells = [cell.strip() for cell in line.strip(" \t>|`\"'").split(",")]
    matches = [_FIELD.match(cell) for cell in cells]
    names = [match[1] for match in matches if match]
    if len(names) < len(cells) or not KNOWN.intersection(names):
        return None
    if len(names) == 1:
        return names if names[0] in _LONE else None
    # A header of --query-compute-apps names a process; a list of Python arguments has no field with a dot.
    if {"pid", "process_name"}.intersection(names):
        return None
    return names if sum(name in KNOWN or "." in name for name in names) > 1 else None


def find_tables(lines: Sequence[str]) -> list[Table]:
    """Headers with their rows, and rows without a header where they name a UUID or a PCI address."""
    found: list[Table] = []
    table: Table | None = None
    for number, line in enumerate(lines, 1):
        fields = header_fields(line) if "," in line or line.strip(" \t>|`") in _LONE else None
        if fields is not None:
            table = Table(fields, number)
            found.append(table)
            at_most_nodes(found, number)
            continue
        cells = [cell.strip() for cell in line.strip(" \t>|`").split(",")]
        fits = table is not None and len(cells) == len(table.fields)
        if table is not None and fits and (len(cells) > 1 or _ADDRESS_OR_UUID.search(line)):
            table.rows.append((cells, number))
        elif "," in line and _ADDRESS_OR_UUID.search(line) and "(UUID" not in line:
            table = _headless(found, table, cells, number)
        elif line.strip():
            table = None
    return [table for table in found if table.rows]


def _headless(found: list[Table], table: Table | None, cells: list[str], number: int) -> Table:
    """A row that its header does not fit, or that has none: cut, or printed with `noheader`."""
    if table is not None and not table.guessed:
        table.rows.append((cells, number))
        return table
    fresh = Table([""] * len(cells), number, guessed=True)
    fresh.rows.append((cells, number))
    found.append(fresh)
    at_most_nodes(found, number)
    return fresh


def _build(table: Table) -> NodeRecords | None:
    rows = [(cells, line) for cells, line in table.rows if len(cells) == len(table.fields)]
    fields = guess_columns([cells for cells, _ in rows]) if table.guessed else table.fields
    if not rows or not any(fields):
        return None
    said = [dict(zip(fields, cells)) for cells, _ in rows]
    records = keyed(row_record(values, line) for values, (_, line) in zip(said, rows))
    if not all(record.keys for record in records):  # a header without index, uuid and address, or no CSV at all
        return None
    gaps = tuple(
        Gap((), "gpus", f"a row has {len(cells)} of {len(table.fields)} fields", _NEXT, line)
        for cells, line in table.rows
        if len(cells) != len(table.fields)
    )
    observations: list[Observation] = []
    for values, record in zip(said, records):
        observations += row_observations(values, record)
    return NodeRecords(
        FORMAT,
        "--query-gpu",
        line=table.line,
        whole=not gaps,
        system=_system(said),
        gpus=records,
        gpus_complete=not gaps and _all_listed(said, records),
        gaps=gaps,
        observations=tuple(observations),
        assumptions=_assumed(table, fields, records),
    )


def _all_listed(said: list[dict[str, str]], records: Sequence[GpuRecord]) -> bool:
    """Whether these are all GPUs: `count` says so, else indices from 0. One alone may have been asked for by -i."""
    count = said[0].get("count")
    if count is not None:
        return count == str(len(records))
    return len(records) > 1 and counts_from_zero(records)


def _system(said: list[dict[str, str]]) -> SystemRecord:
    drivers = {values["driver_version"] for values in said if "driver_version" in values}
    times = [values["timestamp"] for values in said if "timestamp" in values]
    return SystemRecord(
        driver=drivers.pop() if len(drivers) == 1 else None,
        taken_at=times[0] if times else None,
    )


def _assumed(table: Table, fields: list[str], records: Sequence[GpuRecord]) -> tuple[Assumption, ...]:
    if not table.guessed or "index" not in fields:
        return ()
    text = "the CSV has no header: its first column, which counts from 0, is taken for the index"
    return (Assumption(tuple(record.label for record in records), text),)
