"""Where a device hangs in the PCI tree: its host bridge, and the switches NCCL lists above it."""

from __future__ import annotations

from gputopo.topology.node import Bridge, Gpu, Nic, NodeTopology


def chain(node: NodeTopology, parent: str | None) -> list[Bridge]:
    """The bridges from the root down to `parent`, as far as they are known."""
    bridges = {bridge.id: bridge for bridge in node.bridges}
    found: list[Bridge] = []
    while parent in bridges and bridges[parent] not in found:
        found.append(bridges[parent])
        parent = found[-1].parent
    return found[::-1]


def root(node: NodeTopology, device: Gpu | Nic) -> str | None:
    """The host bridge, `pci0000:15`; `None` where the tree is not known up to it."""
    above = chain(node, device.parent)
    return above[0].id if above and above[0].kind == "hostBridge" else None


def nccl_switches(node: NodeTopology, device: Gpu | Nic) -> tuple[Bridge, ...] | None:
    """The `<pci>` elements above a device, root first; `None` where no source has a tree for it.

    NCCL climbs two steps of the sysfs path at a time (src/graph/xml.cc, ncclTopoGetXmlFromSys), so a switch is
    its upstream port and a root port is nothing. A tree without host bridges came from NCCL and is in that grain.
    """
    above = chain(node, device.parent)
    if not above:
        return () if any(source.format == "nccl-xml" for source in node.sources) else None
    if above[0].kind != "hostBridge":
        return tuple(above)
    return tuple(above[1:][::-1][1::2][::-1])
