"""DRA as it is asked for every shape of node in a fleet: with a node's own slices, else what would be published."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gputopo.allocate.assumed import Assumed
from gputopo.allocate.dra import published
from gputopo.allocate.dra.behaviour import Behaviour
from gputopo.allocate.dra.features import LIST_TYPES
from gputopo.allocate.dra.join import joined
from gputopo.allocate.dra.objects import DeviceClass, KubeNode, Slice, World
from gputopo.allocate.dra.question import Report, ask, ask_published
from gputopo.allocate.dra.read_slices import class_of, slice_of
from gputopo.allocate.dra.selectors import cel
from gputopo.allocate.state import State
from gputopo.commands.allocate_fleet import Said
from gputopo.errors import GputopoError
from gputopo.fleet import marks_dra
from gputopo.fleet.claim_refusal import sentences
from gputopo.fleet.shape import Shape, shape_of
from gputopo.fleet.verdict import Asked, hidden
from gputopo.topology.node import NodeTopology

if TYPE_CHECKING:
    from gputopo.commands.allocate_dra_objects import Notes, Question
    from gputopo.commands.allocate_fleet_reading import Saved
    from gputopo.commands.allocate_sources import Sorted
    from gputopo.commands.progress import Progress



_STRANGE = "the devices of the slices cannot be joined to the GPUs of this evidence: save nvidia-smi -L beside it"


_BY_FILE = Assumed("whose slices they are is told by the name of the file", "a host name or UUIDs in the evidence")


class OfDra(NamedTuple):
    """`question`: what is common to all nodes; `line`: of NVIDIA's driver, for nodes without slices."""

    question: Question
    how: Behaviour
    line: str
    notes: Notes
    clock: Callable[[Progress], Callable[[], bool]]
    mechanism: str = "dra"
    own_clock: bool = True

    def wants(self, beside: Sorted) -> tuple[str, ...]:
        """Slices say what nodes have, though not how they are wired."""
        own = [slice_of(one) for one in beside.of("ResourceSlice")]
        return tuple(_every_name(own)) or (("",) if own else ())

    def key(self, saved: Saved) -> Shape:
        world, own, _ = self._world(saved)
        node = saved.node or NodeTopology()
        read = marks_dra.reads(world.claims, world.classes)
        if own:
            together = joined(saved.node, world.slices)
            both = {**together.gpus, **together.nics}
            made = marks_dra.of_slices(world.slices, both, read, world.allocated, world.node)
        else:
            fine, coarse = (published.published(node, self.line, coarse=each) for each in (False, True))
            made = marks_dra.of_published(fine, coarse, read, world.allocated, repr(node.virtual))
        classes = sorted(world.classes.items()) if saved.reading.beside.of("DeviceClass") else ()
        return shape_of(node, marks=made.marks, ties=made.ties, frame=(made.frame, classes, hidden(node)))

    def ask(self, saved: Saved, progress: Progress) -> Said:
        world, own, told = self._world(saved)
        selectors = cel(self.how.release, self.how.on(LIST_TYPES))
        clock = self.clock(progress)
        if own:
            report = ask(world, selectors, self.how, saved.node, clock)
        else:
            assert saved.node is not None
            report = ask_published(world, selectors, self.how, saved.node, self.line, clock)
        notes = (*self.question.notes, *(() if own else self.notes), *report.answer.assumptions)
        answer = report.answer
        assumed = (*told, *map(Assumed.of, notes))
        return Said(_asked(report, saved.node), answer.request, answer.version, assumed)

    def _world(self, saved: Saved) -> tuple[World, bool, tuple[Assumed, ...]]:
        """And whether it has slices of its own, and what that rests on.

        Raises GputopoError where slices are given, but none of this node.
        """
        beside = saved.reading.beside
        own = [slice_of(one) for one in beside.of("ResourceSlice")]
        classes = {one.name: one for one in map(class_of, beside.of("DeviceClass"))}
        asked = self.question
        slices: Sequence[Slice] = own or asked.slices
        if not slices:
            world = asked.published(saved.node or NodeTopology(), self.line)
            name = (saved.node.name if saved.node is not None else None) or "node"
            return world._replace(node=KubeNode(name), classes={**world.classes, **classes}), False, ()
        node, told = _node_of(saved, slices)
        mine = _relevant(slices, node.name)
        every: Mapping[str, DeviceClass] = {**published.classes(), **asked.classes, **classes}
        return World(node, mine, every, asked.claims, asked.allocated), True, told


def _node_of(saved: Saved, slices: Sequence[Slice]) -> tuple[KubeNode, tuple[Assumed, ...]]:
    """Which of the nodes that slices name this one is: by its name, by its GPUs' UUIDs, by its file's name."""
    names = _every_name(slices)
    told: tuple[Assumed, ...] = ()
    objects = {one.name: one for one in saved.reading.objects.nodes}
    said = [saved.name] if saved.name else []
    said += [saved.node.name] if saved.node is not None and saved.node.name else []
    said += [name for name in objects if saved.reading.beside.of("Node") and len(objects) == 1]
    found = next((name for name in said if name in names), None)
    if found is None and saved.reading.beside.of("ResourceSlice") and len(names) < 2 and not said:
        found = names[0] if names else ""  # they lie in the node's own folder
    if found is None and saved.node is not None:
        own = {gpu.uuid.lower() for gpu in saved.node.gpus if gpu.uuid}
        found = next((name for name in names if own & _uuids(slices, name)), None)
    if found is None:
        stem = os.path.basename(saved.source).split(".")[0]
        found = stem if stem in names else None
        told = (_BY_FILE,)
    if found is None:
        raise GputopoError(f"none of the slices is of this node; they name {', '.join(names[:6]) or 'no node'}")
    return KubeNode(found, objects[found].labels if found in objects else {}), told


def _every_name(slices: Sequence[Slice]) -> list[str]:
    return list(dict.fromkeys(name for own in slices for name in _names(own)))


def _strange(report: Report) -> bool:
    """Whether devices are given that are no GPU of the evidence, though they are GPUs or the only ones."""
    given = [one for seen in report.seen for one in seen.claims]
    lost = [one for one in given if one["gpu"] is None and one["nic"] is None]
    return any(one["driver"] == published.DRIVER for one in lost) or len(lost) == len(given) > 0


def _names(own: Slice) -> list[str]:
    return [name for name in (own.node_name, *(one.node_name for one in own.devices)) if name]


def _uuids(slices: Sequence[Slice], name: str) -> set[str]:
    """Of the devices of a node. PCI addresses would not tell: they are the same on many nodes."""
    found = [one.attributes.get("uuid") for own in slices if name in _names(own) for one in own.devices]
    return {str(one.value).lower() for one in found if one is not None and one.kind == "string"}


def _relevant(slices: Sequence[Slice], name: str) -> tuple[Slice, ...]:
    """Those of the node and those of no single node, with the rest of their pools."""
    pools = {(own.driver, own.pool) for own in slices if own.node_name in (None, name)}
    return tuple(own for own in slices if (own.driver, own.pool) in pools)


def _asked(report: Report, node: NodeTopology | None) -> Asked:
    answer = report.answer
    state = None
    if node is not None and node.gpus and not _strange(report):
        state = State(node, tuple(gpu.id for gpu in node.gpus), report.free)
    reason: tuple[str, ...] = ()
    if answer.admitted is False:
        reason = sentences(report)
    elif report.timed_out:
        reason = ("not decided: --timeout ended the search", *answer.why)
    elif node is not None and _strange(report):
        reason = (_STRANGE,)
    return Asked(answer, state, groups="all", chance=not report.timed_out and bool(report.seen), reason=reason)
