"""GT405 nvlink-island-left

What it says
    The GPUs of a container or job are a part of an NVLink island together with GPUs outside it.

Why it matters
    Traffic between the two parts takes PCIe: a ring over them runs at its pace, and the island is broken for others.

What to do
    Start the pod again where an island is free as a whole; the remedy's order brings it there.

When it is silent
    The set lies in one island, holds islands whole, or there is no island. Severity as for GT402.

Example
    >>> from gputopo.rules.pods.example import audit
    >>> list(check(audit(("GPU0", "GPU2"))))                 # no NVLinks, no island
    []
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.allocate.best import islands
from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit
from gputopo.rules.pods.proof import proof
from gputopo.rules.wording import names

CODE = "GT405"
SEVERITY = "error"


def check(audit: Audit) -> Iterator[Finding]:
    for unit in audit.units:
        _, broken = islands(audit.node, unit.gpus)
        if len(unit.gpus) < 2 or not broken:
            continue
        effect = audit.effect(unit)
        if effect.severity is None:
            continue
        parts = []
        for island in broken:
            inside = [gpu for gpu in unit.gpus if gpu in island]
            parts.append(f"{names(inside)} of the island {names(island)}")
        outside = [gpu for gpu in unit.gpus if not any(gpu in island for island in broken)]
        text = " with ".join([*parts, *([names(outside)] if outside else [])])
        weakest = unit.placed.seen.weakest if unit.placed.seen else None
        yield Finding(
            CODE,
            effect.severity,
            (unit.title, *unit.gpus),
            f"{unit.title} leaves an NVLink island: {text}",
            matters="between the parts there is only PCIe" + (f": {weakest.a}-{weakest.b} {weakest.level}" if weakest
                                                              else ""),
            because=audit.because(unit, effect),
            remedy=audit.repair(unit) if effect.severity != "info" else "",
            evidence=proof(audit, unit),
        )  # fmt: skip
