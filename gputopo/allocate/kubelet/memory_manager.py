"""Memory manager, policy `Static`: hints and blocks. Policy `None` is the absence of this one.

Upstream: memorymanager/policy_static.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from gputopo.allocate.kubelet.hints import Hint, ProviderHints
from gputopo.allocate.kubelet.memory_state import (
    Block,
    MemoryState,
    bank_sum,
    group_allows,
    note_reusable,
    reusable,
    shrink_init_blocks,
    taken,
)
from gputopo.allocate.kubelet.numa_mask import masks_in_order, narrower
from gputopo.allocate.kubelet.pod import Container, Pod, pinned_memory, total_memory
from gputopo.allocate.kubelet.releases import Release
from gputopo.allocate.kubelet.stops import ManagerError

_NO_DEFAULT = "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
_NOT_PREFERRED = "[memorymanager] failed to find the default preferred hint"
_NOT_EXTENDED = "[memorymanager] failed to find NUMA nodes to extend the current topology hint"
_EXTENDED_NOT_PREFERRED = "[memorymanager] failed to find the extended preferred hint"
_VIOLATES = "[memorymanager] preferred hint violates NUMA node allocation"


class MemoryManager:
    def __init__(self, release: Release) -> None:
        self._release = release

    def hints(self, state: MemoryState, pod: Pod, container: Container) -> ProviderHints:
        if not pod.exclusive:
            return None
        try:
            wanted = pinned_memory(container)
        except ManagerError:
            return None
        if not wanted and self._release.memory_skips_empty:
            return None
        blocks = state.held.get((pod.uid, container.name))
        if blocks is not None:
            return _again(blocks, wanted)
        return self._by_kind(state, pod, wanted)

    def pod_hints(self, state: MemoryState, pod: Pod) -> ProviderHints:
        if not pod.exclusive:
            return None
        try:
            wanted = total_memory(pod)
        except ManagerError:
            return None
        if not wanted:
            return None
        for container in pod.containers:
            blocks = state.held.get((pod.uid, container.name))
            if blocks is not None:
                return _again(blocks, wanted)
        return self._by_kind(state, pod, wanted)

    def _by_kind(self, state: MemoryState, pod: Pod, wanted: Mapping[str, int]) -> ProviderHints:
        """The same hints for every type; without any, upstream's map is empty, which means "no preference"."""
        hints = self._calculate(state, pod, wanted)
        return dict.fromkeys(wanted, hints) if hints else {}

    def _calculate(self, state: MemoryState, pod: Pod, wanted: Mapping[str, int]) -> tuple[Hint, ...]:
        nodes = state.nodes
        smallest = len(nodes)
        found = []
        for mask in masks_in_order(sorted(nodes)):
            if any(bank_sum(nodes, mask, kind).allocatable < size for kind, size in wanted.items()):
                continue
            smallest = min(smallest, mask.bit_count())
            if not group_allows(nodes, mask):
                continue
            if all(
                bank_sum(nodes, mask, kind).free + reusable(state, pod, mask, kind) >= size
                for kind, size in wanted.items()
            ):
                found.append(mask)
        return tuple(Hint(mask, mask.bit_count() == smallest) for mask in found)

    def allocate(self, state: MemoryState, pod: Pod, container: Container, hint: Hint) -> MemoryState:
        """The state after; raises ManagerError where the pod is to be refused."""
        if not pod.exclusive:
            return state
        key = (pod.uid, container.name)
        held = state.held.get(key)
        wanted = pinned_memory(container) if held is None or self._release.memory_skips_empty else {}
        if not wanted and self._release.memory_skips_empty:
            return state
        if held is not None:
            return note_reusable(state, pod, container, held)
        mask = self._mask(state, pod, wanted, hint)
        blocks = tuple(Block(mask, size, kind) for kind, size in sorted(wanted.items()))
        nodes = state.nodes
        for block in blocks:
            reused = reusable(state, pod, mask, block.kind)
            nodes = taken(nodes, block._replace(size=max(0, block.size - reused)))
        state = note_reusable(state, pod, container, blocks)
        state = state._replace(nodes=nodes, held=state.held.put(key, blocks))
        return shrink_init_blocks(state, pod, container, blocks)

    def _mask(self, state: MemoryState, pod: Pod, wanted: Mapping[str, int], hint: Hint) -> int:
        """The nodes of the merged hint, or of a hint of its own; extended where they do not hold enough."""
        best = hint
        if hint.mask is None:
            hints = self._calculate(state, pod, wanted)
            if not hints:
                raise ManagerError(_NO_DEFAULT)
            best = _best(hints)
            if hint.preferred and not best.preferred:
                raise ManagerError(_NOT_PREFERRED)
        mask = best.mask
        assert mask is not None
        if any(bank_sum(state.nodes, mask, kind).free < size for kind, size in wanted.items()):
            wider = [one for one in self._calculate(state, pod, wanted) if one.mask and not mask & ~one.mask]
            if not wider:
                raise ManagerError(_NOT_EXTENDED)
            extended = _best(tuple(wider))
            if best.preferred and not extended.preferred:
                raise ManagerError(_EXTENDED_NOT_PREFERRED)
            assert extended.mask is not None
            mask = extended.mask
        if mask.bit_count() > 1 and not group_allows(state.nodes, mask):
            raise ManagerError(_VIOLATES)
        return mask


def _best(hints: tuple[Hint, ...]) -> Hint:
    """findBestHint: preferred ones first, then the narrowest."""
    best = hints[0]
    for hint in hints[1:]:
        assert hint.mask is not None
        assert best.mask is not None
        better = hint.preferred and not best.preferred
        if better or (hint.preferred == best.preferred and narrower(hint.mask, best.mask)):
            best = hint
    return best


def _again(blocks: tuple[Block, ...], wanted: Mapping[str, int]) -> ProviderHints:
    """The hints of a container that has its blocks already; None where they are not what it asks for."""
    if {block.kind: block.size for block in blocks} != wanted or len(blocks) != len(wanted):
        return None
    return {block.kind: (Hint(block.mask, True),) for block in blocks}
