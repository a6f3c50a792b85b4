"""GT408 nic-far-from-gpus

What it says
    A NIC that a container holds is on another socket than every one of its GPUs, or farther than a NIC under the
    GPU's own switch.

Why it matters
    GPUDirect RDMA through the socket link or a host bridge is slow, or NCCL does not use it at all.

What to do
    Ask for GPU and NIC together: Topology Manager with a NIC plugin that reports NUMA, or a ResourceClaim with one
    GPU and one NIC per matchAttribute resource.kubernetes.io/pcieRoot.

When it is silent
    The container holds no NIC, levels are unknown, or no NIC of the node is nearer.

Example
    >>> from gputopo.rules.pods.example import audit
    >>> list(check(audit(("GPU0",))))
    []
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit
from gputopo.terms.path_level import PathLevel

CODE = "GT408"
SEVERITY = "warning"


def check(audit: Audit) -> Iterator[Finding]:
    levels = {frozenset((pair.a, pair.b)): pair for pair in audit.node.pairs}
    nics = [nic.id for nic in audit.node.nics or ()]
    for unit in audit.units:
        held = [each.nic for one in unit.containers for each in one.devices if each.nic]
        if unit.job or not held or not unit.gpus:
            continue
        for gpu in unit.gpus:
            own = [(pair.pcie, nic, pair) for nic in dict.fromkeys(held)
                   if (pair := levels.get(frozenset((gpu, nic)))) is not None and pair.pcie is not None]  # fmt: skip
            if not own:
                continue
            nearest = min(own, key=lambda one: one[0])
            best = [pair.pcie for nic in nics if (pair := levels.get(frozenset((gpu, nic)))) and pair.pcie is not None]
            if nearest[0] <= PathLevel.PXB or not best or min(best) >= nearest[0]:
                continue
            crossing = bool(nearest[2].cross_package)
            where = "on the other socket" if crossing else f"at {nearest[0].name}"
            yield Finding(
                CODE,
                SEVERITY if crossing else "info",
                (unit.title, gpu, nearest[1]),
                f"{unit.title}: its nearest NIC to {gpu} is {nearest[1]} {where}; the node has one at {min(best).name}",
                matters="GPUDirect RDMA over this path is slow, or NCCL goes through host memory",
                remedy="one GPU and one NIC of a PCIe root a request (DRA matchAttribute), or aligned device plugins",
            )
