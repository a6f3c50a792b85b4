"""Koordinator's choice for one pod on one node: partitions, then the tree, then the default; GPUs and NICs jointly.

Read at koordinator-sh/koordinator a7a1b76 (2026-07-24): pkg/scheduler/plugins/deviceshare/allocator_gpu.go
(GPUAllocator.Allocate), device_allocator.go (tryJointAllocate, jointAllocate, validateJointAllocation).
Not imitated: reservations, preemption, GPU templates of other vendors, an affinity by Koordinator's own
NUMA manager.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gputopo.allocate.koordinator.demand import Demand, Nics
from gputopo.allocate.koordinator.devices import GPU, RDMA, Device, Devices, by_minor
from gputopo.allocate.koordinator.partitions import Index, Pick, pick
from gputopo.allocate.koordinator.scopes import NO_TREE, Wanted, default, from_tree, tree

VIOLATION = "node(s) Device Joint-Allocate rules violation"
NO_PRIMARY = "node(s) Insufficient primary device"


class Rules(NamedTuple):
    """The node's table and whether it must be obeyed."""

    indexed: Index | None
    honor: bool = False


class Allocation(NamedTuple):
    """Minors by device type; `refusal` is the scheduler's word. `by`: what chose the GPUs.

    or_refusal: of two kinds of devices that both fail Go's map order tells which is named.
    """

    minors: Mapping[str, tuple[int, ...]]
    functions: tuple[str, ...] = ()
    refusal: str = ""
    by: str = ""  # "partition" | "tree" | "default"
    picked: Pick | None = None  # None: no partition was looked for
    or_refusal: str = ""


def allocate(devices: Devices, rules: Rules, demand: Demand) -> Allocation:
    """The one answer of the scheduler."""
    if demand.invalid:
        return Allocation({}, refusal=demand.invalid)
    asked = {GPU: demand.gpus is not None, RDMA: demand.nics is not None}
    for kind, wanted in asked.items():
        if wanted and not devices.of(kind):
            return Allocation({}, refusal=f"Insufficient {kind} devices")
    if demand.nics is not None and demand.nics.all_of_them and not _number(demand.nics, devices):
        return Allocation({}, refusal=f"Insufficient {RDMA} devices")
    virtual = demand.nics is not None and demand.nics.functions is not None
    if virtual and not any(nic.functions for nic in devices.of(RDMA)):
        return Allocation({}, refusal=f"Insufficient {RDMA} VirtualFunctions")
    done = Allocation({})
    order = demand.joint if all(asked.values()) else ()
    for at, kind in enumerate(order):
        near = _roots(devices, order[0], done.minors[order[0]]) if at else None
        done = _add(done, devices, rules, demand, kind, near)
        if done.refusal:
            return done
        if at == 0 and not done.minors[kind]:
            return done._replace(refusal=NO_PRIMARY)
    if demand.same_pcie and len(order) > 1:
        roots = [_roots(devices, kind, done.minors[kind]) for kind in order]
        if any(one != roots[0] for one in roots):
            return done._replace(minors={}, refusal=VIOLATION)
    left = [kind for kind in asked if asked[kind] and kind not in done.minors]
    return _separately(done, devices, rules, demand, left)


def _separately(done: Allocation, devices: Devices, rules: Rules, demand: Demand, kinds: list[str]) -> Allocation:
    found = [_add(done, devices, rules, demand, kind, None) for kind in kinds]
    refusals = [one.refusal for one in found if one.refusal]
    picked = next((one.picked for one in found if one.picked is not None), done.picked)
    if refusals:
        return Allocation({}, refusal=refusals[0], or_refusal=refusals[-1], picked=picked)
    minors, functions, by = dict(done.minors), done.functions, done.by
    for one in found:
        minors |= one.minors
        functions, by = functions or one.functions, by or one.by
    return Allocation(minors, functions, by=by, picked=picked)


def _add(
    done: Allocation, devices: Devices, rules: Rules, demand: Demand, kind: str, near: frozenset[str] | None
) -> Allocation:  # fmt: skip
    """With one more kind of device, near the root complexes of the first one (None: it is the first, or alone)."""
    spread = len(near or ())
    if kind == RDMA and demand.nics is not None:
        nics = demand.nics
        wanted = _number(nics, devices)
        if near is not None and demand.same_pcie:
            wanted = max(wanted, spread)
        found = default(
            _filtered(devices, demand), RDMA, nics.each, max(wanted, 1), max(wanted, spread, 1),
            near or (), nics.functions,
        )  # fmt: skip
        if found is None or not wanted:
            return Allocation({}, refusal=f"Insufficient {RDMA} devices", by=done.by, picked=done.picked)
        return done._replace(minors={**done.minors, RDMA: found[0]}, functions=found[1])
    assert demand.gpus is not None
    number = demand.gpus.number if near is None or not demand.same_pcie else max(demand.gpus.number, spread)
    ours = _gpus(_filtered(devices, demand), rules, demand, number, max(number, spread))
    return ours._replace(minors={**done.minors, **ours.minors} if not ours.refusal else {}, functions=done.functions)


def _number(nics: Nics, devices: Devices) -> int:
    if not nics.all_of_them:
        return nics.number
    return sum(1 for nic in devices.of(RDMA) if _matches(nic, nics.selector))


def _gpus(devices: Devices, rules: Rules, demand: Demand, number: int, at_most: int) -> Allocation:
    """GPUAllocator.Allocate. number, at_most: only the default heeds them; the others take what the pod asks."""
    wanted = demand.gpus
    assert wanted is not None
    picked = None
    if not wanted.shared:
        used, total = devices.used_mask(GPU), devices.total_mask(GPU)
        picked = pick(rules.indexed, wanted.number, used, total, demand.bandwidth, demand.restricted)
        if picked.partition is None and (demand.honor or rules.honor):
            return Allocation({}, refusal=picked.refusal, picked=picked)
        if picked.partition is not None and picked.partition.minors:
            return Allocation({GPU: picked.partition.minors}, by="partition", picked=picked)
    return _without_table(devices, wanted, number, at_most)._replace(picked=picked)


def _without_table(devices: Devices, wanted: Wanted, number: int, at_most: int) -> Allocation:
    root = tree(devices.of(GPU))
    if root is not None and not (wanted.shared and wanted.number > 1 and not wanted.scope):
        minors, refusal = from_tree(wanted, root, devices)
        return Allocation({GPU: minors} if minors else {}, refusal=refusal, by="tree")
    if wanted.scope:
        return Allocation({}, refusal=NO_TREE, by="tree")
    found = default(devices, GPU, wanted.each, number, at_most)
    if found is None:
        return Allocation({}, refusal=f"Insufficient {GPU} devices", by="default")
    return Allocation({GPU: found[0]}, by="default")


def _roots(devices: Devices, kind: str, minors: tuple[int, ...]) -> frozenset[str]:
    """The root complexes of some devices; one without topology has none."""
    known = by_minor(devices.of(kind))
    places = [known[minor].place for minor in minors if minor in known]
    return frozenset(place.pcie for place in places if place is not None)


def _matches(device: Device, labels: Mapping[str, str] | None) -> bool:
    return labels is None or all(device.labels.get(key) == value for key, value in labels.items())


def _filtered(devices: Devices, demand: Demand) -> Devices:
    """What the pod's selectors leave, as nodeDevice.filter: what they leave out has no resources for this pod.

    Where there is a selector, of any kind, an unhealthy device of those left no longer counts as used.
    """
    if not demand.has_selector:
        return devices
    nics = demand.nics.selector if demand.nics is not None else None
    labels = {GPU: demand.gpu_selector, RDMA: nics}
    seen = [one if _matches(one, labels.get(one.kind)) else one._replace(total={}) for one in devices.all]
    healed = {
        (one.kind, one.minor) for one in devices.all if not one.usable and _matches(one, labels.get(one.kind))
    }
    used = {key: amounts for key, amounts in devices.used.items() if key not in healed}
    return devices._replace(all=tuple(seen), used=used)
