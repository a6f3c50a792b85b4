"""NCCL's topology XML: a dump (NCCL_TOPO_DUMP_FILE), a vendor's static file, or RCCL's.

    >>> text = '''<system version="1">
    ...   <cpu host_hash="0x1" numaid="0" affinity="0000ffff,ffffffff" arch="x86_64" vendor="GenuineIntel">
    ...     <pci busid="0000:0a:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
    ...       <pci busid="0000:0f:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
    ...         <gpu dev="0" sm="90" rank="0" gdr="1">
    ...           <nvlink target="0000:1c:00.0" count="18" tclass="0x068000"/>
    ...         </gpu>
    ...       </pci>
    ...       <pci busid="0000:0c:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
    ...         <nic><net name="mlx5_0" dev="0" speed="400000" port="1" gdr="1"/></nic>
    ...       </pci>
    ...     </pci>
    ...   </cpu>
    ... </system>'''
    >>> [node] = parse(text)
    >>> gpu = node.gpus[0]
    >>> gpu.label, gpu.compute_capability, gpu.numa_nodes, gpu.nvlinks_active
    ('0000:0f:00.0', '9.0', (0,), 18)
    >>> gpu.chain == node.nics[0].chain
    True
    >>> gpu.chain
    ('cpu:0', '0000:0a:00.0')

A chain is in NCCL's grain: an element is a switch (two bridges in sysfs), the root a NUMA node, since
`<cpu>` is one, whatever its name says. Four kinds of file carry one root (NCCL src/graph/xml.cc; vendors'
repositories): a dump has `<gpu>` and `<net>`; a skeleton has `<pci class=…>` leaves alone, so it says
nothing about NVLink; a skeleton without classes cannot even tell a GPU from a NIC; RCCL writes version 2
with `<xgmi>`. Files with the root `<graphs>` hold search results, no machine.

NCCL's own reader takes less than XML and more than XML; what it would trip over is an `Observation`.
"""

from __future__ import annotations

from gputopo.parsers.nccl_xml.as_read import element_of
from gputopo.parsers.nccl_xml.devices import Host, records_of
from gputopo.parsers.nccl_xml.lint import of_node, of_system, of_text
from gputopo.parsers.xml_guard import Element, documents
from gputopo.records import Assumption, Gap, NodeRecords

_HEAD = 64 << 10
_GRAPH = "a graph file (the rings and trees NCCL found) numbers its GPUs and describes no machine"


def sniff(text: str) -> bool:
    """Whether a text looks like one of NCCL's files (topology or graph)."""
    head = text[:_HEAD]
    for root, inside in (("<system", ("<cpu", "<pci", "version=")), ("<graphs", ("<graph", "version="))):
        at = head.find(root)
        after = head[at + len(root) :]
        if at >= 0 and "<topology" not in head[:at] and any(word in after for word in inside):
            return True
    return False


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One `NodeRecords` a host: dumps of multi-node NVLink hold several. Raises `Unreadable`."""
    nodes: list[NodeRecords] = []
    for root in documents(text, ("system", "graphs")):
        nodes.extend([_graph(root)] if root.tag == "graphs" else _system(root))
    first = nodes[0]
    return (first._replace(observations=(*of_text(text), *first.observations)), *nodes[1:])


def _graph(root: Element) -> NodeRecords:
    return NodeRecords(
        "nccl-graph",
        line=root.line,
        gaps=(Gap((), "gpus", _GRAPH, "NCCL_TOPO_DUMP_FILE", root.line),),
    )


def _system(root: Element) -> list[NodeRecords]:
    groups: dict[str | None, list[Element]] = {}
    for cpu in root.named("cpu"):
        groups.setdefault(cpu.get("host_hash"), []).append(cpu)
    hashes = [host_hash for host_hash in groups if host_hash is not None]
    assumptions: tuple[Assumption, ...] = ()
    if len(hashes) == 1 and None in groups:
        # An edited dump: NCCL itself would make two hosts of it.
        groups = {hashes[0]: root.named("cpu")}
        text = "every <cpu> of the file is one host, though some have no host_hash"
        assumptions = (Assumption((), text),)
    hosts = [Host(root, cpus) for cpus in groups.values()] or [Host(root, [])]
    nodes = []
    for number, host in enumerate(hosts):
        node = records_of(host)
        odd = (*(of_system(root) if number == 0 else ()), *of_node(host))
        nodes.append(
            node._replace(
                assumptions=(*assumptions, *node.assumptions),
                observations=(*node.observations, *odd),
                nccl=element_of(root, host.cpus),
            )
        )
    return nodes
