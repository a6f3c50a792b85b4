"""GT404 numa-crossed-sockets-unknown

What it says
    The GPUs of a container are on several NUMA nodes, and no evidence says whether those are of several sockets.

Why it matters
    Whether a socket is crossed, what it costs and whether better was free cannot be told.

What to do
    Give the node's topology beside: nvidia-smi topo -m with -L, or a folder with sys/. `--assume sockets=numa` takes
    each NUMA node for a socket.

When it is silent
    The sockets are known, or the GPUs are on one NUMA node.

Example
    >>> from gputopo.rules.pods.example import audit
    >>> list(check(audit(("GPU0", "GPU2"))))
    []
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit
from gputopo.rules.pods.proof import proof

CODE = "GT404"
SEVERITY = "warning"


def check(audit: Audit) -> Iterator[Finding]:
    for unit in audit.units:
        if not unit.placed.cross_numa or unit.placed.cross_package is not None:
            continue
        if unit.gpus and len(unit.gpus) == len(audit.node.gpus):
            continue
        numa = ", ".join(map(str, unit.placed.numa_nodes or ()))
        severity = "info" if audit.on_nvlink(unit) and unit.gpus else "warning"
        yield Finding(
            CODE,
            severity,
            (unit.title, *unit.gpus),
            f"{unit.title} crosses NUMA nodes {numa}; whether they are of several sockets is not in the evidence",
            matters="what it costs and whether a better set was free depend on the sockets and the pairs' levels",
            remedy="give nvidia-smi topo -m with -L and lscpu beside it, or --assume sockets=numa",
            evidence=proof(audit, unit),
        )
