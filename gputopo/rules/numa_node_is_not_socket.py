"""GT115 numa-node-is-not-socket

What it says
    A CPU socket holds several NUMA nodes (SNC on Intel, NPS2 or NPS4 on AMD), or a NUMA node spans
    several sockets.

Why it matters
    SYS and "another NUMA node" then do not mean "another socket". A GPU's CPU list is only a part of its
    socket, so tools that want whole sockets (Slurm's `Cores=` in gres.conf) reject it, and the kubelet's
    single-numa-node policy has fewer CPUs and GPUs to offer per node.

What to do
    Nothing, if it is meant. Slurm: `numa_node_as_socket` or `l3cache_as_socket` (man slurm.conf).
    One node per socket: NPS1, or SNC off, in the BIOS.

When it is silent
    Every socket is one NUMA node, or the evidence does not show sockets. NUMA nodes without CPUs (GPU
    memory, CXL) do not count.

Example
    >>> from gputopo.terms.cpu_set import CpuSet
    >>> from gputopo.topology.node import NodeTopology, NumaNode, Package
    >>> half = [NumaNode(f"NUMA{n}", n, "cpu", CpuSet.of([n]), ("PKG0",)) for n in (0, 1)]
    >>> [finding] = check(NodeTopology(packages=(Package("PKG0", 0, None, (0, 1)),), numa_nodes=tuple(half)))
    >>> finding.message
    'a NUMA node is not a socket here: 1 socket holds 2 NUMA nodes'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import claimed
from gputopo.rules.wording import counted
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import NodeTopology

CODE = "GT115"
SEVERITY = "info"


def check(node: NodeTopology) -> Iterator[Finding]:
    with_cpus = [n for n in node.numa_nodes or () if n.cpus and n.packages]
    spanning = [n for n in with_cpus if len(n.packages or ()) > 1]
    nodes_of: dict[str, list[str]] = {}
    for numa in with_cpus:
        for package in numa.packages or ():
            nodes_of.setdefault(package, []).append(numa.id)
    split = {package: nodes for package, nodes in nodes_of.items() if len(nodes) > 1}
    if not split and not spanning:
        return
    if split:
        held = len({id for nodes in split.values() for id in nodes})
        verb = "holds" if len(split) == 1 else "hold"
        how = f"{counted(len(split), 'socket')} {verb} {held} NUMA nodes"
    else:
        how = f"{counted(len(spanning), 'NUMA node')} spanning several sockets"
    same = sum(1 for p in node.pairs if p.pcie is PathLevel.SYS and p.cross_package is False)
    inside = f"; SYS of {counted(same, 'pair')} stays inside a socket" if same else ""
    yield Finding(
        CODE,
        SEVERITY,
        tuple(split) or tuple(n.id for n in spanning),
        f"a NUMA node is not a socket here: {how}{inside}",
        matters="SYS is not cross-socket here, and a GPU's CPU list is not its whole socket",
        because="SNC (Intel) or NPS2/NPS4 (AMD) splits it" if split else "the firmware merges sockets",
        remedy="if it is not meant: NPS1, or SNC off, in the BIOS; Slurm: numa_node_as_socket (man slurm.conf)",
        evidence=tuple(
            claimed(node, f"{package}: {', '.join(nodes)}") for package, nodes in split.items()
        ),
    )


def needs(node: NodeTopology) -> str | None:
    if node.packages is not None:
        return None
    if len({g.numa_nodes for g in node.gpus if g.numa_nodes}) < 2:
        return None
    return "sockets (lscpu, or a sysfs root)"
