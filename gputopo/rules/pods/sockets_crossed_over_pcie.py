"""GT402 sockets-crossed-over-pcie

What it says
    The GPUs of a container or job are on several sockets, and a pair of them has only PCIe between.

Why it matters
    Their traffic goes through the link between the sockets, or through host memory: collectives run at the pace of
    the slowest pair.

What to do
    Where a better set is free, start the pod again: delete it, and let the remedy's order bring it there. Topology
    Manager's `restricted` or `single-numa-node` refuses such a set instead of giving it.

When it is silent
    Every pair has NVLinks (then GT401), or the set is every GPU of the node. Error: a better set is free. Warning:
    only an empty node has one, or the evidence leaves it open, as where it does not say which pairs have NVLinks.
    Info: no better set of this size exists on the node.

Example
    >>> from gputopo.rules.pods.example import audit
    >>> [found] = check(audit(("GPU0", "GPU2")))
    >>> found.severity, found.because
    ('error', '{GPU0 GPU1} or {GPU2 GPU3} are free and better')
    >>> [found] = check(audit(("GPU0", "GPU2"), ("GPU1",), ("GPU3",)))
    >>> found.severity, found.because
    ('warning', 'not with the GPUs free now; on an empty node {GPU0 GPU1} or {GPU2 GPU3}')
    >>> [found] = check(audit(("GPU0", "GPU1", "GPU2")))
    >>> found.severity, found.because
    ('info', 'no better set of 3 exists on this node')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit, Effect, Unit, split
from gputopo.rules.pods.proof import proof

CODE = "GT402"
SEVERITY = "error"


def check(audit: Audit) -> Iterator[Finding]:
    for unit in audit.units:
        if not unit.placed.cross_package or audit.on_nvlink(unit) is True:
            continue
        effect = audit.effect(unit)
        if effect.severity is None:
            continue
        if audit.on_nvlink(unit) is None:
            yield _undecided(audit, unit, effect)
            continue
        weakest = unit.placed.seen.weakest if unit.placed.seen else None
        pair = f"{weakest.a}-{weakest.b} is {weakest.level}" if weakest else "pairs without NVLinks cross the sockets"
        yield Finding(
            CODE,
            effect.severity,
            (unit.title, *unit.gpus),
            f"{unit.title} crosses sockets over PCIe: {split(unit.gpus, audit)}",
            matters=f"its traffic uses the link between the sockets: {pair}",
            because=audit.because(unit, effect),
            remedy=audit.repair(unit) if effect.severity != "info" else "",
            evidence=proof(audit, unit),
        )


def _undecided(audit: Audit, unit: Unit, effect: Effect) -> Finding:
    """Sockets are in the evidence, NVLinks are not: it may be a GT401."""
    return Finding(
        CODE,
        "info" if effect.severity == "info" else "warning",
        (unit.title, *unit.gpus),
        f"{unit.title} crosses sockets: {split(unit.gpus, audit)}; whether NVLinks join them is not in the evidence",
        matters="little where every pair has NVLinks; else its traffic uses the link between the sockets",
        because=audit.because(unit, effect),
        remedy="give nvidia-smi topo -m, or nvidia-smi nvlink -s, beside it",
        evidence=proof(audit, unit),
    )
