"""GT011 nic-without-pci-parent

What it says
    A NIC has no place in the PCIe tree of the node.

Why it matters
    It cannot be near to any GPU. NCCL hangs such a NIC at a CPU and reaches every GPU through the
    host; where a file repeats one virtual NIC under each CPU, that is no bridge between sockets.

What to do
    Nothing for a virtual interface (bridge, veth, tunnel). If it is a real card, look for it with
    `lspci -D` and `ls -l /sys/class/net/NAME/device`.

When it is silent
    No source describes the PCIe tree (a matrix alone does not), the NIC has a parent, or it is a
    software RDMA device (GT014).

Example
    >>> from gputopo.topology.node import Gpu, Nic, NodeTopology
    >>> node = NodeTopology(gpus=(Gpu("GPU0", parent="0000:01:00.0"),), nics=(Nic("eth0"),))
    >>> [finding] = check(node)
    >>> finding.message
    'eth0 has no place in the PCIe tree'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, observed
from gputopo.rules.wording import names
from gputopo.topology.node import NodeTopology

CODE = "GT011"
SEVERITY = "info"


def check(node: NodeTopology) -> Iterator[Finding]:
    repeated = observed(node, "virtual-nic-repeated")
    seen_twice = {id for o in repeated for id in o.subjects}
    software = {id for o in observed(node, "software-rdma-device") for id in o.subjects}
    described = any(g.parent for g in node.gpus) or any(n.parent for n in node.nics or ())
    ids = tuple(
        nic.id
        for nic in node.nics or ()
        if nic.parent is None
        and (described or nic.id in seen_twice)
        and software.isdisjoint((nic.id, nic.device, *nic.netdevs))
    )
    if not ids:
        return
    has = "has" if len(ids) == 1 else "have"
    again = "; the file repeats it under several CPUs" if repeated else ""
    yield Finding(
        CODE,
        SEVERITY,
        ids,
        f"{names(ids)} {has} no place in the PCIe tree{again}",
        matters="it is near to no GPU: traffic from a GPU to it goes through the host's memory",
        because="a virtual interface, or a card whose PCI device the evidence does not show",
        remedy="if it is a real card: ls -l /sys/class/net/NAME/device",
        evidence=evidence(repeated),
    )
