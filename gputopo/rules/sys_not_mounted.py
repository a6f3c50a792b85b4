"""GT024 sys-not-mounted

What it says
    In this container /sys/class/pci_bus is missing: /sys is not mounted, or only in part.

Why it matters
    NCCL finds the PCIe tree there. Without it, it places every GPU and NIC below one CPU, chooses paths blindly, and
    uses neither the near NIC nor GPUDirect RDMA.

What to do
    Mount /sys read-only into the container (`-v /sys:/sys:ro`, a hostPath volume); runtimes do by default.

When it is silent
    The evidence is not a container's, /sys/class/pci_bus is there, or a capture left /sys/class out. A NUMA node of -1
    is normal in virtual machines and no sign of this (GT010).

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology, Observed
    >>> seen = Observed("pci-class-missing", (), "there is no sys/class/pci_bus", "s1", None)
    >>> [finding] = check(NodeTopology(view="container", gpus=(Gpu("GPU0"),), observations=(seen,)))
    >>> finding.severity, finding.message
    ('error', '/sys is not whole in this container: there is no sys/class/pci_bus')

Source: NVIDIA/nccl, user guide, troubleshooting: GPU topology needs /sys.
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, observed
from gputopo.topology.node import NodeTopology

CODE = "GT024"
SEVERITY = "error"


def check(node: NodeTopology) -> Iterator[Finding]:
    seen = observed(node, "pci-class-missing")
    if not seen or not node.gpus:
        return
    yield Finding(
        CODE,
        SEVERITY,
        (),
        f"/sys is not whole in this container: {seen[0].text}",
        matters="NCCL does not see the PCIe tree: it knows no near NIC and chooses paths blindly",
        because="the container was started without /sys, or with a part of it hidden",
        remedy="mount /sys read-only: a hostPath volume, or -v /sys:/sys:ro",
        evidence=evidence(seen),
    )
