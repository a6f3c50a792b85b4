"""Groups of GPUs that share something: NVLink, a fabric, a switch, a root, a NUMA node, a package."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import FabricIsland, Gpu, Islands, Pair

Groups = tuple[tuple[str, ...], ...]
ZERO_UUID = "00000000-0000-0000-0000-000000000000"


def build_islands(gpus: Sequence[Gpu], pairs: Iterable[Pair]) -> Islands:
    """Only what is decided joins: an undecided level or count makes no island."""
    ids = [gpu.id for gpu in gpus]
    known = set(ids)
    among = [pair for pair in pairs if pair.a in known and pair.b in known]

    def within(level: PathLevel) -> Groups:
        return _components(ids, [(p.a, p.b) for p in among if p.pcie is not None and p.pcie <= level])

    return Islands(
        nvlink=_components(ids, [(pair.a, pair.b) for pair in among if pair.nvlinks]),
        fabric=_fabric(gpus),
        pcie_switch=within(PathLevel.PXB),
        pcie_root=within(PathLevel.PHB),
        numa=_by(gpus, lambda gpu: gpu.numa_nodes),
        package=_by(gpus, lambda gpu: gpu.packages),
    )


def _components(ids: Sequence[str], edges: Iterable[tuple[str, str]]) -> Groups:
    """Connected groups of two or more, in the order of the ids."""
    group = {id: id for id in ids}

    def root(id: str) -> str:
        while group[id] != id:
            group[id] = group[group[id]]
            id = group[id]
        return id

    for a, b in edges:
        group[root(b)] = root(a)
    members: dict[str, list[str]] = {}
    for id in ids:
        members.setdefault(root(id), []).append(id)
    return tuple(tuple(one) for one in members.values() if len(one) > 1)


def _by(gpus: Sequence[Gpu], place: Callable[[Gpu], object]) -> Groups:
    members: dict[object, list[str]] = {}
    for gpu in gpus:
        where = place(gpu)
        if where:
            members.setdefault(where, []).append(gpu.id)
    return tuple(tuple(one) for one in members.values())


def _fabric(gpus: Sequence[Gpu]) -> tuple[FabricIsland, ...]:
    """A clique is named by cluster UUID *and* id. The zero UUID names no cluster; a clique id alone names nothing,
    least of all 32766, which racks report that have nothing in common (torchcomms pull request 3612).
    """
    members: dict[tuple[str, int | None], list[str]] = {}
    for gpu in gpus:
        cluster = (gpu.fabric.cluster_uuid or "").strip().lower() if gpu.fabric is not None else ""
        if gpu.fabric is not None and cluster not in ("", ZERO_UUID):
            members.setdefault((cluster, gpu.fabric.clique_id), []).append(gpu.id)
    return tuple(FabricIsland(uuid, clique, tuple(ids)) for (uuid, clique), ids in members.items())
