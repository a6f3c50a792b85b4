"""What the Memory manager keeps: blocks of containers, and the banks of each NUMA node.

Upstream: memorymanager/policy_static.go (updateMachineState, releaseMemory, updatePodReusableMemory,
updateInitContainersMemoryBlocks). A NUMA node serves single-node blocks or one group of nodes, never both.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import NamedTuple

from gputopo.allocate.kubelet.frozen_map import FrozenMap
from gputopo.allocate.kubelet.numa_mask import bits
from gputopo.allocate.kubelet.pod import Container, Pod
from gputopo.allocate.kubelet.stops import KubeletStops

_MOST_ORDERS = 6  # containers whose release order is tried out (6! ways)


class Bank(NamedTuple):
    """One type of memory of one NUMA node, in bytes."""

    allocatable: int
    free: int
    reserved: int = 0


class Cell(NamedTuple):
    assignments: int
    group: int  # mask of the nodes it is grouped with, itself included
    banks: FrozenMap[str, Bank]


class Block(NamedTuple):
    mask: int
    size: int
    kind: str  # "memory", "hugepages-1Gi" …


Nodes = FrozenMap[int, Cell]


class MemoryState(NamedTuple):
    nodes: Nodes
    held: FrozenMap[tuple[str, str], tuple[Block, ...]] = FrozenMap()
    reusable: tuple[str, FrozenMap[tuple[int, str], int]] | None = None  # pod, (mask, kind) → bytes


def start(memory: Mapping[int, Mapping[str, int]], reserved: Mapping[int, Mapping[str, int]]) -> MemoryState:
    """Nothing handed out yet. `memory` of a node includes its huge pages."""
    nodes = {}
    for node, kinds in memory.items():
        huge = sum(size for kind, size in kinds.items() if kind != "memory")
        banks = {}
        for kind, size in kinds.items():
            allocatable = size - reserved.get(node, {}).get(kind, 0) - (huge if kind == "memory" else 0)
            banks[kind] = Bank(allocatable, allocatable)
        nodes[node] = Cell(0, 1 << node, FrozenMap(banks))
    return MemoryState(FrozenMap(nodes))


def without(state: MemoryState, active: frozenset[str]) -> tuple[MemoryState, ...]:
    """The states possible when pods that are not active any more gave theirs back.

    The real code releases in map order; that matters only where groups that are no longer one overlap.
    """
    gone = [key for key in state.held if key[0] not in active]
    if not gone:
        return (state,)
    blocks = [block for key in gone for block in state.held[key]]
    left = state._replace(held=state.held.drop(*gone))
    masks = {block.mask for block in blocks}
    tangled = any(one & other for one in masks for other in masks if one != other)
    if not tangled or len(gone) > _MOST_ORDERS:
        return (left._replace(nodes=released(state.nodes, blocks)),)
    orders = ([block for key in order for block in state.held[key]] for order in permutations(gone))
    return tuple({left._replace(nodes=released(state.nodes, order)): None for order in orders})


def released(nodes: Nodes, blocks: list[Block]) -> Nodes:
    cells = dict(nodes)
    for block in blocks:
        size = block.size
        for node in bits(block.mask):
            cell = cells[node]
            count = cell.assignments - 1
            bank = cell.banks[block.kind]
            back = min(size, bank.reserved)
            size -= back
            bank = bank._replace(free=bank.free + back, reserved=bank.reserved - back)
            group = cell.group if count else 1 << node
            cells[node] = Cell(count, group, cell.banks.put(block.kind, bank))
    return FrozenMap(cells)


def bank_sum(nodes: Nodes, mask: int, kind: str) -> Bank:
    allocatable = free = 0
    for node in bits(mask):
        bank = bank_of(nodes[node], kind)
        allocatable += bank.allocatable
        free += bank.free
    return Bank(allocatable, free)


def bank_of(cell: Cell, kind: str) -> Bank:
    bank = cell.banks.get(kind)
    if bank is None:
        raise KubeletStops(f"no NUMA node has {kind}: the Memory manager crashes on it (nil pointer)")
    return bank


def group_allows(nodes: Nodes, mask: int) -> bool:
    """A grouped node serves its group only, a node with single-node blocks no group."""
    members = bits(mask)
    if len(members) == 1:
        return nodes[members[0]].group.bit_count() == 1
    return all(not nodes[node].assignments or nodes[node].group == mask for node in members)


def reusable(state: MemoryState, pod: Pod, mask: int, kind: str) -> int:
    if state.reusable is None or state.reusable[0] != pod.uid:
        return 0
    return state.reusable[1].get((mask, kind), 0)


def taken(nodes: Nodes, block: Block) -> Nodes:
    """Fill the nodes in ascending order; each counts an assignment and joins the group."""
    cells = dict(nodes)
    size = block.size
    for node in bits(block.mask):
        cell = cells[node]
        bank = bank_of(cell, block.kind)
        part = min(size, max(0, bank.free))
        size -= part
        bank = bank._replace(free=bank.free - part, reserved=bank.reserved + part)
        cells[node] = Cell(cell.assignments + 1, block.mask, cell.banks.put(block.kind, bank))
    return FrozenMap(cells)


def note_reusable(
    state: MemoryState, pod: Pod, container: Container, blocks: tuple[Block, ...]
) -> MemoryState:  # fmt: skip
    """What an init container has is for those after it; what runs on uses it up."""
    mine = state.reusable[1] if state.reusable is not None and state.reusable[0] == pod.uid else FrozenMap()
    for block in blocks:
        key = (block.mask, block.kind)
        before = mine.get(key, 0)
        if container.kind == "init":
            mine = mine.put(key, max(before, block.size))
        elif before:
            mine = mine.put(key, max(0, before - block.size))
    return state._replace(reusable=(pod.uid, mine))


def shrink_init_blocks(
    state: MemoryState, pod: Pod, container: Container, blocks: tuple[Block, ...]
) -> MemoryState:  # fmt: skip
    """The blocks of init containers lose what was reused, so that a pod's blocks add up; down to size 0."""
    held = state.held
    for block in blocks:
        left = block.size
        for earlier in pod.containers:
            if earlier.name == container.name or earlier.kind == "app" or left == 0:
                break
            if earlier.kind == "sidecar":
                continue
            key = (pod.uid, earlier.name)
            shrunk = []
            for one in held.get(key, ()):
                if (one.kind, one.mask) == (block.kind, block.mask):
                    part = min(left, one.size)
                    left -= part
                    one = one._replace(size=one.size - part)
                shrunk.append(one)
            if key in held:
                held = held.put(key, tuple(shrunk))
    return state._replace(held=held)
