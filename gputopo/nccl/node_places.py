"""Below which NUMA node and which switches a device hangs, in NCCL's grain.

A source with a tree names the switches. Without one they are made up from the levels of pairs: PIX is one switch, PXB
a switch above several, PHB and NODE nothing but the NUMA node, SYS another NUMA node; a NUMA node that is known goes
before the levels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gputopo.nccl.node_links import pcie_of, sm_of
from gputopo.terms.path_level import PathLevel
from gputopo.topology.bridges_above import nccl_switches
from gputopo.topology.node import Gpu, Nic, NodeTopology

_FIRST_MADE_UP = 1000  # numaid of a group whose NUMA node is not known


class Switch(NamedTuple):
    busid: str
    attributes: dict[str, str]


class Place(NamedTuple):
    device: str
    numaid: int
    numa: int | None  # the node's own number
    switches: tuple[Switch, ...]


def places_of(node: NodeTopology, devices: Sequence[Gpu | Nic], said: dict[str, None]) -> list[Place]:
    groups = _groups(node, devices, said)
    chains = {device.id: nccl_switches(node, device) for device in devices}
    known = all(chain is not None for chain in chains.values())
    if not known and len(devices) > 1:
        said["PCIe switches are made up from the levels of pairs; links above a device are as fast as it"] = None
    found = []
    for device in devices:
        numaid, numa = groups[0][device.id]
        chain = chains[device.id]
        if known and chain is not None:
            switches = tuple(
                Switch(one.id, {**_names(one.vendor, one.device), **pcie_of(one.pcie, _sm(devices), said)})
                for one in chain
            )
        else:
            switches = groups[1][device.id]
        found.append(Place(device.id, numaid, numa, switches))
    return found


def _names(vendor: str | None, device: str | None) -> dict[str, str]:
    return {name: value for name, value in (("vendor", vendor), ("device", device)) if value is not None}


def _sm(devices: Sequence[Gpu | Nic]) -> int | None:
    """That of the first GPU, for switches of unknown speed."""
    return next((sm_of(one, {}) for one in devices if isinstance(one, Gpu)), None)


_Groups = tuple[dict[str, tuple[int, int | None]], dict[str, tuple[Switch, ...]]]


def _groups(node: NodeTopology, devices: Sequence[Gpu | Nic], said: dict[str, None]) -> _Groups:
    """Device → its numaid and NUMA node, and the switches its levels ask for."""
    levels = _levels(node, devices, said)

    def nearer(level: PathLevel) -> dict[str, int]:
        return _together(devices, lambda a, b: levels.get(frozenset((a, b)), PathLevel.SYS) <= level)

    # NCCL's CPU is a NUMA node, whatever the levels say of two devices of one.
    numas = dict[str, tuple[int, int | None]]()
    by_node = nearer(PathLevel.NODE)
    for device in devices:
        if device.numa_nodes is not None and len(device.numa_nodes) == 1:
            numas[device.id] = (device.numa_nodes[0], device.numa_nodes[0])
    for device in devices:
        if device.id not in numas:
            group = by_node[device.id]
            like = next((numas[one.id] for one in devices if by_node[one.id] == group and one.id in numas), None)
            numas[device.id] = like or (_FIRST_MADE_UP + group, None)
    upper, lower = nearer(PathLevel.PXB), nearer(PathLevel.PIX)
    link = pcie_of(next((one.pcie for one in devices), None), _sm(devices), said)
    switches = {}
    for device in devices:
        chain = []
        here = [other.id for other in devices if numas[other.id] == numas[device.id]]
        below = [lower[other] for other in here if upper[other] == upper[device.id]]
        if len(set(below)) > 1:
            chain.append(Switch(f"fffe:{upper[device.id]:02x}:00.0", link))
        if below.count(lower[device.id]) > 1:
            chain.append(Switch(f"fffd:{lower[device.id]:02x}:00.0", link))
        switches[device.id] = tuple(chain)
    return numas, switches


def _levels(
    node: NodeTopology, devices: Sequence[Gpu | Nic], said: dict[str, None]
) -> dict[frozenset[str], PathLevel]:  # fmt: skip
    ids = {device.id for device in devices}
    found = {}
    for pair in node.pairs:
        if not {pair.a, pair.b} <= ids:
            continue
        level = pair.pcie
        if level is None and pair.pcie_candidates:
            level = max(pair.pcie_candidates)
            said["PCIe levels that the evidence leaves open are taken as the farthest possible"] = None
        if level is not None:
            found[frozenset((pair.a, pair.b))] = level
    return found


def _together(devices: Sequence[Gpu | Nic], near: Callable[[str, str], bool]) -> dict[str, int]:
    """Device → number of its group; groups are numbered by their first device."""
    group = {device.id: number for number, device in enumerate(devices)}
    for place, one in enumerate(devices):
        for other in devices[place + 1 :]:
            if group[one.id] != group[other.id] and near(one.id, other.id):
                keep, drop = sorted((group[one.id], group[other.id]))
                group = {id: keep if number == drop else number for id, number in group.items()}
    return group
