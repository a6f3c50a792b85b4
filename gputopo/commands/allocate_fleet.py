"""`allocate MECHANISM --fleet PATH`: the same question to every saved node, answered once for each shape of node."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gputopo.allocate.assumed import Assumed
from gputopo.commands import options, output
from gputopo.commands.allocate_fleet_options import Fleet
from gputopo.commands.allocate_fleet_reading import How, Saved, failed, found
from gputopo.commands.deadline import TimeIsUp, deadline
from gputopo.commands.progress import Progress
from gputopo.errors import GputopoError
from gputopo.fleet.admission import Judged, Pod, Report, Unreadable, in_order, together
from gputopo.fleet.alike import Member, alike
from gputopo.fleet.shape import outline, shape_of
from gputopo.fleet.verdict import UNDECIDED, Asked, Verdict, judge

if TYPE_CHECKING:
    from gputopo.allocate.decider import Decision
    from gputopo.allocate.request import Request
    from gputopo.commands.allocate_reading import Reading
    from gputopo.commands.allocate_sources import Sorted
    from gputopo.fleet.alike import Members
    from gputopo.fleet.canonical import Form
    from gputopo.fleet.shape import Shape
    from gputopo.terms.kube_object import KubeObject

_NOTES = {
    0: "nothing at or above --fail-on {}",
    1: "a shape at or above --fail-on {}",
    2: "no node could be asked",
    3: "a shape is not decided, and none is at or above --fail-on {}",
}
_SETS = 40  # of an answer, that are kept for the report


_CONTAINER = Assumed("the evidence is a container's view: the node may have more GPUs", "the host's evidence")


class Said(NamedTuple):
    """A mechanism's answer for one node."""

    asked: Asked
    request: Request
    version: str
    assumed: tuple[Assumed, ...] = ()


class Asker(Protocol):
    """A mechanism with its options. Each may raise GputopoError (WrongShape): it is of that node alone."""

    @property
    def mechanism(self) -> str: ...

    @property
    def own_clock(self) -> bool:
        """Whether it ends by --timeout itself, and says more than that it did."""

    def key(self, saved: Saved) -> Shape:
        """The node's shape with all else that the answer depends on."""

    def ask(self, saved: Saved, progress: Progress) -> Said: ...

    def wants(self, beside: Sorted) -> tuple[str, ...]:
        """The nodes that objects alone speak of, "" for one without a name."""


def run(
    fleet: Fleet, asker: Asker, common: Reading, pod: KubeObject | None, decides: Decision | None
) -> int:  # fmt: skip
    """Reads, groups, asks each group once, prints."""
    if common.nodes or common.beside.node:
        raise GputopoError("a node among the sources", "", "saved nodes go with --fleet")
    gc.enable()  # for one answer it is off; of a fleet each node is garbage soon
    groups, unreadable = _grouped(fleet, asker, common)
    judged, said = _judged(fleet, asker, groups)
    version = next((one.version for one in said if one.version), None)
    report = Report(
        asker.mechanism, version, _pod(pod), said[0].request if said else None, decides, in_order(judged),
        tuple(unreadable), together([one.assumed for one in said]),
    )  # fmt: skip
    code = report.exit_code(fleet.fail_on)
    _print(report, fleet, code)
    return code


class _Group(NamedTuple):
    shape: Shape
    members: Members
    example: Saved


def _grouped(fleet: Fleet, asker: Asker, common: Reading) -> tuple[list[_Group], list[Unreadable]]:
    examples: dict[Form, tuple[Shape, Saved]] = {}
    keyed: list[tuple[Form, Member]] = []
    unreadable: list[Unreadable] = []
    how = How(fleet.timeout, fleet.as_format, options.pairs(fleet.assume, "--assume"))
    with Progress("reading saved nodes", quiet=fleet.place.quiet) as progress:
        for one in found(fleet.paths, common, how, progress, asker.wants):
            if isinstance(one, Unreadable):
                unreadable.append(one)
                continue
            try:
                shape = asker.key(one)
            except Exception as error:
                unreadable.append(failed(one.source, error))
                continue
            examples.setdefault(shape.form, (shape, one))
            keyed.append((shape.form, Member(len(keyed), one.source, _name(one))))
    return [_Group(examples[form][0], members, examples[form][1]) for form, members in alike(keyed).items()], unreadable


def _name(one: Saved) -> str | None:
    if one.node is not None and one.node.name:
        return one.node.name
    if one.name is not None:
        return one.name
    own = one.reading.objects.nodes
    return own[0].name or None if len(own) == 1 and one.reading.beside.of("Node") else None


def _judged(fleet: Fleet, asker: Asker, groups: Sequence[_Group]) -> tuple[list[Judged], list[Said]]:
    judged: list[Judged] = []
    answers: list[Said] = []
    for at, group in enumerate(groups, 1):
        what = f"asking {asker.mechanism}, shape {at} of {len(groups)}"
        note = f"; --timeout ends it after {fleet.timeout:g} s"
        with Progress(what, unit="steps", note=note, quiet=fleet.place.quiet) as progress:
            one, said = _one(fleet, asker, group, progress)
        judged.append(one)
        answers += [said] if said is not None else []
    return judged, answers


def _one(fleet: Fleet, asker: Asker, group: _Group, progress: Progress) -> tuple[Judged, Said | None]:
    example = group.example
    base = shape_of(example.node) if example.node is not None else group.shape
    seen = outline(example.node) if example.node is not None else None
    blank = Judged(
        group.shape.fingerprint, base.fingerprint, base.exact and group.shape.exact, seen, group.members,
        Verdict(UNDECIDED, (f"not decided: --timeout {fleet.timeout:g} s ended it",), complete=False),
    )  # fmt: skip
    try:
        with deadline(2 * fleet.timeout + 1 if asker.own_clock else fleet.timeout, lambda: progress.step(0)):
            said = asker.ask(example, progress)
            verdict = judge(said.asked)
    except TimeIsUp:
        return blank, None
    except Exception as error:
        what = failed(example.source, error).reason
        return blank._replace(verdict=Verdict(UNDECIDED, (what,), complete=False)), None
    if example.node is not None and example.node.view == "container":
        said = said._replace(assumed=(*said.assumed, _CONTAINER))
    answer, state = said.asked.answer, said.asked.state
    return blank._replace(
        verdict=verdict,
        units=None if state is None else len(state.units), free=None if state is None else len(state.free),
        sets=tuple(one.devices or one.gpus for one in answer.outcomes[:_SETS]),
        reason=answer.reason, message=answer.message,
    ), said  # fmt: skip


def _pod(pod: KubeObject | None) -> Pod | None:
    return None if pod is None else Pod(pod.kind, pod.name or None, pod.namespace or None, pod.where)


def _print(report: Report, fleet: Fleet, code: int) -> None:
    place = fleet.place
    if place.shows_blocks:
        from gputopo.reports.blocks import KeyValue, cell
        from gputopo.reports.style import Style
        from gputopo.reports.text import render
        from gputopo.reports.views.allocate_fleet import blocks

        made: list[Any] = list(blocks(report, verbose=place.verbose, quiet=place.quiet))
        if not place.quiet and output.on_terminal(place.file):
            note = cell(f"({_NOTES[code].format(fleet.fail_on)})", "dim")
            made.append(KeyValue(f"exit {code}", (note,), role="dim"))
        if place.form != "text":
            place.show([made], code, title=f"gputopo allocate {report.mechanism} --fleet")
            return
        output.write(render(made, Style(*output.place(place.color, place.file))), place.file)
        return
    from gputopo.documents.admission import encode

    document = encode(report)
    if place.form == "junit":
        from gputopo.reports.admission_junit import junit

        output.write(junit(document, fleet.fail_on), place.file)
    else:
        place.print([document])
