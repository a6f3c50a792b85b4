"""`numactl --hardware` (`-H`): NUMA nodes, their CPUs, memory and distances.

    >>> text = '''available: 3 nodes (0-1,8)
    ... node 0 cpus: 0 1 2 3
    ... node 0 size: 64000 MB
    ... node 0 free: 61000 MB
    ... node 1 cpus: 4 5 6 7
    ... node 1 size: 64500 MB
    ... node 8 cpus:
    ... node 8 size: 16384 MB
    ... node distances:
    ... node   0   1   8
    ...   0:  10  21  40
    ...   1:  21  10  40
    ...   8:  40  40  10'''
    >>> [node] = parse(text)
    >>> [(numa.number, str(numa.cpus), numa.kind) for numa in node.numa_nodes]
    [(0, '0-3', 'cpu'), (1, '4-7', 'cpu'), (8, '', 'memory')]
    >>> node.numa_nodes[2].memory_bytes == 16384 * 1024 * 1024, node.numa_nodes[0].distances
    (True, {0: 10, 1: 21, 8: 40})

"MB" are 1024 * 1024 bytes (numactl.c shifts by 20). A node without CPUs is one of memory alone: HBM, CXL, or a
GPU's. The columns of the distances are the nodes that the line above them names.
"""

from __future__ import annotations

import re

from gputopo.parsers.limits import at_most_hits, at_most_nodes
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Gap, NodeRecords, NumaNodeRecord
from gputopo.terms.cpu_set import HIGHEST_CPU, CpuSet
from gputopo.terms.unknown import Said, Unknown

_LINE = re.compile(
    r"^[^\w\n]*(?:(available): (\d{1,5}) nodes?\b|node (\d{1,5}) (cpus|size):[ \t]*([^\r\n]*)"
    r"|(node)((?:[ \t]+\d{1,5}){1,1024})[ \t\r]*$|(\d{1,5}):((?:[ \t]+\d{1,5}){1,1024})[ \t\r]*$)",
    re.MULTILINE,
)
_SIGN = re.compile(r"^[^\w\n]*(?:node \d{1,5} (?:cpus|size):|node distances:)", re.MULTILINE)


class _Output:
    """What one run of numactl printed, as far as it is in the text."""

    def __init__(self) -> None:
        self.line = 0
        self.announced: int | None = None
        self.cpus: dict[int, Said[CpuSet]] = {}
        self.sizes: dict[int, int] = {}
        self.columns: tuple[int, ...] = ()
        self.rows: dict[int, tuple[int, ...]] = {}

    def numbers(self) -> list[int]:
        return sorted({*self.cpus, *self.sizes, *self.columns, *self.rows})

    def facts(self) -> tuple[object, ...]:
        return self.cpus, self.sizes, self.columns, self.rows


def sniff(text: str) -> bool:
    """Whether a text holds numactl's lines."""
    return _SIGN.search(text) is not None


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One `NodeRecords` an output; the same output twice is one. Raises `Unreadable`."""
    found: list[_Output] = []
    for output in _outputs(text):
        if output.numbers() and not any(output.facts() == other.facts() for other in found):
            found.append(output)
            at_most_nodes(found, output.line)
    if not found:
        raise Unreadable("no NUMA node in this output of numactl", hint="numactl --hardware")
    return tuple(_node(output) for output in found)


def _outputs(text: str) -> list[_Output]:
    """`available:` begins an output, and none names a node's CPUs twice."""
    outputs = [_Output()]
    line, counted = 1, 0
    for match in at_most_hits(_LINE.finditer(text)):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        if _is_next(match, outputs[-1]):
            outputs.append(_Output())
        output = outputs[-1]
        if _take(match, output):
            output.line = output.line or line
    return outputs


def _is_next(match: re.Match[str], output: _Output) -> bool:
    if match[1]:
        return bool(output.line)
    if match[4] == "cpus":
        return int(match[3]) in output.cpus
    return bool(match[6]) and bool(output.columns)


def _take(match: re.Match[str], output: _Output) -> bool:
    """Keep what a line says; a row of numbers counts only below the head of the distances."""
    if match[1]:
        output.announced = int(match[2])
    elif match[4] == "cpus":
        output.cpus[int(match[3])] = _cpus(match[5])
    elif match[4] == "size":
        words = match[5].split()
        if len(words) < 2 or words[1] != "MB" or not words[0].isdecimal() or len(words[0]) > 12:
            return False
        output.sizes[int(match[3])] = int(words[0]) << 20
    elif match[6]:
        output.columns = tuple(map(int, match[7].split()))
    elif output.columns:
        output.rows[int(match[8])] = tuple(map(int, match[9].split()))
    else:
        return False
    return True


def _cpus(text: str) -> Said[CpuSet]:
    words = text.split()
    if all(word.isdecimal() and len(word) < 6 and int(word) <= HIGHEST_CPU for word in words):
        return CpuSet.of(int(word) for word in words)
    return Unknown(f"CPU list {text[:60]!r} cannot be read", "numactl --hardware")


def _node(output: _Output) -> NodeRecords:
    numbers = output.numbers()
    gaps = []
    if output.announced is not None and output.announced > len(numbers):
        reason = f"numactl counts {output.announced} NUMA nodes, {len(numbers)} are in the text"
        gaps.append(Gap((), "numaNodes", reason, "numactl --hardware", output.line))
    silent = tuple(f"NUMA{number}" for number in numbers if number not in output.cpus)
    if silent:
        gaps.append(
            Gap(silent, "cpus", "the lines with their CPUs are not in the text", "numactl --hardware", output.line)
        )
    whole = not gaps and output.announced is not None and set(numbers) == set(output.rows)
    return NodeRecords(
        "numactl-hardware",
        line=output.line or 1,
        whole=whole,
        numa_nodes=tuple(_numa_node(output, number) for number in numbers),
        gaps=tuple(gaps),
    )


def _numa_node(output: _Output, number: int) -> NumaNodeRecord:
    cpus = output.cpus.get(number)
    kind = None if cpus is None or isinstance(cpus, Unknown) else "cpu" if cpus else "memory"
    return NumaNodeRecord(
        number,
        kind=kind,
        cpus=cpus,
        packages=() if kind == "memory" else None,
        memory_bytes=output.sizes.get(number),
        distances=_distances(output, number),
    )


def _distances(output: _Output, number: int) -> Said[dict[int, int]]:
    row = output.rows.get(number)
    if row is None:
        return None
    if len(row) != len(output.columns):
        return Unknown(f"{len(row)} distances for {len(output.columns)} NUMA nodes", "numactl --hardware")
    return dict(zip(output.columns, row))
