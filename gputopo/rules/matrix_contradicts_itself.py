"""GT005 matrix-contradicts-itself

What it says
    The letters of the matrix cannot all be right.

Why it matters
    PCIe is a tree, so of the three levels between any three devices the two largest are equal, and
    devices of different NUMA nodes are SYS apart. Where that does not hold, a cell was falsified or
    damaged, or the matrix is invented; conclusions about these pairs are left out.

What to do
    Run `nvidia-smi topo -m` again on the node, or read the tree itself: `gputopo inspect --root /`.

When it is silent
    The levels fit one tree. A matrix can be wrong and still fit.

Example
    >>> from gputopo.topology.node import NodeTopology, Observed
    >>> text = "PIX, PIX, SYS"
    >>> seen = Observed("matrix-contradicts-itself", ("GPU0", "GPU1", "NIC0"), text, "s1", 2)
    >>> [finding] = check(NodeTopology(observations=(seen,)))
    >>> finding.message
    'the matrix contradicts itself: the letters of GPU0-GPU1 cannot all be right (PIX, PIX, SYS)'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, observed, subjects
from gputopo.rules.wording import counted, one_line, pairs
from gputopo.topology.node import NodeTopology

CODE = "GT005"
SEVERITY = "error"


def check(node: NodeTopology) -> Iterator[Finding]:
    seen = observed(node, "matrix-contradicts-itself")
    if not seen:
        return
    couples = list(dict.fromkeys((o.subjects[0], o.subjects[1]) for o in seen if len(o.subjects) > 1))
    example = one_line(seen[0].text)
    number = f"{counted(len(couples), 'pair')} " if len(couples) > 1 else ""
    yield Finding(
        CODE,
        SEVERITY,
        subjects(node, seen),
        f"the matrix contradicts itself: the letters of {number}{pairs(couples)} cannot all be right"
        + (f" ({example})" if example else ""),
        matters="what follows from these levels (nearest NIC, allocation, bandwidth) cannot be trusted",
        because="PCIe is a tree: of the levels between three devices the two largest are equal",
        remedy="run `nvidia-smi topo -m` again on the node, or read the PCIe tree there: gputopo inspect",
        evidence=evidence(seen),
    )
