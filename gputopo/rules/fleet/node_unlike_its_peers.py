"""GT605 node-unlike-its-peers

What it says
    A field of this node has another value than with most nodes of its product. Most: more than half of those whose
    evidence says it, of at least three.

Why it matters
    Jobs and settings are made for the majority. A GPU on the other socket, a NIC in another order, a slot at half
    width or an older driver shows as one slow rank among thousands.

What to do
    `gputopo inspect` on one odd and one usual node, side by side. Where the majority is wrong, the others are to mend.

When it is silent
    Fewer than three nodes of the product say the field, no value has more than half (GT604), or another field of the
    same node explains it: a missing GPU explains a missing link.

Example
    >>> from gputopo.rules.fleet.seen import OddSeen
    >>> odd = OddSeen("gpus[2].pcie.width", "8", "16", 99, 100, "HGX H100", ("a17",))
    >>> [finding] = check(FleetSeen(odd=(odd,)))
    >>> finding.message
    'a17: gpus[2].pcie.width is 8, with 99 of 100 nodes of HGX H100 it is 16'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.fleet.seen import SHOWN, FleetSeen, some

CODE = "GT605"
SEVERITY = "warning"


def check(fleet: FleetSeen) -> Iterator[Finding]:
    for odd in fleet.odd:
        of = f" of {odd.product}" if odd.product else ""
        yield Finding(
            CODE, SEVERITY, odd.nodes[:SHOWN],
            f"{some(odd.nodes)}: {odd.field} is {odd.found}, with {odd.agree:,} of {odd.of:,} nodes{of} it is "
            f"{odd.expected}",
            matters="jobs and settings are made for what most nodes are",
            remedy="gputopo inspect on this node and on a usual one",
        )  # fmt: skip
