"""`expected.json`: what any reader must get of a machine, and which spelling can tell it.

The facts are a part of the NodeTopology document. `speaks` names, for each attribute, the
spellings that tell it in full; for a pair's PCIe level `decidedBy` does so pair by pair. A
spelling that is not named may give the value or null, but no other value, except where `differs`
says what that spelling alone prints (a CPU list cut or narrowed, a list of nodes on Grace).
"""

from __future__ import annotations

import json
from typing import Any

from tests.machines.cpu_numbers import split
from tests.machines.letters import Device, chain, devices, nvlinks, pcie_level, printed
from tests.machines.machine import Gpu, Machine, Nic, NumaNode
from tests.machines.render_nccl_xml import switches_above
from tests.machines.render_topo import cell, cpu_cell

TOPO, TOPO_MP, SYSFS = "topo-m", "topo-mp", "sysfs-root"
NVML, NCCL, HWLOC, LSCPU = "nvml-recording", "nccl-xml", "hwloc-xml", "lscpu"
SPELLINGS = (TOPO, TOPO_MP, SYSFS, NVML, NCCL, HWLOC, LSCPU)


def spelled(machine: Machine) -> tuple[str, ...]:
    """The spellings a machine has; what `-mp` printed in the SOC generation was not seen."""
    return tuple(name for name in SPELLINGS if name != TOPO_MP or machine.generation != "soc")


def render_expected(machine: Machine) -> str:
    """The document with one device, pair or attribute a line."""
    fields = [f" {json.dumps(key)}: {_lines(value)}" for key, value in expected(machine).items()]
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _lines(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n  " + ",\n  ".join(json.dumps(item) for item in value) + "\n ]"
    if isinstance(value, dict) and value:
        return "{\n  " + ",\n  ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in value.items()) + "\n }"
    return json.dumps(value)


def expected(machine: Machine) -> dict[str, Any]:
    return {
        "name": machine.name,
        "packages": [package_facts(machine, package.number) for package in machine.packages],
        "numaNodes": [node_facts(node) for node in machine.numa_nodes],
        "gpus": [gpu_facts(machine, gpu) for gpu in machine.gpus],
        "nics": [nic_facts(machine, nic) for nic in machine.nics],
        "pairs": pair_facts(machine),
        "islands": islands(machine),
        "speaks": speaks(machine),
        "differs": differs(machine),
    }


def node_facts(node: NumaNode) -> dict[str, Any]:
    """A node that has neither CPUs nor memory has no kind worth asking for."""
    facts: dict[str, Any] = {"number": node.number, "cpus": node.cpus}
    return facts | {"kind": node.kind, "memoryBytes": node.memory_bytes} if node.kind else facts


def package_facts(machine: Machine, number: int) -> dict[str, Any]:
    package = next(package for package in machine.packages if package.number == number)
    cpus = set(split(package.cpus))
    own = [node.number for node in machine.numa_nodes if node.cpus and set(split(node.cpus)) <= cpus]
    facts: dict[str, Any] = {"number": number, "cpus": package.cpus}
    return facts | {"numaNodes": own} if own else facts


def node_of(machine: Machine, device: Device) -> int | None:
    """The NUMA node a device is near: on a machine with one node that one, whatever the firmware says.

    A kernel without NUMA has none, and lstopo calls it node 0.
    """
    if device.numa is None and len(machine.numa_nodes) < 2:
        return machine.numa_nodes[0].number if machine.numa_nodes else 0
    return device.numa


def packages_of(machine: Machine, device: Device) -> list[str] | None:
    """Ids of the packages of a device's NUMA node; `None` where the node is not known."""
    numa = node_of(machine, device)
    if numa is None:
        return None
    near = set(split(machine.cpus_near(numa)))
    return [f"PKG{package.number}" for package in machine.packages if near & set(split(package.cpus))]


def numa_nodes(machine: Machine, device: Device) -> list[int] | None:
    numa = node_of(machine, device)
    return None if numa is None else [numa]


def device_label(machine: Machine, device: Device) -> str:
    """The id in the document: `GPU0`, `NIC0` where the driver prints that, else the device's name."""
    if isinstance(device, Gpu):
        return f"GPU{device.number}"
    if device.device and machine.generation == "550":
        return f"NIC{machine.rdma_nics.index(device)}"
    return device.id


def gpu_facts(machine: Machine, gpu: Gpu) -> dict[str, Any]:
    active = sum(count for _, count in (*gpu.peers, *gpu.fabric))
    via = "switch" if gpu.fabric else "direct" if gpu.peers else None
    return {
        "id": f"GPU{gpu.number}",
        "index": gpu.number,
        "uuid": gpu.uuid,
        "name": gpu.name,
        "pci": gpu.pci,
        "minor": gpu.number,
        "parent": gpu.parent,
        "numaNodes": numa_nodes(machine, gpu),
        "packages": packages_of(machine, gpu),
        "cpus": machine.cpus_near(gpu.numa),
        "memoryNumaNode": gpu.memory_node,
        "nvlinks": {"active": active, "total": active or None, "via": via},
        "c2c": {"count": gpu.c2c[0], "gbpsPerLink": gpu.c2c[1] / 1000} if gpu.c2c else None,
        "pcie": {"width": gpu.width, "maxGeneration": gpu.generation, "maxWidth": gpu.max_width},
    }


def nic_facts(machine: Machine, nic: Nic) -> dict[str, Any]:
    return {
        "id": device_label(machine, nic),
        "device": nic.device,
        "netdevs": [nic.netdev] if nic.netdev and machine.cpuset is None else [],
        "pci": nic.pci,
        "parent": nic.parent,
        "numaNodes": numa_nodes(machine, nic),
        "packages": packages_of(machine, nic),
        "linkLayer": nic.link_layer,
        "rateGbps": nic.rate or None,
    }


def pair_facts(machine: Machine) -> list[dict[str, Any]]:
    members = devices(machine)
    found = []
    for place, a in enumerate(members):
        for b in members[place + 1 :]:
            count, via = nvlinks(machine, a, b)
            first, second = node_of(machine, a), node_of(machine, b)
            both = first is not None and second is not None
            facts: dict[str, Any] = {
                "a": device_label(machine, a),
                "b": device_label(machine, b),
                "level": printed(machine, a, b),
                "pcie": pcie_level(machine, a, b),
                "decidedBy": decided_by(machine, a, b),
                "crossNuma": first != second if both else None,
                "crossPackage": packages_of(machine, a) != packages_of(machine, b) if both else None,
            }
            if machine.generation == "soc" and cell(machine, a, b, "m") != facts["level"]:
                facts["printed"] = cell(machine, a, b, "m")
            if isinstance(a, Gpu) and isinstance(b, Gpu):
                facts |= {"nvlinks": count, "viaSwitch": via}
            found.append(facts)
    return found


def decided_by(machine: Machine, a: Device, b: Device) -> list[str]:
    """The spellings that leave exactly one PCIe level for this pair."""
    level = pcie_level(machine, a, b)
    clear = machine.generation != "soc" or level != "PHB"  # that PHB covers what is NODE today
    same_root = chain(machine, a.parent)[0] == chain(machine, b.parent)[0]
    found = []
    if clear and not nvlinks(machine, a, b)[0]:
        found.append(TOPO)
    if clear and TOPO_MP in spelled(machine):
        found.append(TOPO_MP)
    if isinstance(a, Gpu) and isinstance(b, Gpu):
        found.append(NVML)
    if _tree_decides(machine, a, b):
        found.append(SYSFS)
        if same_root or all(node.kind == "cpu" for node in machine.numa_nodes):
            found.append(HWLOC)
    if _nccl_decides(machine, a, b):
        found.append(NCCL)
    return found


def _tree_decides(machine: Machine, a: Device, b: Device) -> bool:
    if chain(machine, a.parent)[0] == chain(machine, b.parent)[0]:
        return True
    if a.numa is None or b.numa is None:
        return False
    # Two PCI domains on one node: the tree says NODE, drivers were seen to print SYS.
    return a.numa != b.numa or a.pci.split(":")[0] == b.pci.split(":")[0]


def _nccl_decides(machine: Machine, a: Device, b: Device) -> bool:
    """A common switch or two NUMA nodes; host bridges and root ports are not in this grain."""
    first = switches_above(machine, a if isinstance(a, Gpu) else (a,))
    second = switches_above(machine, b if isinstance(b, Gpu) else (b,))
    if first and second and first[0] == second[0]:
        return True
    return a.numa is not None and b.numa is not None and a.numa != b.numa


def islands(machine: Machine) -> dict[str, list[list[str]]]:
    """Groups of GPUs: over NVLink and under one root two or more, by NUMA node and package all."""
    gpus = machine.gpus
    linked: list[set[int]] = []
    for gpu in gpus:
        joined = {gpu.number} | {other.number for other in gpus if nvlinks(machine, gpu, other)[0] and other is not gpu}
        for group in [group for group in linked if group & joined]:
            linked.remove(group)
            joined |= group
        linked.append(joined)
    by_root: dict[str, list[str]] = {}
    by_numa: dict[int, list[str]] = {}
    by_package: dict[str, list[str]] = {}
    for gpu in gpus:
        name = f"GPU{gpu.number}"
        by_root.setdefault(chain(machine, gpu.parent)[0], []).append(name)
        numa = node_of(machine, gpu)
        if numa is not None:
            by_numa.setdefault(numa, []).append(name)
            by_package.setdefault(",".join(packages_of(machine, gpu) or []), []).append(name)
    nvlink = [[f"GPU{index}" for index in sorted(group)] for group in linked if len(group) > 1]
    return {
        "nvlink": sorted(nvlink, key=lambda group: int(group[0][3:])),
        "pcieRoot": [group for group in by_root.values() if len(group) > 1],
        "numa": list(by_numa.values()),
        "package": list(by_package.values()),
    }


def speaks(machine: Machine) -> dict[str, list[str]]:
    """Attribute → the spellings that tell it of every device (or pair) of this machine."""
    matrix = [spelling for spelling in (TOPO, TOPO_MP) if spelling in spelled(machine)]
    numa_known = all(gpu.numa is not None for gpu in machine.gpus)
    matrix_numa = matrix if machine.generation != "soc" and numa_known else []
    others_numa = [NVML, NCCL] if numa_known else []
    one_node = len(machine.numa_nodes) == 1
    # lstopo gives a node without CPUs those near it, and makes one up where the kernel has none.
    certain = all(node.kind == "cpu" for node in machine.numa_nodes)
    tree = ([SYSFS] if numa_known or one_node else []) + ([HWLOC] if certain else [])
    whole_cells = all(cpu_cell(machine, gpu) == machine.cpus_near(gpu.numa) for gpu in machine.gpus)
    linked = any(gpu.fabric or gpu.peers for gpu in machine.gpus)
    direct = all(not gpu.fabric for gpu in machine.gpus)
    far_ends = [NVML, NCCL] if linked else []
    nodes = ([SYSFS] + ([HWLOC] if certain else [])) if machine.numa_nodes else []
    memory_nodes = any(gpu.memory_node is not None for gpu in machine.gpus)
    return {
        "packages": [SYSFS, HWLOC] if certain else [SYSFS],
        "numaNodes": nodes,
        "numaNodes.cpus": [*nodes, LSCPU] if nodes else [],
        "gpus.index": [*matrix, NVML, NCCL],
        "gpus.uuid": [SYSFS, NVML],
        "gpus.name": [SYSFS, NVML],
        "gpus.pci": [SYSFS, NVML, NCCL, HWLOC],
        "gpus.minor": [SYSFS],
        "gpus.parent": [SYSFS, HWLOC],
        "gpus.numaNodes": [*matrix_numa, *tree, *others_numa],
        "gpus.packages": tree,
        "gpus.cpus": [*(matrix if whole_cells and numa_known else []), *tree, *([NVML] if numa_known else [])],
        "gpus.memoryNumaNode": [*matrix, SYSFS, NVML] if memory_nodes else [],
        "gpus.nvlinks.active": far_ends,
        "gpus.nvlinks.via": far_ends,
        "gpus.c2c": [NCCL] if any(gpu.c2c for gpu in machine.gpus) else [],
        "gpus.pcie": [SYSFS],
        "nics.device": [*matrix, SYSFS, NCCL, HWLOC],
        "nics.netdevs": [SYSFS, HWLOC],
        "nics.pci": [SYSFS, HWLOC],
        "nics.parent": [SYSFS, HWLOC],
        "nics.numaNodes": [*tree, *([NCCL] if numa_known else [])],
        "nics.linkLayer": [SYSFS],
        "nics.rateGbps": [SYSFS],
        "pairs.level": [TOPO],
        "pairs.nvlinks": [TOPO, *(far_ends if direct else [])],
        "pairs.viaSwitch": far_ends,
        "pairs.crossNuma": [*tree, *([NCCL] if numa_known else [])],
        "gpuPairs.crossNuma": [*matrix_numa, *tree, *others_numa],
        "pairs.crossPackage": tree,
        # Which NVSwitches are joined to one fabric, no far end says; matrices and bridges do.
        "islands.nvlink": [TOPO, *(far_ends if direct else [])] if linked else [],
    }


def differs(machine: Machine) -> dict[str, dict[str, dict[str, Any]]]:
    """Spelling → device → attribute → what that spelling alone says: true, but less or in its own grain."""
    found: dict[str, dict[str, dict[str, Any]]] = {}

    def say(spelling: str, device: Device, attribute: str, value: Any) -> None:
        found.setdefault(spelling, {}).setdefault(device_label(machine, device), {})[attribute] = value

    for gpu in machine.gpus:
        text = cpu_cell(machine, gpu)
        if text != machine.cpus_near(gpu.numa):
            for spelling in (TOPO, TOPO_MP):
                say(spelling, gpu, "cpus", text)
        if gpu.near_nodes:
            for spelling in (TOPO, TOPO_MP, NVML):
                say(spelling, gpu, "numaNodes", split(gpu.near_nodes))
    for device in devices(machine):
        # NCCL names the upstream port of the switch, and no root port.
        above = switches_above(machine, device if isinstance(device, Gpu) else (device,))
        say(NCCL, device, "parent", above[-1] if above else None)
    return found
