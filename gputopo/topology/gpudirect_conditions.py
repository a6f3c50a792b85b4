"""What GPUDirect needs of a GPU, a near device, and the way between them: one function a condition.

Sources. GPUs: NVIDIA, "GPUDirect RDMA" ("available on both Tesla and Quadro GPUs"; gdrcopy issue 211, gds-nvidia-fs
issue 14: a GeForce cannot). Level: NCCL's default PXB, P2C through C2C from 2.29 (src/graph/paths.cc). Memory peers:
NVIDIA "GPUDirect RDMA" (nvidia_peermem); dma-buf needs the open kernel modules and Linux 5.12 (NVIDIA GPU Operator,
"GPUDirect RDMA and GPUDirect Storage"; Red Hat's 4.18 has it too: nvshmem issue 67), and a NIC driver that takes it.
Redirects: Linux drivers/pci/p2pdma.c `pci_bridge_has_acs_redir` (ReqRedir, CmpltRedir, EgressCtrl of any bridge below
the common one). DirectTrans lets translated requests pass, which a device with ATS sends (nccl-tests issue 380).
IOMMU: NVIDIA "GPUDirect RDMA", Supported Systems (no translation but 1:1). Storage: nvidia-fs serves the drivers that
/proc/driver/nvidia-fs/modules lists (gds-nvidia-fs, nvfs-dma.c, nvfs-proc.c); the kernel's own P2PDMA can stand in
from Linux 6.2 on (NVIDIA, "GPUDirect Storage").
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.terms.path_level import PathLevel
from gputopo.topology.gpudirect_facts import Facts
from gputopo.topology.node import Gpu, Nic, Nvme

__all__ = ["ACS_READ", "IOMMU_READ", "NO_MODULE", "Condition", "Path", "gds", "rdma"]

NO_MODULE = "neither nvidia_peermem is loaded nor dma-buf possible"
ACS_READ = "ACS of the switch ports (root: lspci -vvv)"
IOMMU_READ = "/sys/kernel/iommu_groups/*/type"
_MODULES_READ = "loaded modules (lsmod)"
_GDSCHECK = "what GDS says (gdscheck -p)"
_HOST_READ = "ACS and ATS on the hypervisor (lspci -vvv there)"
_DMA_BUF_KERNEL, _P2PDMA_KERNEL = (5, 12), (6, 2)
_MELLANOX, _AMAZON = "0x15b3", "0x1d0f"
_CONSUMER = ("GEFORCE", "TITAN")
_TRANSLATING = ("DMA", "DMA-FQ")


class Condition(NamedTuple):
    """Met, not met, or `None` = not known, then with what to read."""

    met: bool | None
    says: str = ""
    missing: str = ""


class Path(NamedTuple):
    gpu: Gpu
    device: Nic | Nvme
    levels: tuple[PathLevel, ...]  # those still possible

    @property
    def below_one_switch(self) -> bool:
        return bool(self.levels) and max(self.levels) <= PathLevel.PXB


def rdma(path: Path, facts: Facts) -> list[Condition]:
    return [_driver(path.gpu), _product(path.gpu), _rdma_level(path, facts), _rdma_module(path, facts),
            *_traffic(path, facts)]  # fmt: skip


def gds(path: Path, facts: Facts) -> list[Condition]:
    return [_driver(path.gpu), _product(path.gpu), _gds_level(path), _disk_driver(path, facts), _gds_module(facts),
            *_traffic(path, facts)]  # fmt: skip


# The GPU


def _driver(gpu: Gpu) -> Condition:
    if gpu.driver == "nvidia" or (gpu.driver is None and gpu.nvml_index is not None):
        return Condition(True)
    if gpu.driver is None:
        return Condition(None, "the GPU's kernel driver is not known", "the GPU's kernel driver (lspci -nnk)")
    return Condition(False, f"the GPU is bound to {gpu.driver}")


def _product(gpu: Gpu) -> Condition:
    if gpu.name is None:
        return Condition(None, "the GPU's model is not known", "the GPU's model (nvidia-smi -L)")
    if any(word in gpu.name.upper() for word in _CONSUMER):
        return Condition(False, f"{gpu.name} is a consumer GPU")
    return Condition(True)


# The level


def _rdma_level(path: Path, facts: Facts) -> Condition:
    words = _words(path)
    if path.below_one_switch:
        return Condition(True, words)
    if path.levels and min(path.levels) > PathLevel.PXB:
        if path.gpu.c2c:
            version = "the version of NCCL (from 2.29 on it goes through C2C)"
            return Condition(None, f"{words}, and C2C to the CPU", version)
        if facts.is_arm and path.gpu.c2c is None:
            return Condition(None, words, "C2C links of the GPU (NVML)")
        return Condition(False, f"{words}: NCCL's default ends at PXB (NCCL_NET_GDR_LEVEL)")
    return Condition(None, f"the level is {words}", "the level (nvidia-smi topo -m with its NIC rows)")


def _gds_level(path: Path) -> Condition:
    if path.below_one_switch:
        return Condition(True, _words(path))
    return Condition(None, "not below one switch: through the CPU", _GDSCHECK)


def _words(path: Path) -> str:
    return " or ".join(level.name for level in path.levels) or "not known"


# The kernel modules


def _rdma_module(path: Path, facts: Facts) -> Condition:
    vendor = path.device.vendor if isinstance(path.device, Nic) else None
    if vendor == _AMAZON:
        return Condition(None, "EFA has GPUDirect of its own", "what the EFA driver offers (fi_info -p efa)")
    peermem, dma_buf = _peermem(facts), _dma_buf(facts)
    if peermem or dma_buf:
        way = _loaded_peermem(facts) if peermem else "dma-buf"
        if vendor == _MELLANOX:
            return Condition(True, way)
        test = "ib_write_bw --use_cuda=0" if peermem else "ib_write_bw --use_cuda=0 --use_cuda_dmabuf"
        return Condition(None, f"{way}; whether the NIC's driver takes it is not known", f"a test of the NIC ({test})")
    if peermem is False and dma_buf is False:
        return Condition(False, NO_MODULE)
    reads = [_MODULES_READ] if peermem is None else []
    if dma_buf is None and facts.is_open_module is None:
        reads.append("the kind of NVIDIA's kernel module (/proc/driver/nvidia/version)")
    elif dma_buf is None:
        reads.append("whether this kernel has dma-buf for RDMA (ib_write_bw --use_cuda=0 --use_cuda_dmabuf)")
    says = "kernel modules not read" if peermem is None else "nvidia_peermem is not loaded, dma-buf may stand in"
    return Condition(None, says, " and ".join(reads))


def _loaded_peermem(facts: Facts) -> str:
    return next((name for name in ("nvidia_peermem", "nv_peer_mem") if name in facts.loaded), "")


def _peermem(facts: Facts) -> bool | None:
    """Loaded, and not known to have failed to register with the RDMA stack."""
    if _loaded_peermem(facts):
        return facts.registered is not False
    return False if {"nvidia_peermem", "nv_peer_mem"} <= facts.absent else None


def _dma_buf(facts: Facts) -> bool | None:
    if facts.is_open_module is False:
        return False
    recent = facts.kernel_from(_DMA_BUF_KERNEL)
    if recent is False and not facts.has_backports:
        return False
    return True if facts.is_open_module and recent else None


def _gds_module(facts: Facts) -> Condition:
    if facts.storage_drivers is not None and "nvme" in facts.storage_drivers:
        return Condition(True, "nvidia_fs serves nvme")
    absent = "nvidia_fs" in facts.absent
    if not absent and facts.storage_drivers is None:
        if "nvidia_fs" in facts.loaded:
            says = "nvidia_fs is loaded, whether it serves nvme was not read"
            return Condition(None, says, "/proc/driver/nvidia-fs/modules")
        return Condition(None, "kernel modules not read", _MODULES_READ)
    says = "nvidia_fs is not loaded" if absent else "nvidia_fs does not serve nvme: its driver lacks the hooks"
    recent = facts.kernel_from(_P2PDMA_KERNEL)
    if facts.is_open_module is False or (recent is False and not facts.has_backports):
        return Condition(False, says)
    return Condition(None, f"{says}, the kernel's P2PDMA may stand in", _GDSCHECK)


def _disk_driver(path: Path, facts: Facts) -> Condition:
    driver = facts.disk_drivers.get(path.device.id)
    if driver is None:
        return Condition(None, "the disk's kernel driver is not known", "the disk's kernel driver (lspci -nnk)")
    return Condition(True) if driver == "nvme" else Condition(False, f"the disk is bound to {driver}")


# The way between them


def _traffic(path: Path, facts: Facts) -> list[Condition]:
    """What may keep packets from going straight from one device to the other."""
    if facts.virtual:
        return [Condition(None, "in a virtual machine the host's ACS and ATS decide", _HOST_READ)]
    return [_access_control(path, facts), _iommu(path, facts)]


def _access_control(path: Path, facts: Facts) -> Condition:
    """Bridges below the common one: a redirect at any of them sends requests up to the CPU."""
    if not path.below_one_switch:
        return Condition(True)  # the way goes through the CPU anyway
    first, second = facts.chains.get(path.gpu.id), facts.chains.get(path.device.id)
    if not first or not second:
        return Condition(None, "the ports between them are not known", "the PCI tree (sysfs)")
    between, facing_down = _between(first, second)
    redirects = [facts.acs[bridge] for bridge in between if bridge in facts.acs and facts.acs[bridge].redirects]
    if redirects:
        if not all(flags.lets_translated_pass for flags in redirects):
            return Condition(False, "ACS sends the traffic between them up to the CPU")
        ats = facts.ats.get(path.device.id)
        if ats is None:
            says = "ACS redirects all but translated requests"
            return Condition(None, says, "ATS of the device (root: lspci -vvv)")
        off = "ACS sends the traffic between them up to the CPU (ATS is off)"
        return Condition(ats, "ACS redirects, DirectTrans and ATS let it pass" if ats else off)
    if not facing_down and facts.virtual is None:
        return Condition(None, "whether this is a virtual machine is not known", "systemd-detect-virt")
    if all(bridge in facts.acs for bridge in facing_down):
        return Condition(True, "no ACS redirect")
    return Condition(None, f"ACS not read{_hint(path, facts)}", ACS_READ)


def _hint(path: Path, facts: Facts) -> str:
    """Groups are made when the kernel starts; ACS may be set afterwards, or lack at a port above: no proof."""
    groups = [facts.groups.get(path.gpu.id), facts.groups.get(path.device.id)]
    if None in groups:
        return ""
    return " (one IOMMU group: probably off)" if groups[0] == groups[1] else " (IOMMU groups apart: probably on)"


def _between(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """All bridges below the last common one, and those of them that face down: every second one."""
    common = 0
    while common < min(len(first), len(second)) and first[common] == second[common]:
        common += 1
    return [*first[common:], *second[common:]], [*first[common::2], *second[common::2]]


def _iommu(path: Path, facts: Facts) -> Condition:
    if facts.iommu_off:
        return Condition(True, "IOMMU off")
    kinds = [facts.group_types.get(id) for id in (path.device.id, path.gpu.id)]
    translating = next((kind for kind in kinds if kind in _TRANSLATING), None)
    if translating and facts.is_arm:
        if path.gpu.c2c:
            return Condition(True, "the SMMU translates, as Grace is made to")
        read = "C2C links of the GPU (NVML)" if path.gpu.c2c is None else "a test (ib_write_bw --use_cuda=0)"
        return Condition(None, f"the SMMU translates (group type {translating})", read)
    if translating:
        return Condition(False, f"the IOMMU translates (group type {translating})")
    if kinds[0] == "identity":  # that of the device which asks for the GPU's memory
        return Condition(True, "IOMMU in pass-through")
    if facts.pass_through:
        return Condition(True, facts.pass_through)
    return Condition(None, "IOMMU mode not read", IOMMU_READ)
