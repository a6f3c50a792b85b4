"""What of a node, beside its wiring, an answer of `allocate` can depend on: marks for its shape.

Nodes with one form, marks included, get one answer, but for the names in it. So everything that a mechanism
looks at is either in the wiring or here; what is marked too much only splits a group in two. Left out on
purpose: UUIDs, PCI addresses and minors (names), NVML's order (the kubelet hands devices over in random
order; other policies than BestEffort do look at it), who holds a device, and pods' names.

Mechanism by mechanism:
  device plugin  units and which are free, MIG profiles, GPUs that NVML lost, NVLinks as each side lists them
                 below the number that the release asks for, pairs printed differently in two rows
  kubelet        the same, and where NUMA nodes are looked at their numbers (ties go to the lower ones), GPUs
                 whose sysfs says -1, and with static policies every CPU, socket, size and distance
  DRA            the devices that are published (or are in the slices): attributes, capacity, in use, which of
                 them have one PCIe root; identities only where the claim reads them
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from gputopo.allocate.device_plugin.doubts import one_way_pairs
from gputopo.allocate.device_plugin.scores import listed_links, seen_gpus
from gputopo.allocate.device_plugin.units import mig_unit
from gputopo.allocate.kubelet import from_node
from gputopo.allocate.kubelet.merge import NONE
from gputopo.allocate.kubelet.startup import Settings
from gputopo.allocate.outcome import Viewer
from gputopo.allocate.state import State
from gputopo.fleet.verdict import hidden
from gputopo.topology.node import NodeTopology

_OF_GPUS = ("gpu-lost", "pci-numa-node-minus-one")  # observations that change what the plugin or the kubelet sees


class Marks(NamedTuple):
    """As `shape_of` takes them. Whether the evidence may hide GPUs is a part of every frame."""

    marks: Mapping[str, object]
    ties: Mapping[tuple[str, str], object]
    frame: object


def of_plugin(state: State, limit: int, *, in_order: bool, frame: object) -> Marks:
    """limit: links of a higher number are not asked for. in_order: the answer depends on NVML's order."""
    node = state.node
    marks: dict[str, list[object]] = {gpu.id: [] for gpu in node.gpus}
    for id, said in _units(state).items():
        marks.setdefault(id, []).append(said)
    for gpu in node.gpus:
        marks[gpu.id].append(tuple(sorted(str(mig.profile) for mig in gpu.mig)))
    for seen in node.observations:
        if seen.kind in _OF_GPUS:
            for id in seen.subjects:
                marks.setdefault(id, []).append(seen.kind)
    if in_order:
        for at, gpu in enumerate(seen_gpus(node)):
            marks[gpu.id].append(at)
    ties: dict[tuple[str, str], object] = {}
    for one in listed_links(node, limit).values():
        ties[one.a, one.b], ties[one.b, one.a] = one.forward, one.backward
    for way in one_way_pairs(node):
        ties[way.a, way.b] = ties[way.b, way.a] = "one way"
    return Marks(marks, ties, (frame, _held(state), hidden(node)))


def of_kubelet(state: State, settings: Settings, base: Marks) -> Marks:
    """The device plugin's marks, and where NUMA nodes are looked at what the kubelet sees of the machine."""
    static, pinned = settings.cpu_policy == "static", settings.memory_policy == "Static"
    if settings.policy == NONE and not (static or pinned):
        return base._replace(frame=(base.frame, settings))
    node = state.node
    numbers = {f"NUMA{number}": number for gpu in node.gpus for number in gpu.numa_nodes or ()}
    numbers |= {f"NUMA{one.number}": one.number for one in node.numa_nodes or ()}
    return base._replace(marks={**base.marks, **numbers}, frame=(base.frame, settings, _machine(node, static, pinned)))


def _machine(node: NodeTopology, static: bool, pinned: bool) -> object:
    try:
        seen = from_node.machine(node, cpus=static, memory=pinned)
    except from_node.Undecided as gap:
        return gap.what
    return tuple(seen.machine)


def _units(state: State) -> dict[str, object]:
    """GPU → how many units it has and how many of them are free."""
    viewer = Viewer(state.node)
    every = Counter(viewer.gpus((unit,))[0].split(":")[0] for unit in state.units)
    free = Counter(viewer.gpus((unit,))[0].split(":")[0] for unit in state.free)
    if any(unit.startswith("MIG-") or ":" in unit.split("::")[0] for unit in state.units):
        # Which of a GPU's MIG devices are free matters where their profiles differ.
        return {id: (number, free[id], _free_migs(state, id)) for id, number in every.items()}
    return {id: (number, free[id]) for id, number in every.items()}


def _free_migs(state: State, id: str) -> tuple[str, ...]:
    gpu = state.node.gpu(id)
    return tuple(sorted(str(mig.profile) for mig in gpu.mig if mig_unit(gpu, mig) in state.free))


def _held(state: State) -> object:
    """Exclusive CPUs and pinned memory, whoever has them."""
    cpus = sorted(str(one.cpus) for one in state.held if one.cpus)
    return tuple(cpus), state.memory
