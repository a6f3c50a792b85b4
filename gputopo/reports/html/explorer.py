"""What a page answers about pairs and sets of GPUs: worked out here, looked up there.

For each pair its letters and a few sentences; for sets the GB/s and the best of each size, where they are few enough
to look at all. A set is a number, bit N for the N-th GPU. How a set's weakest pair is found from `keys`
([NVLinks, -PCIe level], the least is the weakest, null is not decided) is said in topology/gpu_sets.py; page.js does
the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import comb
from typing import TYPE_CHECKING, Any

from gputopo.allocate.best import best
from gputopo.reports.blocks import UNDECIDED, level_role
from gputopo.reports.sanitise import clean
from gputopo.reports.views.words import cut, file_name
from gputopo.rules.wording import listed, one_line
from gputopo.topology.node import Gpu, NodeTopology, Pair, pair_id

if TYPE_CHECKING:
    from gputopo.nccl.machines import Machine

MOST_SETS, MOST_LARGE = 2000, 200  # of one size; of a size that is more than half of the node: rarely asked
MOST_GPUS = 30  # that a number of JavaScript has bits for
MOST_MODELLED = 24  # shapes of sets that NCCL's model is asked for
_LONGEST = 160
_MEANING = {
    "PIX": "one PCIe switch at most between them",
    "PXB": "several PCIe switches, one root complex",
    "PHB": "through the root complex of a CPU",
    "NODE": "between root complexes of one NUMA node",
    "SYS": "between NUMA nodes, over the interconnect of the CPUs",
}
_BASIS = {
    "printed": "printed by the source", "tree": "from the PCI tree", "third-device": "decided by a third device",
    "numa": "decided by the NUMA nodes",
}  # fmt: skip
_BOUND = "of a ring, by the load of the links; NCCL's model: gputopo inspect --bandwidth"
Expired = Callable[[], bool]


def explorer(node: NodeTopology, *, asked: Sequence[str] = (), model: Expired | None = None) -> dict[str, Any]:
    """As JSON. asked: GPUs that are picked when the page opens; model: ask NCCL's model too, until the time is up."""
    from gputopo.nccl.bandwidth import pair_rates
    from gputopo.nccl.machines import Machine
    from gputopo.nccl.of_node import machine_of_node

    gpus = [gpu.id for gpu in node.gpus]
    whole = machine_of_node(node) if len(gpus) > 1 else None
    machine = whole if isinstance(whole, Machine) else None
    table = _Lines()
    rates = pair_rates(machine) if machine is not None else {}
    places = {id: at for at, id in enumerate(dict.fromkeys([*gpus, *(nic.id for nic in node.nics or ())]))}
    pairs = [
        [places[pair.a], places[pair.b], pair.level or UNDECIDED, level_role(pair.level),
         [table.at(line) for line in _lines(node, pair, rates)]]
        for pair in node.pairs if pair.a in places and pair.b in places
    ]  # fmt: skip
    return {
        "devices": [clean(cut(id, 40)) for id in places],
        "count": len(gpus),
        "rooms": _rooms(node),
        "numa": [list(gpu.numa_nodes) if gpu.numa_nodes is not None else None for gpu in node.gpus],
        "pairs": pairs,
        "keys": _keys(node, places),
        "lines": table.lines,
        "islands": [_mask(island, gpus) for island in node.islands.nvlink] if len(gpus) <= MOST_GPUS else [],
        "best": _best(node, gpus),
        "rates": _rates(node, machine, model) if machine is not None else [],
        "rests": [clean(cut(one_line(text), _LONGEST)) for text in machine.assumptions] if machine is not None else [],
        "asked": [gpus.index(id) for id in asked if id in gpus],
    }  # fmt: skip


class _Lines:
    """Sentences, each kept once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._places: dict[str, int] = {}

    def at(self, line: str) -> int:
        if line not in self._places:
            self._places[line] = len(self.lines)
            self.lines.append(clean(cut(one_line(line), 2 * _LONGEST)))
        return self._places[line]


def _lines(node: NodeTopology, pair: Pair, rates: dict[frozenset[str], float]) -> Iterator[str]:
    if pair.nvlinks:
        way = {True: " each into the NVSwitch fabric", False: " between the two", None: ""}[pair.via_switch]
        yield f"{pair.nvlinks} NVLink{'s' if pair.nvlinks > 1 else ''}{way}"
    if pair.pcie is not None:
        basis = f" ({_BASIS[pair.pcie_basis]})" if pair.pcie_basis in _BASIS else ""
        under = f"PCIe underneath {pair.pcie.name}: " if pair.nvlinks else ""
        yield f"{under}{_MEANING[pair.pcie.name]}{basis}"
    elif pair.pcie_candidates:
        may_be = " or ".join(level.name for level in pair.pcie_candidates)
        yield f"PCIe level not decided: {may_be}"
    if pair.nvlinks is None and _is_gpus(node, pair):
        yield "whether NVLink joins them is not known"
    if pair.cross_package is not None:
        yield "crosses sockets" if pair.cross_package else "inside one socket"
    elif pair.cross_numa is not None:
        yield "crosses NUMA nodes" if pair.cross_numa else "inside one NUMA node"
    rate = rates.get(frozenset((pair.a, pair.b)))
    if rate is not None:
        yield f"{rate:.4g} GB/s one way, as NCCL counts the narrowest link of its path"
    elif _is_gpus(node, pair):
        yield "GB/s not known: NCCL has no graph of this node"
    if pair.p2p:
        yield "peer access: " + ", ".join(f"{kind} {word}" for kind, word in pair.p2p.items())
    yield from _evidence(node, pair)


def _evidence(node: NodeTopology, pair: Pair) -> Iterator[str]:
    name = pair_id(pair.a, pair.b)
    for conflict in node.conflicts:
        if name in conflict.subjects:
            said = "; ".join(f"{one.source}: {one.value}" for one in conflict.values[:4])
            yield f"sources disagree on {conflict.attribute}: {said}"
    for note in node.unknown:
        if name in note.subjects:
            yield note.reason + (f"; settle it: {note.settled_by}" if note.settled_by else "")
    named = list(dict.fromkeys(f"{file_name(source.name)} ({source.format})" for source in node.sources))
    if named:
        yield f"evidence: {listed(named, 4)}"


def _is_gpus(node: NodeTopology, pair: Pair) -> bool:
    ids = {gpu.id for gpu in node.gpus}
    return pair.a in ids and pair.b in ids


def _keys(node: NodeTopology, places: dict[str, int]) -> list[list[Any]]:
    """Of each pair of GPUs."""
    ids = {gpu.id for gpu in node.gpus}
    made: list[list[Any]] = []
    for pair in node.pairs:
        if pair.a not in ids or pair.b not in ids:
            continue
        key = None
        if pair.level is not None and pair.nvlinks is not None and (pair.nvlinks or pair.pcie is not None):
            key = [pair.nvlinks, 0 if pair.nvlinks or pair.pcie is None else -int(pair.pcie)]
        made.append([places[pair.a], places[pair.b], key])
    return made


def _rooms(node: NodeTopology) -> list[dict[str, Any]]:
    """The GPUs by socket, else by NUMA node; what is in no one place comes last."""
    by = "package" if all(gpu.packages is not None for gpu in node.gpus) else "numa"
    groups: dict[str, list[int]] = {}
    for at, gpu in enumerate(node.gpus):
        groups.setdefault(_room(gpu, by), []).append(at)
    return [{"title": title, "socket": by == "package", "gpus": those} for title, those in sorted(groups.items())]


def _room(gpu: Gpu, by: str) -> str:
    if by == "package":
        return "socket " + "+".join(one.removeprefix("PKG") for one in gpu.packages or ())
    if gpu.numa_nodes is None:
        return "place not known"
    return "NUMA " + "+".join(map(str, gpu.numa_nodes))


def _mask(ids: Iterable[str], gpus: Sequence[str]) -> int:
    return sum(1 << gpus.index(id) for id in ids)


def _sizes(gpus: Sequence[str]) -> list[int]:
    if len(gpus) > MOST_GPUS:
        return []
    most = {size: MOST_SETS if 2 * size <= len(gpus) else MOST_LARGE for size in range(2, len(gpus) + 1)}
    return [size for size, limit in most.items() if comb(len(gpus), size) <= limit]


def _best(node: NodeTopology, gpus: Sequence[str]) -> dict[str, Any]:
    """By size: every best set, and whether the evidence decides that they are."""
    made = {}
    for size in _sizes(gpus):
        found = best(node, gpus, size)
        if found is not None:
            made[str(size)] = {"sets": [_mask(one, gpus) for one in found.sets], "decided": found.decided}
    return made


def _rates(node: NodeTopology, machine: Machine, model: Expired | None) -> list[list[Any]]:
    """[GB/s in words, what that rests on, sets it is said of]."""
    from gputopo.nccl.bandwidth import of_size
    from gputopo.nccl.set_ranking import bounds
    from gputopo.nccl.set_shapes import Shapes

    gpus = [gpu.id for gpu in node.gpus]
    shapes = Shapes(node)
    groups: dict[tuple[int, str, float], list[tuple[int, ...]]] = {}
    for size in _sizes(gpus):
        for places, gbps in bounds(node, of_size(node, machine, size), size):
            shape = shapes.of(places) if model is not None else ""
            groups.setdefault((size, shape, gbps), []).append(places)
    said: dict[tuple[str, str], list[int]] = {}
    for number, ((_, _, gbps), those) in enumerate(groups.items()):
        text = (f"at most {gbps:.4g} GB/s", _BOUND) if gbps else ("none", "NCCL finds no way between them")
        if model is not None and number < MOST_MODELLED and not model():
            text = _modelled(node, machine, [gpus[place] for place in those[0]], model) or text
        said.setdefault(text, []).extend(sum(1 << place for place in places) for places in those)
    return [[*text, masks] for text, masks in said.items()]


def _modelled(node: NodeTopology, machine: Machine, gpus: Sequence[str], expired: Expired) -> tuple[str, str] | None:
    from gputopo.nccl.set_rates import rates

    found = rates(node, gpus, machine=machine, expired=expired)
    if found.expected is None or found.cut:
        return None
    ceiling = f"wire limit {found.ceiling:.4g} GB/s; " if found.ceiling is not None else ""
    return f"{found.expected:.4g} GB/s", clean(cut(one_line(ceiling + found.basis), 2 * _LONGEST))


