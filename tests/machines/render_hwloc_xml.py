"""`lstopo --whole-io --disallowed --of xml` of a machine (hwloc 2.x, XML 2.0).

Packages hold their NUMA node; a package of several nodes holds a Group for each. PCI trees hang at
the object whose CPUs are local to them, or at the Machine where the node is not known. As hwloc
does, a node without CPUs carries the CPUs near it, and a kernel without NUMA still has node 0.
"""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from tests.machines.cpu_numbers import hwloc_mask, join, split
from tests.machines.machine import Bridge, Function, Gpu, HostBridge, Machine, Nic, NumaNode, Nvme, NvSwitch, Package
from tests.machines.render_nccl_xml import class_of

LANE_GBPS = {0: 0.0, 1: 0.25, 2: 0.5, 3: 8 * 128 / 130 / 8, 4: 16 * 128 / 130 / 8, 5: 32 * 128 / 130 / 8}
Endpoint = Gpu | Nic | Nvme | NvSwitch | Function
IDLE = 1


class Writer:
    """Lines with a running `gp_index`."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.serial = 0

    def open(self, depth: int, kind: str, attributes: str, close: bool = False) -> None:
        self.serial += 1
        end = "/>" if close else ">"
        self.lines.append(f'{"  " * depth}<object type="{kind}" {attributes} gp_index="{self.serial}"{end}')

    def close(self, depth: int) -> None:
        self.lines.append("  " * depth + "</object>")

    def info(self, depth: int, name: str, value: str) -> None:
        self.lines.append(f'{"  " * depth}<info name="{name}" value={quoteattr(value)}/>')


def render_hwloc_xml(machine: Machine) -> str:
    out = Writer()
    nodes = machine.numa_nodes or (NumaNode(0, machine.all_cpus, 32 << 30, (10,)),)
    everything = join(node.number for node in nodes)
    allowed = machine.cpuset or machine.all_cpus
    out.open(1, "Machine", f'os_index="0" {sets(machine.all_cpus, everything)} '
             f'allowed_cpuset="{hwloc_mask(allowed)}" allowed_nodeset="{hwloc_mask(everything)}"')  # fmt: skip
    facts = {
        "DMIProductName": machine.product,
        "Backend": "Linux",
        "OSName": "Linux",
        "OSRelease": machine.kernel,
        "Architecture": machine.arch,
        "hwlocVersion": "2.9.0",
    }
    for name, value in facts.items():
        out.info(2, name, value)
    whole = len(nodes) == 1 and len(machine.packages) == 1
    for package in machine.packages:
        write_package(out, machine, package, nodes, whole)
    for bridge in machine.host_bridges:
        if whole or bridge.numa is None:
            write_host_bridge(out, machine, bridge, 2)
    out.close(1)
    write_distances(out, nodes)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">\n'
    return head + "\n".join(out.lines) + "\n</topology>\n"


def sets(cpus: str, nodes: str) -> str:
    """cpuset and nodeset with their complete forms (nothing is cut with --disallowed)."""
    mask, node_mask = hwloc_mask(cpus), hwloc_mask(nodes)
    return f'cpuset="{mask}" complete_cpuset="{mask}" nodeset="{node_mask}" complete_nodeset="{node_mask}"'


def write_package(out: Writer, machine: Machine, package: Package, nodes: tuple[NumaNode, ...], whole: bool) -> None:
    cpus = set(split(package.cpus))
    own = [node for node in nodes if node.cpus and set(split(node.cpus)) <= cpus]
    near = [node for node in nodes if not node.cpus and node.near in {node.number for node in own}]
    members = join(node.number for node in (*own, *near))
    out.open(2, "Package", f'os_index="{package.number}" {sets(package.cpus, members)}')
    if machine.arch == "x86_64":
        out.info(3, "CPUVendor", package.vendor)
        out.info(3, "CPUFamilyNumber", str(package.family))
        out.info(3, "CPUModelNumber", str(package.model))
        out.info(3, "CPUModel", package.model_name)
    else:
        out.info(3, "CPUImplementer", "0x41")
        out.info(3, "CPUPart", "0xd4f")
    for node in own:
        depth = 3
        if len(own) > 1:
            out.open(3, "Group", f'{sets(node.cpus, str(node.number))} kind="1001" subkind="0" depth="0"')
            depth = 4
        write_node(out, node, node.cpus, depth)
        for other in (one for one in near if one.near == node.number):
            write_node(out, other, node.cpus, depth)
        write_cores(out, package, node, depth)
        for bridge in machine.host_bridges:
            if not whole and bridge.numa == node.number:
                write_host_bridge(out, machine, bridge, depth)
        if depth == 4:
            out.close(3)
    out.close(2)


def write_node(out: Writer, node: NumaNode, cpus: str, depth: int) -> None:
    subtype = ' subtype="GPUMemory"' if node.kind == "gpu-memory" else ""
    memory = f' local_memory="{node.memory_bytes}"' if node.memory_bytes else ""
    out.open(
        depth,
        "NUMANode",
        f'{subtype.strip()} os_index="{node.number}" {sets(cpus, str(node.number))}{memory}'.strip(),
        True,
    )


def write_cores(out: Writer, package: Package, node: NumaNode, depth: int) -> None:
    numbers = split(package.cpus)
    cores = len(numbers) // package.threads
    here = set(split(node.cpus))
    for core in range(cores):
        threads = numbers[core::cores]
        if threads[0] not in here:
            continue
        out.open(depth, "Core", f'os_index="{core}" {sets(join(threads), str(node.number))}')
        for cpu in threads:
            out.open(depth + 1, "PU", f'os_index="{cpu}" {sets(str(cpu), str(node.number))}', True)
        out.close(depth)


def endpoints(machine: Machine) -> tuple[Endpoint, ...]:
    return (*machine.gpus, *machine.nics, *machine.nvmes, *machine.nvswitches, *machine.others)


def buses(machine: Machine, bridge: str) -> tuple[int, int]:
    """Secondary and subordinate bus: what lies below."""
    below = [item for item in (*machine.bridges, *endpoints(machine)) if item.parent == bridge]
    numbers = [int(item.pci.split(":")[1], 16) for item in below]
    deeper = [buses(machine, item.pci)[1] for item in below if isinstance(item, Bridge)]
    return min(numbers, default=0), max([*numbers, *deeper], default=0)


def write_host_bridge(out: Writer, machine: Machine, bridge: HostBridge, depth: int) -> None:
    domain, bus = bridge.id.removeprefix("pci").split(":")
    _, last = buses(machine, bridge.id)
    out.open(depth, "Bridge", f'bridge_type="0-1" depth="0" bridge_pci="{domain}:[{bus}-{last:02x}]"')
    write_below(out, machine, bridge.id, depth + 1, 1)
    out.close(depth)


def write_below(out: Writer, machine: Machine, parent: str, depth: int, level: int) -> None:
    below = [item for item in (*machine.bridges, *endpoints(machine)) if item.parent == parent]
    for item in sorted(below, key=lambda item: item.pci):
        if isinstance(item, Bridge):
            first, last = buses(machine, item.pci)
            domain = item.pci.split(":")[0]
            place = f'bridge_type="1-1" depth="{level}" bridge_pci="{domain}:[{first:02x}-{last:02x}]"'
            identity = pci(item.pci, "0604", item.vendor, item.device, item.generation, item.width)
            out.open(depth, "Bridge", f"{place} {identity}")
            write_below(out, machine, item.pci, depth + 1, level + 1)
            out.close(depth)
        else:
            write_endpoint(out, machine, item, depth)


def pci(address: str, kind: str, vendor: str, device: str, generation: int, width: int) -> str:
    ids = f"[{vendor[2:]}:{device[2:]}]"
    speed = LANE_GBPS[generation] * width
    return f'pci_busid="{address}" pci_type="{kind} {ids} {ids} 00" pci_link_speed="{speed:.6f}"'


def write_endpoint(out: Writer, machine: Machine, item: Endpoint, depth: int) -> None:
    devices: list[tuple[int, str]] = []  # (osdev_type of hwloc 2.x, name)
    if isinstance(item, Gpu):
        identity = pci(item.pci, class_of(item)[2:6], "0x10de", item.device, IDLE, item.width)
    elif isinstance(item, Nic):
        kind = "0207" if item.link_layer == "InfiniBand" else "0200"
        identity = pci(item.pci, kind, item.vendor, item.device_id, item.generation, item.width)
        if item.netdev and machine.cpuset is None:
            devices.append((2, item.netdev))
        if item.device:
            devices.append((3, item.device))
    elif isinstance(item, Nvme):
        identity = pci(item.pci, "0108", "0x144d", "0xa80a", item.generation, item.width)
        devices.append((0, f"{item.name}n1"))
    elif isinstance(item, NvSwitch):
        identity = pci(item.pci, "0680", "0x10de", item.device, 3, 2)
    else:
        identity = pci(item.pci, item.class_code[2:6], item.vendor, item.device, 0, 0)
    out.open(depth, "PCIDev", identity, close=not devices)
    for kind_number, name in devices:
        out.open(depth + 1, "OSDev", f'name="{name}" osdev_type="{kind_number}"', True)
    if devices:
        out.close(depth)


def write_distances(out: Writer, nodes: tuple[NumaNode, ...]) -> None:
    if len(nodes) < 2:
        return
    indexes = " ".join(str(node.number) for node in nodes) + " "
    out.lines.append(f'  <distances2 type="NUMANode" nbobjs="{len(nodes)}" kind="5" name="NUMALatency" indexing="os">')
    out.lines.append(f'    <indexes length="{len(indexes)}">{indexes}</indexes>')
    for node in nodes:
        values = " ".join(map(str, node.distances)) + " "
        out.lines.append(f'    <u64values length="{len(values)}">{values}</u64values>')
    out.lines.append("  </distances2>")
