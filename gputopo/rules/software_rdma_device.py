"""GT014 software-rdma-device

What it says
    An RDMA device has no PCI hardware of its own (siw, rxe and the like) and was left out of the NICs.

Why it matters
    It has no PCI device, so it is near to no GPU and no GPUDirect RDMA reaches it. Some versions of
    `nvidia-smi topo -m` fail completely beside one ("Failed to run topology matrix").

What to do
    If nobody uses it: `rdma link delete NAME`. If `nvidia-smi topo -m` fails, read the tree from sysfs
    instead: `gputopo inspect`.

When it is silent
    Every RDMA device has a PCI device, or the evidence does not show what it is.

Example
    >>> from gputopo.topology.node import NodeTopology, Observed
    >>> seen = Observed("software-rdma-device", ("siw_eth0",), "no PCI element in its path", "s1", None)
    >>> [finding] = check(NodeTopology(observations=(seen,)))
    >>> finding.message
    'siw_eth0 is a software RDMA device (no PCI hardware, like siw or rxe) and not counted as a NIC'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, observed, subjects
from gputopo.rules.wording import names
from gputopo.topology.node import NodeTopology

CODE = "GT014"
SEVERITY = "info"


def check(node: NodeTopology) -> Iterator[Finding]:
    seen = observed(node, "software-rdma-device")
    if not seen:
        return
    ids = subjects(node, seen)
    what = "is a software RDMA device" if len(ids) == 1 else "are software RDMA devices"
    counted = "not counted as a NIC" if len(ids) == 1 else "not counted as NICs"
    yield Finding(
        CODE,
        SEVERITY,
        ids,
        f"{names(ids)} {what} (no PCI hardware, like siw or rxe) and {counted}",
        matters="no GPUDirect RDMA reaches it, and some versions of `nvidia-smi topo -m` fail beside it",
        because="its path in sysfs has no PCI device",
        remedy="if nobody uses it: rdma link delete NAME",
        evidence=evidence(seen),
    )
