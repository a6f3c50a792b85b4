"""A node as a small graph for alignment: its devices with what is known of them, and what joins any two.

A label is a tuple of parts, each `None` where the evidence does not say: (NVLinks, levels still possible, near or
in). Two labels agree where every part that both know agrees; sets of levels agree where they have one in common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gputopo.checks import facets
from gputopo.checks.facets import Facets
from gputopo.topology.node import Gpu, Nic, NodeTopology, Pair

Label = tuple[object, ...]
NOTHING: Label = (None, None, None)


class Vertex(NamedTuple):
    id: str
    kind: str  # "gpu" | "nic" | "numa" | "package"
    facets: Facets


class Outlined(NamedTuple):
    vertices: tuple[Vertex, ...]
    labels: Mapping[tuple[int, int], Label]  # of ordered pairs that anything is known of


def outlined(node: NodeTopology) -> Outlined:
    vertices = _vertices(node)
    place = {one.id: at for at, one in enumerate(vertices)}
    labels: dict[tuple[int, int], Label] = {}
    for pair in node.pairs:
        if pair.a in place and pair.b in place:
            label = (nvlinks_between(pair), levels_of(pair), None)
            labels[place[pair.a], place[pair.b]] = labels[place[pair.b], place[pair.a]] = label
    devices: tuple[Gpu | Nic, ...] = (*node.gpus, *(node.nics or ()))
    numa = [(f"NUMA{number}", number) for number in numa_numbers(node)]
    for device in devices:
        _join(labels, place, device.id, numa, device.numa_nodes)
        _join(labels, place, device.id, [(one.id, one.id) for one in node.packages or ()], device.packages)
    for one in node.numa_nodes or ():
        _join(labels, place, f"NUMA{one.number}", [(each.id, each.id) for each in node.packages or ()], one.packages)
        for other, distance in (one.distances or {}).items():
            ends = place.get(f"NUMA{one.number}"), place.get(f"NUMA{other}")
            if None not in ends and other != one.number:
                labels[ends] = (None, None, distance)  # type: ignore[index]
    return Outlined(vertices, labels)


def numa_numbers(node: NodeTopology) -> list[int]:
    """Those of the table, and those that only a device names."""
    devices: tuple[Gpu | Nic, ...] = (*node.gpus, *(node.nics or ()))
    found = {number for device in devices for number in device.numa_nodes or ()}
    return sorted(found | {one.number for one in node.numa_nodes or ()})


def nvlinks_between(pair: Pair) -> int | None:
    """The cables of a pair. Into a switch they are each GPU's own, and counted there."""
    return None if pair.via_switch else pair.nvlinks


def levels_of(pair: Pair) -> frozenset[str] | None:
    if pair.pcie is not None:
        return frozenset((pair.pcie.name,))
    return frozenset(level.name for level in pair.pcie_candidates) or None


def disagreement(a: Label, b: Label) -> int:
    """How many parts of two labels exclude one another.

    >>> disagreement((4, frozenset({"PIX"}), None), (4, frozenset({"PIX", "PXB"}), True))
    0
    >>> disagreement((4, frozenset({"PIX"}), None), (2, frozenset({"SYS"}), None))
    2
    """
    found = 0
    for one, other in zip(a, b):
        if one is None or other is None or one == other:
            continue
        if isinstance(one, frozenset) and isinstance(other, frozenset) and one & other:
            continue
        found += 1
    return found


def _vertices(node: NodeTopology) -> tuple[Vertex, ...]:
    listed = {one.number: facets.of_numa_node(one) for one in node.numa_nodes or ()}
    return (
        *(Vertex(gpu.id, "gpu", facets.of_gpu(gpu)) for gpu in node.gpus),
        *(Vertex(nic.id, "nic", facets.of_nic(nic)) for nic in node.nics or ()),
        *(Vertex(f"NUMA{number}", "numa", listed.get(number, {})) for number in numa_numbers(node)),
        *(Vertex(one.id, "package", facets.of_package(one)) for one in node.packages or ()),
    )


def _join(
    labels: dict[tuple[int, int], Label], place: Mapping[str, int], id: str, homes: Sequence[tuple[str, object]],
    near: tuple[object, ...] | None,
) -> None:  # fmt: skip
    """What is known of a device and every NUMA node (or package): in, or not."""
    if near is None or id not in place:
        return
    for home, key in homes:
        if home in place:
            label: Label = (None, None, key in near)
            labels[place[id], place[home]] = labels[place[home], place[id]] = label
