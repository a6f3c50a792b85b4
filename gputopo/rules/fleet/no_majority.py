"""GT604 no-majority

What it says
    No value of this field has more than half of the nodes of a product, so none of them can be called odd by it.

Why it matters
    Two halves of a fleet differ: a driver that is being rolled out, or two ways of wiring under one product name.

What to do
    Give the two halves apart, and each is judged by itself.

When it is silent
    Fewer than three nodes say the field, or what it follows from is split already.

Example
    >>> from gputopo.rules.fleet.seen import SplitSeen
    >>> [finding] = check(FleetSeen(split=(SplitSeen("system.driver", "HGX", (("570", 50), ("580", 50))),)))
    >>> finding.message
    'system.driver of HGX has no majority: 570 (50), 580 (50)'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.fleet.seen import FleetSeen, some

CODE = "GT604"
SEVERITY = "info"


def check(fleet: FleetSeen) -> Iterator[Finding]:
    for split in fleet.split:
        of = f" of {split.product}" if split.product else ""
        values = some(tuple(f"{value} ({nodes:,})" for value, nodes in split.values))
        yield Finding(
            CODE, SEVERITY, (), f"{split.field}{of} has no majority: {values}",
            matters="no node of the product is judged by it", remedy="give the parts of the fleet apart",
        )  # fmt: skip
