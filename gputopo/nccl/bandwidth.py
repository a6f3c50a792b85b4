"""A node with its GB/s: of every pair of GPUs, and of sets: the one asked for, or all of a size.

    >>> import gputopo
    >>> node = with_bandwidth(gputopo.load_node("sample:pcie-bridged"), gpus=("GPU0", "GPU1", "GPU4")).node
    >>> node.pair("GPU0", "GPU1").bandwidth_gbytes, node.pair("GPU1", "GPU4").bandwidth_gbytes
    (48.0, 10.0)
    >>> [(one.role, one.gpus, one.gbytes) for one in node.sets if one.role != "ranked"]
    [('asked', ('GPU0', 'GPU1', 'GPU4'), 10.0), ('island', ('GPU0', 'GPU1'), 40.0)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from gputopo.nccl.ceiling import ceiling
from gputopo.nccl.cpus import default_p2p
from gputopo.nccl.machines import Machine, Refused, ways
from gputopo.nccl.of_node import machine_of_node
from gputopo.nccl.set_ranking import Group, Ranking, ranking
from gputopo.nccl.set_rates import rates
from gputopo.nccl.set_shapes import Shapes
from gputopo.nccl.settings import DEFAULTS
from gputopo.topology.node import NodeTopology, NoteAssumption, NoteUnknown, Pair, SetBandwidth

# So many groups NCCL's model is asked for, the widest and the narrowest: a search of 8 GPUs takes a fifth of a second.
_MODELLED, _MODELLED_SMALL, _SMALL = 8, 24, 4
_BY_LOAD = "no more than this by the load of the links; NCCL's model was asked for the groups shown"
_SETTLE = "nvidia-smi -q -x (chip, PCIe generation and lanes)"
_Clock = Callable[[], bool]


class Answer(NamedTuple):
    """`cut`: the time was up before a search or the ranking was through, and a bound stands in its place."""

    node: NodeTopology
    cut: bool


def with_bandwidth(
    node: NodeTopology, gpus: Sequence[str] | None = None, count: int | None = None,
    expired: _Clock = lambda: False,
) -> Answer:  # fmt: skip
    """`gpus`: the set asked for, by default all of the node; `count`: instead of it, all sets of this size.

    GB/s of a pair are NCCL's own of its path, one direction, the slower one. Where NCCL would not start on the node,
    the reason is among `unknown`.
    """
    whole = machine_of_node(node)
    if isinstance(whole, Refused):
        note = NoteUnknown(("node",), "bandwidthGBps", f"NCCL has no graph of it: {whole.reason}", "")
        return Answer(node._replace(unknown=(*node.unknown, note)), False)
    if len(node.gpus) < 2:
        note = NoteUnknown(("node",), "bandwidthGBps", "one GPU has nobody to send to", "")
        return Answer(node._replace(unknown=(*node.unknown, note)), False)
    asked = _Asked(node, whole, Shapes(node), expired)
    if count is not None:
        sets, cut = asked.ranked(count)
    else:
        sets, cut = asked.one(tuple(gpu.id for gpu in node.gpus) if gpus is None else tuple(gpus), gpus is not None)
    said = {note.text for note in node.assumptions}
    assumed = (NoteAssumption((), text, None) for text in whole.assumptions if text not in said)
    made = node._replace(
        pairs=_pairs(node, whole), sets=sets, assumptions=(*node.assumptions, *assumed),
        unknown=(*node.unknown, *_unknown([gpu.id for gpu in node.gpus], sets)),
    )  # fmt: skip
    return Answer(made, cut)


class _Asked(NamedTuple):
    node: NodeTopology
    whole: Machine
    shapes: Shapes
    expired: _Clock

    def one(self, gpus: tuple[str, ...], named: bool) -> tuple[tuple[SetBandwidth, ...], bool]:
        """The set; of its size the best, where that is better; inside of the island it leaves."""
        places = self._places(gpus)
        this, cut = self._entry("asked", gpus, 1)
        found = [this]
        if named and len(gpus) < len(self.node.gpus):
            ranked = self._ranking(len(gpus))
            cut |= not ranked.complete
            own = next((one.gbps for one in ranked.groups if one.shape == this.shape and one.places == places), 0.0)
            best = ranked.groups[0]
            if best.gbps > max(own, this.gbytes or 0.0):
                entry, late = self._group(best)
                found.append(entry)
                cut |= late
        island = self._inside(this.leaves, gpus)
        return (*found, *island), cut

    def ranked(self, size: int) -> tuple[tuple[SetBandwidth, ...], bool]:
        """Groups by rank; of those shown NCCL's model, the widest by it first."""
        ranked = self._ranking(size)
        groups, cut = ranked.groups, not ranked.complete
        most = _MODELLED_SMALL if size <= _SMALL else _MODELLED
        shown = [*groups[: most - 1], *groups[most - 1 :][-1:]]
        entries = []
        for group in shown:
            entry, late = self._group(group)
            entries.append(entry)
            cut |= late
        entries.sort(key=lambda one: -(one.gbytes or 0.0))
        rest = [self._by_load(group) for group in groups if group not in shown]
        made = [*entries[:-1], *rest, *entries[-1:]] if rest else entries
        leaves = made[0].leaves if made else ()
        return (*made, *self._inside(leaves, ())), cut

    def _ranking(self, size: int) -> Ranking:
        return ranking(self.node, of_size(self.node, self.whole, size), size, self.shapes, self.expired)

    def _group(self, group: Group) -> tuple[SetBandwidth, bool]:
        return self._entry("ranked", tuple(self.node.gpus[place].id for place in group.places), group.times)

    def _by_load(self, group: Group) -> SetBandwidth:
        gpus = tuple(self.node.gpus[place].id for place in group.places)
        most = ceiling(self.node, gpus)
        return SetBandwidth(
            gpus, group.shape, group.times, group.gbps, _BY_LOAD, True, "ranked",
            self.shapes.left(group.places), most.gbps, most.basis,
        )  # fmt: skip

    def _entry(self, role: str, gpus: tuple[str, ...], times: int) -> tuple[SetBandwidth, bool]:
        found = rates(self.node, gpus, machine=self.whole, expired=self.expired)
        places = self._places(gpus)
        entry = SetBandwidth(
            gpus, self.shapes.of(places), times, found.expected, found.basis, found.cut, role,
            self.shapes.left(places), found.ceiling, found.ceiling_basis,
        )  # fmt: skip
        return entry, found.cut

    def _inside(self, leaves: Sequence[tuple[str, ...]], gpus: tuple[str, ...]) -> tuple[SetBandwidth, ...]:
        """What the set would have inside of an island that it leaves: that with most of its GPUs."""
        if not leaves:
            return ()
        island = max(leaves, key=lambda one: len(set(one) & set(gpus)))
        inside = tuple(gpu for gpu in island if gpu in gpus)
        return (self._entry("island", inside if len(inside) > 1 else island, 1)[0],)

    def _places(self, gpus: Sequence[str]) -> tuple[int, ...]:
        ids = [gpu.id for gpu in self.node.gpus]
        return tuple(sorted(ids.index(gpu) for gpu in gpus))


def of_size(node: NodeTopology, whole: Machine, size: int) -> Machine:
    """The node as a communicator of that size has it: one of two may use P2P farther than one of all."""
    if size > 2:
        return whole
    level = default_p2p(whole.system.numas[0].cpu, size, DEFAULTS.version)
    machine = machine_of_node(node, DEFAULTS._replace(p2p_level=level))
    assert isinstance(machine, Machine)
    return machine


def pair_rates(machine: Machine) -> dict[frozenset[str], float]:
    """GB/s of every pair of GPUs (ids of the node), one direction, the slower one: NCCL's own of its path."""
    ids = {busid: id for id, busid in machine.names.items()}
    names = [ids[gpu.busid] for gpu in machine.gpus]
    gbps = {(names[a], names[b]): way.gbps for (a, b), way in ways(machine).pairs.items()}
    return {frozenset((a, b)): round(min(rate, gbps[b, a]), 3) for (a, b), rate in gbps.items()}


def _pairs(node: NodeTopology, machine: Machine) -> tuple[Pair, ...]:
    gbps = pair_rates(machine)
    return tuple(
        pair._replace(bandwidth_gbytes=gbps[frozenset((pair.a, pair.b))])
        if frozenset((pair.a, pair.b)) in gbps
        else pair
        for pair in node.pairs
    )


def _unknown(ids: Sequence[str], sets: Iterable[SetBandwidth]) -> tuple[NoteUnknown, ...]:
    """A note for each reason, whatever the number of sets."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for one in sets:
        for attribute, value, basis in (
            ("gbps", one.gbytes, one.basis), ("ceilingGBps", one.ceiling_gbytes, one.ceiling_basis),
        ):  # fmt: skip
            if value is None:
                found.setdefault((attribute, basis.removeprefix("not known: ")), {}).update(dict.fromkeys(one.gpus))
    return tuple(
        NoteUnknown(tuple(sorted(gpus, key=ids.index)), attribute, reason, _SETTLE)
        for (attribute, reason), gpus in found.items()
    )
