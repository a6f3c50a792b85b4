"""The devices that koordlet would report for a node, where no Device object says it.

Read at koordinator-sh/koordinator a7a1b76 (2026-07-24): pkg/koordlet/metricsadvisor/devices/helper/topology.go
(a numa_node of -1 becomes 0; the PCIe id is the first `pci\\d{4}:[0-9a-f]{2}` of the sysfs path, that is the
root complex) and pkg/koordlet/statesinformer/impl/states_device_linux.go (a GPU without such an id has no
topology). What the evidence leaves open about root complexes is answered for every possibility.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from gputopo.allocate.koordinator.devices import CORE, GPU, MEMORY, RATIO, RDMA, RDMA_SHARE, Device, Devices, Place
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import Gpu, Nic, NodeTopology, NoteAssumption

_ROOT = re.compile(r"pci\d{4}:[0-9a-fA-F]{2}")
_OPEN_PAIRS = 10  # 2**10 ways to group; beyond, the answer says that it is not complete


class Seen(NamedTuple):
    """`ways`: the devices under each possibility. Names by minor."""

    ways: tuple[Devices, ...]
    gpus: dict[int, str]
    nics: dict[int, str]
    assumptions: tuple[NoteAssumption, ...] = ()
    complete: bool = True


def devices_of(node: NodeTopology, with_nics: bool = True) -> Seen:
    """with_nics: False where no NIC is asked for, so that nothing open about them multiplies the ways."""
    minors, notes = _minors(node)
    numa = {id: _numa(found) for id, found in _numas(node).items()}
    unknown = tuple(id for id, found in numa.items() if found is None)
    if unknown:
        notes.append(NoteAssumption(unknown, "NUMA node unknown: taken as 0, as koordlet does with -1", None))
    candidates = (node.nics or ()) if with_nics else ()
    nics = [nic for nic in candidates if nic.virtual_function_of is None and nic.device is not None]
    ways, complete = _root_ways(node, [*node.gpus, *nics])
    return Seen(
        ways=tuple(_with_roots(node, minors, nics, numa, roots) for roots in ways),
        gpus={minors[gpu.id]: gpu.id for gpu in node.gpus},
        nics={at: nic.id for at, nic in enumerate(nics)},
        assumptions=tuple(notes),
        complete=complete,
    )


def _minors(node: NodeTopology) -> tuple[dict[str, int], list[NoteAssumption]]:
    if all(gpu.minor is not None for gpu in node.gpus):
        return {gpu.id: gpu.minor for gpu in node.gpus if gpu.minor is not None}, []
    ids = tuple(gpu.id for gpu in node.gpus)
    text = "device minors unknown: taken as the order of the GPUs here"
    return {id: at for at, id in enumerate(ids)}, [NoteAssumption(ids, text, None)] if ids else []


def _numas(node: NodeTopology) -> dict[str, tuple[int, ...] | None]:
    return {gpu.id: gpu.numa_nodes for gpu in node.gpus} | {nic.id: nic.numa_nodes for nic in node.nics or ()}


def _numa(found: tuple[int, ...] | None) -> int | None:
    return found[0] if found is not None and len(found) == 1 else None


def _root_ways(node: NodeTopology, devices: Sequence[Gpu | Nic]) -> tuple[list[dict[str, str]], bool]:
    """(root complex of every device, under each possibility; whether these are all)."""
    bridges = {bridge.id: bridge.parent for bridge in node.bridges}
    by_tree = {one.id: root for one in devices if (root := _root(one.parent, bridges))}
    if len(by_tree) == len(devices):
        return [by_tree], True
    sure, doubtful = _joined(node, [one.id for one in devices])
    complete = len(doubtful) <= _OPEN_PAIRS
    ways = []
    for taken in product((False, True), repeat=min(len(doubtful), _OPEN_PAIRS)):
        pairs = sure + [pair for pair, yes in zip(doubtful, taken) if yes]
        way = _named_groups(devices, pairs)
        if way not in ways:
            ways.append(way)
    return ways, complete


def _root(parent: str | None, bridges: dict[str, str | None]) -> str:
    """Up to the host bridge, `pci0000:15`; "" where the chain is not known."""
    seen = set()
    while parent is not None and parent not in seen:
        if parent.startswith("pci"):
            return parent
        seen.add(parent)
        parent = bridges.get(parent)
    return ""


def _joined(node: NodeTopology, ids: Sequence[str]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Pairs that do, and pairs that may share a host bridge (PHB or nearer)."""
    sure, doubtful = [], []
    for pair in node.pairs:
        if pair.a not in ids or pair.b not in ids:
            continue
        levels = (pair.pcie,) if pair.pcie is not None else pair.pcie_candidates
        near = [level <= PathLevel.PHB for level in levels]
        if near and all(near):
            sure.append((pair.a, pair.b))
        elif any(near) or not near:
            doubtful.append((pair.a, pair.b))
    return sure, doubtful


def _named_groups(devices: Sequence[Gpu | Nic], pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Groups under the name of their lowest PCI address (or first device): ids sort as the bus numbers do."""
    order = sorted(devices, key=lambda one: (one.pci is None, one.pci or ""))
    group = {one.id: f"pci{at:04}:00" for at, one in enumerate(order)}
    for a, b in pairs:
        low, high = sorted((group[a], group[b]))
        group = {id: low if name == high else name for id, name in group.items()}
    return group


def _with_roots(
    node: NodeTopology, minors: dict[str, int], nics: Sequence[Nic], numa: dict[str, int | None], roots: dict[str, str]
) -> Devices:  # fmt: skip
    found = []
    for gpu in node.gpus:
        total = {CORE: Fraction(100), RATIO: Fraction(100)}
        if gpu.memory_bytes is not None:
            total[MEMORY] = Fraction(gpu.memory_bytes)
        root = roots[gpu.id]
        place = Place(numa[gpu.id] or 0, root) if _ROOT.fullmatch(root) else None
        found.append(Device(GPU, minors[gpu.id], total, place, gpu.uuid or ""))
    for at, nic in enumerate(nics):
        place = Place(numa[nic.id] or 0, roots[nic.id] if _ROOT.fullmatch(roots[nic.id]) else "")
        found.append(Device(RDMA, at, {RDMA_SHARE: Fraction(100)}, place, nic.pci or ""))
    return Devices(tuple(found))
