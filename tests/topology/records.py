"""Short ways to write records by hand."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.records import GpuRecord, Key, MatrixRecord, NicRecord, NodeRecords, Row
from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.build import build
from gputopo.topology.ledger import Spoken
from gputopo.topology.node import NodeTopology, Source


def matrix(text: str, command: str = "m") -> MatrixRecord:
    """A square of tokens; the first word of a row is its label."""
    words = [line.split() for line in text.strip().splitlines()]
    columns = tuple(row[0] for row in words)
    rows = tuple(Row(row[0], dict(zip(columns, row[1:])), line) for line, row in enumerate(words, 1))
    return MatrixRecord(command, columns, rows)


def topo(text: str, numa: Sequence[int | None] = (), cpus: Sequence[str] = (), command: str = "m") -> NodeRecords:
    """What `topo -m` says: GPUs and NICs by the labels of the matrix."""
    table = matrix(text, command)
    gpus = [label for label in table.columns if label.startswith("GPU")]
    return NodeRecords(
        "nvidia-smi-topo", f"topo -{command}", matrix=table, gpus_complete=True,
        gpus=tuple(
            GpuRecord(
                label, (Key("index", label[3:]),), None, int(label[3:]),
                numa_nodes=(node,) if numa and (node := numa[at]) is not None else None,
                cpus=CpuSet.parse_list(cpus[at]) if cpus else None,
            )
            for at, label in enumerate(gpus)
        ),
        nics=tuple(NicRecord(label) for label in table.columns if label not in gpus),
    )  # fmt: skip


def node(*records: NodeRecords, forced: bool = False, **assume: str) -> NodeTopology:
    """Build one node; sources are called a, b, c."""
    spoken = [
        Spoken(Source(f"{one.format}-{at}", "abcdef"[at], one.format, "", True), one) for at, one in enumerate(records)
    ]
    return build(spoken, assume, forced)
