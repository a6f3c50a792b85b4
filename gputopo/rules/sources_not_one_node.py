"""GT007 sources-not-one-node

What it says
    Sources that were to be read as one node contradict each other in what a node is: its GPUs'
    UUIDs, PCI addresses, boot id, counts or letters.

Why it matters
    A merge of two machines is a machine that does not exist; every answer about it is made up.

What to do
    Read them apart (`--each`), or compare them: `gputopo diff A B`.

When it is silent
    The sources fit. Without a common identity (UUID, PCI addresses, boot id, node name) that is a
    named assumption, not a proof.

Example
    >>> from gputopo.topology.node import NodeTopology, Observed
    >>> seen = Observed("sources-not-one-node", ("s1", "s2"), "8 GPUs against 4", "s2", None)
    >>> [finding] = check(NodeTopology(observations=(seen,)))
    >>> finding.message
    'the sources s1 and s2 are not one node: 8 GPUs against 4'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, observed
from gputopo.rules.wording import listed, one_line
from gputopo.topology.node import NodeTopology

CODE = "GT007"
SEVERITY = "error"


def check(node: NodeTopology) -> Iterator[Finding]:
    seen = observed(node, "sources-not-one-node")
    if not seen:
        return
    ids = tuple(dict.fromkeys(id for o in seen for id in o.subjects))
    shown = {s.id: s.name for s in node.sources}
    yield Finding(
        CODE,
        SEVERITY,
        ids,
        f"the sources {listed([one_line(shown.get(id, id)) for id in ids], 4)} are not one node: "
        f"{one_line(seen[0].text)}",
        matters="a merge of two machines describes none; do not act on it",
        because="the sources were joined although they contradict each other",
        remedy="read them apart with --each, or compare them: gputopo diff A B",
        evidence=evidence(seen),
    )
