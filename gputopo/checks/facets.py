"""What of a device is compared with another one's, field by field of the document.

Left out as noise: ids, indices and their order, what a link does while it idles (`pcie.generation`, NVLinks that
sleep), sizes that sources round differently, and what follows from something else (nearest NICs, islands).

    >>> from gputopo.topology.node import Gpu, Pcie
    >>> of_gpu(Gpu("GPU0", name="NVIDIA A10", pcie=Pcie(1, 8, 4, 16)))["pcie.width"]
    8
    >>> of_gpu(Gpu("GPU0"))["name"] is None
    True
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from gputopo.topology.node import Gpu, Nic, NodeTopology, NumaNode, Package, Pcie

Facets = dict[str, Any]  # field of the document → value; None: not known
_NO_PCIE = Pcie()
_LISTS_GPUS = ("sysfs-root", "nvml-recording", "hwloc-xml", "nccl-xml", "lspci-tv", "lspci-vvv", "nvidia-smi-q")
_MEMORY_STEP = 8 << 30  # bytes: kernels and drivers take some of a NUMA node's memory away


def of_gpu(gpu: Gpu) -> Facets:
    links, fabric = gpu.nvlinks, gpu.fabric
    return {
        "name": gpu.name,
        "vendor": gpu.vendor,
        "nvlinks.active": None if links is None else links.active,
        "nvlinks.total": None if links is None else links.total,
        "nvlinks.via": None if links is None else links.via,
        "fabric.state": None if fabric is None else fabric.state,
        "fabric.health": None if fabric is None else fabric.health,
        "mig": tuple(sorted(Counter(one.profile or "?" for one in gpu.mig).items())),
        **_width(gpu.pcie),
    }


def of_nic(nic: Nic) -> Facets:
    up = nic.state != "down"  # a port that is down says another rate
    return {
        "vendor": nic.vendor,
        "linkLayer": nic.link_layer,
        "rateGbps": nic.rate_gbps if up else None,
        "state": nic.state,
        "members": len(nic.members),
        "virtualFunctionOf": nic.virtual_function_of is not None,
        **_width(nic.pcie),
    }


def of_numa_node(one: NumaNode) -> Facets:
    return {
        "kind": one.kind,
        "cpus": None if one.cpus is None else len(one.cpus),
        "memoryBytes": None if one.memory_bytes is None else one.memory_bytes // _MEMORY_STEP,
    }


def of_package(one: Package) -> Facets:
    return {
        "vendor": one.vendor,
        "family": one.family,
        "model": one.model,
        "arch": one.arch,
        "cpus": None if one.cpus is None else len(one.cpus),
    }


def of_system(node: NodeTopology) -> Facets:
    system = node.system
    said: Facets = {"view": node.view, "virtual": node.virtual}
    if system is not None:
        said |= {
            "system.product": system.product, "system.kernel": system.kernel, "system.driver": system.driver,
            "system.cuda": system.cuda,
        }  # fmt: skip
    said["nvswitches"] = None if node.nvswitches is None else len(node.nvswitches)
    nvme = node.nvme
    said["nvme"] = None if nvme is None else len(nvme)
    widths = [one.pcie.width for one in nvme or () if one.pcie is not None and one.pcie.width is not None]
    said["nvme.pcie.width"] = tuple(sorted(widths)) if nvme and len(widths) == len(nvme) else None
    return said


def listed_gpus(node: NodeTopology) -> tuple[Gpu, ...] | None:
    """The GPUs; None where no source would have named one: `lscpu` of a node says nothing of them.

    >>> from gputopo.topology.node import Source
    >>> listed_gpus(NodeTopology(sources=(Source("lscpu", "a", "lscpu", "", True),))) is None
    True
    """
    if node.gpus or any(source.format in _LISTS_GPUS for source in node.sources):
        silent = any(note.attribute == "gpus" for note in node.unknown)
        return node.gpus if node.gpus or not silent else None
    return None


def unlike(a: Facets, b: Facets) -> list[str]:
    """The fields that both know and that differ, in order."""
    return [
        field for field, said in a.items() if said is not None and b.get(field) is not None and said != b.get(field)
    ]  # fmt: skip


def _width(pcie: Pcie | None) -> Facets:
    link = pcie or _NO_PCIE
    return {
        "pcie.width": link.width or None,
        "pcie.maxWidth": link.max_width or None,
        "pcie.maxGeneration": link.max_generation or None,
    }

