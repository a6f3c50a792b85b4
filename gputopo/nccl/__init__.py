"""What NCCL makes of a node: its graph, the ways in it, the rings and trees it finds, the all-reduce it expects.

    machine(file or node, settings) -> Machine | Refused     the graph of one set of GPUs, and every way in it
    subset(machine, bus ids) -> Machine | Refused             the same node for fewer GPUs
    paths(machine) -> Ways                                    GPU–GPU and GPU–NIC: type and GB/s
    graphs(machine, expired) -> Graphs                        ring, tree, NVLS by NCCL's own search; its bound when cut
    all_reduce(graphs) -> (Estimate, …)                       NCCL's own model: bus GB/s and latency
    ring_bound(field, places) -> Bound                        what a ring cannot exceed, without a search: to rank sets

A file is a `NcclElement` (`NodeRecords.nccl`), a node a `NodeTopology`; `Machine.assumptions` says what neither told.
`Settings` has the version and what the environment tells NCCL: P2P off is `Settings(p2p_level=PathType.LOC)`. All GB/s
are NCCL's own, one direction: less than the wire carries, so no ceiling. One node: nothing here searches the network.

    >>> from gputopo.parsers.nccl_xml import parse
    >>> gpu = '<pci busid="0000:0%d:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">' \\
    ...     '<gpu dev="%d" sm="89" rank="%d" gdr="0"/></pci>'
    >>> cpu = '<cpu numaid="%d" arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="1">%s</cpu>'
    >>> text = '<system version="1">%s</system>' % "".join(cpu % (n, gpu % (n + 1, n, n)) for n in (0, 1))
    >>> two = machine(parse(text)[0].nccl)
    >>> paths(two).pairs[0, 1]
    Way(type=<PathType.SYS: 9>, gbps=16.0)
    >>> found = graphs(two)
    >>> found.ring.channels, found.ring.gbps
    (1, 15.0)
    >>> [(one.algorithm, one.protocol, round(one.bus_gbps, 1)) for one in all_reduce(found)][-1]
    ('Ring', 'Simple', 15.0)
"""

from __future__ import annotations

from collections.abc import Collection

from gputopo.nccl.bound import Bound, ring_bound
from gputopo.nccl.graph import Graph, Pattern
from gputopo.nccl.graphs_of import Graphs
from gputopo.nccl.graphs_of import graphs_of as graphs
from gputopo.nccl.hops import Field, field_of
from gputopo.nccl.machines import Machine, Refused, Way, Ways, machine_of, subset
from gputopo.nccl.machines import ways as paths
from gputopo.nccl.of_node import file_of
from gputopo.nccl.path_types import PathType
from gputopo.nccl.settings import DEFAULTS, Settings
from gputopo.nccl.tuning import Estimate
from gputopo.nccl.tuning import estimates as all_reduce
from gputopo.records import NcclElement
from gputopo.topology.node import NodeTopology

__all__ = ["Bound", "Estimate", "Field", "Graph", "Graphs", "Machine", "PathType", "Pattern", "Refused", "Settings",
           "Way", "Ways", "all_reduce", "field_of", "graphs", "machine", "paths", "ring_bound", "subset"]  # fmt: skip


def machine(
    source: NcclElement | NodeTopology,
    settings: Settings = DEFAULTS,
    *,
    sm: int | None = None,
    gpus: Collection[str] | None = None,
) -> Machine | Refused:
    """The node for a communicator of these GPUs, `None` all of them: bus ids of a file, ids of a node.

    `sm`: the compute capability (90 is Hopper) of GPUs of which a file says none.
    """
    if isinstance(source, NcclElement):
        return machine_of(source, settings, sm=sm, gpus=gpus)
    if not source.gpus:
        return Refused("the node has no GPU", None, 3)
    foreign = [gpu.id for gpu in source.gpus if gpu.vendor not in (None, "nvidia")]
    if foreign:
        return Refused(f"{', '.join(foreign[:4])} no GPU of NVIDIA", None, 3)
    file = file_of(source)
    chosen = None if gpus is None else [file.busids[gpu] for gpu in gpus if gpu in file.busids]
    return machine_of(file.system, settings, gpus=chosen, said=file.assumptions, is_file=False, names=file.busids)
