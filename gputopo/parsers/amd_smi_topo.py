"""`amd-smi topology`: square tables between GPUs, rows and columns by PCI address.

    >>> [node] = parse('''HOPS TABLE:
    ...              0000:0c:00.0 0000:22:00.0
    ... 0000:0c:00.0 0            1
    ... 0000:22:00.0 1            0
    ...
    ... LINK TYPE TABLE:
    ...              0000:0c:00.0 0000:22:00.0
    ... 0000:0c:00.0 SELF         XGMI
    ... 0000:22:00.0 XGMI         SELF
    ...
    ... NUMA BW TABLE:
    ...              0000:0c:00.0 0000:22:00.0
    ... 0000:0c:00.0 N/A          50000-50000
    ... 0000:22:00.0 50000-50000  N/A''')
    >>> [(gpu.label, gpu.vendor, str(gpu.pci)) for gpu in node.gpus]
    [('0000:0c:00.0', 'amd', '0000:0c:00.0'), ('0000:22:00.0', 'amd', '0000:22:00.0')]
    >>> node.observations[0].text
    'hops 1, link type XGMI, numa bw 50000-50000'

"NUMA BW" is the least and the greatest bandwidth in MB/s. NUMA nodes are not in this text (`amd-smi
list`, rocm-smi --showtoponuma).
"""

from __future__ import annotations

import re

from gputopo.parsers import amd_tables
from gputopo.parsers.amd_tables import Table
from gputopo.parsers.limits import at_most_nodes
from gputopo.parsers.pasted_text import clean_lines
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import GpuRecord, Key, NodeRecords
from gputopo.terms.pci_address import PciAddress

_TITLE = re.compile(r"^[^\w\n]*([A-Z][A-Z -]{2,40}?) TABLE:[ \t\r]*$", re.MULTILINE)
_COMMAND = "amd-smi topology"


def sniff(text: str) -> bool:
    """Whether a text holds one of the tables."""
    return " TABLE:" in text and _TITLE.search(text) is not None and bool(outputs(text))


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One `NodeRecords` a machine; a table that comes again with other values begins the next."""
    found = outputs(text)
    if not found:
        raise Unreadable("no table of amd-smi with GPUs in it", hint=_COMMAND)
    return tuple(_node(line, tables) for line, tables in found)


def outputs(text: str) -> list[tuple[int, dict[str, Table]]]:
    """Line and tables of each machine, as printed; names in lower case: `weight`, `link type`."""
    lines = clean_lines(text)
    found: list[tuple[int, dict[str, Table]]] = []
    for at, line in enumerate(lines):
        title = _TITLE.match(line)
        table = amd_tables.read_table(lines[at + 1 : at + 1100]) if title else None
        if title is None or table is None:
            continue
        name = title[1].lower()
        if not found or found[-1][1].get(name, table) != table or not _same_gpus(found[-1][1], table):
            found.append((at + 1, {}))
            at_most_nodes(found, at + 1)
        found[-1][1][name] = table
    return found


def _same_gpus(tables: dict[str, Table], table: Table) -> bool:
    return all(other.columns == table.columns for other in tables.values())


def _node(line: int, tables: dict[str, Table]) -> NodeRecords:
    columns = next(iter(tables.values())).columns
    gaps = amd_tables.gaps(tables, "amd-smi", "lspci -tv, or sysfs", line)
    whole = not any(gap.attribute == "row" for gap in gaps)
    return NodeRecords(
        "amd-smi-topo",
        line=line,
        whole=whole,
        gpus=tuple(_gpu(label, line) for label in columns),
        gpus_complete=whole,
        gaps=tuple(gaps),
        observations=amd_tables.observations(tables, line),
    )


def _gpu(label: str, line: int) -> GpuRecord:
    address = PciAddress.parse(label)
    if address is None:  # a version that labels its rows GPU0
        index = int(label.removeprefix("GPU"))
        return GpuRecord(label, (Key("index", str(index)),), line, nvml_index=index, vendor="amd")
    return GpuRecord(str(address), (Key("pci", str(address)),), line, vendor="amd", pci=address)
