"""GT016 gpu-not-usable-by-driver

What it says
    A GPU is on the bus, but the NVIDIA driver does not use it: it is lost, excluded by the driver's
    options, or bound to vfio-pci.

Why it matters
    A lost GPU answers nothing until a reset or a reboot, jobs that hold it hang, and tools that ask it
    may hang too. A GPU bound to vfio-pci is meant for a virtual machine: nvidia-smi and the device
    plugin on this host do not list it, so GPU numbers there skip it.

What to do
    Lost: `dmesg | grep -i xid` (79 means fallen off the bus), then drain the node and reboot. vfio-pci:
    nothing, if it is meant to be so; else `lspci -nnk -s ADDRESS`. Excluded: look for
    `NVreg_ExcludedGpus` in the options of the nvidia module.

When it is silent
    The driver answers for the GPU, or the evidence does not tell which driver is bound.

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology, Observed
    >>> seen = Observed("gpu-lost", ("GPU3",), "GPU is lost", "s1", None)
    >>> [finding] = check(NodeTopology(gpus=(Gpu("GPU3"),), observations=(seen,)))
    >>> finding.severity, finding.message
    ('error', 'the driver has lost GPU3')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import claimed, evidence, in_node_order, observed, subjects
from gputopo.rules.wording import names
from gputopo.topology.node import NodeTopology

CODE = "GT016"
SEVERITY = "error"


def check(node: NodeTopology) -> Iterator[Finding]:
    lost = observed(node, "gpu-lost")
    if lost:
        ids = subjects(node, lost)
        yield Finding(
            CODE,
            SEVERITY,
            ids,
            f"the driver has lost {names(ids)}",
            matters="it answers nothing until a reset or reboot; jobs that hold it hang",
            because="the GPU fell off the bus or its firmware stopped",
            remedy="dmesg | grep -i xid; then drain the node and reboot it",
            evidence=evidence(lost),
        )
    excluded = observed(node, "gpu-excluded")
    if excluded:
        ids = subjects(node, excluded)
        yield Finding(
            CODE,
            "info",
            ids,
            f"{names(ids)} {'is' if len(ids) == 1 else 'are'} excluded from the NVIDIA driver",
            matters="nvidia-smi, CUDA and the device plugin do not see it",
            because="the driver was loaded with options that exclude it",
            remedy="if that is not meant: grep -r NVreg_ExcludedGpus /etc/modprobe.d",
            evidence=evidence(excluded),
        )
    bound = {g.id: g for g in node.gpus if g.driver == "vfio-pci"}
    seen = observed(node, "gpu-bound-to-vfio")
    ids = in_node_order(node, {*bound, *(id for o in seen for id in o.subjects)})
    if ids:
        yield Finding(
            CODE,
            "info",
            ids,
            f"{names(ids)} {'is' if len(ids) == 1 else 'are'} bound to vfio-pci, kept for virtual machines",
            matters="nvidia-smi and the device plugin on this host do not see it",
            because="the kernel driver bound to it is vfio-pci, not nvidia",
            remedy="if that is not meant: lspci -nnk -s ADDRESS",
            evidence=evidence(seen) or tuple(claimed(node, "vfio-pci") for id in bound),
        )
