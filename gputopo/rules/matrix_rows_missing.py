"""GT003 matrix-rows-missing

What it says
    Rows of the matrix are missing, cut, or do not fit the header.

Why it matters
    What those rows would have told (levels, CPUs, NUMA node) is unknown, or known from the other
    side of the pair only, so a damaged cell cannot be caught by its mirror.

What to do
    Save the whole output again: `nvidia-smi topo -m > topo.txt`.

When it is silent
    Every label of the header has its row. With only NIC rows missing it is information: the GPU
    rows hold every GPU-NIC level, and what lies between two NICs is rarely needed.

Example
    >>> from gputopo.topology.node import NodeTopology, Observed
    >>> lost = [Observed("row-missing", (f"GPU{n}",), "no row", "s1", 1) for n in (3, 4, 5)]
    >>> [finding] = check(NodeTopology(observations=tuple(lost)))
    >>> finding.severity, finding.message
    ('warning', 'the matrix is incomplete: row of GPU3-GPU5 missing')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, observed, subjects
from gputopo.rules.wording import names
from gputopo.topology.node import NodeTopology

CODE = "GT003"
SEVERITY = "warning"

_KINDS = (
    ("row-missing", "missing"),
    ("row-cut", "cut"),
    ("row-not-matching-header", "not matching the header"),
)


def check(node: NodeTopology) -> Iterator[Finding]:
    seen = observed(node, *(kind for kind, _ in _KINDS))
    if not seen:
        return
    said = []
    for kind, word in _KINDS:
        rows = subjects(node, observed(node, kind))
        if rows:
            said.append(f"row of {names(rows)} {word}")
    ids = subjects(node, seen)
    gpus = {g.id for g in node.gpus}
    only_nics = not any(id in gpus or id.startswith("GPU") for id in ids)
    yield Finding(
        CODE,
        "info" if only_nics else SEVERITY,
        ids,
        f"the matrix is incomplete: {', '.join(said)}",
        matters="levels between two NICs are unknown"
        if only_nics
        else "levels, CPUs and NUMA node of these rows are unknown, or known from the other side only",
        because="the text was cut, or lines were lost when it was copied",
        remedy="save the whole output again: nvidia-smi topo -m > topo.txt",
        evidence=evidence(seen),
    )
