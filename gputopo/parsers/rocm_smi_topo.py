"""`rocm-smi --showtopo`, and `--showtoponuma`, `--showtopoweight`, `--showtopohops`, `--showtopotype` alone.

    >>> text = '''============================ ROCm System Management Interface ============================
    ... ================================= Hops between two GPUs ==================================
    ...        GPU0         GPU1
    ... GPU0   0            1
    ... GPU1   1            0
    ...
    ... =============================== Link Type between two GPUs ===============================
    ...        GPU0         GPU1
    ... GPU0   0            XGMI
    ... GPU1   XGMI         0
    ...
    ... ======================================= Numa Nodes =======================================
    ... GPU[0]\\t\\t: (Topology) Numa Node: 0
    ... GPU[0]\\t\\t: (Topology) Numa Affinity: 0
    ... GPU[1]\\t\\t: (Topology) Numa Node: 1
    ... GPU[1]\\t\\t: (Topology) Numa Affinity: -1
    ... ================================== End of ROCm SMI Log ==================================='''
    >>> [node] = parse(text)
    >>> [(gpu.label, gpu.vendor, gpu.numa_nodes) for gpu in node.gpus]
    [('GPU0', 'amd', (0,)), ('GPU1', 'amd', (1,))]
    >>> node.observations[0]
    Observation(kind='link-type', subjects=('GPU0', 'GPU1'), text='hops 1, link type XGMI', line=1)

"Numa Node" is what the driver's own topology gives, "Numa Affinity" the device's `numa_node` in sysfs,
where -1 means that the firmware said nothing.
"""

from __future__ import annotations

import re

from gputopo.parsers import amd_tables
from gputopo.parsers.amd_tables import Table
from gputopo.parsers.limits import at_most_nodes
from gputopo.parsers.pasted_text import clean_lines
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Gap, GpuRecord, Key, NodeRecords, Observation
from gputopo.terms.unknown import Said, Unknown

_TITLE = re.compile(r"= {0,60}([A-Z][A-Za-z ]{2,40}?) between two GPUs")
_NUMA = re.compile(r"GPU ?\[?(\d{1,4})\]?\s*: \(Topology\) Numa (Node|Affinity): *(-?\d{1,5})\b")
_END = "End of ROCm SMI Log"
_COMMAND = "rocm-smi --showtopo"
_PCIE = "lspci -tv, or sysfs"


class Output:
    """What one machine's tables and lines say."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.tables: dict[str, Table] = {}
        self.numa: dict[tuple[str, str], str] = {}  # (GPU0, "Node") → as printed
        self.ended = False

    def labels(self) -> list[str]:
        """GPUs of the tables and of the lines, by number."""
        found = {column for table in self.tables.values() for column in table.columns}
        return sorted(found | {label for label, _ in self.numa}, key=lambda label: int(label[3:]))


def sniff(text: str) -> bool:
    """Whether a text holds one of the tables, or the lines of NUMA nodes."""
    return _TITLE.search(text) is not None or ("(Topology) Numa" in text and _NUMA.search(text) is not None)


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One `NodeRecords` a machine; a table or a line that comes again with other values begins the next."""
    found = outputs(text)
    if not found:
        raise Unreadable("no GPU in this output of rocm-smi", hint=_COMMAND)
    return tuple(map(_node, found))


def outputs(text: str) -> list[Output]:
    """The tables and lines of each machine, as printed."""
    lines = clean_lines(text)
    found: list[Output] = []
    begin = 1
    for at, line in enumerate(lines):
        if "System Management Interface" in line:
            begin = at + 1
        title = _TITLE.search(line)
        if title is not None:
            table = amd_tables.read_table(lines[at + 1 : at + 1100])
            if table is not None and all(column.startswith("GPU") for column in table.columns):
                output = _current(found, title[1].lower(), table, begin or at + 1)
                output.tables[title[1].lower()] = table
                begin = 0
        elif (match := _NUMA.search(line)) is not None:
            key = (f"GPU{int(match[1])}", match[2])
            _current(found, key, match[3], begin or at + 1).numa[key] = match[3]
            begin = 0
        elif _END in line and found:
            found[-1].ended = True
    return [output for output in found if output.labels()]


def _current(found: list[Output], key: str | tuple[str, str], value: object, line: int) -> Output:
    """The output that this belongs to: a new one where the last has another value in its place."""
    if found:
        last = found[-1]
        known = last.tables.get(key) if isinstance(key, str) else last.numa.get(key)
        if known is None or known == value:
            return last
    found.append(Output(line))
    at_most_nodes(found, line)
    return found[-1]


def _node(output: Output) -> NodeRecords:
    labels = output.labels()
    gaps = [*amd_tables.gaps(output.tables, "rocm-smi", _PCIE, output.line), *_missing(output, labels)]
    complete = output.ended and not any(gap.attribute == "row" for gap in gaps)
    return NodeRecords(
        "rocm-smi-topo",
        line=output.line,
        whole=complete,
        gpus=tuple(_gpu(label, output) for label in labels),
        gpus_complete=complete,
        gaps=tuple(gaps),
        observations=(*amd_tables.observations(output.tables, output.line), *_affinities(output, labels)),
    )


def _gpu(label: str, output: Output) -> GpuRecord:
    return GpuRecord(
        label,
        (Key("index", label[3:]),),
        output.line,
        nvml_index=int(label[3:]),
        vendor="amd",
        numa_nodes=_numa_nodes(label, output),
    )


def _numa_nodes(label: str, output: Output) -> Said[tuple[int, ...]]:
    if not output.numa:
        return None
    node, affinity = output.numa.get((label, "Node")), output.numa.get((label, "Affinity"))
    known = {int(value) for value in (node, affinity) if value is not None and not value.startswith("-")}
    if len(known) > 1:
        return Unknown(f"Numa Node {node} beside Numa Affinity {affinity}", "sysfs numa_node")
    if not known:
        lost = node is None and affinity is None
        return Unknown("its NUMA lines are not in the text" if lost else "rocm-smi prints -1", "sysfs numa_node")
    return tuple(known)


def _affinities(output: Output, labels: list[str]) -> list[Observation]:
    found = []
    for label in labels:
        affinity = output.numa.get((label, "Affinity"))
        if affinity is not None and affinity.startswith("-"):
            text = f"Numa Affinity: {affinity}"
            found.append(Observation("pci-numa-node-minus-one", (label,), text, output.line))
    return found


def _missing(output: Output, labels: list[str]) -> list[Gap]:
    if not output.numa:
        return []
    found = []
    for label in labels:
        lost = [kind for kind in ("Node", "Affinity") if (label, kind) not in output.numa]
        if lost:
            lines = ", ".join(f"Numa {kind}" for kind in lost)
            found.append(Gap((label,), "row", f"not in the text: {lines}", _COMMAND, output.line))
    return found
