"""GPUDirect: can a GPU and a near NIC (RDMA) or NVMe disk (Storage) move data without the host's memory?

A verdict on near pairs from what can be read; gpudirect_conditions.py has the conditions. `ready`: each of them is
known to be met. `not`: one is known not to be. `unknown`: one was not read, and `missing` names the read. Only where
a root folder (sysfs) was read: no other source tells modules and IOMMU.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gputopo.terms.path_level import PathLevel
from gputopo.topology import level_sets
from gputopo.topology.gpudirect_conditions import Condition, Path, gds, rdma
from gputopo.topology.gpudirect_facts import Facts, facts_of
from gputopo.topology.nearest import nearest
from gputopo.topology.node import Gpu, GpuDirect, NodeTopology, Pair
from gputopo.topology.tree_level import sysfs_level

__all__ = ["near_paths"]


def near_paths(node: NodeTopology) -> tuple[GpuDirect, ...]:
    """A verdict for each NVIDIA GPU with its nearest RDMA devices, then with its nearest disks."""
    gpus = [gpu for gpu in node.gpus if gpu.vendor == "nvidia"]
    if not gpus or not (node.nics or node.nvme):
        return ()
    facts = facts_of(node)
    to_nics = [_judge(path, "rdma", rdma(path, facts)) for path in _rdma_paths(node, gpus)]
    to_disks = [_judge(path, "gds", gds(path, facts)) for path in _gds_paths(node, gpus, facts)]
    return (*to_nics, *to_disks)


def _judge(path: Path, kind: str, conditions: Sequence[Condition]) -> GpuDirect:
    against = [one for one in conditions if one.met is False]
    open_ = [one for one in conditions if one.met is None]
    verdict = "not" if against else "unknown" if open_ else "ready"
    because = "; ".join(dict.fromkeys(one.says for one in against or open_ or conditions if one.says))
    missing = () if against else tuple(dict.fromkeys(one.missing for one in open_))
    return GpuDirect(path.gpu.id, path.device.id, kind, verdict, because, missing)


def _rdma_paths(node: NodeTopology, gpus: Sequence[Gpu]) -> Iterator[Path]:
    """The nearest NICs that are RDMA devices; virtual functions share the path of their physical one."""
    nics = {nic.id: nic for nic in node.nics or () if nic.device is not None and nic.virtual_function_of is None}
    levels: dict[str, dict[str, Pair]] = {gpu.id: {} for gpu in gpus}
    for pair in node.pairs if nics else ():
        if pair.a in levels and pair.b in nics:
            levels[pair.a][pair.b] = pair
        elif pair.b in levels and pair.a in nics:
            levels[pair.b][pair.a] = pair
    for gpu in gpus:
        mine = {id: _levels(pair) for id, pair in levels[gpu.id].items()}
        known = nearest((id, some[0] if len(some) == 1 else None, some) for id, some in mine.items())
        for id in known or _maybe_nearest(mine):
            yield Path(gpu, nics[id], mine[id])


def _levels(pair: Pair) -> tuple[PathLevel, ...]:
    """Those still possible, the nearest first."""
    return tuple(sorted(pair.pcie_candidates)) if pair.pcie is None else (pair.pcie,)


def _maybe_nearest(levels: Mapping[str, tuple[PathLevel, ...]]) -> tuple[str, ...]:
    """Where undecided levels leave open which NIC is the nearest (GB200: each is in a PCI domain of its own): those
    that can be nearer than any other.
    """
    possible = {id: min(some) for id, some in levels.items() if some}
    least = min(possible.values(), default=None)
    return tuple(id for id, level in possible.items() if level == least)


def _gds_paths(node: NodeTopology, gpus: Sequence[Gpu], facts: Facts) -> Iterator[Path]:
    disks = {disk.id: disk for disk in node.nvme or ()}
    for gpu in gpus:
        for id in gpu.nearest_nvme:
            disk = disks[id]
            first, second = facts.chains.get(gpu.id), facts.chains.get(disk.id)
            if first and second:
                mask = sysfs_level(first, second, gpu.numa_nodes, disk.numa_nodes)
                yield Path(gpu, disk, level_sets.levels(mask))
