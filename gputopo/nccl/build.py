"""A trimmed file → `System`. First pass: NUMA nodes, PCI, GPUs, NICs; second: what joins them.

Source: src/graph/topo.cc of NVIDIA/nccl v2.30.7 (ncclTopoGetSystemFromXml and what it calls).
"""

from __future__ import annotations

from gputopo.nccl.cpus import Cpu, between_gbps, cpu_of
from gputopo.nccl.draft import Draft, Node
from gputopo.nccl.file_values import RefusalError, bus_number, device_kind, device_number, needed, pcie_gbps, whole
from gputopo.nccl.flat_switches import flatten
from gputopo.nccl.path_types import PathType, Version
from gputopo.nccl.second_pass import add_c2c, add_nvlinks, add_pci_links, part_bits
from gputopo.nccl.system import LOC_GBPS, Gpu, Kind, Net, Numa, System
from gputopo.records import NcclElement

_PART_GBPS = 2618.0  # between the two parts of one GPU
_NOTHING = "localHostHash not found in the list of system hostHashes: the file has neither GPU nor NIC"
_NO_SPEED = 10_000  # Mb/s of a net without one


def build(file: NcclElement, version: Version) -> System:
    """Raises `RefusalError` where NCCL stops."""
    draft = Draft()
    for cpu in file.named("cpu"):
        _add_cpu(draft, cpu)
    if not draft.numas:
        raise RefusalError(_NOTHING, code=4)
    add_nvlinks(draft, file, version)
    add_c2c(draft, file)
    add_pci_links(draft, file)
    flatten(draft)
    for number, one in enumerate(draft.numas):
        for other in range(len(draft.numas)):
            if other != number:
                draft.connect(one.vertex, draft.numas[other].vertex, PathType.SYS, between_gbps(one.cpu, version))
    draft.up_last()
    return draft.frozen()


def _add_cpu(draft: Draft, element: NcclElement) -> None:
    number = whole(needed(element, "numaid"))
    node = draft.add(Kind.CPU, number & ((1 << 56) - 1))
    draft.numas.append(Numa(node.number, number, _cpu(element)))
    for child in element.children:
        if child.tag == "pci":
            _add_pci(draft, child, node)
        elif child.tag == "nic":
            # The number of a NIC below a CPU loses the NUMA node: all of them are one, on the first that has one.
            nic = draft.find(Kind.NIC, 0)
            if nic is None:
                nic = draft.add(Kind.NIC, 0)
                draft.join(node.number, nic.number, PathType.PIX, LOC_GBPS)
            _add_nets(draft, child, nic)


def _cpu(element: NcclElement) -> Cpu:
    arch = needed(element, "arch")
    vendor, family, model = "", 0, 0
    if arch.startswith("x86_64"):
        vendor = needed(element, "vendor")
        if vendor.startswith(("GenuineIntel", "CentaurHauls", "  Shanghai  ")):
            family, model = whole(needed(element, "familyid")), whole(needed(element, "modelid"))
    return cpu_of(arch, vendor, family, model)


def _add_pci(draft: Draft, element: NcclElement, parent: Node) -> None:
    kind = device_kind(needed(element, "class"))
    bus = bus_number(needed(element, "busid"))
    gbps = pcie_gbps(element)
    for gpu in element.named("gpu"):
        _add_gpu(draft, element, gpu, parent, bus, gbps)
    nics = element.named("nic")
    added = None
    if nics:
        nic = draft.find(Kind.NIC, bus)
        if nic is None:
            nic = added = draft.add(Kind.NIC, bus)
        _add_nets(draft, nics[0], nic)
    elif kind == "switch":
        added = draft.add(Kind.PCI, bus, device_number(element))
        for child in element.children:
            if child.tag != "pcilink":
                _add_pci(draft, child, added)
    if added is not None:
        draft.connect(added.number, parent.number, PathType.PIX, gbps)
        draft.connect(parent.number, added.number, PathType.PIX, gbps)


def _add_gpu(draft: Draft, pci: NcclElement, gpu: NcclElement, parent: Node, bus: int, gbps: float) -> None:
    part = gpu.get("mlopart")
    sm, dev = whole(needed(gpu, "sm")), whole(needed(gpu, "dev"))
    number = part_bits(bus, part)
    device = draft.find(Kind.DEV, number)
    if device is None:
        siblings = draft.devices_of(number)
        device = draft.add(Kind.DEV, number, device_number(pci), sm)
        draft.connect(device.number, parent.number, PathType.PIX, gbps)
        draft.connect(parent.number, device.number, PathType.PIX, gbps)
        for sibling in siblings:
            draft.join(device.number, sibling.number, PathType.LOC, _PART_GBPS)
    node = draft.add(Kind.GPU, draft.gpus_on(device) << 40 | number)
    busid = needed(pci, "busid")
    is_part = None if part is None or whole(part) < 0 else whole(part)
    gdr = whole(needed(gpu, "gdr")) != 0
    draft.gpus.append(Gpu(node.number, dev, busid, sm, gdr, device.number, is_part))
    draft.join(device.number, node.number, PathType.LOC, LOC_GBPS)


def _add_nets(draft: Draft, nic: NcclElement, node: Node) -> None:
    for net in nic.named("net"):
        if net.get("dev") is None or not whole(net.get("net"), 1):
            continue
        dev = whole(net.get("dev"))
        speed = whole(net.get("speed"))
        gbps = (speed if speed > 0 else _NO_SPEED) / 8000
        added = draft.add(Kind.NET, dev & ((1 << 56) - 1))
        draft.nets.append(Net(added.number, dev, net.get("name"), gbps, whole(net.get("gdr")) != 0))
        draft.join(node.number, added.number, PathType.NET, gbps)
