"""GT010 numa-node-unknown

What it says
    The NUMA node of a GPU is not known, or the kernel's `numa_node` file says -1 for it.

Why it matters
    `numa_node` -1 means that the firmware gave no proximity. The NVIDIA device plugin reads that
    file and then hands the kubelet no TopologyInfo, so the Topology Manager takes the GPU as fitting
    any NUMA node and does not align CPUs and memory with it, even where nvidia-smi knows the node.

What to do
    -1: look for a firmware update or a NUMA setting in the BIOS (in a virtual machine: vNUMA and
    pxb-pcie). Merely not said: add `nvidia-smi topo -m` or a sysfs root to the sources.

When it is silent
    Every GPU has a NUMA node and none says -1. Rows that are lost are GT003. On a machine with one
    NUMA node, and where the text merely does not tell, it is information.

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology, Observed
    >>> seen = Observed("pci-numa-node-minus-one", ("GPU0",), "numa_node -1", "s1", None)
    >>> [finding] = check(NodeTopology(gpus=(Gpu("GPU0", numa_nodes=(0,)),), observations=(seen,)))
    >>> finding.severity, finding.message
    ('warning', 'numa_node of GPU0 is -1 in sysfs, though another source knows the NUMA node')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Evidence, Finding
from gputopo.rules.witness import evidence, in_node_order, observed
from gputopo.rules.wording import names, one_line
from gputopo.topology.node import Gpu, NodeTopology

CODE = "GT010"
SEVERITY = "warning"


def check(node: NodeTopology) -> Iterator[Finding]:
    without = _gpus_without_address_proximity(node)
    if without:
        yield _minus_one(node, without)
    lost = {id for o in observed(node, "row-missing", "row-cut") for id in o.subjects}
    silent = [g for g in node.gpus if g.numa_nodes is None and g not in without and g.id not in lost]
    if silent:
        yield _not_said(node, silent)


def _gpus_without_address_proximity(node: NodeTopology) -> list[Gpu]:
    said = {id for o in observed(node, "pci-numa-node-minus-one") for id in o.subjects}
    return [g for g in node.gpus if g.id in said or (g.pci is not None and g.pci in said)]


def _minus_one(node: NodeTopology, gpus: list[Gpu]) -> Finding:
    ids = tuple(g.id for g in gpus)
    known = all(g.numa_nodes for g in gpus)
    with_cpus = [n for n in node.numa_nodes or () if n.cpus]
    harmless = len(with_cpus) == 1
    if harmless:
        also = " (the machine has one NUMA node)"
    else:
        also = ", though another source knows the NUMA node" if known else ""
    so = "; with one node that changes nothing" if harmless else " and does not align CPUs and memory with it"
    return Finding(
        CODE,
        "info" if harmless else SEVERITY,
        ids,
        f"numa_node of {names(ids)} is -1 in sysfs{also}",
        matters="the device plugin gives the kubelet no TopologyInfo for such a GPU; the Topology Manager "
        f"then takes it as near to any NUMA node{so}",
        because="the firmware (ACPI or the hypervisor) gives no proximity for the PCIe root, or NUMA is off",
        remedy="cat /sys/bus/pci/devices/ADDRESS/numa_node; update the firmware or enable NUMA in the BIOS "
        "(virtual machine: vNUMA with pxb-pcie)",
        evidence=evidence(o for o in observed(node, "pci-numa-node-minus-one") if _about(o.subjects, gpus)),
    )


def _about(subjects: tuple[str, ...], gpus: list[Gpu]) -> bool:
    return any(g.id in subjects or g.pci in subjects for g in gpus)


def _not_said(node: NodeTopology, gpus: list[Gpu]) -> Finding:
    ids = in_node_order(node, (g.id for g in gpus))
    notes = [n for n in node.unknown if n.attribute == "numaNodes" and not set(n.subjects).isdisjoint(ids)]
    reason = one_line(notes[0].reason) if notes and notes[0].reason else "no source gives it"
    settled = next((one_line(n.settled_by) for n in notes if n.settled_by), "")
    return Finding(
        CODE,
        "info",
        ids,
        f"NUMA node of {names(ids)} is unknown: {reason}",
        matters="which CPUs and memory are near these GPUs, and what crosses NUMA nodes, cannot be said",
        because="the evidence does not tell; on a machine with one NUMA node N/A is normal",
        remedy=f"add: {settled or 'nvidia-smi topo -m, or a sysfs root'}",
        evidence=tuple(Evidence(None, None, f"{names(n.subjects)}: {one_line(n.reason)}") for n in notes[:4]),
    )
