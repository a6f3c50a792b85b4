"""The records of one host: NUMA nodes, switches, GPUs, NVSwitches, NICs, and what is missing."""

from __future__ import annotations

from gputopo.parsers.nccl_xml.nics import nics_of
from gputopo.parsers.nccl_xml.tree import Host, Place, class_of, numa_nodes, number, pcie
from gputopo.parsers.xml_guard import Element
from gputopo.records import (
    Assumption,
    BridgeRecord,
    Gap,
    GpuRecord,
    Key,
    LinkRecord,
    NodeRecords,
    NumaNodeRecord,
    NvSwitchRecord,
)
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Said, Unknown

__all__ = ["Host", "records_of"]

_VENDORS = {"0x10de": "nvidia", "0x1002": "amd"}
_NO_GPU_ELEMENT = "the file has no <gpu> element, so it says nothing about NVLink"


def records_of(host: Host) -> NodeRecords:
    places = _first_of_each([place for place in host.places if place.is_gpu])
    gpus = tuple(_gpu(place, host) for place in places)
    nics = nics_of(host)
    return NodeRecords(
        "nccl-xml",
        line=host.line,
        grain="nccl",
        numa_nodes=_numa_nodes(host.cpus) or None,
        bridges=tuple(_bridge(place) for place in _first_of_each([p for p in host.places if p.is_switch])),
        nvswitches=_nvswitches(host, places) or None,
        gpus=gpus or None,
        nics=nics or None,
        gaps=_gaps(host, places),
        assumptions=_assumptions(host, places, gpus),
    )


def _first_of_each(places: list[Place]) -> list[Place]:
    """One place a bus id. A bus id that stands twice is an observation (lint.py)."""
    first: dict[str, Place] = {}
    for place in places:
        first.setdefault(place.busid, place)
    return list(first.values())


def _numa_nodes(cpus: list[Element]) -> tuple[NumaNodeRecord, ...]:
    nodes: dict[int, NumaNodeRecord] = {}
    for cpu in cpus:
        numaid = number(cpu, "numaid")
        if numaid is None or numaid < 0 or numaid in nodes:
            continue
        affinity = cpu.get("affinity")
        near: Said[CpuSet] = None
        if affinity is not None:
            near = CpuSet.parse_mask(affinity)
            if near is None:
                near = Unknown(f"affinity {affinity!r} is no mask of hexadecimal words")
        has_cpus = isinstance(near, CpuSet) and bool(near)
        nodes[numaid] = NumaNodeRecord(numaid, kind="cpu" if has_cpus else None, cpus=near)
    return tuple(nodes.values())


def _bridge(place: Place) -> BridgeRecord:
    element = place.element
    return BridgeRecord(
        place.busid,
        parent=place.chain[-1] if len(place.chain) > 1 else None,
        kind="switch",
        vendor=element.get("vendor"),
        device=element.get("device"),
        numa_nodes=numa_nodes(place.numaid),
        pcie=pcie(element),
    )


def _gpu(place: Place, host: Host) -> GpuRecord:
    element = place.element
    gpus = element.named("gpu")
    gpu = gpus[0] if gpus else None
    keys = [Key("pci", place.busid)] if place.pci else []
    vendor = _vendor(element, host)
    record = GpuRecord(
        place.busid,
        line=element.line,
        vendor=vendor,
        pci=place.pci or Unknown(f"busid {place.busid!r} is no PCI address"),
        numa_nodes=numa_nodes(place.numaid),
        pcie=pcie(element),
        chain=place.chain,
        keys=tuple(keys),
    )
    if gpu is None:
        return record
    for space, name in (("index", "dev"), ("rank", "rank")):
        value = number(gpu, name)
        if value is not None and value >= 0:
            keys.append(Key(space, str(value)))
    device = number(gpu, "dev")
    return record._replace(
        keys=tuple(keys),
        nvml_index=device if device is not None and device >= 0 else None,
        architecture=_amd_architecture(gpu) if vendor == "amd" else None,
        compute_capability=_compute_capability(gpu) if vendor == "nvidia" else None,
        nvlinks_active=_nvlinks(gpu),
        links=_links(gpu, {place.pci: place for place in host.places if place.is_gpu}),
        c2c=_c2c(gpu),
    )


def _vendor(element: Element, host: Host) -> str | None:
    """By its attribute; without one by the program that reads the file: NCCL wants version 1, RCCL 2."""
    vendor = (element.get("vendor") or "").strip().lower()
    if vendor:
        return _VENDORS.get(vendor, vendor)
    if host.is_rccl:
        return "amd"
    return "nvidia" if host.root.get("version") == "1" else None


def _compute_capability(gpu: Element) -> Said[str]:
    sm = number(gpu, "sm")
    if sm is None:
        return None
    return f"{sm // 10}.{sm % 10}" if sm >= 10 else Unknown(f"sm {sm} is no compute capability")


def _amd_architecture(gpu: Element) -> str | None:
    """RCCL writes `gcn="gfx942"`, older `gcn="908"`; its `sm` counts compute units."""
    gcn = (gpu.get("gcn") or "").strip()
    return f"gfx{gcn.removeprefix('gfx')}" if gcn else None


def _nvlinks(gpu: Element) -> Said[int]:
    counts = [number(row, "count") for row in gpu.named("nvlink")]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else Unknown("an <nvlink> row has no number as count")


def _links(gpu: Element, gpus: dict[PciAddress | None, Place]) -> tuple[LinkRecord, ...]:
    links = []
    for row in gpu.named("nvlink", "xgmi"):
        count = number(row, "count")
        if count is None or count < 1:
            continue
        remote = PciAddress.parse(row.get("target") or "")
        kind = _remote_kind(class_of(row, "tclass"))
        if kind is None and remote is None:
            kind = "switch"
        elif kind is None and remote in gpus:
            kind = "gpu"
        links.append(LinkRecord(None, "active", remote=remote, remote_kind=kind, times=count))
    return tuple(links)


def _remote_kind(pci_class: str | None) -> str | None:
    """NCCL src/graph/topo.cc, kvDictPciClass: 0x068000 NVSwitch, 0x068001 the POWER CPUs' bridge."""
    if pci_class is None:
        return None
    if pci_class.startswith("068001"):
        return "cpu"
    if pci_class.startswith("0680"):
        return "switch"
    return "gpu" if pci_class.startswith(("03", "12")) else None


def _c2c(gpu: Element) -> Said[dict[str, float]]:
    rows = gpu.named("c2c")
    if not rows:
        return None
    count, megabytes = number(rows[0], "count"), number(rows[0], "bw")
    if count is None or megabytes is None or count < 1 or megabytes < 1:
        return Unknown("<c2c> without numbers as count and bw")
    return {"count": count, "gbpsPerLink": megabytes / 1000}


def _nvswitches(host: Host, gpus: list[Place]) -> tuple[NvSwitchRecord, ...]:
    """What NVLink rows of class NVSwitch end at, unless that bus id is another device of the file."""
    others = {place.pci for place in host.places if not place.is_nvswitch}
    found = {place.pci for place in host.places if place.is_nvswitch}
    for place in gpus:
        for gpu in place.element.named("gpu"):
            for row in gpu.named("nvlink"):
                if _remote_kind(class_of(row, "tclass")) == "switch":
                    found.add(PciAddress.parse(row.get("target") or ""))
    addresses = sorted(address for address in found if address is not None and address not in others)
    return tuple(NvSwitchRecord(str(pci), (Key("pci", str(pci)),), pci) for pci in addresses)


def _gaps(host: Host, gpus: list[Place]) -> tuple[Gap, ...]:
    gaps = []
    silent = tuple(place.busid for place in gpus if not place.element.named("gpu"))
    if silent:
        gaps.append(Gap(silent, "nvlinks", _NO_GPU_ELEMENT, "nvidia-smi topo -m", host.line))
    unclassified = [place for place in host.places if place.is_unclassified]
    if unclassified:
        reason = (
            f"{len(unclassified)} <pci> elements without class, from {unclassified[0].busid} to "
            f"{unclassified[-1].busid}: GPU and NIC cannot be told apart"
        )
        gaps.append(Gap((), "gpus", reason, "nvidia-smi topo -m", unclassified[0].element.line))
    elif not gpus:
        gaps.append(Gap((), "gpus", "the file names no GPU", "nvidia-smi topo -m", host.line))
    for place in host.places:
        if place.is_left_out:
            reason = f"{place.busid} has the class of a GPU and no <gpu>: not in NCCL's communicator"
            gaps.append(Gap((place.busid,), "gpus", reason, "nvidia-smi topo -m", place.element.line))
    return tuple(gaps)


def _assumptions(host: Host, places: list[Place], gpus: tuple[GpuRecord, ...]) -> tuple[Assumption, ...]:
    found = []
    hidden = tuple(
        gpu.label
        for gpu in gpus
        if gpu.links is not None
        and not isinstance(gpu.links, Unknown)
        and any(link.remote is None and link.remote_kind == "switch" for link in gpu.links)
    )
    if hidden:
        text = "the far end of NVLinks is not visible to the GPU's system: taken as an NVSwitch, as NCCL does"
        found.append(Assumption(hidden, text))
    unnamed = tuple(place.busid for place in places if not place.element.get("vendor"))
    if unnamed and not host.is_rccl and host.root.get("version") == "1":
        text = "GPUs without vendor are NVIDIA's: NCCL alone reads a version 1 file"
        found.append(Assumption(unnamed, text))
    return tuple(found)
