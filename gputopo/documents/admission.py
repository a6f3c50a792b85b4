"""`kind: AdmissionReport`: on which shapes of node a pod would be admitted, refused or split.

    pod, mechanism, version, request, decides as in an Allocation
    summary: nodes, shapes, unreadable, and of fine, split, refused, undecided: {shapes, nodes}
    shapes[], the worst first: fingerprint (of the wiring), key (of all that the answer depends on), example and
            members ({source, node}), what (gpus, models, numaNodes, packages, nics), verdict, severity, often,
            why, reason and message (upstream's), outcomes ({possible, split, complete, sets}), best, nearer
    unreadable[]: source, reason
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gputopo.documents import shape
from gputopo.documents.allocation import ASSUMPTION, REQUEST, BestFound, Decides, decided, decides_form
from gputopo.documents.forms import Field, Schema, choice, document_schema, flag, many, nullable, record, text, whole
from gputopo.fleet.admission import VERDICTS, Count, Judged, Pod, Report, Unreadable
from gputopo.fleet.alike import Member
from gputopo.fleet.shape import Outline
from gputopo.fleet.verdict import ALWAYS, FINE, REFUSED, SOMETIMES, SPLIT, UNDECIDED
from gputopo.rules.finding import SEVERITIES

KIND = "AdmissionReport"
Document = dict[str, Any]
_MOST = 20  # sets that are listed
_text, _flag, _whole = nullable(text), nullable(flag), nullable(whole)


class SavedNode(NamedTuple):
    source: str
    node: str | None


class _Outcomes(NamedTuple):
    """`split`: of the `possible` ones; `None`: not judged. `sets`: the first 20, by the example's ids."""

    possible: int | None
    split: int | None
    complete: bool
    sets: tuple[tuple[str, ...], ...]


class _Row(NamedTuple):
    fingerprint: str
    key: str
    exact: bool
    nodes: int
    example: SavedNode
    what: Outline | None
    units: int | None
    free: int | None
    verdict: str
    severity: str | None
    often: str | None
    why: tuple[str, ...]
    reason: str | None
    message: str | None
    outcomes: _Outcomes
    best: BestFound | None
    nearer: bool | None
    members: tuple[SavedNode, ...]


class _Summary(NamedTuple):
    nodes: int
    shapes: int
    fine: Count
    split: Count
    refused: Count
    undecided: Count
    unreadable: int


_pod = nullable(record(
    Pod, "AskingPod", Field("kind", text), Field("name", _text), Field("namespace", _text), Field("where", text),
))  # fmt: skip
_count = record(Count, "ShapeCount", Field("shapes", whole), Field("nodes", whole))
_summary = record(
    _Summary, "AdmissionSummary",
    Field("nodes", whole), Field("shapes", whole), *(Field(word, _count) for word in VERDICTS),
    Field("unreadable", whole),
)  # fmt: skip
SAVED_NODE = record(SavedNode, "SavedNode", Field("source", text), Field("node", _text))
NODE_OUTLINE = record(
    Outline, "NodeOutline",
    Field("gpus", whole), Field("models", many(text)), Field("numaNodes", _whole, "numa_nodes"),
    Field("packages", _whole), Field("nics", _whole),
)  # fmt: skip
_outcomes = record(
    _Outcomes, "AdmissionOutcomes",
    Field("possible", _whole), Field("split", _whole), Field("complete", flag), Field("sets", many(many(text))),
)  # fmt: skip
_best = nullable(record(
    BestFound, "BestFound", Field("sets", many(many(text))), Field("decided", flag), Field("better", _flag),
))  # fmt: skip
_row = record(
    _Row, "JudgedShape",
    Field("fingerprint", text), Field("key", text), Field("exact", flag), Field("nodes", whole),
    Field("example", SAVED_NODE), Field("what", nullable(NODE_OUTLINE)), Field("units", _whole), Field("free", _whole),
    Field("verdict", choice(*VERDICTS)), Field("severity", nullable(choice(*SEVERITIES))),
    Field("often", nullable(choice(ALWAYS, SOMETIMES))), Field("why", many(text)), Field("reason", _text),
    Field("message", _text), Field("outcomes", _outcomes), Field("best", _best), Field("nearer", _flag),
    Field("members", many(SAVED_NODE)),
)  # fmt: skip
_unreadable = record(Unreadable, "UnreadableSource", Field("source", text), Field("reason", text))
_FIELDS = (
    ("mechanism", text), ("version", _text), ("pod", _pod), ("request", nullable(REQUEST)), ("decides", decides_form),
    ("summary", _summary), ("shapes", many(_row)), ("unreadable", many(_unreadable)),
    ("assumptions", many(ASSUMPTION)),
)  # fmt: skip


def encode(report: Report) -> Document:
    decides: Decides | None = None if report.decides is None else decided(report.decides, report.mechanism)
    values: dict[str, Any] = {
        "mechanism": report.mechanism, "version": report.version, "pod": report.pod, "request": report.request,
        "decides": decides,
        "summary": _Summary(
            report.nodes, len(report.shapes), report.tally(FINE), report.tally(SPLIT), report.tally(REFUSED),
            report.tally(UNDECIDED), len(report.unreadable),
        ),
        "shapes": [_said(one) for one in report.shapes], "unreadable": report.unreadable,
        "assumptions": [one.note for one in report.assumptions],
    }  # fmt: skip
    return {
        "apiVersion": shape.API_VERSION,
        "kind": KIND,
        **{name: form.encode(values[name]) for name, form in _FIELDS},
    }


def _said(one: Judged) -> _Row:
    found = one.verdict
    best = None if found.best is None else BestFound(found.best.sets[:_MOST], found.best.decided, found.nearer)
    return _Row(
        one.fingerprint, one.key, one.exact, len(one.members), _saved(one.members[0]), one.outline, one.units, one.free,
        found.verdict, one.severity, found.often, found.why, one.reason, one.message,
        _Outcomes(found.sets, found.worse, found.complete, one.sets[:_MOST]), best, found.nearer,
        tuple(_saved(member) for member in one.members),
    )  # fmt: skip


def _saved(member: Member) -> SavedNode:
    return SavedNode(member.source, member.node)


def parts() -> tuple[Schema, dict[str, Schema]]:
    """The schema of an AdmissionReport and the definitions it refers to."""
    return document_schema(shape.API_VERSION, KIND, _FIELDS)
