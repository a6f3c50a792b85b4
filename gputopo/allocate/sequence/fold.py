"""States that differ only in GPUs that are wired alike are one state.

Exchanging two GPUs with the same NUMA nodes, packages and model and the same relation to every third
GPU changes nothing that the device plugin or the kubelet looks at; neither does exchanging two equal
groups of such GPUs, as the switches of one socket. So a state is known by *how many* are free in each,
not by which.

    >>> from gputopo.topology.node import Gpu, Pair
    >>> gpus = tuple(Gpu(f"GPU{n}", numa_nodes=(0,)) for n in range(4))
    >>> switches = {frozenset(("GPU0", "GPU1")), frozenset(("GPU2", "GPU3"))}
    >>> pairs = tuple(Pair(f"GPU{a}", f"GPU{b}", "PIX" if {f"GPU{a}", f"GPU{b}"} in switches else "NODE")
    ...               for a in range(4) for b in range(a + 1, 4))
    >>> fold = Fold(NodeTopology(gpus=gpus, pairs=pairs))
    >>> fold.key({"GPU0": "free", "GPU1": "free"}) == fold.key({"GPU2": "free", "GPU3": "free"})
    True
    >>> fold.key({"GPU0": "free", "GPU1": "free"}) == fold.key({"GPU0": "free", "GPU2": "free"})
    False
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Union

from gputopo.topology.node import Gpu, NodeTopology, Pair

Key = Union[str, tuple["Key", ...]]  # noqa: UP007
_Relations = dict[frozenset[str], object]


class _Block(NamedTuple):
    """GPUs that look alike from outside. `shape` is equal for blocks with the same inside."""

    first: str
    shape: object
    children: tuple[_Block, ...] = ()


class Fold:
    """Of one node; a state's key is what is left of it when such exchanges do not count."""

    def __init__(self, node: NodeTopology) -> None:
        relations: _Relations = {frozenset((pair.a, pair.b)): _relation(pair) for pair in node.pairs}
        blocks = [_Block(gpu.id, _place(gpu)) for gpu in node.gpus]
        while (joined := _join(blocks, relations)) is not None:
            blocks = joined
        self._blocks = blocks
        self._gpus = {gpu.id for gpu in node.gpus}

    def key(self, labels: Mapping[str, str]) -> Key:
        """labels: unit → what is said of it; units that are no whole GPUs are told apart by name."""
        others = sorted(f"{unit}={said}" for unit, said in labels.items() if unit not in self._gpus)
        return (*(_key(block, labels) for block in self._blocks), *others)


def _key(block: _Block, labels: Mapping[str, str]) -> Key:
    if not block.children:
        return labels.get(block.first, "")
    return tuple(sorted((_key(child, labels) for child in block.children), key=repr))


def _join(blocks: list[_Block], relations: _Relations) -> list[_Block] | None:
    """Blocks that can be exchanged become one; `None` when none can."""
    groups: list[list[_Block]] = []
    for block in blocks:
        for group in groups:
            if _alike(group[0], block, blocks, relations):
                group.append(block)
                break
        else:
            groups.append([block])
    if len(groups) == len(blocks):
        return None
    return [group[0] if len(group) == 1 else _parent(group, relations) for group in groups]


def _parent(group: list[_Block], relations: _Relations) -> _Block:
    between = relations.get(frozenset((group[0].first, group[1].first)))
    return _Block(group[0].first, (group[0].shape, len(group), between), tuple(group))


def _alike(one: _Block, other: _Block, blocks: list[_Block], relations: _Relations) -> bool:
    if one.shape != other.shape:
        return False
    return all(
        relations.get(frozenset((one.first, third.first))) == relations.get(frozenset((other.first, third.first)))
        for third in blocks
        if third.first not in (one.first, other.first)
    )


def _relation(pair: Pair) -> object:
    """All of a pair that an answer or a judgement can depend on."""
    return (pair.level, pair.pcie, pair.pcie_candidates, pair.nvlinks, pair.via_switch, pair.links,
            pair.cross_package, pair.cross_numa)  # fmt: skip


def _place(gpu: Gpu) -> object:
    """What is read of a single GPU. The far ends of its links are in the pairs."""
    return (gpu.numa_nodes, gpu.packages, gpu.memory_numa_node, gpu.name, gpu.vendor, bool(gpu.mig), gpu.driver,
            gpu.nvlinks)  # fmt: skip
