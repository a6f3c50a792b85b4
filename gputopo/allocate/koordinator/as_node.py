"""A node as far as Koordinator's Device object describes it, and the names that its devices have on a node."""

from __future__ import annotations

from itertools import combinations

from gputopo.allocate.koordinator.devices import GPU, MEMORY, RDMA, Device, Devices
from gputopo.terms.quantity import value
from gputopo.topology.node import Gpu, Nic, NodeTopology, NumaNode, Pair


def node_of(name: str | None, devices: Devices) -> NodeTopology:
    """GPUs as GPU<minor>, NICs as NIC<minor>. Of a pair only whether it crosses NUMA nodes is known."""
    gpus = tuple(sorted((_gpu(one) for one in devices.of(GPU)), key=lambda gpu: gpu.minor or 0))
    nics = tuple(
        Nic(f"NIC{one.minor}", pci=one.id.lower() or None, numa_nodes=_numa(one), parent=_root(one))
        for one in sorted(devices.of(RDMA), key=lambda one: one.minor)
    )
    numbers = sorted({one.place.numa for one in devices.all if one.place is not None})
    return NodeTopology(
        name=name,
        gpus=gpus,
        nics=nics,
        numa_nodes=tuple(NumaNode(f"NUMA{number}", number, None, None, None) for number in numbers) or None,
        pairs=tuple(Pair(a.id, b.id, cross_numa=_crosses(a, b)) for a, b in combinations(gpus, 2)),
    )


def _gpu(device: Device) -> Gpu:
    memory = device.total.get(MEMORY)
    return Gpu(
        f"GPU{device.minor}", uuid=device.id or None, minor=device.minor, numa_nodes=_numa(device),
        parent=_root(device), memory_bytes=None if memory is None else value(memory),
    )  # fmt: skip


def _numa(device: Device) -> tuple[int, ...] | None:
    return None if device.place is None else (device.place.numa,)


def _root(device: Device) -> str | None:
    return device.place.pcie or None if device.place is not None else None


def _crosses(a: Gpu, b: Gpu) -> bool | None:
    if a.numa_nodes is None or b.numa_nodes is None:
        return None
    return a.numa_nodes != b.numa_nodes


def names_on(node: NodeTopology, devices: Devices) -> tuple[dict[int, str], dict[int, str]]:
    """(GPU names, NIC names) by minor: the node's by UUID or PCI address, else by minor where no UUID is there."""
    by_uuid = {gpu.uuid: gpu.id for gpu in node.gpus if gpu.uuid is not None}
    by_minor = {gpu.minor: gpu.id for gpu in node.gpus if gpu.minor is not None}
    by_pci = {nic.pci: nic.id for nic in node.nics or () if nic.pci is not None}
    gpus = {
        one.minor: by_uuid.get(one.id) or (by_minor.get(one.minor) if not by_uuid else None) or f"minor {one.minor}"
        for one in devices.of(GPU)
    }
    nics = {one.minor: by_pci.get(one.id.lower()) or one.id or f"rdma {one.minor}" for one in devices.of(RDMA)}
    return gpus, nics
