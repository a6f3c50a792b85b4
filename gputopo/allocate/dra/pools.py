"""Pools: which slices a node can use, by driver and pool name, the newest generation of each.

Source: structured/internal/*/pools_*.go. Kinds of pools that give nothing: incomplete (fewer slices than
`resourceSliceCount`), invalid (a name twice, a counter that does not exist), obsolete (dropped without a trace).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gputopo.allocate.dra import features
from gputopo.allocate.dra.behaviour import Behaviour
from gputopo.allocate.dra.node_selector import node_matches
from gputopo.allocate.dra.objects import Counters, KubeNode, Slice

PoolId = tuple[str, str]


class Pool(NamedTuple):
    driver: str
    name: str
    slices: tuple[Slice, ...] = ()  # with devices for this node
    elsewhere: tuple[Slice, ...] = ()  # of the pool, for other nodes
    counter_sets: Mapping[str, Counters] = {}
    incomplete: bool = False
    invalid: str = ""  # why

    def __str__(self) -> str:
        return f"{self.driver}/{self.name}"


def gather(slices: Sequence[Slice], node: KubeNode, how: Behaviour) -> list[Pool]:
    """In upstream's order; where that is random, in the order of the slices."""
    found: dict[PoolId, list[Slice]] = {}
    for one in _for_node(slices, node, how):
        _add(found, one)
    pools = [pool for id, own in found.items() if (pool := _pool(id, own, slices, how)) is not None]
    if how.sorted_pools:
        pools.sort(key=lambda pool: (pool.driver, pool.name))
    if how.binding_last:
        pools.sort(key=has_binding_conditions)
    return pools


def _for_node(slices: Sequence[Slice], node: KubeNode, how: Behaviour) -> Iterator[Slice]:
    partitions = how.on(features.PARTITIONS)
    local = how.channel != "stable" and how.release >= (1, 36)
    ordered = _local_first(slices, node, how) if local else slices
    late: list[Slice] = []
    for one in ordered:
        if not partitions and (one.per_device is not None or (one.shared_counters and how.release != (1, 34))):
            continue
        if not _relevant(one, node, how):
            continue
        if how.release < (1, 36) and how.binding_last and any(device.binding_conditions for device in one.devices):
            late.append(one)
        else:
            yield one
    yield from late


def _local_first(slices: Sequence[Slice], node: KubeNode, how: Behaviour) -> list[Slice]:
    """From 1.36 on the slices of the node come before those that name none; it matters where names are equal."""

    def is_shared(one: Slice) -> bool:
        return not one.node_name or (bool(one.shared_counters) and not how.shared_counters_by_node)

    own = [one for one in slices if not is_shared(one) and one.node_name == node.name]
    return own + [one for one in slices if is_shared(one)]


def _relevant(one: Slice, node: KubeNode, how: Behaviour) -> bool:
    if one.shared_counters and how.elsewhere_counts and not how.shared_counters_by_node:
        return True
    if one.node_name or one.all_nodes or one.node_selector is not None:
        return node_matches(node, one.node_name, one.all_nodes, one.node_selector)
    if one.per_device:
        return any(
            node_matches(node, device.node_name, device.all_nodes, device.node_selector) for device in one.devices
        )
    return False


def _add(found: dict[PoolId, list[Slice]], one: Slice) -> None:
    own = found.setdefault((one.driver, one.pool), [])
    if own and one.generation < own[0].generation:
        return
    if own and one.generation > own[0].generation:
        own.clear()
    own.append(one)


def _pool(id: PoolId, own: list[Slice], every: Sequence[Slice], how: Behaviour) -> Pool | None:
    complete = len(own) == own[0].slice_count
    if not how.elsewhere_counts:
        return Pool(*id, tuple(own), incomplete=not complete, invalid=_duplicate(own))
    whole: list[Slice] = []
    if not complete:
        generation = own[0].generation
        whole = [one for one in every if (one.driver, one.pool) == id and one.generation >= generation]
        if any(one.generation > generation for one in whole):
            return None
        if len(whole) != own[0].slice_count:
            return Pool(*id, incomplete=True)
    return _built(id, own, whole, how)


def _built(id: PoolId, own: list[Slice], whole: list[Slice], how: Behaviour) -> Pool:
    if how.sorted_pools:
        own = sorted(own, key=lambda one: one.name)
    partitions = how.on(features.PARTITIONS)
    names = {one.name for one in own}
    others = [one for one in whole if one.name not in names] if len(own) < len(whole) else []
    counted = [one for one in own if partitions and one.shared_counters]
    devices = [one for one in own if one not in counted]
    if how.shared_counters_by_node and partitions:
        counted += [one for one in others if one.shared_counters]
        others = [one for one in others if not one.shared_counters]
    problem = _duplicate(devices)
    if problem or not partitions:
        return Pool(*id, invalid=problem) if problem else Pool(*id, tuple(devices))
    sets: dict[str, Counters] = {}
    for counters in (counters for one in counted for counters in one.shared_counters):
        if counters.name in sets:
            return Pool(*id, invalid=f"duplicate counter set name {counters.name}")
        sets[counters.name] = counters
    checked = devices if how.shared_counters_by_node else own
    problem = _unknown_counter(sets, checked) or _unknown_counter(sets, others)
    return Pool(*id, invalid=problem) if problem else Pool(*id, tuple(devices), tuple(others), sets)


def _duplicate(slices: Iterable[Slice]) -> str:
    seen: set[str] = set()
    for device in (device for one in slices for device in one.devices):
        if device.name in seen:
            return f"duplicate device name {device.name}"
        seen.add(device.name)
    return ""


def _unknown_counter(sets: Mapping[str, Counters], slices: Iterable[Slice]) -> str:
    for device in (device for one in slices for device in one.devices):
        for consumed in device.consumes:
            if consumed.name not in sets:
                return f"counter set {consumed.name} not found"
            for name in consumed.counters:
                if name not in sets[consumed.name].counters:
                    return f"counter {name} not found in counter set {consumed.name}"
    return ""


def has_binding_conditions(pool: Pool) -> bool:
    return any(device.binding_conditions is not None for one in pool.slices for device in one.devices)
