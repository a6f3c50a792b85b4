"""GT602 evidence-not-read

What it says
    A saved thing among those of a fleet could not be read as a node, and why.

Why it matters
    The node is in none of the numbers: a fleet without findings is only as whole as what was read of it.

What to do
    Collect it again: `gputopo collect` on that node.

When it is silent
    Everything was read.

Example
    >>> from gputopo.rules.fleet.seen import LostSeen
    >>> [finding] = check(FleetSeen(lost=(LostSeen("the file is empty", ("a17.txt",)),)))
    >>> finding.message
    'not read: a17.txt: the file is empty'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.fleet.seen import SHOWN, FleetSeen, some

CODE = "GT602"
SEVERITY = "warning"


def check(fleet: FleetSeen) -> Iterator[Finding]:
    for lost in fleet.lost:
        yield Finding(
            CODE, SEVERITY, lost.sources[:SHOWN], f"not read: {some(lost.sources)}: {lost.reason}",
            matters="these nodes are in none of the numbers", remedy="gputopo collect on them",
        )  # fmt: skip
