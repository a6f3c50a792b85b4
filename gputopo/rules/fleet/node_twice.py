"""GT603 node-twice

What it says
    One node was read several times: the UUIDs of its GPUs, its boot id or its name are the same. The first counts.

Why it matters
    Counts would be wrong, and with two states of one node the older one may be the one that is looked at.

What to do
    Keep the newer one. Machines that were cloned with their names: the names are to mend.

When it is silent
    A name alone, where the UUIDs of the GPUs are known and differ. Bundles of `gputopo collect` without a salt of the
    site have no identity in common: the same node twice is two nodes there.

Example
    >>> from gputopo.rules.fleet.seen import TwiceSeen
    >>> [finding] = check(FleetSeen(twice=(TwiceSeen("boot id", ("a17.txt", "old/a17.txt")),)))
    >>> finding.message
    'one node (boot id): a17.txt, old/a17.txt'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.fleet.seen import SHOWN, FleetSeen, some

CODE = "GT603"
SEVERITY = "info"


def check(fleet: FleetSeen) -> Iterator[Finding]:
    for twice in fleet.twice:
        yield Finding(
            CODE, SEVERITY, twice.sources[:SHOWN], f"one node ({twice.by}): {some(twice.sources)}",
            matters="the first of them counts, the others do not", remedy="keep the newer one",
        )  # fmt: skip
