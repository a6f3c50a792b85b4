"""A machine with one thing said wrongly, all else as it was.

| what | what is wrong | in which spellings it shows as exactly one value |
|---|---|---|
| numa | the NUMA node of the last GPU | topo-m, topo-mp, nvml-recording (the CPU list stays) |
| letter | the PCIe level of one pair; the matrix stays an ultrametric | topo-m, topo-mp; nvml-recording for two GPUs |
| nvlinks | the NVLinks of one pair | topo-m (nccl-xml, nvml-recording from GPU to GPU: the totals change too) |
| nic-address | the first RDMA NIC's PCI address (another place on its bus) | sysfs-root, hwloc-xml, nccl-xml |

Render the planted machine in one of those spellings and the true one in the others.
"""

from __future__ import annotations

from tests.machines.letters import NEAR_TO_FAR, Device, device_id, devices, nvlinks, pcie_level
from tests.machines.machine import Machine, Planted

PLANTABLE = ("numa", "letter", "nvlinks", "nic-address")


def planted(machine: Machine, what: str) -> Machine:
    """Raises LookupError where this machine has nothing of the kind to falsify."""
    if what == "numa":
        return machine._replace(planted=Planted(numa=(_other_node(machine),)))
    if what == "letter":
        return machine._replace(planted=Planted(letters=(_other_letter(machine),)))
    if what == "nvlinks":
        return machine._replace(planted=Planted(nvlinks=(_fewer_links(machine),)))
    if what == "nic-address":
        return _moved_nic(machine)
    raise ValueError(f"no such planting: {what}; one of {', '.join(PLANTABLE)}")


def _other_node(machine: Machine) -> tuple[int, int]:
    gpu = machine.gpus[-1]
    others = [node.number for node in machine.numa_nodes if node.cpus and node.number != gpu.numa]
    if gpu.numa is None or not others:
        raise LookupError(f"{machine.name} has no second NUMA node with CPUs")
    return gpu.number, others[0]


def _other_letter(machine: Machine) -> tuple[str, str, str]:
    """A pair that every third device sees alike, and from farther than the new letter."""
    members = devices(machine)
    for place, a in enumerate(members):
        for b in members[place + 1 :]:
            if nvlinks(machine, a, b)[0]:
                continue
            now = NEAR_TO_FAR.index(pcie_level(machine, a, b))
            room = _nearest_third(machine, a, b, members)
            for other in (now + 1, now - 1):
                if room is not None and 0 <= other < room and other < len(NEAR_TO_FAR):
                    return device_id(a), device_id(b), NEAR_TO_FAR[other]
    raise LookupError(f"{machine.name} has no pair whose letter can change alone")


def _nearest_third(machine: Machine, a: Device, b: Device, members: tuple[Device, ...]) -> int | None:
    """The nearest level at which a third device sees both alike; `None` where one does not."""
    nearest = len(NEAR_TO_FAR)
    for third in members:
        if third is a or third is b:
            continue
        first, second = pcie_level(machine, a, third), pcie_level(machine, b, third)
        if first != second or NEAR_TO_FAR.index(first) <= NEAR_TO_FAR.index(pcie_level(machine, a, b)):
            return None
        nearest = min(nearest, NEAR_TO_FAR.index(first))
    return nearest


def _fewer_links(machine: Machine) -> tuple[int, int, int]:
    for a in machine.gpus:
        for b in machine.gpus[a.number + 1 :]:
            count, _ = nvlinks(machine, a, b)
            if count > 1:
                return a.number, b.number, count - 1
    raise LookupError(f"{machine.name} has no pair with two NVLinks")


def _moved_nic(machine: Machine) -> Machine:
    if not machine.rdma_nics:
        raise LookupError(f"{machine.name} has no RDMA NIC")
    nic = machine.rdma_nics[0]
    domain, bus, _ = nic.pci.split(":")
    moved = nic._replace(pci=f"{domain}:{bus}:1e.0")
    return machine._replace(nics=tuple(moved if other is nic else other for other in machine.nics))
