"""Which GPU or NIC of the node a device id means.

An id joins by UUID or PCI address wherever it comes from; an NVML index, a minor number and DRA's `gpu-<minor>` are
three numberings (facts: k8s-device-plugin deviceIDStrategy, dra-driver-nvidia-gpu deviceinfo.go, CDI names of
nvidia-ctk). What a ResourceSlice or a CDI specification says of a name comes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gputopo.holdings import ALL, DeviceHeld, DeviceName
from gputopo.pods.model import Device
from gputopo.terms.device_id import replica_of
from gputopo.terms.pci_address import PciAddress
from gputopo.topology.node import NodeTopology

_CLAIM = re.compile(r"=[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-(.+)$")  # vendor/claim=<claim's UID>-<device>
_DRA_GPU = re.compile(r"gpu\.nvidia\.com/[^/]+/gpu-(\d+)(-mig-.+)?$")

_CDI_ALL = "nvidia.com/gpu=all"  # the device of nvidia-ctk that is all of them
_DEVICE_NODE = re.compile(r"nvidia(\d{1,4})(/gi\d+)?(?:/vgpu\d+)?\Z")  # GKE's plugin: /dev/nvidia<minor>, MIG, share


class _Meant(NamedTuple):
    gpu: str | None = None
    nic: str | None = None
    mig: str | None = None
    why: str = ""


class Names:
    """What ids of one node mean."""

    def __init__(self, node: NodeTopology, names: Iterable[DeviceName] = ()) -> None:
        self.node = node
        self._gpu_by: dict[tuple[str, str], str] = {}
        self._mig: dict[str, str] = {}
        self._nic_by: dict[str, str] = {}
        for gpu in node.gpus:
            for space, value in (("uuid", gpu.uuid), ("index", gpu.nvml_index), ("minor", gpu.minor), ("pci", gpu.pci)):
                if value is not None:
                    self._gpu_by[space, str(value)] = gpu.id
            self._mig.update({mig.uuid: gpu.id for mig in gpu.mig if mig.uuid})
        for nic in node.nics or ():
            for name in (nic.id, nic.device, nic.pci, *nic.netdevs, *nic.members, *nic.aliases):
                if name:
                    self._nic_by.setdefault(name, nic.id)
        self._by_place = _in_pci_order(node)
        self._known: dict[tuple[str, str], DeviceName] = {}
        self._numa: dict[str, tuple[int, ...]] = {}
        for known in names:
            before = self._known.setdefault((known.space, known.id), known)
            if before is not known:
                self._known[known.space, known.id] = _both(before, known)
            if known.uuid and known.numa_nodes:
                self._numa.setdefault(known.uuid, known.numa_nodes)

    def each(self, held: DeviceHeld) -> Iterator[DeviceHeld]:
        """The device, or every GPU of the node where the source says `all` and the node's GPUs are known."""
        if (held.space == ALL or held.id == _CDI_ALL) and self.node.gpus:
            for gpu in self.node.gpus:
                for space, value in (("uuid", gpu.uuid), ("index", gpu.nvml_index), ("pci", gpu.pci)):
                    if value is not None:
                        yield held._replace(id=str(value), space=space)
                        break
                else:
                    yield held
        else:
            yield held

    def device(self, held: DeviceHeld) -> Device:
        """What the node calls it."""
        id, replica = replica_of(held.id)
        known = self._named(id, held.space)
        meant = self._meant(id, held.space)
        uuid = known.uuid if known is not None else id
        numa = held.numa_nodes
        if numa is None:
            numa = (known.numa_nodes if known is not None else None) or self._numa.get(uuid or "")
        resolved = meant.gpu or meant.nic
        return Device(
            held.resource, held.id, meant.gpu, meant.nic, meant.mig, replica, numa, held.health,
            "" if resolved else meant.why, held.share,
            "" if resolved or known is None else known.uuid or known.dra or "",
        )  # fmt: skip

    def _named(self, id: str, space: str) -> DeviceName | None:
        """What the sources say of an id: of a CDI name also what they say of the device that it stands for."""
        known = self._known.get((space, id))
        if known is not None and space != "dra" and known.dra and known.uuid is None:
            return self._known.get(("dra", known.dra)) or known
        return known

    def _meant(self, id: str, space: str) -> _Meant:
        known = self._named(id, space)
        if known is not None:
            found = self._of_name(known)
            if found is not None and (found.gpu or found.nic or found.mig):
                return found._replace(mig=found.mig or id) if id.startswith("MIG-") else found
            if space == "cdi" and known.dra:
                return self._of_dra(known.dra)
        if id.startswith("MIG-"):
            gpu = self._mig.get(id)
            return _Meant(gpu, mig=id, why="" if gpu else "no GPU of the evidence has this MIG device: nvidia-smi -L")
        if id.startswith("GPU-"):
            gpu = self._gpu_by.get(("uuid", id))
            return _Meant(gpu, why=self._no_uuid())
        if space in ("index", "minor"):
            what = "NVML index" if space == "index" else "minor number"
            return _Meant(self._gpu_by.get((space, id)), why=f"no GPU of the evidence has the {what} {id}")
        if space == "gres":
            return self._of_gres(id)
        if space == ALL:
            return _Meant(why="it was given every GPU, and nothing among the sources names those: nvidia-smi -L")
        if space in ("pci", "name", "other"):
            return self._of_place(id)
        if space == "cdi":
            return self._of_cdi(id)
        return self._of_dra(id) if space == "dra" else _Meant(why="not a name of a device of this node")

    def _no_uuid(self) -> str:
        if not self.node.gpus:
            return "nothing among the sources names the node's GPUs: nvidia-smi topo -m with -L"
        if not any(gpu.uuid for gpu in self.node.gpus):
            return "the node's UUIDs are not in the evidence: nvidia-smi -L"
        return "no GPU of the node has this UUID"

    def _of_name(self, name: DeviceName) -> _Meant | None:
        if name.part_of is not None:
            mig = name.uuid if name.uuid and name.uuid.startswith("MIG-") else name.dra or name.id
            return _Meant(self._gpu_by.get(("uuid", name.part_of)), mig=mig, why=self._no_uuid())
        for space, value in (("uuid", name.uuid), ("pci", _pci(name.pci)), ("index", name.nvml_index),
                             ("minor", name.minor)):  # fmt: skip
            gpu = self._gpu_by.get((space, str(value))) if value is not None else None
            if gpu is not None:
                return _Meant(gpu)
        for value in (_pci(name.pci), name.name):
            if value and value in self._nic_by:
                return _Meant(nic=self._nic_by[value])
        if name.uuid is not None and (name.space, name.id) != ("uuid", name.uuid):
            return self._meant(name.uuid, "uuid")
        return None

    def _of_gres(self, id: str) -> _Meant:
        """Slurm's AutoDetect lists GPUs in PCI bus order (facts: kubernetes-systems.md §3.6); MIG devices each."""
        if self._by_place is None:
            order = "the order of their PCI addresses is not in the evidence"
            return _Meant(why=f"Slurm counts the node's GPUs, and {order}: nvidia-smi -q, or slurmd -G")
        found = self._by_place[int(id)] if id.isdecimal() and int(id) < len(self._by_place) else None
        return _Meant(found, why=f"the node has {len(self._by_place)} GPUs, none is number {id} in Slurm's list")

    def _of_place(self, id: str) -> _Meant:
        node_of = _DEVICE_NODE.match(id)
        if node_of is not None and ("minor", node_of[1]) in self._gpu_by:
            return _Meant(self._gpu_by["minor", node_of[1]], mig=id if node_of[2] else None)
        pci = _pci(id)
        gpu = self._gpu_by.get(("pci", pci)) if pci else None
        nic = self._nic_by.get(pci or id) or self._nic_by.get(id)
        return _Meant(gpu, nic if gpu is None else None, why="not a name of a device of this node")

    def _of_cdi(self, id: str) -> _Meant:
        """vendor/class=name: of the device plugin by UUID, of nvidia-ctk by index or UUID, of DRA by claim."""
        claim = _CLAIM.search(id)
        if claim is not None:
            driver = id.partition("/")[0].removeprefix("k8s.")
            for space, name in self._known:
                if space == "dra" and name.startswith(f"{driver}/") and name.endswith(f"/{claim[1]}"):
                    return self._meant(name, "dra")
            return self._of_dra(f"{driver}/?/{claim[1]}")
        kind, _, name = id.partition("=")
        if name.startswith(("GPU-", "MIG-")):
            return self._meant(name, "uuid")
        if kind.endswith("/gpu") and name.isdecimal():
            return self._meant(name, "index")
        return _Meant(why="no CDI specification among the sources says which device this is")

    def _of_dra(self, id: str) -> _Meant:
        """driver/pool/device without its ResourceSlice: NVIDIA's driver numbers by minor."""
        found = _DRA_GPU.match(id)
        if found is None:
            return _Meant(why="which device it is stands in its ResourceSlice, which is not among the sources")
        gpu = self._gpu_by.get(("minor", found[1]))
        why = f"gpu-{found[1]} counts minor numbers; which GPU has it is said by its ResourceSlice or nvidia-smi -q"
        return _Meant(gpu, mig=id if found[2] and gpu else None, why=why)


def _in_pci_order(node: NodeTopology) -> tuple[str, ...] | None:
    """None where an address is not known, or where a GPU is cut into MIG devices, which count for themselves."""
    found = [(PciAddress.parse(gpu.pci) if gpu.pci else None, gpu.id) for gpu in node.gpus]
    if not found or any(gpu.mig for gpu in node.gpus):
        return None
    known = [(address, id) for address, id in found if address is not None]
    return tuple(id for _, id in sorted(known)) if len(known) == len(found) else None


def _both(one: DeviceName, other: DeviceName) -> DeviceName:
    """What the first does not say, the other may."""
    said = {field: value for field, value in other._asdict().items() if getattr(one, field) is None}
    return one._replace(**said)


def _pci(text: str | None) -> str | None:
    found = PciAddress.parse(text) if text else None
    return str(found) if found is not None else None
