"""`topo-dumps`: what people pasted of `nvidia-smi topo -m`, read by hand (index.jsonl and its files)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gputopo.parsers.nvidia_smi_topo import parse
from gputopo.records import GpuRecord, NodeRecords
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.unknown import Unknown
from gputopo.topology.build import build
from gputopo.topology.ledger import Spoken
from gputopo.topology.node import Source

COMPARED = frozenset(
    (
        "gpus",
        "nic_columns",
        "matrix",
        "matrix_complete",
        "missing_rows",
        "incomplete_rows",
        "glued_rows",
        "cpu_affinity",
        "numa_affinity",
        "gpu_numa_id",
        "cpu_affinity_maybe_truncated",
        "invalid_cpu_affinity",
        "suspect_cpu_affinity",
        "nic_legend",
        "second_nic_legend",
        "nic_gpu_rows",
        "dumps",
        "facts",
        "contradictory",
    )
)
IGNORED = {
    "legend_symbols": "which letters a legend explains is no property of the node",
}


class DumpCase(NamedTuple):
    name: str
    expected: dict[str, Any]
    text: str


def cases(path: Path) -> Iterator[DumpCase]:
    """The rows of an index.jsonl that hold a matrix; files stand beside it."""
    with path.open(encoding="utf-8") as index:
        for line in index:
            row = json.loads(line)
            # bytes, since reading as text would turn CRLF into LF
            text = (path.parent / row["file"]).read_bytes().decode("utf-8", "replace")
            yield DumpCase(row["file"], row["expected"], text)


def answer(case: DumpCase) -> tuple[NodeRecords, ...]:
    return parse(case.text)


def _contradicts(records: NodeRecords) -> bool:
    """Whether the merged node convicts the letters."""
    node = build([Spoken(Source("dump", "dump", records.format, "", records.whole), records)])
    kinds = {"matrix-contradicts-itself", "matrix-not-symmetric"}
    return bool(node.conflicts) or any(seen.kind in kinds for seen in node.observations)


def compare(expected: dict[str, Any], got: tuple[NodeRecords, ...]) -> list[str]:
    node = got[0]
    wrong = _Differences()
    wrong.unless_equal("contradictory", expected.get("contradictory", False), _contradicts(node))
    _compare_matrix(expected, node, wrong)
    _compare_rows(expected, node, wrong)
    _compare_cells(expected, node, wrong)
    _compare_doubts(expected, node, wrong)
    wrong.unless_equal("dumps", expected.get("dumps", 1), len(got))
    wrong.unless_equal("nic_legend", expected.get("nic_legend", {}), _legend(node))
    if "second_nic_legend" in expected:
        second = _legend(got[1]) if len(got) > 1 else None
        wrong.unless_equal("second_nic_legend", expected["second_nic_legend"], second)
    for fact in expected.get("facts", ()):
        _compare_fact(fact, node, wrong)
    return wrong.lines


class _Differences:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def unless_equal(self, what: str, expected: object, got: object) -> None:
        if expected != got:
            self.lines.append(f"{what}: expected {expected!r}, got {got!r}")


def _compare_matrix(expected: dict[str, Any], node: NodeRecords, wrong: _Differences) -> None:
    assert node.matrix is not None
    columns = node.matrix.columns
    wrong.unless_equal("gpus", expected["gpus"], [label for label in columns if label.startswith("GPU")])
    wrong.unless_equal("nic_columns", expected["nic_columns"], [c for c in columns if not c.startswith("GPU")])
    rows = {row.label: row for row in node.matrix.rows}
    for label in expected["matrix"].keys() | {label for label in rows if label in columns}:
        cells = rows[label].cells if label in rows else {}
        wanted = expected["matrix"].get(label, {})
        for column in wanted.keys() | cells.keys():
            wrong.unless_equal(f"cell {label},{column}", wanted.get(column), cells.get(column))
    beside = {
        row.label: [row.cells[column] for column in columns if column in row.cells]
        for row in node.matrix.rows
        if row.label not in columns
    }
    wrong.unless_equal("nic_gpu_rows", expected.get("nic_gpu_rows", {}), beside)


def _compare_rows(expected: dict[str, Any], node: NodeRecords, wrong: _Differences) -> None:
    assert node.matrix is not None
    rows = {row.label for row in node.matrix.rows}
    missing = {label for label in node.matrix.columns if label not in rows}
    incomplete = {row.label for row in node.matrix.rows if not row.complete}
    told = {label for gap in node.gaps if gap.attribute == "row" for label in gap.subjects}
    wrong.unless_equal("missing_rows", set(expected.get("missing_rows", ())), missing)
    wrong.unless_equal("incomplete_rows", set(expected.get("incomplete_rows", ())), incomplete)
    wrong.unless_equal("rows told as gaps", missing | incomplete, told)
    wrong.unless_equal("glued_rows", set(expected.get("glued_rows", ())), _noted(node, "cells-glued"))
    wrong.unless_equal("matrix_complete", expected["matrix_complete"], node.whole)
    wrong.unless_equal("gpus_complete", expected["matrix_complete"], node.gpus_complete)


def _noted(node: NodeRecords, kind: str) -> set[str]:
    return {label for note in node.observations if note.kind == kind for label in note.subjects}


def _compare_cells(expected: dict[str, Any], node: NodeRecords, wrong: _Differences) -> None:
    assert node.gpus is not None
    damaged = set(expected.get("invalid_cpu_affinity", ())) | set(expected.get("suspect_cpu_affinity", ()))
    for gpu in node.gpus:
        label = gpu.label
        text = expected.get("cpu_affinity", {}).get(label)
        if label in damaged:
            wrong.unless_equal(f"cpus of {label} given", True, isinstance(gpu.cpus, Unknown))
        else:
            wrong.unless_equal(f"cpus of {label}", None if text is None else CpuSet.parse_list(text), gpu.cpus)
        text = expected.get("numa_affinity", {}).get(label)
        wrong.unless_equal(f"NUMA of {label}", text, _numa_text(gpu, text))
        told = label in expected.get("gpu_numa_id", {})
        text = expected.get("gpu_numa_id", {}).get(label)
        wrong.unless_equal(f"GPU NUMA ID of {label}", _number_or_word(text, told), _memory(gpu))


def _numa_text(gpu: GpuRecord, text: str | None) -> str | None:
    """Our NUMA value in the words of the recorded answer: `N/A`, `""`, a list as printed."""
    value = gpu.numa_nodes
    if isinstance(value, Unknown):
        return "N/A" if "N/A" in value.why else "" if "empty" in value.why else value.why
    if value is None:
        return None
    same = text is not None and text and CpuSet.of(value) == CpuSet.parse_list(text)
    return text if same else ",".join(map(str, value))


def _number_or_word(text: str | None, told: bool) -> object:
    if not told:
        return None
    return int(text) if text is not None and text.isdigit() else "unknown"


def _memory(gpu: GpuRecord) -> object:
    return "unknown" if isinstance(gpu.memory_numa_node, Unknown) else gpu.memory_numa_node


def _compare_doubts(expected: dict[str, Any], node: NodeRecords, wrong: _Differences) -> None:
    assert node.gpus is not None
    maybe = set(expected.get("cpu_affinity_maybe_truncated", ()))
    wrong.unless_equal("cpu_affinity_maybe_truncated", maybe, _noted(node, "cpu-affinity-may-be-cut"))
    for gpu in node.gpus:
        if isinstance(gpu.cpus, CpuSet):
            wrong.unless_equal(f"cpus of {gpu.label} complete", None if gpu.label in maybe else True, gpu.cpus_complete)
    damaged = set(expected.get("invalid_cpu_affinity", ())) | set(expected.get("suspect_cpu_affinity", ()))
    wrong.unless_equal("damaged CPU cells", damaged, _noted(node, "damaged-cpu-cell"))
    empty = {label for label, text in expected.get("cpu_affinity", {}).items() if text == ""}
    wrong.unless_equal("empty CPU cells", empty, _noted(node, "empty-cpu-cell"))


def _legend(node: NodeRecords) -> dict[str, str]:
    return {
        nic.label: nic.device for nic in node.nics or () if isinstance(nic.device, str) and nic.label.startswith("NIC")
    }


_PAIR = re.compile(r"\((\d+),(\d+)\)=(\w+)|(\w+)-(\w+)=(\w+)\Z")
_VALUE = re.compile(r"(GPU\d+) (numa_affinity|gpu_numa_id)=(\S+)\Z")
_ONLY = re.compile(r"(GPU\d+) is the only GPU on NUMA (\d+)\Z")


def _compare_fact(fact: str, node: NodeRecords, wrong: _Differences) -> None:
    """A single cell worth a test of its own. A sentence we cannot read is a difference."""
    assert node.matrix is not None
    assert node.gpus is not None
    gpus = {gpu.label: gpu for gpu in node.gpus}
    pair, value, only = _PAIR.match(fact), _VALUE.match(fact), _ONLY.match(fact)
    if pair:
        a, b = (f"GPU{pair[1]}", f"GPU{pair[2]}") if pair[1] else (pair[4], pair[5])
        rows = {row.label: row.cells for row in node.matrix.rows}
        wrong.unless_equal(f"fact {fact}", pair[3] or pair[6], rows.get(a, {}).get(b))
        both = re.search(r"both NUMA (\d+)", fact)
        if both:
            nodes = [gpus[label].numa_nodes for label in (a, b)]
            wrong.unless_equal(f"fact {fact}", [(int(both[1]),)] * 2, nodes)
    elif value:
        gpu = gpus[value[1]]
        got = _numa_text(gpu, value[3]) if value[2] == "numa_affinity" else str(gpu.memory_numa_node)
        wrong.unless_equal(f"fact {fact}", value[3], got)
    elif only:
        there = [label for label, gpu in gpus.items() if gpu.numa_nodes == (int(only[2]),)]
        wrong.unless_equal(f"fact {fact}", [only[1]], there)
    else:
        wrong.lines.append(f"fact '{fact}' is not understood")
