"""`NodeTopology` → the file NCCL would make of the node, as far as the evidence goes; the rest is supposed and named.

Two roads end in one tree: switches as a source lists them, or made up from the levels of pairs (levels are an
ultrametric, so sets of devices nearer than a level are nested). An NVML index is NCCL's `dev`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from gputopo.nccl.machines import Machine, Refused, machine_of
from gputopo.nccl.node_links import c2c_row, nvlink_rows, pcie_of, sm_of
from gputopo.nccl.node_places import Place, places_of
from gputopo.nccl.settings import DEFAULTS, Settings
from gputopo.records import NcclElement
from gputopo.topology.node import Gpu, Nic, NodeTopology

_SWITCH, _GPU, _NIC = "0x060400", "0x030200", "0x020000"
_UNKNOWN_CPU = {"arch": "x86_64", "vendor": "GenuineIntel", "familyid": "6", "modelid": "85"}


class OfNode(NamedTuple):
    system: NcclElement
    busids: dict[str, str]  # GPU id → its bus id in the file; made up where the node has none
    assumptions: tuple[str, ...]


def machine_of_node(
    node: NodeTopology, settings: Settings = DEFAULTS, gpus: Collection[str] | None = None
) -> Machine | Refused:  # fmt: skip
    """`gpus`: ids of the node, `None` all."""
    if not node.gpus:
        return Refused("the node has no GPU", None, 3)
    foreign = [gpu.id for gpu in node.gpus if gpu.vendor not in (None, "nvidia")]
    if foreign:
        return Refused(f"{', '.join(foreign[:4])} no GPU of NVIDIA", None, 3)
    places = [gpu.pci for gpu in node.gpus if gpu.pci is not None]
    if len(set(places)) < len(places):
        return Refused("two GPUs have one PCI address in the evidence", None, 3)
    file = file_of(node)
    chosen = None if gpus is None else [file.busids[gpu] for gpu in gpus if gpu in file.busids]
    return machine_of(file.system, settings, gpus=chosen, said=file.assumptions, is_file=False, names=file.busids)


def file_of(node: NodeTopology) -> OfNode:
    """GPUs first, in the node's order, then the NICs whose rate is known."""
    said: dict[str, None] = {}
    busids = {gpu.id: gpu.pci or f"ffff:{n:02x}:00.0" for n, gpu in enumerate(node.gpus)}
    nics = [nic for nic in node.nics or () if nic.rate_gbps is not None]
    if len(nics) < len(node.nics or ()):
        said["NICs of unknown rate are left out"] = None
    devices: list[Gpu | Nic] = [*node.gpus, *nics]
    leaves = {}
    for gpu in node.gpus:
        leaves[gpu.id] = _gpu(node, gpu, busids, said)
    for number, nic in enumerate(nics):
        leaves[nic.id] = _nic(nic, number, said)
    places = places_of(node, devices, said)
    cpus = []
    for numaid in dict.fromkeys(place.numaid for place in places):
        here = [place for place in places if place.numaid == numaid]
        says = {"numaid": str(numaid), **_cpu(node, here[0].numa, said)}
        cpus.append(NcclElement("cpu", says, _level(here, leaves, 0)))
    return OfNode(NcclElement("system", {"version": "1"}, tuple(cpus)), busids, tuple(said))


def _level(places: list[Place], leaves: dict[str, NcclElement], depth: int) -> tuple[NcclElement, ...]:
    """The elements of one level: devices that hang here, switches with what is below them."""
    found: list[NcclElement] = []
    done: set[str] = set()
    for place in places:
        if len(place.switches) == depth:
            found.append(leaves[place.device])
        elif place.switches[depth].busid not in done:
            switch = place.switches[depth]
            done.add(switch.busid)
            inside = [one for one in places if one.switches[: depth + 1] == place.switches[: depth + 1]]
            says = {"busid": switch.busid, "class": _SWITCH, **switch.attributes}
            found.append(NcclElement("pci", says, _level(inside, leaves, depth + 1)))
    return tuple(found)


def _gpu(node: NodeTopology, gpu: Gpu, busids: dict[str, str], said: dict[str, None]) -> NcclElement:
    sm = sm_of(gpu, said)
    dev = gpu.nvml_index if gpu.nvml_index is not None else list(busids).index(gpu.id)
    says = {"dev": str(dev), "sm": str(sm), "gdr": "1"}
    rows = (*nvlink_rows(node, gpu, busids, said), *c2c_row(gpu))
    link = pcie_of(gpu.pcie, sm, said)
    return NcclElement(
        "pci", {"busid": busids[gpu.id], "class": _GPU, "vendor": "0x10de", **link}, (NcclElement("gpu", says, rows),)
    )


def _nic(nic: Nic, number: int, said: dict[str, None]) -> NcclElement:
    """A function of a card is a port of its own here."""
    speed = round((nic.rate_gbps or 0) * 1000)
    says = {"name": nic.device or nic.id, "dev": str(number), "speed": str(speed), "gdr": "1"}
    said["NICs take GPUDirect RDMA"] = None
    nets = NcclElement("nic", {}, (NcclElement("net", says),))
    busid = nic.pci or f"ffff:{number:02x}:01.0"
    return NcclElement("pci", {"busid": busid, "class": _NIC, **pcie_of(nic.pcie, None, said)}, (nets,))


def _cpu(node: NodeTopology, numa: int | None, said: dict[str, None]) -> dict[str, str]:
    of = next((one for one in node.numa_nodes or () if one.number == numa), None)
    wanted = of.packages if of is not None else None
    for one in node.packages or ():
        if wanted is not None and one.id not in wanted:
            continue
        if one.arch in ("aarch64", "arm64"):
            return {"arch": "arm64"}
        if one.vendor == "AuthenticAMD":
            return {"arch": "x86_64", "vendor": one.vendor, "familyid": str(one.family or 0), "modelid": "0"}
        if one.vendor is not None and one.family is not None and one.model is not None:
            return {"arch": "x86_64", "vendor": one.vendor, "familyid": str(one.family), "modelid": str(one.model)}
    for seen in node.observations:
        if seen.kind == "cpu-model":
            return {"familyid": "0", "modelid": "0", "vendor": "", **_as_said(seen.text)}
    said["the CPU is not known: taken as an Intel Skylake, 10 GB/s between NUMA nodes"] = None
    return dict(_UNKNOWN_CPU)


def _as_said(text: str) -> dict[str, str]:
    """`arch=x86_64 vendor=GenuineIntel familyid=6` of another NCCL file."""
    words = (word.partition("=") for word in text.split())
    found = {name: value for name, equals, value in words if equals}
    return {"arch": "x86_64", **found}
