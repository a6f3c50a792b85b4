"""GT113 gpu-order-not-numa-order

What it says
    The numbers of the GPUs do not follow the NUMA nodes: GPU0 is not on the lowest node, or neighbours
    in number are on different nodes.

Why it matters
    Scripts that bind "rank n to CPU block n", or give GPUs 0-3 to one job and 4-7 to the other, then
    cross NUMA nodes without knowing. Nothing is broken: many boards are numbered like this.

What to do
    Bind by each GPU's own CPU list (`gputopo inspect -o json`, gpus[].cpus), never by counting.

When it is silent
    The numbers rise with the NUMA nodes, all GPUs are on one node, a NUMA node is unknown, or the
    numbers are not the driver's own.

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology
    >>> gpus = tuple(Gpu(f"GPU{n}", nvml_index=n, numa_nodes=(3 - n,)) for n in range(4))
    >>> [finding] = check(NodeTopology(gpus=gpus))
    >>> finding.message
    'GPU numbers do not follow NUMA: GPU0-GPU3 are on NUMA nodes 3,2,1,0'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import claimed
from gputopo.rules.wording import names
from gputopo.topology.node import Gpu, NodeTopology

CODE = "GT113"
SEVERITY = "info"


def check(node: NodeTopology) -> Iterator[Finding]:
    numbered = sorted((g.nvml_index, g.id, g) for g in node.gpus if g.nvml_index is not None)
    if len(numbered) != len(node.gpus):
        return
    gpus = [g for _, _, g in numbered]
    numa = [n for g in gpus if (n := _cpu_node(node, g)) is not None]
    if len(numa) != len(gpus) or numa == sorted(numa):
        return
    ids = tuple(g.id for g in gpus)
    yield Finding(
        CODE,
        SEVERITY,
        ids,
        f"GPU numbers do not follow NUMA: {names(ids)} are on NUMA nodes {','.join(map(str, numa))}",
        matters="binding ranks to CPUs by counting, or splitting GPUs 0-3 and 4-7, crosses NUMA nodes",
        because="the driver numbers by PCI address, and firmware numbers NUMA nodes its own way",
        remedy="bind by each GPU's own CPUs: gputopo inspect -o json, gpus[].cpus",
        evidence=tuple(claimed(node, f"{g.id}: NUMA {n}") for g, n in zip(gpus, numa, strict=True)),
    )


def _cpu_node(node: NodeTopology, gpu: Gpu) -> int | None:
    """The NUMA node with the CPUs: on Grace the list also names memory nodes, CPUs first."""
    if not gpu.numa_nodes:
        return None
    memory_only = {n.number for n in node.numa_nodes or () if n.cpus is not None and not n.cpus}
    return next((n for n in gpu.numa_nodes if n not in memory_only), None)
