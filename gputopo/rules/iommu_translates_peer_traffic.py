"""GT103 iommu-translates-peer-traffic

What it says
    The IOMMU of a bare-metal x86 node translates the addresses of GPUs (group type DMA or DMA-FQ).

Why it matters
    Peer-to-peer over PCIe and GPUDirect RDMA need addresses that are the same for every device: with translation
    they are slow, hang, or give wrong data. NVLink is not affected.

What to do
    Boot with `iommu=pt` (pass-through). With more than 255 logical CPUs keep the IOMMU on: it remaps interrupts.

When it is silent
    Groups are of type identity, their type was not read, or there are none (IOMMU off); in virtual machines; for
    GPUs bound to vfio-pci; on Arm (Grace), where translation with ATS is the design. Where every GPU pair has
    NVLink it is information: only traffic to NICs is touched.

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology, Observed
    >>> text = "18:00.0: group 12 (DMA-FQ), 3b:00.0: group 30 (DMA-FQ)"
    >>> seen = Observed("iommu-groups", ("GPU0", "GPU1"), text, "s1", None)
    >>> [finding] = check(NodeTopology(gpus=(Gpu("GPU0"), Gpu("GPU1")), observations=(seen,)))
    >>> finding.severity, finding.message
    ('warning', 'the IOMMU translates for GPU0 and GPU1 (group type DMA-FQ)')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, observed
from gputopo.rules.wording import listed, names
from gputopo.topology.gpudirect_facts import facts_of
from gputopo.topology.node import NodeTopology

CODE = "GT103"
SEVERITY = "warning"

_TRANSLATED = ("DMA", "DMA-FQ")


def check(node: NodeTopology) -> Iterator[Finding]:
    facts = facts_of(node)
    if node.virtual or facts.is_arm:
        return
    types = {
        gpu.id: facts.group_types.get(gpu.id, "")
        for gpu in node.gpus
        if gpu.driver != "vfio-pci" and gpu.vendor in (None, "nvidia")
    }
    ids = tuple(id for id, kind in types.items() if kind in _TRANSLATED)
    if not ids or (len(node.gpus) < 2 and not node.nics):
        return
    kinds = listed(sorted({types[id] for id in ids}))
    gpus = {gpu.id for gpu in node.gpus}
    among = [pair for pair in node.pairs if pair.a in gpus and pair.b in gpus]
    linked = bool(among) and all(pair.nvlinks for pair in among)
    yield Finding(
        CODE,
        "info" if linked else SEVERITY,
        ids,
        f"the IOMMU translates for {names(ids)} (group type {kinds})",
        matters="nothing between these GPUs, all have NVLink; GPUDirect RDMA to NICs may be slow or fail"
        if linked
        else "peer-to-peer over PCIe and GPUDirect RDMA may be slow, hang or give wrong data",
        because="the kernel was booted without pass-through, its own default or intel_iommu=on alone",
        remedy="boot with iommu=pt",
        evidence=evidence(observed(node, "iommu-groups", "kernel-iommu-options")),
    )


def needs(node: NodeTopology) -> str | None:
    """Where a root folder names groups without their type, and no kernel option tells."""
    facts = facts_of(node)
    groups = [gpu.id for gpu in node.gpus if gpu.id in facts.groups and gpu.driver != "vfio-pci"]
    known = facts.pass_through or facts.is_arm or node.virtual or all(id in facts.group_types for id in groups)
    if known or not any(source.format == "sysfs-root" for source in node.sources):
        return None
    return "whether the IOMMU translates (/sys/kernel/iommu_groups/*/type, Linux 5.11, or dmesg | grep -i iommu)"
