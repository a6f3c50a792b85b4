"""Devices of slices and the GPUs and NICs of a topology: by UUID or PCI address, never by the number in a name.

`gpu-3` is NVML's minor number, which is not the index; so the name says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gputopo.allocate.dra.objects import Device, DeviceId, Slice
from gputopo.terms.pci_address import PciAddress
from gputopo.topology.node import NodeTopology

_ADDRESSES = ("resource.kubernetes.io/pciBusID", "pcieBusID", "pciBusID", "dra.net/pciAddress", "pciAddress", "pciAddr",
              "sriovnetwork.k8snetworkplumbingwg.io/pciAddress", "parentPCIAddress")  # fmt: skip
NUMA_NAMES = ("resource.kubernetes.io/numaNode", "dra.net/numaNode", "numaNode", "dra.cpu/numaNodeID", "numaNodeID")


class Joined(NamedTuple):
    gpus: Mapping[DeviceId, str]
    nics: Mapping[DeviceId, str]


def joined(node: NodeTopology | None, slices: Sequence[Slice]) -> Joined:
    gpus: dict[DeviceId, str] = {}
    nics: dict[DeviceId, str] = {}
    if node is None:
        return Joined(gpus, nics)
    by_uuid = {gpu.uuid.lower(): gpu.id for gpu in node.gpus if gpu.uuid}
    by_uuid |= {mig.uuid.lower(): gpu.id for gpu in node.gpus for mig in gpu.mig if mig.uuid}
    by_pci = {str(PciAddress.parse(gpu.pci)): gpu.id for gpu in node.gpus if gpu.pci}
    nic_by_pci = {str(PciAddress.parse(nic.pci)): nic.id for nic in node.nics or () if nic.pci}
    for own in slices:
        for device in own.devices:
            id = own.id_of(device)
            uuid = _text(device, "uuid") or _text(device, "parentUUID")
            known = by_uuid.get(uuid.lower()) if uuid else None
            address = address_of(device)
            if known is not None:
                gpus[id] = known
            elif address in by_pci and not (uuid and by_uuid):  # another UUID: a GPU of another machine
                gpus[id] = by_pci[address]
            elif address in nic_by_pci:
                nics[id] = nic_by_pci[address]
    return Joined(gpus, nics)


def address_of(device: Device) -> str | None:
    for name in _ADDRESSES:
        text = _text(device, name)
        parsed = PciAddress.parse(text) if text else None
        if parsed is not None:
            return str(parsed)
    return None


def numa_of(device: Device, driver: str) -> tuple[int, ...] | None:
    """The NUMA nodes an attribute names; -1 is the kernel's word for none."""
    for name in NUMA_NAMES:
        found = device.attributes.get(name)
        if found is None or found.kind not in ("int", "ints"):
            continue
        values = found.value if isinstance(found.value, tuple) else (found.value,)
        if all(value >= 0 for value in values):
            return tuple(values)
    return None


def _text(device: Device, name: str) -> str | None:
    found = device.attributes.get(name)
    return found.value if found is not None and found.kind == "string" else None
