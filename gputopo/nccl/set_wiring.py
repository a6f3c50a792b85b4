"""How the GPUs of a set reach each other by NVLink: links into the set, islands in it, whether NVSwitches join them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gputopo.topology.node import Gpu, NodeTopology
from gputopo.topology.nvlink_ends import nvlink_ends

_SWITCH = "the NVSwitches"  # all of them are one place


class SetWiring(NamedTuple):
    """`links[n]`: NVLinks of `gpus[n]` that end in the set or in an NVSwitch; islands of one are PCIe alone."""

    gpus: tuple[Gpu, ...]
    links: tuple[int, ...]
    islands: tuple[tuple[int, ...], ...]  # places in `gpus`
    by_switch: bool  # every GPU has links to an NVSwitch, and none to another GPU
    unknown: str  # why nothing of this is known, else ""


def wiring_of(node: NodeTopology, gpus: Sequence[str]) -> SetWiring:
    """Raises KeyError for an id that the node has not."""
    members = tuple(node.gpu(id) for id in gpus)
    links: list[int] = []
    reached: list[set[str]] = []
    to_gpu = to_switch = 0
    for gpu in members:
        ends = nvlink_ends(node, gpu)
        if ends is None:
            return SetWiring(members, (), (), False, "where the NVLinks end is not in the evidence")
        if any(end.kind == "cpu" for end in ends):
            return SetWiring(members, (), (), False, f"{gpu.id} has NVLinks to its CPU")
        switched = sum(count for end, count in ends.items() if end.kind == "switch")
        direct = {end.id: count for end, count in ends.items() if end.kind == "gpu" and end.id in gpus}
        to_switch += bool(switched)
        to_gpu += bool(direct)
        links.append(switched + sum(direct.values()))
        reached.append({*(id for id in direct if id is not None), *([_SWITCH] if switched else ())})
    islands = _islands([gpu.id for gpu in members], reached)
    return SetWiring(members, tuple(links), islands, to_switch == len(members) and not to_gpu, "")


def _islands(ids: Sequence[str], reached: Sequence[set[str]]) -> tuple[tuple[int, ...], ...]:
    groups: list[tuple[set[str], list[int]]] = []
    for place, (id, others) in enumerate(zip(ids, reached)):
        names, places = {id, *others}, [place]
        for group in [group for group in groups if group[0] & names]:
            groups.remove(group)
            names |= group[0]
            places += group[1]
        groups.append((names, sorted(places)))
    return tuple(sorted(tuple(places) for _, places in groups))
