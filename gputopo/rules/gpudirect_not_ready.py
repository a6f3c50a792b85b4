"""GT102 gpudirect-not-ready

What it says
    GPUDirect RDMA cannot work between a GPU and the NIC beside it: neither the module nvidia_peermem (nv_peer_mem)
    is loaded, nor can the RDMA stack use dma-buf.

Why it matters
    NCCL then copies every message between nodes through the host's memory ("GPU Direct RDMA Disabled"), which
    costs bandwidth and CPU. A job on one node is not touched.

What to do
    `modprobe nvidia-peermem`, or install the open kernel modules of the driver: with Linux 5.12 or later they
    offer dma-buf to the NIC's driver.

When it is silent
    A module is loaded or dma-buf is possible, no RDMA NIC is on the node, or what is loaded could not be read. EFA
    has a way of its own. GPUs that NCCL's default does not join with a NIC (beyond PXB), consumer GPUs (GeForce)
    and GPUs of a virtual machine's guest (vfio-pci) have another reason, which the GPUDirect verdict names. ACS is
    for GT101, IOMMU translation for GT103.

Example
    >>> from gputopo.topology.gpudirect_conditions import NO_MODULE
    >>> from gputopo.topology.node import Gpu, GpuDirect, NodeTopology
    >>> path = GpuDirect("GPU0", "mlx5_0", "rdma", "not", NO_MODULE)
    >>> [finding] = check(NodeTopology(gpus=(Gpu("GPU0"),), gpudirect=(path,)))
    >>> finding.severity, finding.message
    ('info', 'GPUDirect RDMA cannot work for GPU0 (mlx5_0): neither nvidia_peermem is loaded nor dma-buf possible')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, in_node_order, observed
from gputopo.rules.wording import names
from gputopo.topology.gpudirect_conditions import ACS_READ, IOMMU_READ, NO_MODULE
from gputopo.topology.node import GpuDirect, NodeTopology

CODE = "GT102"
SEVERITY = "info"


def check(node: NodeTopology) -> Iterator[Finding]:
    paths = [one for one in node.gpudirect if one.kind == "rdma" and _for_lack_of_a_module(one)]
    if not paths:
        return
    gpus = in_node_order(node, (path.gpu for path in paths))
    nics = in_node_order(node, (path.device for path in paths))
    yield Finding(
        CODE,
        SEVERITY,
        (*gpus, *nics),
        f"GPUDirect RDMA cannot work for {names(gpus)} ({names(nics)}): {NO_MODULE}",
        matters="between nodes NCCL copies through the host's memory; a job on one node is not touched",
        because="the module is not loaded, and dma-buf needs the open kernel modules and Linux 5.12",
        remedy="modprobe nvidia-peermem, or install the driver's open kernel modules",
        evidence=evidence(observed(node, "gpudirect-module-absent", "gpudirect-memory-peers", "nvidia-kernel-module")),
    )


def _for_lack_of_a_module(path: GpuDirect) -> bool:
    """Also where ACS or the IOMMU is against it, which other rules tell; not where a module would not help."""
    reasons = path.because.split("; ")
    return NO_MODULE in reasons and all(reason == NO_MODULE or "ACS" in reason or "MMU" in reason for reason in reasons)


def needs(node: NodeTopology) -> str | None:
    """What the open verdicts lack beside what GT101 and GT103 ask for; nothing where no tree was read."""
    unknown = [one for one in node.gpudirect if one.kind == "rdma" and one.verdict == "unknown"]
    missing = dict.fromkeys(read for one in unknown for read in one.missing if read not in (ACS_READ, IOMMU_READ))
    return f"GPUDirect RDMA: {', '.join(missing)}" if missing else None
