"""The shape of a node: how its GPUs, NICs, NUMA nodes and sockets are wired, whatever they are called.

Two nodes have one shape where their devices can be paired off so that every level, every number of NVLinks
and every NUMA node and socket agrees: one machine model with the same evidence. Host names, UUIDs, PCI
addresses, the order of GPUs and NICs and the numbers of NUMA nodes and sockets are not looked at; nor is
what wears or is switched (state of a port, present PCIe width, clocks, errors, MIG).

What the evidence leaves open belongs to the shape: a pair that may be NODE or SYS is another one than a
pair at SYS, and a text that does not speak of NICs is another one than a text of a node without any.

`form` describes the shape wholly (see canonical.py), so shapes with one form are the same, exactly.
`fingerprint` is its digest, for people and file names; who groups nodes compares forms. Ties among devices
that cannot be told apart are broken by the least form; where a node is so regular that this search is cut
short (`exact` False), nodes of one shape may get several fingerprints, but never two shapes one.

    >>> from gputopo.topology.node import Gpu, Pair
    >>> from gputopo.terms.path_level import PathLevel as L
    >>> def made(*near):
    ...     levels = {two: L.PIX if two in near else L.SYS for two in ((0, 1), (0, 2), (1, 2))}
    ...     pairs = (Pair(f"GPU{a}", f"GPU{b}", l.name, l, (l,)) for (a, b), l in levels.items())
    ...     return NodeTopology(gpus=tuple(Gpu(f"GPU{n}") for n in range(3)), pairs=tuple(pairs))
    >>> shape_of(made((0, 1))).fingerprint == shape_of(made((1, 2))).fingerprint
    True
    >>> shape_of(made((0, 1))).fingerprint == shape_of(made()).fingerprint
    False
    >>> shape_of(made((0, 1)), marks={"GPU0": "held"}).form == shape_of(made((0, 1)), marks={"GPU2": "held"}).form
    False
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from gputopo.fleet.canonical import Form, Graph, canonical
from gputopo.topology.node import Gpu, Nic, NodeTopology, Pair

_DIGITS = 12  # of a fingerprint
_EDITION = 1  # another one where the description of a shape changes: fingerprints of two do not compare
_NOTHING: Mapping[str, object] = {}
_NO_TIES: Mapping[tuple[str, str], object] = {}


class Shape(NamedTuple):
    """`order`: the ids of GPUs, NICs, NUMA nodes and packages as the form lists them."""

    fingerprint: str
    form: Form
    order: tuple[str, ...]
    exact: bool


class Outline(NamedTuple):
    """A shape in numbers, for people; `None`: not in the evidence. `numa_nodes`: without those that have no CPUs."""

    gpus: int
    models: tuple[str, ...]
    numa_nodes: int | None
    packages: int | None
    nics: int | None


def shape_of(
    node: NodeTopology, *, marks: Mapping[str, object] = _NOTHING,
    ties: Mapping[tuple[str, str], object] = _NO_TIES, frame: object = None,
) -> Shape:  # fmt: skip
    """The wiring, and what the caller adds to it: of devices (by id), of ordered pairs of them, of the node.

    What is added must have a `repr` that tells it apart. Ids that the node does not have are not looked at.
    """
    ids, colours = _vertices(node, marks)
    place = {id: at for at, id in enumerate(ids)}
    edges = _edges(node, place)
    for (a, b), said in ties.items():
        if a in place and b in place:
            edges[place[a], place[b]] = (edges.get((place[a], place[b]), ""), repr(said))
    words: dict[object, str] = {}
    graph = Graph(colours, tuple((a, b, _word(label, words)) for (a, b), label in sorted(edges.items(), key=_pair)))
    found = canonical(graph)
    form: Form = (_frame(node, frame), *found.form)
    return Shape(_digest(form), form, tuple(ids[at] for at in found.order), found.exact)


def outline(node: NodeTopology) -> Outline:
    names = dict.fromkeys(gpu.name for gpu in node.gpus if gpu.name)
    return Outline(
        len(node.gpus), tuple(names),
        None if node.numa_nodes is None else sum(one.cpus is None or bool(one.cpus) for one in node.numa_nodes),
        None if node.packages is None else len(node.packages),
        None if node.nics is None else len(node.nics),
    )  # fmt: skip


def _digest(form: Form) -> str:
    from hashlib import sha256

    return sha256(repr(form).encode()).hexdigest()[:_DIGITS]


def _word(label: object, words: dict[object, str]) -> str:
    """Most pairs of a node are alike: one text for each kind."""
    word = words.get(label)
    if word is None:
        word = words[label] = repr(label)
    return word


def _pair(edge: tuple[tuple[int, int], object]) -> tuple[int, int]:
    return edge[0]


def _frame(node: NodeTopology, frame: object) -> str:
    known = tuple(table is not None for table in (node.nics, node.numa_nodes, node.packages))
    switches = None if node.nvswitches is None else len(node.nvswitches)
    return repr((_EDITION, known, switches, frame))


def _vertices(node: NodeTopology, marks: Mapping[str, object]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found: dict[str, object] = {}
    listed = {gpu.id for gpu in node.gpus} | {gpu.pci for gpu in node.gpus if gpu.pci}
    for gpu in node.gpus:
        found[gpu.id] = _gpu(gpu, listed)
    for nic in node.nics or ():
        bond = len(nic.members)
        found[nic.id] = ("nic", nic.vendor, bond, nic.virtual_function_of is not None, *_placed(nic))
    for number in _numa_numbers(node):
        found[f"NUMA{number}"] = ("numa",)
    for one in node.numa_nodes or ():
        cpus = None if one.cpus is None else len(one.cpus)
        found[f"NUMA{one.number}"] = ("numa", one.kind, cpus, one.packages is None)
    for package in node.packages or ():
        found[package.id] = ("package", package.vendor, package.family, package.model, package.arch)
    return tuple(found), tuple(repr((said, marks.get(id))) for id, said in found.items())


def _gpu(gpu: Gpu, listed: set[str]) -> object:
    """With its NVLinks that end at no GPU of the node; the others are edges."""
    links = None if gpu.nvlinks is None else (gpu.nvlinks.active, gpu.nvlinks.total, gpu.nvlinks.via)
    outside: Counter[tuple[str, str]] = Counter()
    for link in gpu.links:
        if link.remote not in listed:
            outside[link.remote_kind or "", link.state or ""] += link.times
    return ("gpu", gpu.name, gpu.vendor, links, sorted(outside.items()), *_placed(gpu))


def _placed(device: Gpu | Nic) -> tuple[bool, bool]:
    return device.numa_nodes is None, device.packages is None


def _numa_numbers(node: NodeTopology) -> list[int]:
    """Those that only a GPU or a NIC names, too."""
    devices: tuple[Gpu | Nic, ...] = (*node.gpus, *(node.nics or ()))
    found = {number for device in devices for number in device.numa_nodes or ()}
    found |= {gpu.memory_numa_node for gpu in node.gpus if gpu.memory_numa_node is not None}
    return sorted(found | {one.number for one in node.numa_nodes or ()})


def _edges(node: NodeTopology, place: Mapping[str, int]) -> dict[tuple[int, int], object]:
    edges: dict[tuple[int, int], object] = {}
    together = {id: at for at, island in enumerate(node.islands.nvlink) for id in island}
    links = _links(node)
    for pair in node.pairs:
        a, b = place.get(pair.a), place.get(pair.b)
        if a is not None and b is not None:
            said = _level(pair, together.get(pair.a, -1) == together.get(pair.b, -2))
            edges[a, b] = (said, links.get((pair.a, pair.b)))
            edges[b, a] = (said, links.get((pair.b, pair.a)))
    for gpu in node.gpus:
        near = dict.fromkeys(gpu.numa_nodes or (), "near")
        if gpu.memory_numa_node is not None:
            near[gpu.memory_numa_node] = f"{near.get(gpu.memory_numa_node, '')}, its memory"
        edges.update({(place[gpu.id], place[f"NUMA{number}"]): word for number, word in near.items()})
    for nic in node.nics or ():
        edges.update({(place[nic.id], place[f"NUMA{number}"]): "near" for number in nic.numa_nodes or ()})
    _of_packages(node, place, edges)
    for one in node.numa_nodes or ():
        for other, distance in (one.distances or {}).items():
            if other != one.number and f"NUMA{other}" in place:
                edges[place[f"NUMA{one.number}"], place[f"NUMA{other}"]] = distance
    return edges


def _of_packages(node: NodeTopology, place: Mapping[str, int], edges: dict[tuple[int, int], object]) -> None:
    devices: tuple[Gpu | Nic, ...] = (*node.gpus, *(node.nics or ()))
    members = [(device.id, device.packages) for device in devices]
    members += [(f"NUMA{one.number}", one.packages) for one in node.numa_nodes or ()]
    for id, packages in members:
        edges.update({(place[id], place[package]): "in" for package in packages or () if package in place})


def _level(pair: Pair, one_island: bool) -> object:
    """A pair's whole path: SOC of old drivers is SYS."""
    kinds = tuple(sorted((link.kind, link.times or 0, link.via or "") for link in pair.links))
    levels = tuple(int(one) for one in pair.pcie_candidates)
    pcie = None if pair.pcie is None else int(pair.pcie)
    return (
        pair.level is not None, pcie, levels, pair.nvlinks, pair.via_switch, kinds, pair.cross_package,
        pair.cross_numa, one_island,
    )  # fmt: skip


def _links(node: NodeTopology) -> dict[tuple[str, str], object]:
    """(from, to) → how many NVLinks a GPU lists to another, by state: the two directions can differ."""
    by_name = {name: gpu.id for gpu in node.gpus for name in (gpu.id, gpu.pci) if name}
    found: dict[tuple[str, str], Counter[str]] = {}
    for gpu in node.gpus:
        for link in gpu.links:
            peer = by_name.get(link.remote or "")
            if peer is not None:
                found.setdefault((gpu.id, peer), Counter())[link.state or ""] += link.times
    return {two: tuple(sorted(states.items())) for two, states in found.items()}
