"""What a state leaves free, by NUMA node and by NVLink island: what the next request can hope for.

    >>> from gputopo.topology.node import Gpu, Islands, NodeTopology
    >>> node = NodeTopology(gpus=tuple(Gpu(f"GPU{n}", numa_nodes=(n // 2,)) for n in range(4)),
    ...                     islands=Islands(nvlink=(("GPU0", "GPU1"), ("GPU2", "GPU3"))))
    >>> left = leftover(State(node, (), ("GPU0", "GPU2", "GPU3")))
    >>> left.by_numa, left.whole_islands
    ({'0': ('GPU0',), '1': ('GPU2', 'GPU3')}, (('GPU2', 'GPU3'),))
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.allocate.state import State, physical


class Leftover(NamedTuple):
    free: tuple[str, ...]
    by_numa: dict[str, tuple[str, ...]] | None  # None: the NUMA node of one of them is not known
    whole_islands: tuple[tuple[str, ...], ...]  # NVLink islands of which every GPU is free


def leftover(state: State) -> Leftover:
    homes = {gpu.id: gpu.numa_nodes for gpu in state.node.gpus}
    by_numa: dict[str, tuple[str, ...]] = {}
    unknown = False
    for unit in state.free:
        home = homes.get(physical(unit)) or ()
        key = "+".join(map(str, home))
        unknown = unknown or not home
        by_numa[key] = (*by_numa.get(key, ()), unit)
    free = set(state.free)
    whole = tuple(island for island in state.node.islands.nvlink if free.issuperset(island))
    return Leftover(state.free, None if unknown else by_numa, whole)
