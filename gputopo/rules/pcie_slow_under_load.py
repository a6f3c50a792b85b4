"""GT116 pcie-slow-under-load

What it says
    A GPU at its highest performance state (P0) runs its PCIe link below the generation that GPU and slot both allow.

Why it matters
    Each generation less halves the host-GPU bandwidth. Below P0 a slower link saves power and is no fault.

What to do
    Watch it under load (`nvidia-smi --query-gpu=pcie.link.gen.current,pstate --format=csv -l 1`); then BIOS settings
    (ASPM, link speed), riser and cable.

When it is silent
    The GPU is not at P0, or is said to be idle (0 % utilisation); generations are not known; a virtual machine, or a
    GPU with a C2C link to the CPU, whose PCIe link is not its way to the host.

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology, Observed
    >>> seen = Observed("pcie-slow-at-p0", ("GPU1",), "P0, PCIe generation 1 of 4", "s1", 30)
    >>> [finding] = check(NodeTopology(gpus=(Gpu("GPU0"), Gpu("GPU1")), observations=(seen,)))
    >>> finding.severity, finding.message
    ('error', 'GPU1 works (P0), and its PCIe link is slower than it could be')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, observed, subjects
from gputopo.rules.wording import names
from gputopo.topology.node import NodeTopology

CODE = "GT116"
SEVERITY = "error"


def check(node: NodeTopology) -> Iterator[Finding]:
    coherent = {gpu.id for gpu in node.gpus if gpu.c2c}
    seen = [one for one in observed(node, "pcie-slow-at-p0") if not coherent & set(one.subjects)]
    if node.virtual or not seen:
        return
    ids = subjects(node, seen)
    works = "works" if len(ids) == 1 else "work"
    yield Finding(
        CODE,
        SEVERITY,
        ids,
        f"{names(ids)} {works} (P0), and {'its' if len(ids) == 1 else 'their'} PCIe link is slower than it could be",
        matters="each generation less halves the bandwidth between host and GPU; NVLink is not affected",
        because="BIOS or ASPM settings, a riser or cable that does not carry the speed",
        remedy="nvidia-smi --query-gpu=pcie.link.gen.current,pstate --format=csv -l 1 under load; BIOS, riser, cable",
        evidence=evidence(seen),
    )
