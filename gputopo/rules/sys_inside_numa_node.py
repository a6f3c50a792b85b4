"""GT114 sys-inside-numa-node

What it says
    GPUs of one NUMA node are SYS apart, although SYS means "between NUMA nodes".

Why it matters
    Allocators and NCCL take such pairs for far ones, and tell them from truly remote ones by the NUMA
    column alone. It does not prove that traffic crosses a socket: SYS inside a NUMA node is also printed
    where each GPU has a PCI domain of its own, in virtual machines, and where NUMA is off or the
    firmware hides it. Nor does it prove that peer-to-peer works.

What to do
    Look at the tree itself (`gputopo inspect` on the node, `lspci -tv`), and ask the driver:
    `nvidia-smi topo -p2p r`.

When it is silent
    A level or a NUMA node is unknown, the GPUs are on different NUMA nodes, or the level is nearer.

Example
    >>> from gputopo.terms.path_level import PathLevel
    >>> from gputopo.topology.node import Gpu, NodeTopology, Pair
    >>> gpus = (Gpu("GPU0", numa_nodes=(0,)), Gpu("GPU1", numa_nodes=(0,)))
    >>> pair = Pair("GPU0", "GPU1", "SYS", PathLevel.SYS, (PathLevel.SYS,), "printed", cross_numa=False)
    >>> [finding] = check(NodeTopology(gpus=gpus, pairs=(pair,)))
    >>> finding.message
    'SYS between GPUs of one NUMA node: 1 pair, GPU0-GPU1'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import claimed, in_node_order
from gputopo.rules.wording import counted, pairs
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import NodeTopology, pair_id

CODE = "GT114"
SEVERITY = "info"


def check(node: NodeTopology) -> Iterator[Finding]:
    gpus = {g.id for g in node.gpus}
    odd = [p for p in node.pairs if p.pcie is PathLevel.SYS and p.cross_numa is False and p.a in gpus and p.b in gpus]
    if not odd:
        return
    couples = [(p.a, p.b) for p in odd]
    yield Finding(
        CODE,
        SEVERITY,
        in_node_order(node, (id for p in odd for id in (p.a, p.b))),
        f"SYS between GPUs of one NUMA node: {counted(len(odd), 'pair')}, {pairs(couples)}",
        matters="allocators and NCCL treat these pairs as remote; no proof that traffic crosses a socket",
        because="one PCI domain per GPU, a virtual machine, or firmware that gives every root one NUMA node",
        remedy="look at the tree (lspci -tv) and ask the driver for peer access: nvidia-smi topo -p2p r",
        evidence=tuple(
            claimed(node, f"{pair_id(a, b)} SYS, same NUMA node") for a, b in couples[:4]
        ),
    )
