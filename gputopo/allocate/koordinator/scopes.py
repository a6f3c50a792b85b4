"""Koordinator without partitions: the tree Node > NUMA node > root complex, and the default for all devices.

Read at koordinator-sh/koordinator a7a1b76 (2026-07-24): pkg/scheduler/plugins/deviceshare/allocator_gpu.go
(allocateByDeviceTopology, allocateFromScope), allocator_gpu_helper.go (GetGPUTopologyScope),
device_allocator.go (defaultAllocateDevices), device_resources.go (the sorts), scoring.go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from gputopo.allocate.koordinator.devices import (
    FPGA_SHARE,
    MEMORY,
    RATIO,
    RDMA_SHARE,
    Device,
    Devices,
    Resources,
    by_minor,
    fits,
    mask,
)
from gputopo.terms.quantity import value

LEVELS = {"": 0, "Node": 1, "NUMANode": 2, "PCIe": 3, "Device": 4}  # requiredTopologyScope
INSUFFICIENT_SCOPED = "Insufficient Topology Scoped GPU Devices"
INSUFFICIENT = "Insufficient GPU Devices"
NO_TREE = "node(s) missing GPU Device Topology Tree"
SHARED_SEVERAL = "node(s) Unsupported Multi-Shared GPU"
# DeviceShareArgs' default: LeastAllocated, each weight 1 (pkg/scheduler/apis/config/v1/defaults.go)
SCORED = (RATIO, MEMORY, RDMA_SHARE, FPGA_SHARE)


class Scope(NamedTuple):
    """A node of the tree; the children are in the order the scheduler walks them."""

    level: int
    minors: tuple[int, ...]
    children: tuple[Scope, ...] = ()


class Found(NamedTuple):
    minors: tuple[int, ...]
    not_empty: int  # scopes on the way, itself included, of which something is used
    depth: int
    score: int


def tree(gpus: Sequence[Device]) -> Scope | None:
    """None where one GPU has no topology: then the scheduler builds no tree at all."""
    if not gpus or any(gpu.place is None for gpu in gpus):
        return None
    placed = [(gpu.place.numa, gpu.place.pcie, gpu.minor) for gpu in gpus if gpu.place is not None]
    nodes = []
    for numa in sorted({one[0] for one in placed}):
        here = [one for one in placed if one[0] == numa]
        roots = tuple(
            Scope(LEVELS["PCIe"], _minors(one[2] for one in here if one[1] == pcie))
            for pcie in sorted({one[1] for one in here})
        )
        nodes.append(Scope(LEVELS["NUMANode"], _minors(one[2] for one in here), roots))
    return Scope(LEVELS["Node"], _minors(one[2] for one in placed), tuple(nodes))


def _minors(found: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(found)))


class Wanted(NamedTuple):
    """What is to be found: `number` devices, each with `each` free."""

    number: int
    each: Resources
    shared: bool = False  # a part of one GPU
    scope: str = ""  # requiredTopologyScope


def from_tree(wanted: Wanted, root: Scope, devices: Devices) -> tuple[tuple[int, ...] | None, str]:
    """(minors, "") or (None, the scheduler's word)."""
    if wanted.shared and wanted.number > 1:
        return None, SHARED_SEVERAL
    found = _Walk(wanted, devices).walk(root, 0, 0)
    if found is not None:
        return found.minors, ""
    return None, INSUFFICIENT_SCOPED if wanted.scope else INSUFFICIENT


class _Walk:
    def __init__(self, wanted: Wanted, devices: Devices) -> None:
        self._wanted = wanted
        self._level = LEVELS.get(wanted.scope, 0)
        self._used = devices.used_mask("gpu")
        gpus = by_minor(devices.of("gpu"))
        # allocateFromScope hands scoreDevice what is free for the total and the total for what is free, so a
        # GPU of which anything is used scores 0 for that resource, however much of it is left.
        self._scores = {
            minor: least_allocated(wanted.each, total=devices.free(gpu), free=gpu.total)
            for minor, gpu in gpus.items()
            if gpu.usable and fits(wanted.each, devices.free(gpu))
        }

    def walk(self, scope: Scope, not_empty: int, depth: int) -> Found | None:
        count = self._wanted.number
        if len(scope.minors) < count:
            return None
        depth += 1
        not_empty += bool(mask(scope.minors) & self._used)
        best: Found | None = None
        for child in scope.children:
            found = self.walk(child, not_empty, depth)
            if found is not None and found.minors and (best is None or self._better(found, best)):
                best = found
        if best is not None:
            return best
        if self._level > scope.level:
            return None
        return self._here(scope, not_empty, depth)

    def _better(self, found: Found, best: Found) -> bool:
        ours, theirs = (found.depth, found.not_empty), (best.depth, best.not_empty)
        return ours > theirs or (self._wanted.shared and ours == theirs and found.score > best.score)

    def _here(self, scope: Scope, not_empty: int, depth: int) -> Found | None:
        free = [minor for minor in scope.minors if minor in self._scores]
        if self._wanted.shared:
            if not free:
                return None
            best = max(free, key=lambda minor: (self._scores[minor], -minor))
            return Found((best,), not_empty, depth, self._scores[best])
        if len(free) < self._wanted.number or not self._wanted.number:
            return None
        return Found(tuple(free[: self._wanted.number]), not_empty, depth, -1)


def least_allocated(wanted: Resources, total: Resources, free: Resources) -> int:
    """scoreDevice with leastResourceScorer: the mean share that would stay free, of 100, rounded down twice."""
    score = weights = 0
    for name in SCORED:
        whole = total.get(name, Fraction(0))
        if not whole:
            continue
        left = free.get(name, Fraction(0))
        asked = whole - left + wanted.get(name, Fraction(0)) if whole >= left else whole
        capacity, requested = value(whole), value(asked)
        score += 0 if requested > capacity else (capacity - requested) * 100 // capacity
        weights += 1
    return score // weights if weights else 0


def default(
    devices: Devices, kind: str, each: Resources, count: int, at_most: int, near: Collection[str] = (),
    functions: Mapping[str, str] | None = None, only: Collection[int] | None = None,
) -> tuple[tuple[int, ...], tuple[str, ...]] | None:  # fmt: skip
    """(minors, virtual functions), `count` to `at_most` of them, or None. near: preferred root complexes.

    functions: labels that a virtual function's group must have, None: no virtual function is wanted.
    """
    known = by_minor(devices.of(kind))
    offered = {minor: device for minor, device in known.items() if only is None or minor in only}
    free = {minor: devices.free(device) for minor, device in offered.items()}
    order = sorted(offered, key=lambda minor: (-least_allocated(each, offered[minor].total, free[minor]), minor))
    chosen, taken = [], []
    for minor in _round_robin(order, known, near):
        if not any(free[minor].values()) or not fits(each, free[minor]):
            continue
        if functions is not None:
            own = _first_function(known[minor], functions, devices.used_functions)
            if own is None:
                continue
            taken.append(own)
        chosen.append(minor)
        if len(chosen) == at_most:
            break
    return (tuple(chosen), tuple(taken)) if len(chosen) >= count else None


def _round_robin(order: Sequence[int], known: Mapping[int, Device], near: Collection[str]) -> list[int]:
    """The best of every preferred root complex, then the second best of each, and so on; then the others."""
    groups: dict[str, list[int]] = {}
    others = []
    for minor in order:
        place = known[minor].place
        if place is not None and place.pcie in near:
            groups.setdefault(place.pcie, []).append(minor)
        else:
            others.append(minor)
    rank = {minor: at for at, minor in enumerate(order)}
    rounds = max(map(len, groups.values()), default=0)
    result = []
    for at in range(rounds):
        result += sorted((group[at] for group in groups.values() if at < len(group)), key=rank.__getitem__)
    return result + others


def _first_function(device: Device, wanted: Mapping[str, str], used: Collection[str]) -> str | None:
    left = [
        address
        for labels, addresses in device.functions
        if all(labels.get(key) == said for key, said in wanted.items())
        for address in addresses
        if address not in used
    ]
    return min(left, default=None)
