"""An NCCL topology file against the node beside it: devices, NUMA nodes, links."""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.manifests.nccl_xml_elements import Element, Fault
from gputopo.terms.pci_address import PciAddress
from gputopo.topology.node import Gpu, Nic, NodeTopology, Pcie

_GENERATIONS = {"2.5": 1, "5": 2, "8": 3, "16": 4, "32": 5, "64": 6}
_KNOWN = (
    "2.5 GT/s", "5 GT/s", "8 GT/s", "16 GT/s", "32 GT/s", "5.0 GT/s PCIe", "8.0 GT/s PCIe", "16.0 GT/s PCIe",
    "32.0 GT/s PCIe", "64.0 GT/s PCIe",
)  # fmt: skip
_OTHER = "the file was made on another machine, or the device is gone"


def faults(found: tuple[Element, ...], node: NodeTopology) -> Iterator[Fault]:
    gpus = {str(PciAddress.parse(gpu.pci)): gpu for gpu in node.gpus if gpu.pci}
    if len(gpus) == len(node.gpus) and gpus:
        yield from _absent([one for one in found if one.is_gpu and one.known], {*gpus}, "GPU")
    nics = {address.card: nic for nic in node.nics or () if (address := PciAddress.parse(nic.pci or ""))}
    if node.nics and len([nic for nic in node.nics if nic.pci]) == len(node.nics):
        yield from _absent([one for one in found if one.is_nic and one.known], {f"{card}.0" for card in nics}, "NIC")
    for one in found:
        address = PciAddress.parse(one.get("busid") or "") if one.tag == "pci" and one.known else None
        if address is None:
            continue
        device: Gpu | Nic | None = gpus.get(str(address)) if one.is_gpu else None
        if one.is_nic and device is None:
            device = nics.get(address.card)
        if device is not None:
            yield from _numa(one, found, device)
            yield from _link(one, device)


def _absent(devices: list[Element], there: set[str], noun: str) -> Iterator[Fault]:
    """One word for a file of another machine, else one for each device."""
    gone = []
    for one in devices:
        address = PciAddress.parse(one.get("busid") or "")
        if address is not None and (str(address) if noun == "GPU" else f"{address.card}.0") not in there:
            gone.append(one)
    if len(gone) > 1 and len(gone) == len(devices):
        message = f"none of the {len(gone)} {noun}s of the file is on the node"
        yield gone[0].fault("warning", "busid", message, _OTHER)
        return
    for one in gone:
        yield one.fault("warning", "busid", f"the node has no {noun} at {one.get('busid')}", _OTHER)


def _numa(one: Element, found: tuple[Element, ...], device: Gpu | Nic) -> Iterator[Fault]:
    at = one.above
    while at >= 0 and found[at].tag != "cpu":
        at = found[at].above
    said = found[at].get("numaid") if at >= 0 else None
    if said is None or not said.isdecimal() or device.numa_nodes is None or len(device.numa_nodes) != 1:
        return
    if int(said[:9]) != device.numa_nodes[0]:
        message = f"{one.get('busid')} stands below NUMA node {said}, on the node it is near {device.numa_nodes[0]}"
        yield one.fault("warning", "busid", message, "NCCL takes the way from the other node for the shorter one")


def _link(one: Element, device: Gpu | Nic) -> Iterator[Fault]:
    link = device.pcie or Pcie()
    width = one.get("link_width") or ""
    lanes = int(width) if width.isdecimal() and len(width) < 4 else 0
    if lanes and link.max_width is not None and lanes > link.max_width:
        message = f"link_width is {lanes}, {device.id} has {link.max_width} lanes at most"
        yield one.fault("warning", "link_width", message)
    elif lanes and link.width is not None and lanes < link.width:
        yield one.fault("warning", "link_width", f"link_width is {lanes}, {device.id} has {link.width} lanes now")
    speed = one.get("link_speed") or ""
    generation = _GENERATIONS.get(speed.partition(" ")[0].removesuffix(".0")) if speed.startswith(_KNOWN) else None
    if generation is None:
        return
    if link.max_generation is not None and generation > link.max_generation:
        message = f"link_speed is PCIe {generation}, {device.id} has PCIe {link.max_generation} at most"
        yield one.fault("warning", "link_speed", message)
    elif link.generation is not None and generation < link.generation:
        message = f"link_speed is PCIe {generation}, {device.id} has PCIe {link.generation} now"
        because = "an idle GPU's link is slow, and a dump of NCCL 2.30.7 and later takes it as it is"
        yield one.fault("warning", "link_speed", message, because)
