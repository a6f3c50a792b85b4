"""GT017 duplicate-pci-address

What it says
    A source gives one PCI address to several devices.

Why it matters
    An address names one function. Devices of the same address cannot be told apart, so links, NUMA
    node and levels may belong to another card.

What to do
    Compare the file with `lspci -D` and correct the address.

When it is silent
    Every address stands for one device; functions of one card (.0, .1) are different addresses.

Example
    >>> from gputopo.topology.node import NodeTopology, Observed
    >>> seen = Observed("duplicate-busid", ("0000:ba:00.0",), "0000:ba:00.0 three times", "s1", 40)
    >>> [finding] = check(NodeTopology(observations=(seen,)))
    >>> finding.message
    'one PCI address stands for several devices: 0000:ba:00.0'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, observed, subjects
from gputopo.rules.wording import names
from gputopo.topology.node import NodeTopology

CODE = "GT017"
SEVERITY = "warning"


def check(node: NodeTopology) -> Iterator[Finding]:
    seen = observed(node, "duplicate-busid")
    if not seen:
        return
    ids = subjects(node, seen)
    yield Finding(
        CODE,
        SEVERITY,
        ids,
        f"one PCI address stands for several devices: {names(ids)}",
        matters="these devices cannot be told apart; their links and levels may be another card's",
        because="the file was written or edited by hand, or copied from another machine",
        remedy="compare with `lspci -D` and correct the address",
        evidence=evidence(seen),
    )
