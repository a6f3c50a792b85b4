"""Slurm's `gres.conf`: one line a GPU, with its file, its cores and the number of NVLinks to each other.

No slurmd has read one of these files yet, so each says to compare it with `slurmd -G`. Lines stand in PCI bus order,
as AutoDetect=nvml sorts them, and the places in `Links` are those lines. `Links` counts links whose far end
is a GPU of the node, so through NVSwitches it is 0: any other number contradicts AutoDetect and drains the node.
`Cores` are Slurm's own numbers: cores, not hardware threads, socket after socket; they must be one whole socket, or
all cores of the node. Read at SchedMD/slurm 284c3b9, src/plugins/gpu/nvml/gpu_nvml.c and src/interfaces/gres.c.
"""

from __future__ import annotations

from gputopo.errors import GputopoError
from gputopo.export.missing import need_distinct, need_no_mig, need_nvidia
from gputopo.terms.gres_type import gres_type
from gputopo.terms.pci_address import PciAddress
from gputopo.topology.node import Gpu, NodeTopology, Package


def text(node: NodeTopology, threads_per_core: int | None = None) -> str:
    """The file. Raises GputopoError where the device files are not known."""
    need_nvidia(node, "gres.conf")
    need_no_mig(node, "their device files are not in the evidence; AutoDetect=nvml finds them")
    need_distinct(node.gpus, "minor", "device minor", "nvidia-smi -q -x")
    need_distinct(node.gpus, "pci", "PCI address", "nvidia-smi -q -x")
    gpus = sorted(node.gpus, key=lambda gpu: (PciAddress.parse(gpu.pci or "") or (), str(gpu.pci)))
    named = all(gpu.name for gpu in gpus)
    links = {gpu.id: _links(node, gpu, gpus) for gpu in gpus}
    linked = all(row is not None for row in links.values())
    cores, why_no_cores = _cores(node, gpus, threads_per_core)
    lines = [f"# {node.name or 'this node'}: {len(gpus)} GPUs in PCI bus order", *_remarks(node, named, linked)]
    lines.append("# not read by a real slurmd here: compare with what slurmd -G prints on the node")
    if why_no_cores:
        lines.append(f"# Cores left out: {why_no_cores}")
    lines.append("AutoDetect=off")
    for gpu in gpus:
        says = {
            "NodeName": node.name,
            "Name": "gpu",
            "Type": gres_type(gpu.name or "") if named else None,
            "File": f"/dev/nvidia{gpu.minor}",
            "Cores": cores.get(gpu.id),
            "Links": ",".join(map(str, links[gpu.id] or ())) if linked else None,
        }
        lines.append(" ".join(f"{key}={value}" for key, value in says.items() if value is not None))
    return "\n".join(lines) + "\n"


def _remarks(node: NodeTopology, named: bool, linked: bool) -> list[str]:
    lines = []
    if not named:
        lines.append("# Type left out: the GPUs' product names are not in the evidence")
    if not linked:
        lines.append("# Links left out: the number of NVLinks of a pair is not in the evidence")
    elif any(pair.via_switch for pair in node.pairs):
        lines.append("# Links counts direct NVLinks; through NVSwitches it is 0, as AutoDetect=nvml says it")
    return lines


def _links(node: NodeTopology, gpu: Gpu, gpus: list[Gpu]) -> list[int] | None:
    """-1 in its own place; `None` where a number is not known."""
    pairs = {frozenset((pair.a, pair.b)): pair for pair in node.pairs}
    row = []
    for other in gpus:
        pair = pairs.get(frozenset((gpu.id, other.id)))
        if other is gpu:
            row.append(-1)
        elif pair is not None and pair.via_switch:
            row.append(0)
        elif pair is None or pair.nvlinks is None or (pair.nvlinks and pair.via_switch is None):
            return None
        else:
            row.append(pair.nvlinks)
    return row


def _cores(node: NodeTopology, gpus: list[Gpu], threads: int | None) -> tuple[dict[str, str], str]:
    """GPU → its sockets' cores in Slurm's numbers; else why not."""
    packages = sorted(node.packages or (), key=lambda package: min(package.cpus or (0,)))
    if not packages or any(not package.cpus for package in packages) or any(not gpu.packages for gpu in gpus):
        return {}, "the sockets of the GPUs are not in the evidence"
    if threads is None:
        return {}, "threads of a core are not in the evidence; --threads-per-core N says them"
    sizes = {len(package.cpus or ()) for package in packages}
    if len(sizes) != 1 or next(iter(sizes)) % threads:
        raise GputopoError(f"{threads} threads a core do not divide the sockets' CPUs alike", "--threads-per-core")
    if any(len(gpu.packages or ()) not in (1, len(packages)) for gpu in gpus):
        return {}, "a GPU is near some of the sockets, and Slurm takes one or all of them"
    each = next(iter(sizes)) // threads
    return {gpu.id: _ranges(packages, gpu.packages or (), each) for gpu in gpus}, ""


def _ranges(packages: list[Package], of: tuple[str, ...], each: int) -> str:
    places = [at for at, package in enumerate(packages) if package.id in of]
    return ",".join(f"{at * each}-{(at + 1) * each - 1}" for at in places)
