"""Bridges, GPUs, NVSwitches, NICs and NVMe drives, each with the bridges above it, as in sysfs."""

from __future__ import annotations

from typing import NamedTuple

from gputopo.parsers.hwloc_xml.distances import Links, nvlinks
from gputopo.parsers.hwloc_xml.machine import Machine, cpus_of, infos_of
from gputopo.parsers.hwloc_xml.pci import Pci, host_bridge_label, link_of
from gputopo.parsers.xml_guard import Element
from gputopo.records import (
    BridgeRecord,
    GpuRecord,
    Key,
    LinkRecord,
    NicRecord,
    NvmeRecord,
    NvSwitchRecord,
)
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Said, Unknown

_VENDORS = {"10de": "nvidia", "1002": "amd"}
_NO_BRIDGES = "the file holds no bridges above the device"
_NO_DEVICE = "the file holds no PCI device above it"
_NETWORK, _OPENFABRICS = "network", "openfabrics"
# osdev_type: a number until 2.x, a bit mask in 3.0 (hwloc.h, hwloc_obj_osdev_type_e).
_NUMBERED = {2: (_NETWORK,), 3: (_OPENFABRICS,)}
_MASKED = {16: _NETWORK, 32: _OPENFABRICS}


class Above(NamedTuple):
    """What stands above an object: bridges, root first, and the nearest object with a cpuset."""

    chain: tuple[str, ...] = ()
    holder: Element | None = None
    inside_pci: bool = False


class Devices:
    """The I/O objects of one topology, found in one walk."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.has_pci = False
        self.bridges: list[BridgeRecord] = []
        self.gpus: list[GpuRecord] = []
        self.nvswitches: list[NvSwitchRecord] = []
        self.nics: list[NicRecord] = []
        self.nvme: list[NvmeRecord] = []
        self._by_object: dict[str, PciAddress] = {}
        self._gpu_objects: dict[str, str] = {}  # object → label of its GPU
        self._walk(machine.top, Above())
        self._add_nvlinks(nvlinks(machine.root))

    def _walk(self, element: Element, above: Above) -> None:
        kind = element.get("type")
        if cpus_of(element) is not None:
            above = Above(holder=element)
        elif kind == "Bridge":
            above = self._bridge(element, above)
        elif kind == "PCIDev":
            self._device(element, above)
            above = above._replace(inside_pci=True)
        elif kind == "OSDev" and not above.inside_pci:
            self._lone(element, above)
        for child in element.named("object"):
            self._walk(child, above)

    def _bridge(self, element: Element, above: Above) -> Above:
        self.has_pci = True
        pci = Pci.of(element)
        label = str(pci.address) if pci else host_bridge_label(element)
        if label is None:
            return above
        self.bridges.append(
            BridgeRecord(
                label,
                parent=above.chain[-1] if above.chain else None,
                kind="bridge" if pci else "hostBridge",
                vendor=f"0x{pci.vendor}" if pci and pci.vendor else None,
                device=f"0x{pci.device}" if pci and pci.vendor else None,
                numa_nodes=self.machine.locality(above.holder),
                pcie=link_of(element),
            )
        )
        return above._replace(chain=(*above.chain, label))

    def _device(self, element: Element, above: Above) -> None:
        self.has_pci = True
        pci = Pci.of(element)
        if pci is None:
            return
        names = [child for child in element.named("object") if child.get("type") == "OSDev"]
        for each in (element, *names):
            self._by_object[_object(each)] = pci.address
        if pci.is_accelerator:
            self._gpu(element, pci, names, above)
        elif pci.is_nvswitch:
            label = str(pci.address)
            self.nvswitches.append(NvSwitchRecord(label, (Key("pci", label),), pci.address))
        elif pci.pci_class.startswith("02") or any(self._kinds(name) for name in names):
            self._nic(element, pci, names, above)
        elif pci.pci_class == "0108":
            label = str(pci.address)
            self.nvme.append(
                NvmeRecord(
                    label,
                    (Key("pci", label), *_name_keys(names)),
                    element.line,
                    pci.address,
                    self.machine.locality(above.holder),
                    link_of(element),
                    _chain(above),
                )
            )

    def _gpu(self, element: Element, pci: Pci, names: list[Element], above: Above) -> None:
        label = str(pci.address)
        by_nvml = any(_nvml_index(name) is not None for name in names)
        vendor = f"0x{pci.vendor}" if pci.vendor else None
        record = GpuRecord(
            label,
            keys=(Key("pci", label),),
            line=element.line,
            vendor=_VENDORS.get(pci.vendor or "", vendor),
            pci=pci.address,
            pcie=link_of(element, by_nvml),
            chain=_chain(above),
        )
        self._add_gpu(record, element, names, above)

    def _add_gpu(self, record: GpuRecord, element: Element, names: list[Element], above: Above) -> None:
        infos = {key: value for name in names for key, value in infos_of(name).items()}
        index = next((i for name in names if (i := _nvml_index(name)) is not None), None)
        uuid = infos.get("NVIDIAUUID") or infos.get("AMDUUID") or None
        keys = [*record.keys, *_name_keys(names)]
        if index is not None:
            keys.append(Key("index", str(index)))
        if uuid:
            keys.append(Key("uuid", uuid))
        nodes = self.machine.locality(above.holder)
        sure = nodes is not None and not isinstance(nodes, Unknown)
        for each in (element, *names):
            self._gpu_objects[_object(each)] = record.label
        self.gpus.append(
            record._replace(
                keys=tuple(keys),
                nvml_index=index,
                uuid=uuid,
                name=infos.get("GPUModel") or None,
                numa_nodes=nodes,
                cpus=cpus_of(above.holder) if sure and above.holder is not None else None,
                cpus_complete=True if sure else None,
            )
        )

    def _nic(self, element: Element, pci: Pci, names: list[Element], above: Above) -> None:
        rdma = [name for name in names if _OPENFABRICS in self._kinds(name)]
        netdevs = tuple(n for name in names if self._kinds(name) == (_NETWORK,) if (n := name.get("name")))
        device = rdma[0].get("name") if rdma else None
        label = device or (netdevs[0] if netdevs else None) or str(pci.address)
        self.nics.append(
            NicRecord(
                label,
                keys=(Key("pci", str(pci.address)), *_name_keys(names)),
                line=element.line,
                device=device,
                netdevs=netdevs,
                pci=pci.address,
                vendor=f"0x{pci.vendor}" if pci.vendor else None,
                numa_nodes=self.machine.locality(above.holder),
                state=_state(rdma),
                pcie=link_of(element),
                chain=_chain(above),
            )
        )

    def _lone(self, element: Element, above: Above) -> None:
        """An OS device in a file whose PCI devices were filtered out, or that has none (VMBUS)."""
        name, kinds = element.get("name"), self._kinds(element)
        if not name:
            return
        if _nvml_index(element) is not None:
            record = GpuRecord(name, line=element.line, vendor="nvidia", pci=Unknown(_NO_DEVICE))
            self._add_gpu(record, element, [element], above)
        elif kinds:
            is_rdma = _OPENFABRICS in kinds
            self.nics.append(
                NicRecord(
                    name,
                    keys=(Key("name", name),),
                    line=element.line,
                    device=name if is_rdma else None,
                    netdevs=() if is_rdma else (name,),
                    pci=Unknown(_NO_DEVICE),
                    numa_nodes=self.machine.locality(above.holder),
                    state=_state([element]) if is_rdma else None,
                )
            )

    def _kinds(self, name: Element) -> tuple[str, ...]:
        text = name.get("osdev_type") or ""
        if not text.isdecimal() or len(text) > 6:
            return ()
        if self.machine.version.startswith(("1.", "2.")):
            return _NUMBERED.get(int(text), ())
        return tuple(kind for bit, kind in _MASKED.items() if int(text) & bit)

    def _add_nvlinks(self, matrix: dict[str, dict[str, Links]] | None) -> None:
        if matrix is None:
            return
        labels = {gpu.label: number for number, gpu in enumerate(self.gpus)}
        for name, row in matrix.items():
            number = labels.get(self._gpu_objects.get(name, ""))
            if number is None:
                continue
            links = tuple(self._link(other, found) for other, found in row.items())
            total = sum(link.times for link in links)
            self.gpus[number] = self.gpus[number]._replace(links=links, nvlinks_active=total)

    def _link(self, other: str, found: Links) -> LinkRecord:
        """The far end is a GPU, an NVSwitch, or (POWER) an object of CPUs."""
        if other in self._gpu_objects:
            kind = "gpu"
        else:
            kind = "switch" if other.startswith("PCIDev:") else "cpu"
        remote = self._by_object.get(other)
        return LinkRecord(None, "active", found.gbps, remote, kind, times=found.times)


def _object(element: Element) -> str:
    return f"{element.get('type')}:{element.get('gp_index')}"


def _chain(above: Above) -> Said[tuple[str, ...]]:
    return above.chain or Unknown(_NO_BRIDGES, "lstopo --whole-io --of xml")


def _nvml_index(name: Element) -> int | None:
    """`nvml3` is device 3 of NVML (hwloc/topology-nvml.c)."""
    text = (name.get("name") or "").removeprefix("nvml")
    return int(text) if (name.get("name") or "").startswith("nvml") and text.isdecimal() else None


def _name_keys(names: list[Element]) -> tuple[Key, ...]:
    return tuple(Key("name", text) for name in names if (text := name.get("name")))


def _state(rdma: list[Element]) -> str | None:
    """Port states as the kernel numbers them: 4 is ACTIVE (IB specification, PortState)."""
    infos = {key: value for name in rdma for key, value in infos_of(name).items()}
    states = {value for key, value in infos.items() if key.startswith("Port") and key.endswith("State")}
    if len(states) != 1:
        return None
    return "up" if states == {"4"} else "down"
