"""NVLink, C2C and links between switches: rows that name another device, read when every device is there.

Source: src/graph/topo.cc of NVIDIA/nccl v2.30.7 (ncclTopoAddNvLinks, ncclTopoAddC2c, ncclTopoAddPciLinks). Each side
of an NVLink between GPUs has its own row; a row to a bus id that is not there is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.nccl.draft import Draft, Node
from gputopo.nccl.file_values import RefusalError, bus_number, device_kind, needed, whole
from gputopo.nccl.path_types import PathType, Version
from gputopo.nccl.system import LOC_GBPS, Kind
from gputopo.nccl.versions import nvlink_gbps
from gputopo.records import NcclElement

_Row = tuple[NcclElement, NcclElement, str]  # the row, the element it stands in, the bus id around it


def part_bits(bus: int, part: str | None) -> int:
    """The number of a part of a GPU split in two: the two low bits of the bus number say which."""
    if bus & 3:
        raise RefusalError(f"BusId {bus:#x} has bits where the parts of a GPU are told apart")
    if part is None or whole(part) < 0:
        return bus
    if whole(part) > 1:
        raise RefusalError(f"MLOPart index {whole(part)} out of range (max 1)")
    return bus | (whole(part) << 1 | 1) & 3


def add_nvlinks(draft: Draft, file: NcclElement, version: Version) -> None:
    for row, gpu, busid in _rows(file, "nvlink"):
        device = _device(draft, gpu, busid, "NVLink")
        gbps = whole(needed(row, "count")) * nvlink_gbps(device.sm, version) / len(draft.devices_of(device.id))
        kind = device_kind(needed(row, "tclass"))
        if kind == "gpu":
            far = draft.devices_of(bus_number(needed(row, "target")))
            for node in far:
                draft.connect(device.number, node.number, PathType.NVL, gbps / len(far))
            continue
        other = draft.nearest_cpu(device) if kind == "cpu" else _switch(draft)
        if other is not None:
            draft.join(device.number, other.number, PathType.NVL, gbps)


def _switch(draft: Draft) -> Node:
    """However many there are, one."""
    found = draft.of(Kind.NVS)
    return found[0] if found else draft.add(Kind.NVS, 0)


def add_c2c(draft: Draft, file: NcclElement) -> None:
    for row, gpu, busid in _rows(file, "c2c"):
        device = _device(draft, gpu, busid, "C2c")
        gbps = whole(needed(row, "bw")) * whole(needed(row, "count")) / 1000
        cpu = draft.nearest_cpu(device)
        if cpu is None:
            continue
        if len(draft.devices_of(device.id)) < 2:
            draft.join(device.number, cpu.number, PathType.C2C, gbps)
            continue
        shared = draft.find(Kind.CXB, device.id & ~3)
        if shared is None:
            shared = draft.add(Kind.CXB, device.id & ~3)
            draft.join(shared.number, cpu.number, PathType.C2C, gbps)
        draft.join(device.number, shared.number, PathType.C2C, gbps)


def add_pci_links(draft: Draft, file: NcclElement) -> None:
    for row, _, busid in _rows(file, "pcilink"):
        switch = draft.find(Kind.PCI, bus_number(busid))
        if switch is None:
            raise RefusalError(f"Add PCI Link error : could not find PCI SW {busid}", row.line)
        far = draft.find(Kind.PCI, bus_number(needed(row, "target")))
        if far is not None:
            draft.connect(switch.number, far.number, PathType.LOC, LOC_GBPS)


def _rows(file: NcclElement, tag: str) -> Iterator[_Row]:
    """In the order of the file; of several `<gpu>` on one device the first one's."""
    waiting: list[tuple[NcclElement, str]] = [(file, "")]
    while waiting:
        element, around = waiting.pop()
        busid = element.get("busid") or around
        seen: set[str | None] = set()
        below = []
        for child in element.children:
            if child.tag == tag:
                yield child, element, busid
            elif child.tag == "gpu":
                if child.get("mlopart") not in seen:
                    below.append((child, busid))
                seen.add(child.get("mlopart"))
            else:
                below.append((child, busid))
        waiting += reversed(below)


def _device(draft: Draft, gpu: NcclElement, busid: str, what: str) -> Node:
    found = draft.find(Kind.DEV, part_bits(bus_number(busid), gpu.get("mlopart")))
    if found is None:
        raise RefusalError(f"Add {what} error : could not find DEV for GPU {busid}", gpu.line)
    return found
