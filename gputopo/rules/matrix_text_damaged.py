"""GT008 matrix-text-damaged

What it says
    The text of the matrix was damaged, and could be read all the same: cells that a terminal had
    glued together were split, or a lost or shifted header was rebuilt from the rows.

Why it matters
    Nothing is known to be lost (each row had its number of cells), but the original is better evidence.

What to do
    Save the output without a terminal between: `nvidia-smi topo -m > topo.txt`.

When it is silent
    The text is whole. Rows that could not be read are GT003, CPU and NUMA cells GT002.

Example
    >>> from gputopo.topology.node import NodeTopology, Observed
    >>> seen = Observed("cells-glued", ("GPU5",), "NODEPXB", "s1", 7)
    >>> [finding] = check(NodeTopology(observations=(seen,)))
    >>> finding.message
    'the matrix was damaged and repaired: cells glued together in row GPU5'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, observed, subjects
from gputopo.rules.wording import names
from gputopo.topology.node import NodeTopology

CODE = "GT008"
SEVERITY = "info"


def check(node: NodeTopology) -> Iterator[Finding]:
    seen = observed(node, "cells-glued", "header-damaged")
    if not seen:
        return
    said = []
    if any(o.kind == "header-damaged" for o in seen):
        said.append("header damaged")
    rows = subjects(node, observed(node, "cells-glued"))
    if rows:
        said.append(f"cells glued together in row {names(rows)}")
    elif any(o.kind == "cells-glued" for o in seen):
        said.append("cells glued together")
    yield Finding(
        CODE,
        SEVERITY,
        subjects(node, seen),
        f"the matrix was damaged and repaired: {', '.join(said)}",
        matters="nothing is known to be lost, but a saved original is better evidence",
        because="a terminal wrapped or cut the lines, or a tool stripped the blanks",
        remedy="save it without a terminal between: nvidia-smi topo -m > topo.txt",
        evidence=evidence(seen),
    )
