"""`gputopo allocate dra`: which devices a ResourceClaim would get, and why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from gputopo.commands import allocate_options as shared
from gputopo.commands import options
from gputopo.commands.allocate_fleet_options import Fleet, fleet_of
from gputopo.commands.allocate_place import Place, picture_of
from gputopo.commands.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gputopo.allocate.best import Best
    from gputopo.allocate.dra.behaviour import Behaviour
    from gputopo.allocate.dra.objects import KubeNode
    from gputopo.allocate.dra.question import Report
    from gputopo.commands.allocate_dra_objects import Notes, Question
    from gputopo.commands.allocate_sources import Sorted
    from gputopo.topology.node import NodeTopology

_Files = Optional[list[str]]  # noqa: UP045  (Typer reads it at run time)
_Text = Optional[str]  # noqa: UP045

ClaimFiles = Annotated[
    _Files, typer.Option("--claim", metavar="FILE", help="ResourceClaims or templates; may be repeated.")
]
SliceFile = Annotated[
    _Text, typer.Option("--slices", metavar="FILE", help="ResourceSlices; else what NVIDIA's driver would publish.")
]
Held = Annotated[
    _Text, typer.Option("--allocated", metavar="FILE", help="ResourceClaims with a status: their devices are taken.")
]
Gates = Annotated[
    _Files, typer.Option("--feature-gate", metavar="GATE=VALUE", help="A DRA feature gate of the scheduler.")
]
DriverVersion = Annotated[
    _Text, typer.Option("--driver-version", metavar="V", help="Of NVIDIA's DRA driver, without --slices.")
]


def command(
    sources: options.Sources = None,
    claim: ClaimFiles = None,
    slices: SliceFile = None,
    classes: shared.Classes = None,
    allocated: Held = None,
    node: shared.NodeFile = None,
    pod: shared.PodFile = None,
    k8s_version: shared.K8sVersion = None,
    feature_gate: Gates = None,
    driver_version: DriverVersion = None,
    fleet: shared.FleetPaths = None,
    fail_on: shared.FleetFailOn = None,
    as_format: options.As = None,
    form: shared.AnyOutput = "text",
    output_file: options.OutputFile = None,
    color: options.Color = "auto",
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    assume: options.Assume = None,
    merge: options.Merge = False,
    each: options.Each = False,
    root: options.Root = None,
    driver_root: options.DriverRoot = None,
    timeout: options.Timeout = 10.0,
) -> int:
    """Which devices would the scheduler give this claim: pools, selectors, constraints, counters, taints."""
    from gputopo.commands.allocate_dra_objects import Files, question

    seconds = options.checked_timeout(timeout)
    shared.check_live(sources, root, driver_root)
    form_of_sources = options.checked_format(as_format)
    place = Place(form, output_file, color, verbose, quiet)
    alone = (("--node", node), ("--merge", merge), ("--each", each), ("--root", root), ("--driver-root", driver_root))
    many = fleet_of(fleet, fail_on, place, seconds, as_format, assume, alone)
    beside = shared.sources_of(sources, seconds, quiet, form_of_sources)
    files = Files(tuple(claim or ()), slices, classes, allocated, node, pod)
    asked, how = question(beside.objects, files, k8s_version, tuple(feature_gate or ()))
    if many is not None:
        return _of_fleet(many, asked, how, driver_version, beside, pod)
    assumed = options.pairs(assume, "--assume")
    topologies: tuple[NodeTopology, ...] = ()
    if beside.node or (sources and not asked.slices):
        topologies = shared.nodes_of(
            beside.node, as_format=form_of_sources, assume=assumed, merge=merge, each=each
        )
    elif not asked.slices:
        topologies = shared.live_nodes(root, driver_root, seconds, quiet, assumed)
    note = f"; --timeout ends it after {seconds:g} s"
    with Progress("searching", unit="steps", note=note, quiet=quiet) as progress:
        reports = _reports(asked, how, topologies, driver_version, _clock(seconds, progress))
    _print([(_noted(report, asked.notes), topology) for report, topology in reports], asked, place)
    return exit_code([report for report, _ in reports])


def _reports(
    asked: Question, how: Behaviour, topologies: Sequence[NodeTopology], driver_version: str | None,
    clock: Callable[[], bool],
) -> list[tuple[Report, NodeTopology | None]]:  # fmt: skip
    """With the node it is about: of slices that of the same name, or the only one."""
    from gputopo.allocate.dra.features import LIST_TYPES
    from gputopo.allocate.dra.question import ask, ask_published
    from gputopo.allocate.dra.selectors import cel
    from gputopo.commands.allocate_dra_objects import driver_line

    selectors = cel(how.release, how.on(LIST_TYPES))
    if asked.slices:
        worlds = [(world, _topology(world.node, topologies)) for world in asked.worlds()]
        return [(ask(world, selectors, how, topology, clock), topology) for world, topology in worlds]
    line, notes = driver_line(driver_version)
    reports = [
        ask_published(asked.published(topology, line), selectors, how, topology, line, clock) for topology in topologies
    ]
    return [(_noted(report, notes), topology) for report, topology in zip(reports, topologies)]


def _topology(node: KubeNode, topologies: Sequence[NodeTopology]) -> NodeTopology | None:
    if len(topologies) == 1:
        return topologies[0]
    return next((one for one in topologies if one.name == node.name), None)


def _noted(report: Report, notes: Notes) -> Report:
    return report._replace(answer=report.answer._replace(assumptions=(*notes, *report.answer.assumptions)))


def _clock(seconds: float, progress: Progress) -> Callable[[], bool]:
    """Whether the time is over; it is asked now and then, by which the progress is counted."""
    import time

    from gputopo.allocate.dra.search import CHECK_EVERY

    began = time.monotonic()

    def over() -> bool:
        progress.step(CHECK_EVERY)
        return time.monotonic() - began > seconds

    return over


def _of_fleet(
    fleet: Fleet, asked: Question, how: Behaviour, driver_version: str | None, beside: Sorted, pod: str | None
) -> int:  # fmt: skip
    from gputopo.commands import allocate_objects as given
    from gputopo.commands.allocate_dra_objects import driver_line
    from gputopo.commands.allocate_fleet import run
    from gputopo.commands.allocate_fleet_dra import OfDra
    from gputopo.commands.allocate_reading import Reading

    line, notes = driver_line(driver_version)
    asking = [one for one in given.read_file(pod, "--pod") if one.kind in given.WORKLOADS] if pod is not None else []
    nobody = given.Objects(None, beside.of("Node"), (), (), ())
    common = Reading((), beside._replace(objects=()), nobody, "", None)

    def clock(progress: Progress) -> Callable[[], bool]:
        return _clock(fleet.timeout, progress)

    return run(fleet, OfDra(asked, how, line, notes, clock), common, asking[0] if asking else None, asked.decision)


def _print(reports: Sequence[tuple[Report, NodeTopology | None]], asked: Question, place: Place) -> None:
    from gputopo.allocate.best import best

    found = []
    for report, topology in reports:
        sets = best(topology, report.free, _gpus(report)) if topology is not None else None
        found.append((report, sets, _is_better(report, topology, sets)))
    if place.shows_blocks:
        from gputopo.reports.views.allocate_dra import blocks

        place.show([
            blocks(report, asked.decision, sets, better, verbose=place.verbose, quiet=place.quiet)
            for report, sets, better in found
        ], exit_code([report for report, _, _ in found]), [
            picture_of(topology, report.answer, sets) if topology is not None else None
            for (report, sets, _), (_, topology) in zip(found, reports)
        ], "gputopo allocate dra")  # fmt: skip
        return
    from gputopo.documents.allocation_dra import encode

    place.print([encode(report, asked.decision, sets, better) for report, sets, better in found])


def _gpus(report: Report) -> int:
    """How many GPUs the answer has; of a refused one, as many as devices are asked for."""
    return len(report.seen[0].outcome.gpus) if report.seen else report.answer.request.size


def _is_better(report: Report, topology: NodeTopology | None, sets: Best | None) -> bool | None:
    if topology is None or sets is None or not sets.sets or not report.seen:
        return None
    from gputopo.allocate.best import Judge

    judge = Judge(topology)
    verdicts = {judge.better(sets.sets[0], one.outcome.gpus) for one in report.seen}
    return False if False in verdicts else None if None in verdicts else True


def exit_code(reports: Sequence[Report]) -> int:
    """A failure that gives the pod up counts before everything; else one node that takes it is enough."""
    if any(one.fatal and one.answer.admitted is False for one in reports):
        return 1
    answers = [one.answer.admitted for one in reports]
    return 0 if True in answers else 3 if None in answers else 1
