"""`NCCL_TOPO_FILE`: the topology XML that NCCL reads instead of looking for itself (src/graph/xml.cc).

NCCL fills in what a file leaves out from /sys and NVML on the node (`class`, link speed, `sm`, `rank`, NVLink
rows of a GPU without any), so what the evidence lacks is left out; what a file says wins over the node.

A `<net>` that the file names is another matter (v2.30.7-1, ncclTopoFillNet): nothing above it is filled in, and NCCL
stops where a `<pci>` has no link_width. Where a GPU is below the same `<pci>`, its own process fills that in and the
others do not, so that NCCL takes one switch for two. So a `<nic>` is written only where nothing is left to fill in;
else its `<pci>` alone: NCCL finds the port by itself and hangs it there.
"""

from __future__ import annotations

from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from gputopo.errors import GputopoError
from gputopo.export.missing import NOT_ENOUGH, missing, need_distinct, need_nvidia
from gputopo.export.nccl_links import c2c_row, nvlink_rows
from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.bridges_above import nccl_switches
from gputopo.topology.node import Bridge, Gpu, Nic, NodeTopology, NumaNode, Pcie

_SPEEDS = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}
_BUS = "nvidia-smi -q -x, or a folder with sys/,"
_TREE = "a folder with sys/, lspci -vvv, or lstopo --of xml"
# NCCL takes every 0x03 for a GPU and every 0x02 for a NIC, and reads the node's own class where it can.
_SWITCH, _GPU, _NIC, _INFINIBAND = "0x060400", "0x030200", "0x020000", "0x020700"
_X86 = ("GenuineIntel", "AuthenticAMD")  # these vendor words are answers of CPUID


class _Leaf(NamedTuple):
    numa: int
    switches: tuple[Bridge, ...]
    busid: str
    lines: tuple[str, ...]


def text(node: NodeTopology) -> str:
    """The file. Raises GputopoError where a GPU's place is not known."""
    need_nvidia(node, "nccl-xml")
    need_distinct(node.gpus, "pci", "PCI address", _BUS)
    links = {gpu.id: nvlink_rows(node, gpu) for gpu in node.gpus}
    # All or none: in a file with a <gpu>, NCCL's dump leaves it out of the GPUs that are not in the communicator.
    known = all(rows is not None for rows in links.values())
    leaves = [_gpu_leaf(node, gpu, links[gpu.id] if known else None) for gpu in node.gpus]
    cards, left_out = _cards(node)
    taken = {leaf.busid for leaf in leaves}
    shared = {switch.id for leaf in leaves for switch in leaf.switches}
    leaves += [_card_leaf(node, busid, nics, shared) for busid, nics in cards.items() if busid not in taken]
    lines = [_comment(left_out), '<system version="1">']
    for numa in sorted({leaf.numa for leaf in leaves}):
        lines.append(f"  <cpu {_cpu(node, numa)}>")
        lines += _level(node, [leaf for leaf in leaves if leaf.numa == numa], 0, "    ")
        lines.append("  </cpu>")
    return "\n".join([*lines, "</system>"]) + "\n"


def _comment(left_out: list[str]) -> str:
    said = "NCCL_TOPO_FILE; what is not here NCCL reads from the node"
    return f"<!-- {said} -->" if not left_out else f"<!-- {said}; NICs without a known place: {len(left_out)} -->"


def _gpu_leaf(node: NodeTopology, gpu: Gpu, links: list[str] | None) -> _Leaf:
    switches = nccl_switches(node, gpu)
    if switches is None:
        raise missing("place in the PCI tree unknown", [gpu.id], _TREE)
    numa = _numa(node, gpu)
    if numa is None:
        raise missing("NUMA node unknown", [gpu.id], "/sys/bus/pci/devices/*/numa_node of the host")
    element = _pci(str(gpu.pci), _GPU, "0x10de", None, _link(node, gpu.pcie))
    return _Leaf(numa, switches, str(gpu.pci), (element, *_gpu_element(gpu, links), "</pci>"))


def _gpu_element(gpu: Gpu, links: list[str] | None) -> list[str]:
    if links is None:
        return []
    says = {"dev": gpu.nvml_index, "sm": _sm(gpu)}
    head = " ".join(["<gpu", *(f'{key}="{value}"' for key, value in says.items() if value is not None)])
    inner = [*links, *c2c_row(gpu)]
    return [f"  {head}>", *(f"    {row}" for row in inner), "  </gpu>"] if inner else [f"  {head}/>"]


def _numa(node: NodeTopology, device: Gpu | Nic) -> int | None:
    """-1 is NCCL's own word for a device without one; one socket and no NUMA node leaves nothing to mistake."""
    found = device.numa_nodes
    if found is None and node.packages is not None and len(node.packages) == 1 and not node.numa_nodes:
        return -1
    return found[0] if found is not None and len(found) == 1 else None


def _sm(gpu: Gpu) -> int | None:
    major, dot, minor = (gpu.compute_capability or "").partition(".")
    return int(major) * 10 + int(minor) if dot and major.isdecimal() and minor.isdecimal() else None


def _cards(node: NodeTopology) -> tuple[dict[str, list[Nic]], list[str]]:
    """RDMA devices by the bus id NCCL gives them: functions of a card are one (net_ib, ncclIbGetPciPath)."""
    cards: dict[str, list[Nic]] = {}
    left_out = []
    for nic in node.nics or ():
        address = nic.virtual_function_of or nic.pci
        if nic.device is None or address is None or _numa(node, nic) is None or nccl_switches(node, nic) is None:
            left_out.append(nic.id)
        else:
            cards.setdefault(f"{address[:-1]}0", []).append(nic)
    return cards, left_out


def _card_leaf(node: NodeTopology, busid: str, nics: list[Nic], shared: set[str]) -> _Leaf:
    """`shared`: the switches that have GPUs below them, too."""
    first = next((nic for nic in nics if nic.virtual_function_of is None), nics[0])
    kind = _INFINIBAND if first.link_layer == "InfiniBand" else _NIC
    numa, switches = _numa(node, first) or 0, nccl_switches(node, first) or ()
    nets = [f"    <net {_net(nic)}/>" for nic in nics]
    inner = ("  <nic>", *nets, "  </nic>") if _is_whole(node, numa, switches, first.pcie, shared) else ()
    head = _pci(busid, kind, first.vendor, None, _link(node, first.pcie))
    return _Leaf(numa, switches, busid, (head, *inner, "</pci>"))


def _is_whole(
    node: NodeTopology, numa: int, switches: tuple[Bridge, ...], link: Pcie | None, shared: set[str]
) -> bool:  # fmt: skip
    """Whether NCCL has nothing to fill in above a `<net>`; of a switch it reads subsystem ids, which no source has."""
    links = [_link(node, one) for one in (link, *(switch.pcie for switch in switches))]
    cpu = _cpu_says(node, numa)
    filled = "affinity" in cpu and (cpu.get("arch") == "arm64" or "modelid" in cpu)
    return filled and all(len(one) == 2 for one in links) and not any(switch.id in shared for switch in switches)


def _net(nic: Nic) -> str:
    says = {
        "name": nic.device,
        "speed": None if nic.rate_gbps is None else str(round(nic.rate_gbps * 1000)),  # Mbit/s
        "port": None if nic.port is None else str(nic.port),
    }
    return " ".join(f"{key}={_quoted(value)}" for key, value in says.items() if value is not None)


def _pci(busid: str, kind: str, vendor: str | None, device: str | None, link: dict[str, str]) -> str:
    says = {"busid": busid, "class": kind, "vendor": vendor, "device": device} | link
    return f"<pci {' '.join(f'{key}={_quoted(value)}' for key, value in says.items() if value is not None)}>"


def _link(node: NodeTopology, link: Pcie | None) -> dict[str, str]:
    """What the link can do: an idle GPU's link is slow now, and the file would make it slow for good."""
    if link is None:
        return {}
    generation = link.max_generation
    width = link.max_width
    if generation is None and any(source.format == "nccl-xml" for source in node.sources):  # says one speed alone
        generation, width = link.generation, link.width
    says = {} if generation not in _SPEEDS else {"link_speed": f"{_SPEEDS[generation]} GT/s PCIe"}
    return says if width is None else says | {"link_width": str(width)}


def _quoted(value: str) -> str:
    """NCCL's reader knows no entities, so a value that would need one cannot be written."""
    if quoteattr(value) != f'"{value}"' or len(value) > 255:
        raise GputopoError(f"NCCL cannot read the name {value!r}", exit_code=NOT_ENOUGH)
    return f'"{value}"'


def _cpu(node: NodeTopology, numa: int) -> str:
    return " ".join(f"{key}={_quoted(value)}" for key, value in _cpu_says(node, numa).items())


def _cpu_says(node: NodeTopology, numa: int) -> dict[str, str]:
    of = next((one for one in node.numa_nodes or () if one.number == numa), None)
    says = {"numaid": str(numa)}
    if of is not None and of.cpus:
        says["affinity"] = mask(of.cpus)
    return says | _model(node, of)


def _model(node: NodeTopology, of: NumaNode | None) -> dict[str, str]:
    """arch, vendor, familyid and modelid together or not at all: NCCL asks for all once `arch` is x86_64."""
    packages = [one for one in node.packages or () if of is not None and one.id in (of.packages or ())]
    if len(packages) != 1:
        return {}
    one = packages[0]
    if one.arch in ("aarch64", "arm64"):
        return {"arch": "arm64"}
    if one.vendor is None or one.family is None or one.model is None:
        return {}
    if one.arch != "x86_64" and (one.arch is not None or one.vendor not in _X86):
        return {}
    return {"arch": "x86_64", "vendor": one.vendor, "familyid": str(one.family), "modelid": str(one.model)}


def mask(cpus: CpuSet) -> str:
    """As the kernel writes a CPU map.

    >>> mask(CpuSet.of([0, 33]))
    '00000002,00000001'
    """
    digits = f"{sum(1 << cpu for cpu in cpus):x}"
    padded = digits.zfill(-(-len(digits) // 8) * 8)
    return ",".join(padded[at : at + 8] for at in range(0, len(padded), 8))


def _level(node: NodeTopology, leaves: list[_Leaf], depth: int, indent: str) -> list[str]:
    """The elements of one level: devices that hang here, switches with what is below them."""
    lines: list[str] = []
    done: set[str] = set()
    for leaf in leaves:
        if len(leaf.switches) == depth:
            lines += (indent + line for line in leaf.lines)
        elif leaf.switches[depth].id not in done:
            switch = leaf.switches[depth]
            done.add(switch.id)
            inside = [one for one in leaves if one.switches[: depth + 1] == leaf.switches[: depth + 1]]
            lines.append(indent + _pci(switch.id, _SWITCH, switch.vendor, switch.device, _link(node, switch.pcie)))
            lines += [*_level(node, inside, depth + 1, indent + "  "), f"{indent}</pci>"]
    return lines
