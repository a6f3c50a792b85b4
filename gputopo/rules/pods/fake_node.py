"""GT422 fake-node

What it says
    The node's GPUs are made up by fake-gpu-operator or KWOK.

Why it matters
    What pods hold there says nothing of hardware.

What to do
    Nothing; its topology is what its ConfigMap or NodeResourceTopology says.

When it is silent
    No label, annotation or object among the sources says that the node is fake.

Example
    >>> from gputopo.rules.pods.example import held, node
    >>> [found] = check(Audit(held(node())._replace(fake="KWOK", name="kwok-1")))
    >>> found.message
    'kwok-1 is a fake node (KWOK): no hardware is behind its GPUs'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit

CODE = "GT422"
SEVERITY = "info"


def check(audit: Audit) -> Iterator[Finding]:
    if audit.held.fake:
        name = audit.held.name or "the node"
        text = f"{name} is a fake node ({audit.held.fake}): no hardware is behind its GPUs"
        yield Finding(CODE, SEVERITY, (name,), text, matters="placement on it has no effect on speed")
