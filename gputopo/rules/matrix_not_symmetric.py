"""GT004 matrix-not-symmetric

What it says
    The two mirrored cells of a pair disagree: row GPU0 says one level for GPU1, row GPU1 another.

Why it matters
    A path is the same in both directions, so one cell is wrong: the text is damaged or edited, or
    the driver sees a link from one end only. The device plugin's allocator adds up the links of one
    end, and it panics where one end lists more links than the other.

What to do
    Run `nvidia-smi topo -m` again and compare; if it comes again, `nvidia-smi nvlink -s`.

When it is silent
    Both cells agree, only one of the two rows is in the text, or the difference is an NVLink that
    one end has and the other has not (GT110 says that).

Example
    >>> from gputopo.topology.node import NodeTopology, Observed
    >>> seen = Observed("matrix-not-symmetric", ("GPU0", "GPU1"), "row GPU0: SYS, row GPU1: PIX", "s1", 2)
    >>> [finding] = check(NodeTopology(observations=(seen,)))
    >>> finding.message
    'the matrix is not symmetric: mirrored cells disagree for GPU0-GPU1 (row GPU0: SYS, row GPU1: PIX)'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, observed, subjects
from gputopo.rules.wording import one_line, pairs
from gputopo.topology.node import NodeTopology

CODE = "GT004"
SEVERITY = "error"


def check(node: NodeTopology) -> Iterator[Finding]:
    one_sided = {frozenset(o.subjects[:2]) for o in observed(node, "one-sided-nvlink")}
    seen = [o for o in observed(node, "matrix-not-symmetric") if frozenset(o.subjects[:2]) not in one_sided]
    if not seen:
        return
    couples = list(dict.fromkeys((o.subjects[0], o.subjects[1]) for o in seen if len(o.subjects) > 1))
    example = one_line(seen[0].text)
    one_end = any(_nvlinks_in(o.text) == 1 for o in seen)
    panic = "; the device plugin's allocator panics on an NVLink that only one GPU of a pair has"
    shown = f" ({example})" if example and len(couples) == 1 else ""
    yield Finding(
        CODE,
        SEVERITY,
        subjects(node, seen),
        f"the matrix is not symmetric: mirrored cells disagree for {pairs(couples)}{shown}",
        matters=f"one of the two cells is wrong; a path is the same in both directions{panic if one_end else ''}",
        because="the text was damaged or edited, or the driver sees the link from one end only",
        remedy="run `nvidia-smi topo -m` again and compare; if it comes again: nvidia-smi nvlink -s",
        evidence=evidence(seen),
    )


def _nvlinks_in(text: str) -> int:
    """How many of the cells in the text are NVLinks (NV4)."""
    words = text.replace(",", " ").split()
    return sum(1 for word in words if word.startswith("NV") and word[2:].isdigit())
