"""Records of one device from several sources → `Gpu`, `Nic`, `Nvme`, `Bridge`, `NvSwitch`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from gputopo.records import BridgeRecord, GpuRecord, LinkRecord
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Unknown
from gputopo.topology import nvlinks
from gputopo.topology.attributes import TOPO, format_rank
from gputopo.topology.join import Witness
from gputopo.topology.ledger import Claim, Ledger, Spoken
from gputopo.topology.node import Bridge, Gpu, Link, Nic, NvLinks, Nvme, NvSwitch

_GPU_FIELDS = (
    "uuid", "name", "vendor", "architecture", "compute_capability", "memory_bytes", "pci", "minor", "module_id",
    "driver", "numa_nodes", "cpus", "memory_numa_node", "nvlinks_active", "nvlinks_total", "links", "c2c", "fabric",
    "pcie", "mig",
)  # fmt: skip
_NIC_FIELDS = (
    "device", "netdevs", "port", "pci", "members", "vendor", "numa_nodes", "link_layer", "rate_gbps", "state",
    "virtual_function_of", "pcie",
)  # fmt: skip


class Device(NamedTuple):
    """An id, the sources' records of it, and the settled fields under their record names."""

    id: str
    witnesses: tuple[Witness, ...]
    fields: dict[str, Any]
    chain: tuple[str, ...] | None  # of the most detailed source
    grain: str | None


def settle_device(
    kind: str, id: str, witnesses: Sequence[Witness], sources: Sequence[Spoken], ledger: Ledger
) -> Device:  # fmt: skip
    """Ask the attribute table for every field of the device."""
    names = {"gpu": _GPU_FIELDS, "nic": _NIC_FIELDS}.get(kind, ("pci", "numa_nodes", "pcie"))
    spoken = [(sources[witness.spoken].source, witness.record) for witness in witnesses]
    fields: dict[str, Any] = {}
    for name in names:
        claims = [Claim(value, source) for source, record in spoken if (value := getattr(record, name)) is not None]
        if name == "memory_numa_node":  # N/A is an answer there: the GPU's memory is no NUMA node
            claims = [claim for claim in claims if not isinstance(claim.value, Unknown)]
        fields[name] = ledger.settle(kind, id, name, claims) if claims else None
    chain, grain = _chain(id, witnesses, sources, ledger)
    return Device(id, tuple(witnesses), fields, chain, grain)


def _chain(
    id: str, witnesses: Sequence[Witness], sources: Sequence[Spoken], ledger: Ledger
) -> tuple[tuple[str, ...] | None, str | None]:  # fmt: skip
    """One grain a device, never spliced: a tree of bridges before a tree of switches."""
    trees = []
    for witness in witnesses:
        grain = sources[witness.spoken].records.grain
        chain = witness.record.chain
        if isinstance(chain, Unknown):
            ledger.unknown((id,), "parent", chain.why, chain.settled_by)
        elif chain is not None and grain is not None:
            trees.append((grain != "sysfs", format_rank(sources[witness.spoken].source.format), chain, grain))
    if not trees:
        return None, None
    _, _, chain, grain = min(trees, key=lambda tree: tree[:2])
    return chain, grain


def parent(device: Device) -> str | None:
    """The bridge directly above; an NCCL root is a NUMA node, which is no bridge."""
    if not device.chain:
        return None
    last = device.chain[-1]
    return None if last.startswith("cpu:") else last


def make_gpu(device: Device, index: int | None, aliases: tuple[str, ...], complete: bool | None) -> Gpu:
    """Everything but packages, NVLink totals and nearest devices, which need the whole node."""
    fields = device.fields
    return Gpu(
        id=device.id, nvml_index=index, uuid=fields["uuid"], name=fields["name"], vendor=fields["vendor"],
        architecture=fields["architecture"], compute_capability=fields["compute_capability"],
        memory_bytes=fields["memory_bytes"], pci=_text(fields["pci"]), minor=fields["minor"],
        module_id=fields["module_id"], parent=parent(device), driver=fields["driver"],
        numa_nodes=fields["numa_nodes"], cpus=fields["cpus"], cpus_complete=complete,
        memory_numa_node=fields["memory_numa_node"], c2c=fields["c2c"], fabric=fields["fabric"],
        pcie=fields["pcie"], mig=fields["mig"] or (), aliases=aliases,
    )  # fmt: skip


def cpus_complete(device: Device, sources: Sequence[Spoken], used: str | None) -> bool | None:
    """Whether the used CPU list is whole: the word of the source it came from."""
    if device.fields["cpus"] is None:
        return None
    for witness in device.witnesses:
        spoken = sources[witness.spoken]
        record = witness.record
        if spoken.source.id == used and isinstance(record, GpuRecord):
            if isinstance(record.cpus_complete, bool):
                return record.cpus_complete
            return None if spoken.source.format == TOPO else True
    return None


def make_nic(device: Device, aliases: tuple[str, ...]) -> Nic:
    fields = device.fields
    return Nic(
        id=device.id, device=fields["device"], netdevs=fields["netdevs"] or (), port=fields["port"],
        pci=_text(fields["pci"]), pcie=fields["pcie"],
        members=tuple(str(member) for member in fields["members"] or ()), vendor=fields["vendor"],
        parent=parent(device), numa_nodes=fields["numa_nodes"], link_layer=fields["link_layer"],
        rate_gbps=fields["rate_gbps"], state=fields["state"],
        virtual_function_of=_text(fields["virtual_function_of"]), aliases=aliases,
    )  # fmt: skip


def make_nvme(device: Device) -> Nvme:
    fields = device.fields
    return Nvme(device.id, _text(fields["pci"]), fields["pcie"], parent(device), fields["numa_nodes"])


def links_of(device: Device, gpu_by_pci: dict[str, str]) -> tuple[Link, ...]:
    """Link records with the far end under its id in this node."""
    records: tuple[LinkRecord, ...] = device.fields["links"] or ()
    found = []
    for link in records:
        remote = _text(link.remote)
        found.append(
            Link(
                link.number,
                link.state,
                link.gbps,
                gpu_by_pci.get(remote or "", remote),
                link.remote_kind,
                link.times,
            )
        )
    return tuple(found)


def nvlinks_of(device: Device, via: bool | None, printed: int | None) -> NvLinks | None:
    """Totals of a GPU: its link list, else what a whole matrix lets one add up (`printed`)."""
    fields = device.fields
    if fields["vendor"] == "amd":
        return None  # xGMI, listed per pair
    links = fields["links"]
    active = fields["nvlinks_active"]
    if active is None and links is not None:
        active = nvlinks.active(links)
    if active is None:
        active = printed
    if active is None and fields["nvlinks_total"] is None:
        return None
    return NvLinks(active, fields["nvlinks_total"], _via(links, via, active))


def _via(links: Sequence[LinkRecord] | None, via: bool | None, active: int | None) -> str | None:
    kinds = {link.remote_kind for link in links or () if link.state in (None, "active") and link.remote_kind}
    if "switch" in kinds:
        return "mixed" if "gpu" in kinds else "switch"
    if kinds:
        return "direct"
    if not active or via is None:
        return None
    return "switch" if via else "direct"


def make_bridges(devices: Iterable[Device], sources: Sequence[Spoken], ledger: Ledger) -> tuple[Bridge, ...]:
    """The bridges above listed devices, of the grain each device uses, by address."""
    wanted: dict[str, str | None] = {}
    for device in devices:
        above: str | None = None
        for label in device.chain or ():
            if not label.startswith("cpu:"):
                wanted.setdefault(label, above)
                above = label
    records: dict[str, list[tuple[Spoken, BridgeRecord]]] = {}
    for spoken in sources:
        for record in spoken.records.bridges:
            if record.label in wanted:
                records.setdefault(record.label, []).append((spoken, record))
    found = []
    for label in sorted(wanted):
        fields: dict[str, Any] = {}
        for name in ("kind", "vendor", "device", "numa_nodes", "pcie"):
            claims = [
                Claim(value, spoken.source) for spoken, record in records.get(label, ())
                if (value := getattr(record, name)) is not None
            ]  # fmt: skip
            fields[name] = ledger.settle("bridge", label, name, claims) if claims else None
        kind = fields.pop("kind") or ("hostBridge" if label.startswith("pci") else None)
        found.append(Bridge(label, wanted[label], kind, **fields))
    return tuple(found)


def make_nvswitches(sources: Sequence[Spoken], devices: Iterable[Device]) -> tuple[NvSwitch, ...] | None:
    """NVSwitches that a tree lists, else those that link lists name as far ends."""
    listed = [record for spoken in sources for record in spoken.records.nvswitches or ()]
    addresses = {str(record.pci) if isinstance(record.pci, PciAddress) else record.label for record in listed}
    if not addresses:
        for device in devices:
            for link in device.fields.get("links") or ():
                if link.remote_kind == "switch" and link.remote is not None:
                    addresses.add(str(link.remote))
    if not addresses:
        said = any(spoken.records.nvswitches is not None for spoken in sources)
        return () if said else None
    return tuple(NvSwitch(f"NVSWITCH{place}", address) for place, address in enumerate(sorted(addresses)))


def _text(address: PciAddress | None) -> str | None:
    return None if address is None else str(address)
