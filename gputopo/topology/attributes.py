"""The attribute table: whose word counts for what, and when two words agree.

One row a record field, `"kind.field"`. `order` names the formats that may speak, best first: the
first with a value is used, the others are witnesses; a witness that does not agree is a conflict.
A format that is not in the order is only used when no other speaks, and is no witness (NCCL's
link speed is the smaller of device and port, so it contradicts nobody).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.pci_address import PciAddress

SYSFS, NVML, Q = "sysfs-root", "nvml-recording", "nvidia-smi-q"
HWLOC, NCCL, LSPCI, LSPCI_TREE = "hwloc-xml", "nccl-xml", "lspci-vvv", "lspci-tv"
LIST, NVLINK, TABLE = "nvidia-smi-list", "nvidia-smi-nvlink", "nvidia-smi-table"
LSCPU, NUMACTL, IBDEV, TOPO = "lscpu", "numactl-hardware", "ibdev2netdev", "nvidia-smi-topo"
# Most detailed first: devices with an address or a UUID before those with an index only.
FORMATS = (
    SYSFS, NVML, Q, HWLOC, NCCL, LSPCI, LSPCI_TREE, LIST, NVLINK, TABLE, LSCPU, NUMACTL, IBDEV, TOPO,
    "nvidia-smi-p2p", "rocm-smi-topo", "amd-smi-topo",
)  # fmt: skip


def format_rank(name: str) -> int:
    """Place of a format in the order of detail; formats not listed come last."""
    return FORMATS.index(name) if name in FORMATS else len(FORMATS)


def equal(first: Any, second: Any) -> bool:
    return bool(first == second)


def same_text(first: str, second: str) -> bool:
    return first.strip().lower() == second.strip().lower()


def overlap(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    """NUMA lists: GB200's printed list also names the GPU-memory nodes near it."""
    return bool(set(first) & set(second)) or not first or not second


def one_within_other(first: CpuSet, second: CpuSet) -> bool:
    """A list that nvidia-smi cut, or that a cpuset narrowed (to nothing, even), agrees with the full one."""
    return first <= second or second <= first


def within(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    return set(first) <= set(second) or set(second) <= set(first)


def same_card(first: PciAddress, second: PciAddress) -> bool:
    """NCCL folds the functions of a card into the address of one."""
    return first.card == second.card


def never_disagree(first: Any, second: Any) -> bool:
    return True


class Attribute(NamedTuple):
    agree: Callable[[Any, Any], bool] = equal
    order: tuple[str, ...] = FORMATS


_NUMA = Attribute(overlap, (SYSFS, NVML, HWLOC, NCCL, LSPCI, TOPO, "rocm-smi-topo"))
_WHO = Attribute(never_disagree)  # words that differ by tool: used, never compared
_PCIE = Attribute(equal, (SYSFS, NVML, Q, HWLOC, LSPCI, LIST))

ATTRIBUTES: dict[str, Attribute] = {
    "system.name": Attribute(equal),
    "system.boot_id": Attribute(equal),
    "system.taken_at": _WHO,
    "system.product": _WHO,
    "system.kernel": Attribute(same_text),
    "system.driver": Attribute(same_text),
    "system.cuda": Attribute(same_text),
    "system.view": _WHO,
    "system.virtual": Attribute(equal),
    "system.allowed_cpus": Attribute(one_within_other, (SYSFS, HWLOC, LSCPU)),
    "package.cpus": Attribute(equal, (SYSFS, HWLOC, LSCPU)),
    "package.numa_nodes": Attribute(within, (SYSFS, HWLOC, LSCPU)),
    "package.vendor": _WHO,
    "package.family": Attribute(equal, (SYSFS, HWLOC, LSCPU)),
    "package.model": Attribute(equal, (SYSFS, HWLOC, LSCPU)),
    "package.arch": _WHO,
    "numa_node.kind": _WHO,
    "numa_node.cpus": Attribute(equal, (SYSFS, HWLOC, NCCL, LSCPU, NUMACTL)),
    "numa_node.packages": Attribute(within, (SYSFS, HWLOC, LSCPU)),
    "numa_node.memory_bytes": _WHO,
    "numa_node.distances": Attribute(equal, (SYSFS, HWLOC, NUMACTL)),
    "bridge.parent": _WHO,
    "bridge.kind": _WHO,
    "bridge.vendor": Attribute(same_text),
    "bridge.device": Attribute(same_text),
    "bridge.numa_nodes": _NUMA,
    "bridge.pcie": _PCIE,
    "nvswitch.pci": Attribute(equal),
    "gpu.nvml_index": Attribute(equal, (NVML, Q, LIST, NVLINK, TABLE, TOPO, NCCL)),
    "gpu.uuid": Attribute(equal),
    "gpu.name": Attribute(same_text, (NVML, Q, LIST, SYSFS)),
    "gpu.vendor": _WHO,
    "gpu.architecture": _WHO,
    "gpu.compute_capability": Attribute(equal, (NVML, LIST, NCCL)),
    "gpu.memory_bytes": _WHO,
    "gpu.pci": Attribute(equal),
    "gpu.minor": Attribute(equal),
    "gpu.module_id": Attribute(equal),
    "gpu.driver": Attribute(equal),
    "gpu.numa_nodes": _NUMA,
    "gpu.cpus": Attribute(one_within_other, (SYSFS, NVML, HWLOC, NCCL, TOPO)),
    "gpu.cpus_complete": _WHO,  # travels with gpu.cpus
    "gpu.memory_numa_node": Attribute(equal, (SYSFS, NVML, Q, HWLOC, TOPO)),
    "gpu.nvlinks_active": Attribute(equal, (NVML, NVLINK, NCCL)),
    "gpu.nvlinks_total": Attribute(equal, (NVML, NVLINK)),
    "gpu.links": Attribute(never_disagree, (NVML, NVLINK, NCCL, HWLOC)),  # compared as counts
    "gpu.c2c": _WHO,
    "gpu.fabric": Attribute(equal),
    "gpu.pcie": _PCIE,
    "gpu.mig": _WHO,
    "gpu.chain": _WHO,  # one grain a pair, never spliced: levels.py
    "nic.device": Attribute(never_disagree, (SYSFS, TOPO, HWLOC, NCCL, IBDEV)),  # a name joins, so it cannot differ
    "nic.netdevs": _WHO,
    "nic.port": _WHO,
    "nic.pci": Attribute(same_card),
    "nic.members": _WHO,
    "nic.vendor": _WHO,
    "nic.numa_nodes": _NUMA,
    "nic.link_layer": Attribute(same_text, (SYSFS, HWLOC)),
    "nic.rate_gbps": Attribute(never_disagree, (SYSFS, HWLOC, NCCL)),
    "nic.state": Attribute(same_text, (SYSFS, HWLOC, IBDEV)),
    "nic.virtual_function_of": Attribute(equal),
    "nic.pcie": _PCIE,
    "nic.chain": _WHO,
    "nvme.pci": Attribute(equal),
    "nvme.numa_nodes": _NUMA,
    "nvme.pcie": _PCIE,
    "nvme.chain": _WHO,
}  # fmt: skip
