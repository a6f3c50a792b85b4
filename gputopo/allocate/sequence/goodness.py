"""Which sets are good enough: as good as the best of their size on the empty node (the order of best.py).

    >>> from gputopo.topology.node import Gpu, Pair
    >>> from gputopo.terms.path_level import PathLevel as L
    >>> gpus = tuple(Gpu(f"GPU{n}", packages=(f"PKG{n // 2}",), numa_nodes=(n // 2,)) for n in range(4))
    >>> pairs = tuple(Pair(f"GPU{a}", f"GPU{b}", pcie=L.NODE if a // 2 == b // 2 else L.SYS, nvlinks=0)
    ...               for a in range(4) for b in range(a + 1, 4))
    >>> node = NodeTopology(gpus=gpus, pairs=pairs)
    >>> goodness = Goodness(node, [gpu.id for gpu in gpus])
    >>> goodness.is_good(("GPU0", "GPU1")), goodness.is_good(("GPU1", "GPU2"))
    (True, False)
    >>> goodness.is_good(("GPU0", "GPU1", "GPU2"))           # three never fit into one socket of two
    True
"""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.allocate.best import Judge, Quality, best, is_better
from gputopo.topology.node import NodeTopology


class Goodness:
    """Of one node; asks for each size once."""

    def __init__(self, node: NodeTopology, gpus: Sequence[str]) -> None:
        self._node = node
        self._gpus = tuple(gpus)
        self._judge = Judge(node)
        self._best: dict[int, Quality | None] = {}
        self._known: dict[frozenset[str], bool | None] = {}

    def is_good(self, gpus: Sequence[str]) -> bool | None:
        """False: a better set of this size exists on the empty node. None: the evidence leaves it open."""
        key = frozenset(gpus)
        if key not in self._known:
            wanted = self._wanted(len(key))
            worse = None if wanted is None else is_better(wanted, self._judge.quality(tuple(key)))
            self._known[key] = None if worse is None else not worse
        return self._known[key]

    def _wanted(self, size: int) -> Quality | None:
        if size not in self._best:
            found = best(self._node, self._gpus, size)
            self._best[size] = self._judge.quality(found.sets[0]) if found is not None else None
        return self._best[size]
