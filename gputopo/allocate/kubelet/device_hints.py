"""Device manager: the topology hints of one resource.

Upstream: devicemanager/topology_hints.go. "Preferred" is judged on the empty node (could an idle one do it with
so few NUMA nodes), which hints exist by the free devices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from gputopo.allocate.kubelet.hints import Hint, ResourceHints, prefer_smallest
from gputopo.allocate.kubelet.numa_mask import bits, mask_of, masks_in_order
from gputopo.allocate.kubelet.releases import Release


class Device(NamedTuple):
    """`numa` None: the plugin sent no topology; empty: a topology without nodes. Not the same to the kubelet."""

    numa: tuple[int, ...] | None
    healthy: bool = True

    @property
    def mask(self) -> int:
        return mask_of(self.numa or ())


Devices = Mapping[str, Device]


def has_topology(devices: Devices) -> bool:
    return any(device.numa for device in devices.values())


def resource_hints(
    numa_ids: Sequence[int], devices: Devices, available: Collection[str], reusable: Collection[str], request: int,
    release: Release,
) -> ResourceHints:  # fmt: skip
    """None: no preference; empty: impossible."""
    if not has_topology(devices):
        return None
    if len({*available, *reusable}) < request:
        return ()
    return generate(numa_ids, devices, available, reusable, request, release)


def generate(
    numa_ids: Sequence[int], devices: Devices, available: Collection[str], reusable: Collection[str], request: int,
    release: Release,
) -> tuple[Hint, ...]:  # fmt: skip
    nodes = numa_nodes(numa_ids, devices, release)
    every = Counter(device.mask for device in devices.values())
    free = Counter(devices[one].mask for one in available)
    reused = Counter(devices[one].mask for one in reusable if devices[one].numa is not None)
    smallest = len(nodes)
    found = []
    for mask in masks_in_order(nodes):
        if _inside(every, mask) >= request:
            smallest = min(smallest, mask.bit_count())
        if any(not one & mask for one in reused):
            continue  # a reusable device lies outside
        if reused.total() + _inside(free, mask) >= request:
            found.append(mask)
    return prefer_smallest(found, smallest)


def _inside(counts: Counter[int], mask: int) -> int:
    return sum(count for one, count in counts.items() if one & mask)


def numa_nodes(numa_ids: Sequence[int], devices: Devices, release: Release) -> Sequence[int]:
    """Over which NUMA nodes hints are made: those with devices (1.36 on), else all."""
    if not release.hints_only_where_devices_are:
        return numa_ids
    with_devices = {node for device in devices.values() for node in bits(device.mask)} & set(numa_ids)
    return sorted(with_devices) or numa_ids
