"""Fabric Manager's partitions: which sets of GPUs an NVSwitch machine can isolate for one tenant.

In shared NVSwitch mode (FABRIC_MODE=1, 2) a set of GPUs has NVLink only if it is exactly one of the
partitions Fabric Manager lists (`fmpm -l`). They name GPUs by physicalId, the GPU's module id, which follows
neither PCI nor NVML order. The table for an 8-GPU HGX H100 or H200 is that of NVIDIA's Fabric Manager User
Guide; other machines: give what `fmpm -l` prints.

    >>> [partition.modules for partition in HGX if len(partition.modules) == 2]
    [(1, 3), (2, 4), (5, 7), (6, 8)]
    >>> read_partitions({"partitionInfo": [{"partitionId": 3, "isActive": 1, "gpuInfo": [{"physicalId": 1}]}]})
    (FmPartition(id=3, modules=(1,), active=True),)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gputopo.topology.node import NodeTopology


class FmPartition(NamedTuple):
    id: int
    modules: tuple[int, ...]  # module ids, ascending
    active: bool | None = None


class Fit(NamedTuple):
    """How a set of GPUs lies to the partitions. `partition` None: it is none of them."""

    partition: int | None
    free_after: tuple[int, ...]  # partitions all of whose GPUs are still free


def _hgx() -> tuple[FmPartition, ...]:
    sets = [tuple(range(1, 9)), (1, 2, 3, 4), (5, 6, 7, 8), (1, 3), (2, 4), (5, 7), (6, 8)]
    sets += [(one,) for one in range(1, 9)]
    return tuple(FmPartition(number, modules) for number, modules in enumerate(sets))


HGX = _hgx()


def read_partitions(document: Any) -> tuple[FmPartition, ...]:
    """The list `fmpm -l` prints. Raises ValueError where it is none."""
    listed = document.get("partitionInfo") if isinstance(document, dict) else None
    if not isinstance(listed, list) or not listed:
        raise ValueError("no partitionInfo: this is not what `fmpm -l` prints")
    found = []
    for one in listed:
        gpus = one.get("gpuInfo") if isinstance(one, dict) else None
        number = one.get("partitionId") if isinstance(one, dict) else None
        modules = [gpu.get("physicalId") if isinstance(gpu, dict) else None for gpu in gpus or ()]
        if not _whole(number) or not modules or not all(map(_whole, modules)):
            raise ValueError("a partition without partitionId or without GPUs by physicalId")
        active = one.get("isActive")
        ids = tuple(sorted(int(module or 0) for module in modules))
        found.append(FmPartition(int(number or 0), ids, None if active is None else bool(active)))
    return tuple(found)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def module_ids(node: NodeTopology) -> dict[str, int] | None:
    """GPU → module id; `None` where one of them is not known, or two GPUs have the same."""
    found = {gpu.id: gpu.module_id for gpu in node.gpus if gpu.module_id is not None}
    whole = len(found) == len(node.gpus) == len(set(found.values()))
    return found if whole else None


def fit(
    partitions: Sequence[FmPartition], modules: dict[str, int], chosen: Sequence[str], free: Sequence[str]
) -> Fit:  # fmt: skip
    """free: the GPUs that are free before the set is taken."""
    taken = tuple(sorted(modules[gpu] for gpu in chosen))
    left = {modules[gpu] for gpu in free} - set(taken)
    own = next((one.id for one in partitions if one.modules == taken), None)
    return Fit(own, tuple(one.id for one in partitions if set(one.modules) <= left))
