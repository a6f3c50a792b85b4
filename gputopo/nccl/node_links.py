"""What of a node goes into NCCL's strings: PCIe, NVLink, C2C, compute capability."""

from __future__ import annotations

from gputopo.records import NcclElement
from gputopo.topology.node import Gpu, NodeTopology, Pcie
from gputopo.topology.nvlink_ends import nvlink_ends

_CLASS = {"gpu": "0x030200", "switch": "0x068000", "cpu": "0x068001"}
_SPEEDS = {1: "2.5 GT/s", 2: "5.0 GT/s PCIe", 3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe",
           6: "64.0 GT/s PCIe"}  # fmt: skip
_HIDDEN = "fffffff:ffff:ff"
# A GPU's generation by compute capability, as it is built into servers (NVIDIA's data sheets).
_GENERATION = ((90, 5), (80, 4), (0, 3))
# The fewest NVLinks that say what it is: Hopper and Blackwell have 18, Ampere 12, Volta 6, a bridge of GA102 4.
_BY_LINKS = ((13, 90), (7, 80), (5, 70), (3, 86), (0, 80))
_ARCHITECTURES = {"Pascal": 60, "Volta": 70, "Turing": 75, "Ampere": 80, "Ada Lovelace": 89, "Hopper": 90,
                  "Blackwell": 100}  # fmt: skip


def sm_of(gpu: Gpu, said: dict[str, None]) -> int:
    major, dot, minor = (gpu.compute_capability or "").partition(".")
    if dot and major.isdecimal() and minor.isdecimal() and len(major) < 4 and len(minor) < 3:
        return int(major) * 10 + int(minor)
    if gpu.architecture in _ARCHITECTURES:
        said["compute capability taken from the architecture"] = None
        return _ARCHITECTURES[gpu.architecture]
    links = (gpu.nvlinks.active if gpu.nvlinks is not None else None) or 0
    sm = next(level for fewest, level in _BY_LINKS if links >= fewest)
    said[f"compute capability taken as {sm / 10} (not in the evidence; {links or 'no'} NVLinks)"] = None
    return sm


def pcie_of(link: Pcie | None, sm: int | None, said: dict[str, None]) -> dict[str, str]:
    """What the link can do: an idle GPU's is slow now. `sm` of a GPU, `None` of a NIC."""
    generation = width = None
    if link is not None:
        generation, width = link.max_generation or link.generation, link.max_width or link.width
    if generation not in _SPEEDS:
        generation = next(known for lowest, known in _GENERATION if (sm or 80) >= lowest)
        said[f"PCIe taken as generation {generation} where it is not in the evidence"] = None
    if not width:
        width = 16
        said["PCIe taken as 16 lanes where they are not in the evidence"] = None
    return {"link_speed": _SPEEDS[generation], "link_width": str(width)}


def nvlink_rows(
    node: NodeTopology, gpu: Gpu, busids: dict[str, str], said: dict[str, None]
) -> tuple[NcclElement, ...]:  # fmt: skip
    ends = nvlink_ends(node, gpu)
    if ends is None:
        said[f"NVLinks of {gpu.id} taken as none (not in the evidence)"] = None
        return ()
    rows = []
    for end, count in ends.items():
        target = _HIDDEN if end.id is None else busids.get(end.id, end.id)
        rows.append(NcclElement("nvlink", {"target": target, "count": str(count), "tclass": _CLASS[end.kind]}))
    return tuple(rows)


def c2c_row(gpu: Gpu) -> tuple[NcclElement, ...]:
    """MB/s a link and the number of links."""
    found = gpu.c2c or {}
    if "count" not in found or "gbpsPerLink" not in found:
        return ()
    says = {"bw": str(round(found["gbpsPerLink"] * 1000)), "count": str(round(found["count"]))}
    return (NcclElement("c2c", says),)
