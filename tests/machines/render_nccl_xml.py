"""The topology XML that NCCL_TOPO_DUMP_FILE writes: one `<pci>` a switch, NICs folded to cards.

NCCL climbs two path steps at a time, so of a switch only the upstream port is an element and root
ports are none; the functions of a NIC are one element with a `<net>` each (src/graph/xml.cc).
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.machines.cpu_numbers import kernel_mask, split
from tests.machines.letters import chain, nvlinks
from tests.machines.machine import Bridge, Gpu, Machine, Nic

SPEEDS = {1: "2.5 GT/s PCIe", 2: "5.0 GT/s PCIe", 3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe"}
HIDDEN_TARGET = "fffffff:ffff:ff"
Leaf = Gpu | tuple[Nic, ...]


def render_nccl_xml(machine: Machine) -> str:
    """The full dump of a communicator over all GPUs of the machine."""
    nodes = sorted({leaf_numaid(leaf) for leaf in leaves(machine)})
    lines = ['<system version="1">']
    for numa in nodes:
        lines.append(f"  <cpu {cpu_attributes(machine, numa)}>")
        below = [leaf for leaf in leaves(machine) if leaf_numaid(leaf) == numa]
        lines += level(machine, below, 0, "    ")
        lines.append("  </cpu>")
    return "\n".join([*lines, "</system>"]) + "\n"


def leaves(machine: Machine) -> list[Leaf]:
    """GPUs, then the cards of the RDMA NICs."""
    cards: dict[str, list[Nic]] = {}
    for nic in machine.rdma_nics:
        cards.setdefault(nic.pci[:-2], []).append(nic)
    return [*machine.gpus, *(tuple(sorted(card, key=lambda nic: nic.pci)) for card in cards.values())]


def leaf_numaid(leaf: Leaf) -> int:
    """NUMA node, -1 where the kernel says so."""
    numa = leaf.numa if isinstance(leaf, Gpu) else leaf[0].numa
    return -1 if numa is None else numa


def switches_above(machine: Machine, leaf: Leaf) -> list[str]:
    parent = leaf.parent if isinstance(leaf, Gpu) else leaf[0].parent
    upstream = {bridge.pci for bridge in machine.bridges if bridge.kind == "upstream"}
    return [pci for pci in chain(machine, parent) if pci in upstream]


def cpu_attributes(machine: Machine, numa: int) -> str:
    package = next(
        (package for package in machine.packages if numa >= 0 and _within(machine.cpus_near(numa), package.cpus)),
        machine.packages[0],
    )
    text = f'numaid="{numa}"'
    if numa >= 0:
        cpus = max(split(machine.all_cpus)) + 1
        text += f' affinity="{kernel_mask(machine.cpus_near(numa), cpus)}"'
    if machine.arch != "x86_64":
        return text + ' arch="arm64"'
    return text + f' arch="x86_64" vendor="{package.vendor}" familyid="{package.family}" modelid="{package.model}"'


def _within(cpus: str, package: str) -> bool:
    return set(split(cpus)) <= set(split(package))


def level(machine: Machine, below: Sequence[Leaf], depth: int, indent: str) -> list[str]:
    """The elements of one level: devices that hang here, switches with what is under them."""
    lines: list[str] = []
    done: set[str] = set()
    for leaf in below:
        path = switches_above(machine, leaf)
        if len(path) == depth:
            lines += leaf_lines(machine, leaf, indent)
        elif path[depth] not in done:
            done.add(path[depth])
            bridge = next(bridge for bridge in machine.bridges if bridge.pci == path[depth])
            inside = [other for other in below if switches_above(machine, other)[: depth + 1] == path[: depth + 1]]
            lines.append(f"{indent}<pci {switch_attributes(bridge)}>")
            lines += level(machine, inside, depth + 1, indent + "  ")
            lines.append(f"{indent}</pci>")
    return lines


def switch_attributes(bridge: Bridge) -> str:
    return pci_attributes(bridge.pci, "0x060400", bridge.vendor, bridge.device, bridge.generation, bridge.width)


def pci_attributes(pci: str, class_code: str, vendor: str, device: str, generation: int, width: int) -> str:
    return (
        f'busid="{pci}" class="{class_code}" vendor="{vendor}" device="{device}" '
        f'link_speed="{SPEEDS.get(generation, "")}" link_width="{width}"'
    )


def leaf_lines(machine: Machine, leaf: Leaf, indent: str) -> list[str]:
    if isinstance(leaf, Gpu):
        head = pci_attributes(leaf.pci, class_of(leaf), "0x10de", leaf.device, leaf.generation, leaf.width)
        return [f"{indent}<pci {head}>", *gpu_lines(machine, leaf, indent + "  "), f"{indent}</pci>"]
    card = leaf[0]
    class_code = "0x020700" if card.link_layer == "InfiniBand" else "0x020000"
    head = pci_attributes(f"{card.pci[:-1]}0", class_code, card.vendor, card.device_id, card.generation, card.width)
    nets = [net_line(machine, nic, indent + "    ") for nic in leaf]
    return [f"{indent}<pci {head}>", f"{indent}  <nic>", *nets, f"{indent}  </nic>", f"{indent}</pci>"]


def class_of(gpu: Gpu) -> str:
    return "0x030000" if gpu.vga else "0x030200"


def gpu_lines(machine: Machine, gpu: Gpu, indent: str) -> list[str]:
    inner = []
    for peer, _ in gpu.peers:
        count, _via = nvlinks(machine, gpu, machine.gpus[peer])
        target = machine.gpus[peer]
        inner.append(f'<nvlink target="{target.pci}" count="{count}" tclass="{class_of(target)}"/>')
    for switch, count in gpu.fabric:
        pci = HIDDEN_TARGET if switch is None else machine.nvswitches[switch].pci
        inner.append(f'<nvlink target="{pci}" count="{count}" tclass="0x068000"/>')
    if gpu.c2c:
        inner.append(f'<c2c bw="{gpu.c2c[1]}" count="{gpu.c2c[0]}"/>')
    head = f'<gpu dev="{gpu.number}" sm="{gpu.sm}" rank="{gpu.number}" gdr="{int(gpu.p2p)}"'
    if not inner:
        return [f"{indent}{head}/>"]
    return [f"{indent}{head}>", *(f"{indent}  {line}" for line in inner), f"{indent}</gpu>"]


def net_line(machine: Machine, nic: Nic, indent: str) -> str:
    number = machine.rdma_nics.index(nic)
    return (
        f'{indent}<net name="{nic.device}" dev="{number}" latency="0.000000" speed="{nic.rate * 1000}" port="1" '
        f'guid="0x{0x020000FFFE000000 + number:x}" maxconn="131072" gdr="1"/>'
    )
