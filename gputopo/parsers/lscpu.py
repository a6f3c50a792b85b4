"""`lscpu`, alone, in an environment report, or a few lines of it (`lscpu | grep NUMA`); also `lscpu -J`.

    >>> text = '''Architecture:             x86_64
    ...   CPU op-mode(s):         32-bit, 64-bit
    ... CPU(s):                   64
    ... Vendor ID:                AuthenticAMD
    ...   Model name:             AMD EPYC 7343 16-Core Processor
    ...     CPU family:           25
    ...     Model:                1
    ...     Thread(s) per core:   2
    ...     Core(s) per socket:   16
    ...     Socket(s):            2
    ... NUMA:
    ...   NUMA node(s):           4
    ...   NUMA node0 CPU(s):      0-7,32-39
    ...   NUMA node1 CPU(s):      8-15,40-47
    ...   NUMA node2 CPU(s):      16-23,48-55
    ...   NUMA node3 CPU(s):      24-31,56-63'''
    >>> [node] = parse(text)
    >>> node.numa_nodes[3].cpus
    CpuSet('24-31,56-63')
    >>> [(package.number, package.numa_nodes) for package in node.packages]
    [(0, (0, 1)), (1, (2, 3))]
    >>> print(node.assumptions[0].text)
    NUMA nodes 0-1 are one socket, 2-3 another: lscpu prints how many sockets there are, not which node is where

lscpu counts sockets and lists the CPUs of each NUMA node; it does not say which node lies in which socket.
lscpu_sockets.py tells where that follows and where it is supposed.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gputopo.parsers.limits import at_most_hits
from gputopo.parsers.lscpu_sockets import Counts, Sockets, place_nodes
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import (
    Assumption,
    Gap,
    NodeRecords,
    NumaNodeRecord,
    Observation,
    PackageRecord,
    SystemRecord,
)
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.structured_text import json_is_too_large
from gputopo.terms.unknown import Said, Unknown

_NODE = re.compile(r"NUMA node\d+ CPU\(s\):")
# `Architecture`, `Model` and `CPU(s)` end other words too ("GPU Architecture:"), so they must begin their
# line or stand behind a mark. `BIOS Model name` (util-linux 2.38) is what the firmware says.
_FIELD = re.compile(
    r"(?:(?<!BIOS )(NUMA node\d+ CPU\(s\)|NUMA node\(s\)|Socket\(s\)|On-line CPU\(s\) list|Core\(s\) per socket"
    r"|Thread\(s\) per core|Hypervisor vendor|Virtualization type|CPU family|Vendor ID|Model name)"
    r"|(?:^|[^\w\s])[ \t]*(Architecture|Model)):[ \t]*([^\r\n]*)",
    re.MULTILINE,
)
_MARKUP = " \t|`*\"'"


class Field(NamedTuple):
    name: str
    value: str
    line: int | None


def sniff(text: str) -> bool:
    """Whether a text holds lscpu's lines."""
    if "Socket(s):" in text and "Thread(s) per core:" in text:
        return True
    return _NODE.search(text) is not None


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One `NodeRecords` an output; the same output twice is one. Raises `Unreadable`."""
    is_json = text.lstrip()[:1] == "{"
    fields = _fields(_flatten(text) if is_json else text, lines=not is_json)
    nodes: list[NodeRecords] = []
    seen = set()
    for output in _outputs(fields):
        facts = tuple((field.name, field.value) for field in output)
        if facts not in seen and (node := _node(output)) is not None:
            seen.add(facts)
            nodes.append(node)
    if not nodes:
        raise Unreadable("no line of lscpu that names sockets or NUMA nodes")
    return tuple(nodes)


def _flatten(text: str) -> str:
    """`lscpu -J`: {"lscpu": [{"field": "Architecture:", "data": "x86_64", "children": [...]}]}."""
    import json

    if json_is_too_large(text):
        return text
    try:
        document = json.loads(text)
        waiting = list(reversed(document["lscpu"]))
        lines = []
        while waiting:
            row = waiting.pop()
            lines.append(f"{row['field']} {row.get('data') or ''}")
            waiting.extend(reversed(row.get("children") or ()))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return text
    return "\n".join(lines)


def _fields(text: str, lines: bool) -> list[Field]:
    found = []
    line, counted = 1, 0
    for match in at_most_hits(_FIELD.finditer(text)):
        line += text.count("\n", counted, match.end())
        counted = match.end()
        name = match[1] or match[2]
        found.append(Field(name, match[3].strip(_MARKUP), line if lines else None))
    return found


def _outputs(fields: list[Field]) -> list[list[Field]]:
    """One list an output: `Architecture` begins one, and no output names a NUMA node twice."""
    outputs: list[list[Field]] = [[]]
    seen: set[str] = set()
    for field in fields:
        repeated = field.name.startswith("NUMA node") and field.name in seen
        if repeated or (field.name == "Architecture" and outputs[-1]):
            outputs.append([])
            seen = set()
        outputs[-1].append(field)
        seen.add(field.name)
    return outputs


def _node(fields: list[Field]) -> NodeRecords | None:
    nodes = _numa_nodes(fields)
    announced = _number(fields, "NUMA node(s)")
    whole = announced is None or announced <= len(nodes)
    sockets = place_nodes({node.number: node.cpus for node in nodes}, _counts(fields, whole))
    if not nodes and sockets.unknown is not None and _number(fields, "Socket(s)") is None:
        return None
    gaps = []
    if not whole:
        reason = f"lscpu counts {announced} NUMA nodes and lists {len(nodes)}"
        gaps.append(Gap((), "numaNodes", reason, "lscpu", _first(fields, "NUMA node(s)").line))
    if sockets.unknown is not None:
        gaps.append(Gap((), "packages", sockets.unknown, "sysfs or lstopo", fields[0].line))
    hypervisor = _hypervisor(fields)
    return NodeRecords(
        "lscpu",
        line=fields[0].line or 1,
        whole=whole,
        system=SystemRecord(virtual=True if hypervisor else None),
        packages=_packages(fields, sockets),
        numa_nodes=tuple(_with_package(node, sockets) for node in nodes) or None,
        gaps=tuple(gaps),
        observations=(hypervisor,) if hypervisor else (),
        assumptions=tuple(Assumption((), text) for text in sockets.assumptions),
    )


def _numa_nodes(fields: list[Field]) -> list[NumaNodeRecord]:
    nodes = []
    for field in fields:
        digits = field.name.removeprefix("NUMA node").partition(" ")[0]
        if not (field.name.startswith("NUMA node") and digits.isdecimal() and len(digits) < 10):
            continue
        cpus: Said[CpuSet] = CpuSet.parse_list(field.value)
        if cpus is None:
            cpus = Unknown(f"CPU list {field.value[:60]!r} cannot be read", "lscpu")
        kind = "cpu" if isinstance(cpus, CpuSet) and cpus else None  # lscpu does not say what kind of memory
        nodes.append(NumaNodeRecord(int(digits), kind=kind, cpus=cpus))
    return nodes


def _with_package(node: NumaNodeRecord, sockets: Sockets) -> NumaNodeRecord:
    if node.cpus == CpuSet():
        return node._replace(packages=())
    if sockets.unknown is not None:
        return node
    return node._replace(packages=tuple(n for n, nodes in enumerate(sockets.nodes) if node.number in nodes))


def _packages(fields: list[Field], sockets: Sockets) -> tuple[PackageRecord, ...] | None:
    if sockets.unknown is not None:
        return None
    vendor, arch = _text(fields, "Vendor ID"), _text(fields, "Architecture")
    family, model = _number(fields, "CPU family"), _number(fields, "Model")
    return tuple(
        PackageRecord(number, cpus, nodes or None, vendor, family, model, arch)
        for number, (nodes, cpus) in enumerate(zip(sockets.nodes, sockets.cpus))
    )


def _counts(fields: list[Field], complete: bool) -> Counts:
    """Cores of several kinds (big.LITTLE) have a block each, with its own `Socket(s)`."""
    sockets = {field.value for field in fields if field.name == "Socket(s)"}
    online = _text(fields, "On-line CPU(s) list")
    return Counts(
        sockets=_number(fields, "Socket(s)") if len(sockets) == 1 else None,
        cores=_number(fields, "Core(s) per socket") if _only(fields, "Core(s) per socket") else None,
        threads=_number(fields, "Thread(s) per core") if _only(fields, "Thread(s) per core") else None,
        online=CpuSet.parse_list(online) if online else None,
        complete=complete,
    )


def _hypervisor(fields: list[Field]) -> Observation | None:
    vendor, kind = _text(fields, "Hypervisor vendor"), _text(fields, "Virtualization type")
    if not (vendor or kind) or kind in ("container", "none"):
        return None
    line = _first(fields, "Hypervisor vendor" if vendor else "Virtualization type").line
    return Observation("hypervisor", (), ", ".join(filter(None, (vendor, kind))), line)


def _first(fields: list[Field], name: str) -> Field:
    return next((field for field in fields if field.name == name), Field(name, "", None))


def _only(fields: list[Field], name: str) -> bool:
    return sum(field.name == name for field in fields) == 1


def _text(fields: list[Field], name: str) -> str | None:
    value = _first(fields, name).value
    return None if value in ("", "-") else value


def _number(fields: list[Field], name: str) -> int | None:
    value = _first(fields, name).value
    return int(value) if value.isdecimal() and len(value) < 10 else None
