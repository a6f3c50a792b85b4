"""Tensor-parallel groups: consecutive ranks, as Megatron, vLLM, SGLang and DeepSpeed form them.

    >>> from gputopo.topology.node import NodeTopology
    >>> [group.gpus for group in groups(NodeTopology(), [(0, "GPU0"), (1, "GPU2"), (2, "GPU1"), (3, "GPU3")], 2)]
    [('GPU0', 'GPU2'), ('GPU1', 'GPU3')]

Tensor parallelism is the innermost dimension: ranks 0 to K-1 are the first group (Megatron-LM
core/parallel_state.py, order "tp-cp-ep-dp-pp"; vLLM distributed/parallel_state.py). Pipeline stages come around it.
"""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.jobs.model import Group
from gputopo.topology.gpu_sets import Sight
from gputopo.topology.node import NodeTopology


def groups(node: NodeTopology, ranked: Sequence[tuple[int, str]], size: int) -> tuple[Group, ...]:
    """`ranked`: (rank, GPU) on this node, by rank. A group that is partly on another node has the GPUs of this one."""
    sight = Sight(node)
    members: dict[int, list[tuple[int, str]]] = {}
    for rank, gpu in sorted(ranked):
        members.setdefault(rank // size, []).append((rank, gpu))
    return tuple(
        Group(number, tuple(gpu for _, gpu in own), tuple(rank for rank, _ in own), sight.see([gpu for _, gpu in own]))
        for number, own in members.items()
    )
