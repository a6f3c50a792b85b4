"""GT403 numa-nodes-crossed

What it says
    The GPUs of a container or job are on several NUMA nodes of one socket.

Why it matters
    Less than crossing sockets: memory and PCIe traffic goes through the socket's own mesh.

What to do
    Nothing, unless a nearer set is free and the job is bound by PCIe.

When it is silent
    A socket is crossed (GT401, GT402), sockets are not known (GT404), or it is every GPU of the node. Where every
    pair has NVLinks, or nothing better exists, it is information.

Example
    >>> from gputopo.rules.pods.example import audit
    >>> list(check(audit(("GPU0", "GPU2"))))                 # crosses sockets too: GT402
    []
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit, split
from gputopo.rules.pods.proof import proof

CODE = "GT403"
SEVERITY = "warning"


def check(audit: Audit) -> Iterator[Finding]:
    for unit in audit.units:
        if not unit.placed.cross_numa or unit.placed.cross_package is not False:
            continue
        effect = audit.effect(unit)
        if effect.severity is None:
            continue
        yield Finding(
            CODE,
            "warning" if effect.severity == "error" else "info",
            (unit.title, *unit.gpus),
            f"{unit.title} crosses NUMA nodes of one socket: {split(unit.gpus, audit, 'numa_nodes')}",
            matters="memory of one NUMA node is farther for the GPUs of the other; the socket link is not used",
            because=audit.because(unit, effect),
            evidence=proof(audit, unit),
        )
