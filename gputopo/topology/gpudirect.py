"""GPUDirect: can a GPU and a near NIC (RDMA) or NVMe disk (Storage) move data without the host's memory?

A verdict from what can be read: the path level, the kernel modules, access control (ACS) of the switch ports
between the two, the IOMMU. `ready` means that nothing read stands against it, `not` that something does,
`unknown` that something was not read; `missing` names it. Judged are near pairs only, and only where a root
folder (sysfs) was read: no other source tells modules or ports.

Sources: NCCL's default level PXB, P2C through C2C from 2.29 (src/graph/paths.cc); dma-buf needs the open
kernel modules and Linux 5.12 (NCCL issues 1343, 1537, 1939); no IOMMU translation on x86 (NVIDIA, "GPUDirect
RDMA", Supported Systems); redirects at switch ports (NCCL troubleshooting, "PCI Access Control Services");
DirectTrans with ATS lets translated requests pass (nccl-tests issue 380); without nvidia_fs Storage can use
the kernel's own P2PDMA from Linux 6.2 on (NVIDIA, "GPUDirect Storage").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gputopo.terms.path_level import PathLevel
from gputopo.topology import level_sets
from gputopo.topology.gpudirect_facts import Facts, facts_of
from gputopo.topology.nearest import nearest
from gputopo.topology.node import Gpu, GpuDirect, Nic, NodeTopology, Nvme, Pair
from gputopo.topology.tree_level import sysfs_level

__all__ = ["NO_MODULE", "TRANSLATED", "near_paths"]

NO_MODULE = "neither nvidia_peermem is loaded nor dma-buf possible"
TRANSLATED = "the IOMMU translates"
_LSPCI = "ACS of the switch ports (root: lspci -vvv)"
_HOST = "ACS and ATS of the host (lspci -vvv on the hypervisor)"
_DMA_BUF_KERNEL, _P2PDMA_KERNEL = (5, 12), (6, 2)
_AMAZON = "0x1d0f"
_NOTHING = "any level"


class _Check(NamedTuple):
    """One condition: met, not met, or `None` = not known, then with what to read."""

    met: bool | None
    says: str = ""
    missing: str = ""


class _Path(NamedTuple):
    gpu: Gpu
    device: Nic | Nvme
    levels: tuple[PathLevel, ...]  # those still possible


def near_paths(node: NodeTopology) -> tuple[GpuDirect, ...]:
    """A verdict for each NVIDIA GPU with its nearest RDMA devices, then with its nearest disks."""
    gpus = [gpu for gpu in node.gpus if gpu.vendor == "nvidia"]
    if not gpus or not (node.nics or node.nvme):
        return ()
    facts = facts_of(node)
    rdma = [_judge(path, "rdma", _rdma(path, facts)) for path in _rdma_paths(node, gpus)]
    gds = [_judge(path, "gds", _gds(path, facts)) for path in _gds_paths(node, gpus, facts)]
    return (*rdma, *gds)


def _judge(path: _Path, kind: str, checks: Sequence[_Check]) -> GpuDirect:
    against = [check for check in checks if check.met is False]
    open_ = [check for check in checks if check.met is None]
    verdict = "not" if against else "unknown" if open_ else "ready"
    because = "; ".join(dict.fromkeys(check.says for check in against or open_ or checks if check.says))
    missing = () if against else tuple(dict.fromkeys(check.missing for check in open_))
    return GpuDirect(path.gpu.id, path.device.id, kind, verdict, because, missing)


# Which pairs


def _rdma_paths(node: NodeTopology, gpus: Sequence[Gpu]) -> Iterator[_Path]:
    """The nearest NICs that are RDMA devices; virtual functions share the path of their physical one."""
    nics = {nic.id: nic for nic in node.nics or () if nic.device is not None and nic.virtual_function_of is None}
    levels: dict[str, dict[str, Pair]] = {gpu.id: {} for gpu in gpus}
    for pair in node.pairs if nics else ():
        if pair.a in levels and pair.b in nics:
            levels[pair.a][pair.b] = pair
        elif pair.b in levels and pair.a in nics:
            levels[pair.b][pair.a] = pair
    for gpu in gpus:
        mine = levels[gpu.id]
        for id in nearest((id, pair.pcie, pair.pcie_candidates) for id, pair in mine.items()):
            level = mine[id].pcie
            yield _Path(gpu, nics[id], mine[id].pcie_candidates if level is None else (level,))


def _gds_paths(node: NodeTopology, gpus: Sequence[Gpu], facts: Facts) -> Iterator[_Path]:
    disks = {disk.id: disk for disk in node.nvme or ()}
    for gpu in gpus:
        for id in gpu.nearest_nvme:
            disk = disks[id]
            chains = facts.chains.get(gpu.id), facts.chains.get(disk.id)
            if chains[0] and chains[1]:
                mask = sysfs_level(chains[0], chains[1], gpu.numa_nodes, disk.numa_nodes)
                yield _Path(gpu, disk, level_sets.levels(mask))


# What each needs


def _rdma(path: _Path, facts: Facts) -> list[_Check]:
    return [_driver(path), _rdma_level(path, facts), _rdma_module(path, facts), *_traffic(path, facts)]


def _gds(path: _Path, facts: Facts) -> list[_Check]:
    return [_driver(path), _gds_level(path), _gds_module(facts), *_traffic(path, facts)]


def _traffic(path: _Path, facts: Facts) -> list[_Check]:
    """What may keep packets from going straight from one device to the other."""
    if facts.virtual:
        return [_Check(None, "in a virtual machine the host's ACS and ATS decide", _HOST)]
    return [_access_control(path, facts), _iommu(path, facts)]


def _driver(path: _Path) -> _Check:
    if path.gpu.driver == "vfio-pci":
        return _Check(False, "the GPU is bound to vfio-pci")
    return _Check(True)


def _rdma_level(path: _Path, facts: Facts) -> _Check:
    words = " or ".join(level.name for level in path.levels) or _NOTHING
    if _near(path):
        return _Check(True, words)
    if path.levels and min(path.levels) > PathLevel.PXB:
        if path.gpu.c2c:
            version = "the version of NCCL (from 2.29 on it goes through C2C)"
            return _Check(None, f"{words}, and C2C to the CPU", version)
        if facts.is_arm and path.gpu.c2c is None:
            return _Check(None, words, "C2C links of the GPU (NVML)")
        return _Check(False, f"{words}: NCCL's default ends at PXB (NCCL_NET_GDR_LEVEL)")
    return _Check(None, f"the level is {words}", "the level (nvidia-smi topo -m with its NIC rows)")


def _near(path: _Path) -> bool:
    return bool(path.levels) and max(path.levels) <= PathLevel.PXB


def _gds_level(path: _Path) -> _Check:
    words = " or ".join(level.name for level in path.levels)
    if _near(path):
        return _Check(True, words)
    return _Check(None, f"{words}: through the CPU", "whether GPU and disk reach each other so (gdscheck -p)")


def _rdma_module(path: _Path, facts: Facts) -> _Check:
    if isinstance(path.device, Nic) and path.device.vendor == _AMAZON:
        return _Check(None, "EFA has GPUDirect of its own", "what the EFA driver offers (fi_info -p efa)")
    if "nvidia_peermem" in facts.loaded or "nv_peer_mem" in facts.loaded:
        if facts.registered is not False:
            return _Check(True, "nvidia_peermem" if "nvidia_peermem" in facts.loaded else "nv_peer_mem")
        peermem: bool | None = False
    else:
        peermem = False if {"nvidia_peermem", "nv_peer_mem"} <= facts.absent else None
    dma_buf = facts.is_open_module and facts.kernel_from(_DMA_BUF_KERNEL)
    if dma_buf:
        return _Check(True, "dma-buf")
    if peermem is False and (facts.is_open_module is False or facts.kernel_from(_DMA_BUF_KERNEL) is False):
        return _Check(False, NO_MODULE)
    needs = "loaded modules (lsmod)" if peermem is None else "proc/driver/nvidia/version and the kernel's release"
    return _Check(None, "kernel modules not read", needs)


def _gds_module(facts: Facts) -> _Check:
    if "nvidia_fs" in facts.loaded:
        return _Check(True, "nvidia_fs")
    if "nvidia_fs" not in facts.absent:
        return _Check(None, "kernel modules not read", "loaded modules (lsmod)")
    if facts.is_open_module is False or facts.kernel_from(_P2PDMA_KERNEL) is False:
        return _Check(False, "nvidia_fs is not loaded")
    return _Check(None, "nvidia_fs is not loaded, the kernel's P2PDMA may stand in", "what GDS says (gdscheck -p)")


def _access_control(path: _Path, facts: Facts) -> _Check:
    """Ports below the common one: a redirect at any of them sends requests up to the CPU."""
    if not _near(path):
        return _Check(True)  # the path goes through the CPU anyway
    first, second = facts.chains.get(path.gpu.id), facts.chains.get(path.device.id)
    if not first or not second:
        return _Check(None, "the ports between them are not known", "the PCI tree (sysfs)")
    ports = _ports(first, second)
    said = [facts.acs[port] for port in ports if port in facts.acs]
    redirects = [flags for flags in said if flags.redirects]
    if redirects:
        ats = facts.ats.get(path.device.id)
        direct = all(flags.direct for flags in redirects)
        if direct and ats is None:
            return _Check(None, "ACS redirects all but translated requests", "ATS of the device (root: lspci -vvv)")
        if direct and ats:
            return _Check(True, "ACS redirects, DirectTrans and ATS are on")
        return _Check(False, "ACS sends the traffic between them up to the CPU")
    if all(port in facts.acs for port in ports):
        return _Check(True, "no ACS redirect")
    groups = facts.groups.get(path.gpu.id), facts.groups.get(path.device.id)
    if groups[0] is not None and groups[0] == groups[1]:
        return _Check(True, "no ACS redirect (one IOMMU group)")
    hint = "" if None in groups else "; their IOMMU groups are apart, as ACS makes them"
    return _Check(None, f"ACS not read{hint}", _LSPCI)


def _ports(first: tuple[str, ...], second: tuple[str, ...]) -> list[str]:
    """The downstream ports: below the last common bridge, every second one (the others face upward)."""
    common = 0
    while common < min(len(first), len(second)) and first[common] == second[common]:
        common += 1
    return [*first[common::2], *second[common::2]]


def _iommu(path: _Path, facts: Facts) -> _Check:
    if facts.is_arm:
        return _Check(True)  # the SMMU translates by design, with ATS
    if facts.iommu_off:
        return _Check(True, "IOMMU off")
    types = [facts.group_types.get(device) for device in (path.device.id, path.gpu.id)]
    translated = next((kind for kind in types if kind in ("DMA", "DMA-FQ")), None)
    if translated:
        return _Check(False, f"{TRANSLATED} (group type {translated})")
    if types[0] == "identity":
        return _Check(True, "IOMMU in pass-through")
    if facts.pass_through:
        return _Check(True, facts.pass_through)
    return _Check(None, "IOMMU mode not read", "sys/kernel/iommu_groups/*/type")
