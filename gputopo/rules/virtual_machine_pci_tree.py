"""GT013 virtual-machine-pci-tree

What it says
    The node is a virtual machine: its PCIe tree is the one the hypervisor shows.

Why it matters
    Levels such as PHB or PIX are then no evidence of where the cards sit in the host. In a flat guest
    (QEMU's Q35 with every device on its own root port) all pairs are PHB: NCCL, DRA's `pcieRoot` and
    "same PCIe" rules see every GPU and NIC as equally near, whatever the host looks like.

What to do
    Give NCCL the provider's topology file (`NCCL_TOPO_FILE`); where the hypervisor is yours, expose
    NUMA with vNUMA and one pxb-pcie per NUMA node. NVLink levels are real in a guest too.

When it is silent
    No source tells that the node is virtual. A guest whose tree is not flat, or that has one
    GPU, is information: the provider may have copied the host's shape.

Example
    >>> from gputopo.terms.path_level import PathLevel
    >>> from gputopo.topology.node import Gpu, NodeTopology, Pair
    >>> pair = Pair("GPU0", "GPU1", "PHB", PathLevel.PHB, (PathLevel.PHB,), "printed")
    >>> [finding] = check(NodeTopology(virtual=True, gpus=(Gpu("GPU0"), Gpu("GPU1")), pairs=(pair,)))
    >>> finding.severity, finding.message
    ('warning', 'a virtual machine with a flat PCIe tree: PHB between all pairs is no evidence of locality')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Evidence, Finding
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import NodeTopology

CODE = "GT013"
SEVERITY = "warning"

# QEMU's pcie-root-port is Red Hat's; its x3130 switch ports carry TI's id.
_QEMU_BRIDGES = (("0x1b36", None), ("0x104c", "0x8232"))


def check(node: NodeTopology) -> Iterator[Finding]:
    bridges = _emulated_bridges(node)
    if not node.gpus or not (node.virtual or (node.virtual is None and bridges)):
        return
    levels = {p.pcie for p in node.pairs if p.pcie is not None}
    flat = len(node.gpus) > 1 and levels == {PathLevel.PHB}
    if flat:
        message = "a virtual machine with a flat PCIe tree: PHB between all pairs is no evidence of locality"
    else:
        message = "a virtual machine: PCIe levels are the guest's tree, no evidence of locality on the host"
    yield Finding(
        CODE,
        SEVERITY if flat else "info",
        tuple(g.id for g in node.gpus),
        message,
        matters="NCCL and allocators may take far GPUs and NICs for near ones, or the reverse; NVLink is real",
        because="the hypervisor makes up the PCIe tree that the guest sees",
        remedy="give NCCL the provider's topology file (NCCL_TOPO_FILE); on your own hypervisor expose vNUMA "
        "with one pxb-pcie per NUMA node",
        evidence=tuple(Evidence(None, None, f"bridge {id} is emulated") for id in bridges[:4]),
    )


def needs(node: NodeTopology) -> str | None:
    if node.virtual is not None or len(node.gpus) < 2:
        return None
    return "whether this is a virtual machine (lscpu, or a sysfs root)"


def _emulated_bridges(node: NodeTopology) -> tuple[str, ...]:
    return tuple(
        b.id
        for b in node.bridges
        if any(b.vendor == vendor and device in (None, b.device) for vendor, device in _QEMU_BRIDGES)
    )
