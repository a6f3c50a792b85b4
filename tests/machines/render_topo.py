r"""`nvidia-smi topo -m` and `-mp` of a machine, byte for byte as the driver generations print them.

Measured on 418.226, 470.256, 535.261 and 550.163: the header is underlined also into a file, the
diagonal alone is padded, one tab stands before a number and two before N/A, a NIC row ends in the
tabs of the empty columns, and from 470 on the CPU list stops at the first range that brings it to
ten characters. (The SOC generation's escape codes were not measured; they are supposed.)

    >>> cut_cpus("0-1,4-5,8-9,12-13"), cut_cpus("0,2,4,6,8,10,12"), cut_cpus("128-255,384-511")
    ('0-1,4-5,8-9', '0,2,4,6,8,10', '128-255,384-511')
"""

from __future__ import annotations

from tests.machines.cpu_numbers import join, runs, split
from tests.machines.letters import Device, devices, nvlinks, pcie_level
from tests.machines.machine import Gpu, Machine, Nic

HEADS = {
    "soc": ("CPU Affinity",),
    "470": ("CPU Affinity", "NUMA Affinity"),
    "550": ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID"),
}

NVLINK_LINE = "  NV#  = Connection traversing a bonded set of # NVLinks\n"
HOST_BRIDGE_LINE = "  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)\n"
SOC_LEGEND = (
    "Legend:\n\n  X   = Self\n"
    "  SOC  = Connection traversing PCIe as well as the SMP link between CPU sockets(e.g. QPI)\n"
    + HOST_BRIDGE_LINE
    + "  PXB  = Connection traversing multiple PCIe switches (without traversing the PCIe Host Bridge)\n"
    "  PIX  = Connection traversing a single PCIe switch\n"
)
LEGEND = (
    "Legend:\n\n  X    = Self\n"
    "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)\n"
    "  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges"
    " within a NUMA node\n" + HOST_BRIDGE_LINE + "  PXB  = Connection traversing multiple PCIe bridges"
    " (without traversing the PCIe Host Bridge)\n"
    "  PIX  = Connection traversing at most a single PCIe bridge\n"
)


def render_topo(machine: Machine, command: str = "m") -> str:
    """The whole output; `command` is "m" (NVLink hides PCIe) or "mp" (PCIe only)."""
    heads = HEADS[machine.generation]
    members = devices(machine)
    labels = [label(machine, device) for device in members]
    lines = ["\t\x1b[4m" + "\t".join([*labels, *heads]) + "\x1b[0m\n"]
    for row, name in zip(members, labels):
        cells = "\t".join(" X " if row is other else cell(machine, row, other, command) for other in members)
        lines.append(f"{name}\t{cells}{tail(machine, row, heads)}\n")
    legend = SOC_LEGEND if machine.generation == "soc" else LEGEND
    lines.append("\n" + legend + (NVLINK_LINE if command == "m" else ""))
    if machine.generation == "550" and machine.rdma_nics:
        names = "".join(f"  NIC{number}: {nic.device}\n" for number, nic in enumerate(machine.rdma_nics))
        lines.append(f"\nNIC Legend:\n\n{names}")
    return "".join(lines)


def label(machine: Machine, device: Device) -> str:
    if isinstance(device, Gpu):
        return f"GPU{device.number}"
    if machine.generation == "550":
        return f"NIC{machine.rdma_nics.index(device)}"
    return str(device.device)


def cell(machine: Machine, a: Device, b: Device, command: str) -> str:
    count, _ = nvlinks(machine, a, b)
    if count and command == "m":
        return f"NV{count}"
    level = pcie_level(machine, a, b)
    if machine.generation == "soc":
        # NODE did not exist yet: another host bridge of the same socket was PHB.
        return {"SYS": "SOC", "NODE": "PHB"}.get(level, level)
    return level


def tail(machine: Machine, device: Device, heads: tuple[str, ...]) -> str:
    """What follows the last cell."""
    if isinstance(device, Nic):
        return {1: "\t", 2: "\t\t", 3: "\t\t\t\t"}[len(heads)]
    text = "\t" + cpu_cell(machine, device)
    if len(heads) > 1:
        numa = machine.gpu_numa(device)
        near = device.near_nodes if numa == device.numa else ""
        text += "\t\tN/A" if numa is None else f"\t{near or numa}"
    if len(heads) > 2:
        text += f"\t\t{'N/A' if device.memory_node is None else device.memory_node}"
    return text


def cpu_cell(machine: Machine, gpu: Gpu) -> str:
    """Local CPUs that the looking process may use."""
    cpus = split(machine.cpus_near(gpu.numa))
    if machine.cpuset is not None:
        allowed = set(split(machine.cpuset))
        cpus = [cpu for cpu in cpus if cpu in allowed]
    text = join(cpus)
    return text if machine.generation == "soc" else cut_cpus(text)


def cut_cpus(text: str) -> str:
    """The printer adds ranges until the text has ten characters."""
    printed = ""
    for part in runs(split(text)):
        if len(printed) >= 10:
            break
        printed += f",{part}" if printed else part
    return printed
