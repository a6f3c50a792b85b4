"""GT401 sockets-crossed-on-nvlink

What it says
    The GPUs of a container or job are on several sockets, and every pair of them has NVLinks.

Why it matters
    Little: traffic between the GPUs stays on NVLink. Pinned memory, launching threads and NICs of a GPU may be on the
    other socket.

What to do
    Nothing for GPU-GPU traffic. Pin each rank's threads to its GPU's NUMA node (numactl, or the kubelet's static CPU
    manager).

When it is silent
    The set is on one socket, a pair has no NVLink (then GT402), or it is every GPU of the node.

Example
    >>> from gputopo.rules.pods.example import audit
    >>> [found] = check(audit(("GPU0", "GPU2"), nvlinks=4))
    >>> found.severity, found.message
    ('info', 'ml/job0 crosses sockets: GPU0 | GPU2')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit, split
from gputopo.rules.pods.proof import proof

CODE = "GT401"
SEVERITY = "info"


def check(audit: Audit) -> Iterator[Finding]:
    for unit in audit.units:
        if not unit.placed.cross_package or audit.on_nvlink(unit) is not True:
            continue
        effect = audit.effect(unit)
        if effect.severity is None:
            continue
        switched = all(pair is not None and pair.via_switch for pair in audit.sight.pairs(unit.gpus))
        through = "the NVSwitch fabric" if switched else "NVLinks"
        yield Finding(
            CODE,
            "info",
            (unit.title, *unit.gpus),
            f"{unit.title} crosses sockets: {split(unit.gpus, audit)}",
            matters=f"little: all {len(unit.gpus)} share {through}, no GPU-GPU traffic uses the socket link; pinned "
            "memory and threads of the GPUs on the other socket may be remote",
            because=audit.because(unit, effect),
            remedy="pin each rank to its GPU's NUMA node",
            evidence=proof(audit, unit),
        )
