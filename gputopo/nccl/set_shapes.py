"""The shape of a set: how many of its GPUs on each socket, NUMA node, PCIe switch, NVLink island.

    >>> from gputopo.topology.node import Gpu, Islands
    >>> gpus = tuple(Gpu(f"GPU{n}") for n in range(4))
    >>> islands = Islands(package=(("GPU0", "GPU1"), ("GPU2", "GPU3")), nvlink=(("GPU0", "GPU1"), ("GPU2", "GPU3")))
    >>> pairs = (Pair("GPU0", "GPU1", nvlinks=4), Pair("GPU2", "GPU3", nvlinks=4))
    >>> shapes = Shapes(NodeTopology(gpus=gpus, islands=islands, pairs=pairs))
    >>> shapes.of((0, 1, 2)), shapes.of((1, 3))
    ('sockets 2+1, NVLink islands 2+1', 'sockets 1+1, NVLink islands 1+1')
    >>> shapes.left((0, 1, 2))
    (('GPU0', 'GPU1'), ('GPU2', 'GPU3'))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import NodeTopology, Pair

Groups = tuple[tuple[str, ...], ...]


class Shapes:
    """GPUs are called by their place in `node.gpus`. What tells no two sets of the node apart is left out."""

    def __init__(self, node: NodeTopology) -> None:
        self._ids = [gpu.id for gpu in node.gpus]
        self._islands = node.islands.nvlink
        self._kinds = tuple(_kinds(node, self._ids))
        self._texts: dict[tuple[tuple[int, ...], ...], str] = {}

    def of(self, places: Sequence[int]) -> str:
        """`sockets 2+1, NVLink islands 2+1`; where every set is like every other, that."""
        key = tuple(
            tuple(sorted(Counter([group[place] for place in places]).values(), reverse=True))
            for _, group in self._kinds
        )
        if key not in self._texts:
            parts = (f"{name} {'+'.join(map(str, counts))}" for (name, _), counts in zip(self._kinds, key))
            self._texts[key] = ", ".join(parts) or "all sets are alike"
        return self._texts[key]

    def left(self, places: Sequence[int]) -> Groups:
        """The NVLink islands that the set leaves: some of its GPUs are in one, others are not."""
        chosen = {self._ids[place] for place in places}
        return tuple(island for island in self._islands if chosen & set(island) and chosen - set(island))


def _kinds(node: NodeTopology, ids: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    """Name and the group of each GPU; of two that divide the GPUs alike the first."""
    islands = node.islands
    seen: list[list[int]] = []
    among = [pair for pair in node.pairs if pair.a in ids and pair.b in ids]
    for name, groups, known in (
        ("sockets", islands.package, _all_in(islands.package, ids)),
        ("NUMA nodes", islands.numa, _all_in(islands.numa, ids)),
        ("PCIe roots", islands.pcie_root, _decided(among, PathLevel.PHB)),
        ("PCIe switches", islands.pcie_switch, _decided(among, PathLevel.PXB)),
        ("NVLink islands", islands.nvlink, all(pair.nvlinks is not None for pair in among)),
    ):
        if not known:
            continue
        group = {id: number for number, members in enumerate(groups) for id in members}
        numbered = [group.get(id, len(groups) + place) for place, id in enumerate(ids)]
        alike = [numbered.index(number) for number in numbered]
        if 1 < len(set(alike)) < len(ids) and (name == "NVLink islands" or alike not in seen):
            seen.append(alike)
            yield name, numbered


def _all_in(groups: Groups, ids: Sequence[str]) -> bool:
    """A GPU of unknown place could be in any."""
    return sum(map(len, groups)) == len(ids)


def _decided(pairs: Sequence[Pair], level: PathLevel) -> bool:
    """Whether each pair is known to be within the level or beyond it."""
    possible = ([pair.pcie] if pair.pcie is not None else pair.pcie_candidates for pair in pairs)
    return all(levels and len({one <= level for one in levels}) == 1 for levels in possible)
