"""Kind `hwloc-captures`: lstopo's XML read as evidence gives the node that the capture beside it gives.

A path is a folder of `NAME.lstopo.xml` with `NAME.tar.xz`, or of XML files alone (then only the first half holds):
each file is compared with a second reader of the XML (tests/lstopo.py), and with our node of the capture. lstopo is
not right everywhere; where it is not, the capture's own files say so (`Capture`), and only that excuses a difference:
no rule here knows a file by its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import gputopo
from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.gpudirect_facts import chains_of
from gputopo.topology.node import Gpu, Nic, NodeTopology, NumaNode, Nvme, Package
from tests.lstopo import Capture, Lstopo, recorded
from tests.replay_kinds import sysfs_lstopo

COMPARED = sysfs_lstopo.COMPARED
IGNORED = sysfs_lstopo.IGNORED | {"distances2hetero": "NVLinks", "userdata": "of the program that wrote the file"}
_Device = Gpu | Nic | Nvme
_Devices = dict[str, _Device]


class XmlCase(NamedTuple):
    name: str
    expected: dict[str, Any]
    xml: Path
    archive: Path | None


class Answer(NamedTuple):
    by_xml: NodeTopology
    by_capture: NodeTopology | None
    capture: Capture | None


def cases(path: Path) -> Iterator[XmlCase]:
    for xml in sorted(path.glob("*.xml")):
        name = xml.name.removesuffix(".xml").removesuffix(".lstopo")
        archive = xml.with_name(f"{name}.tar.xz")
        yield XmlCase(name, recorded(ElementTree.parse(xml).getroot()), xml, archive if archive.exists() else None)


def answer(case: XmlCase) -> Answer:
    by_xml = gputopo.load_node(str(case.xml))
    if case.archive is None:
        return Answer(by_xml, None, None)
    return Answer(by_xml, gputopo.load_node(str(case.archive)), Capture(case.archive))


def compare(expected: dict[str, Any], got: Answer) -> list[str]:
    machine = Lstopo(expected)
    problems = [f"second reader: {one}" for one in _as_written(machine, got.by_xml)]
    if got.by_capture is not None and got.capture is not None:
        problems += [f"capture: {one}" for one in _as_captured(machine, got.by_xml, got.by_capture, got.capture)]
    return problems


def _differ(what: str, expected: object, got: object) -> list[str]:
    return [] if expected == got else [f"{what}: {expected} expected, {got} read"]


# What the file says


def _as_written(machine: Lstopo, node: NodeTopology) -> Iterator[str]:
    packages, nodes = _packages(node), _nodes(node)
    yield from _differ("packages", machine.packages, {number: one.cpus for number, one in packages.items()})
    yield from _differ("nodes", sorted(machine.nodes), sorted(nodes))
    yield from _differ("allowed CPUs", machine.allowed, node.allowed_cpus)
    own = CpuSet()
    for number, one in nodes.items():
        near, memory = machine.nodes[number]
        if one.cpus and not one.cpus & own:  # a CPU has one node
            own |= one.cpus
            yield from _differ(f"node {number} CPUs", near, one.cpus)
        yield from _differ(f"node {number} kind", "cpu" if one.cpus else "memory", (one.kind or "").replace("gpu-", ""))
        yield from _differ(f"node {number} memory", memory, one.memory_bytes)
        yield from _differ(f"node {number} distances", machine.distances.get(number), one.distances)
    known = [near for near, _ in machine.nodes.values()]
    yield from _differ("CPUs of all nodes", CpuSet(_union(known)), own)
    devices, chains = _devices(node), chains_of(node)
    for address, function in machine.functions.items():
        if address in devices:
            yield from _differ(f"{address} chain", function.chain, chains[devices[address].id])
    wanted = {address for address, function in machine.functions.items() if sysfs_lstopo._kind(function)}
    yield from _differ("devices", sorted(wanted), sorted(devices))


def _union(sets: list[CpuSet]) -> int:
    mask = 0
    for one in sets:
        mask |= one.mask
    return mask


# What the capture says


def _as_captured(machine: Lstopo, node: NodeTopology, truth: NodeTopology, capture: Capture) -> Iterator[str]:
    packages, true_packages = _packages(node), _packages(truth)
    for number in packages.keys() | true_packages.keys():
        one, got = true_packages.get(number), packages.get(number)
        if got is not None or one is None or not _is_hidden(one, machine):
            yield from _differ(f"package {number}", one and one.cpus, got and got.cpus)
    yield from _nodes_as_captured(machine, _nodes(node), _nodes(truth), capture)
    devices, true = _devices(node), _devices(truth)
    yield from _differ("devices", sorted(true), sorted(devices))
    chains, true_chains = chains_of(node), chains_of(truth)
    for address, device in true.items():
        if address not in devices:
            continue
        found = devices[address]
        if _saw_all_bridges(address, capture):
            yield from _differ(f"{address} chain", true_chains[device.id], chains[found.id])
        function = machine.functions[address]
        local = capture.local_cpus(address)
        nodes_known = all(one.cpus is not None for one in truth.numa_nodes or ())
        if nodes_known and local is not None and local & machine.cpus == function.near:  # else lstopo asked the root's
            yield from _differ(f"{address} NUMA nodes", device.numa_nodes, found.numa_nodes)
            yield from _differ(f"{address} packages", device.packages, found.packages)


def _nodes_as_captured(
    machine: Lstopo, nodes: Mapping[int, NumaNode], truth: Mapping[int, NumaNode], capture: Capture
) -> Iterator[str]:
    made_up = {number for number, (_, memory) in machine.nodes.items() if memory is None} - capture.nodes()
    left_out = {
        number for number, one in truth.items()
        if number not in nodes and (one.kind == "gpu-memory" or one.cpus is None or _is_hidden(one, machine))
    }  # fmt: skip
    wanted = {number: one for number, one in truth.items() if number not in left_out}
    read = {number: one for number, one in nodes.items() if number not in made_up}
    yield from _differ("nodes", sorted(wanted), sorted(read))
    for number in wanted.keys() & read.keys():
        one, got = wanted[number], read[number]
        for name in ("cpus", "kind", "packages", "memory_bytes"):
            yield from _differ(f"node {number} {name}", getattr(one, name), getattr(got, name))
        if one.distances and got.distances:
            yield from _differ(f"node {number} distances", {to: one.distances.get(to) for to in got.distances},
                               got.distances)  # fmt: skip


def _is_hidden(one: Package | NumaNode, machine: Lstopo) -> bool:
    """By the cgroup of the process that ran lstopo."""
    return bool(one.cpus) and not (one.cpus or CpuSet()) & machine.usable


def _saw_all_bridges(address: str, capture: Capture) -> bool:
    """lstopo makes a bridge of a function with an entry and its bus numbers, and makes up a host for the rest."""
    chain = capture.chain(address)
    return chain is not None and all(
        f"sys/bus/pci/devices/{bridge}" in capture.names
        and _is_bridge(capture.configs.get(capture.place(bridge, "config"), b""))
        for bridge in chain[1:]
    )


def _is_bridge(config: bytes) -> bool:
    """Header type 1, up to the bus numbers (PCI-to-PCI Bridge Specification); a damaged capture has neither."""
    return len(config) > 0x1A and config[0x0E] & 0x7F == 1


# Of one node


def _packages(node: NodeTopology) -> dict[int, Package]:
    return {one.number: one for one in node.packages or ()}


def _nodes(node: NodeTopology) -> dict[int, NumaNode]:
    return {one.number: one for one in node.numa_nodes or ()}


def _devices(node: NodeTopology) -> _Devices:
    """By address; what has none is no PCI function."""
    listed: tuple[_Device, ...] = (*node.gpus, *(node.nics or ()), *(node.nvme or ()))
    return {device.pci: device for device in listed if device.pci is not None}
