"""`kind: Allocation`: what a mechanism answers to a request (CONTRACT §3), for every mechanism.

`decides` says who decides which devices the pod gets; `hypothetical`: another system than the mechanism
that answers here. `after.left` counts the free units also where they differ. `families[].times`,
`outcomes[].defect`, `otherwise`, `container`, `variants` and `fmPartitions` are additions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gputopo.allocate import answer as model
from gputopo.allocate.aftermath import After
from gputopo.allocate.assumed import Assumed
from gputopo.allocate.best import Best
from gputopo.allocate.decider import Decision
from gputopo.allocate.outcome import Family, Outcome, Weakest
from gputopo.allocate.request import Request
from gputopo.documents import shape
from gputopo.documents.forms import (
    Field,
    Form,
    Schema,
    anything,
    choice,
    cpus,
    document_schema,
    flag,
    many,
    mapping,
    nullable,
    number,
    record,
    text,
    whole,
)  # fmt: skip
from gputopo.rules.finding import Finding
from gputopo.topology.node import NoteAssumption

if TYPE_CHECKING:
    from gputopo.allocate.kubelet.otherwise import Otherwise

KIND, LIST_KIND = "Allocation", "AllocationList"
Document = dict[str, Any]

_text, _flag, _whole, _number = (nullable(form) for form in (text, flag, whole, number))
_weakest = nullable(record(Weakest, "Weakest", Field("a", text), Field("b", text), Field("level", text)))
OUTCOME = record(
    Outcome, "Outcome",
    Field("gpus", many(text)), Field("devices", many(text)), Field("score", _number),
    Field("packages", nullable(many(text))), Field("numaNodes", nullable(many(whole)), "numa_nodes"),
    Field("crossPackage", _flag, "cross_package"), Field("crossNuma", _flag, "cross_numa"),
    Field("weakest", _weakest), Field("cpus", nullable(cpus)),
    Field("memoryNodes", nullable(many(whole)), "memory_nodes"),
    Field("defect", _text, absent=None, terse=True),
)  # fmt: skip
FAMILY = record(
    Family, "Family",
    Field("forced", many(text)), Field("choose", whole), Field("of", many(text)),
    Field("times", whole, absent=1, terse=True),
)  # fmt: skip
_terms = Form(
    lambda terms: [{"name": name, "points": points} for name, points in terms],
    lambda value, path: tuple((one["name"], one["points"]) for one in value),
    {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "points": {"type": "number"}},
            "required": ["name", "points"],
        },
    },
)
_pair_score = record(
    model.PairScore, "PairScore",
    Field("a", text), Field("b", text), Field("score", _number), Field("terms", _terms),
)  # fmt: skip
REQUEST = record(
    Request, "Request",
    Field("resource", text), Field("count", whole, "size"), Field("mustInclude", many(text), "required"),
    Field("cpus", _whole), Field("memoryBytes", _whole, "memory_bytes"),
)  # fmt: skip
ASSUMPTION = record(
    NoteAssumption, "Assumption", Field("subjects", many(text)), Field("text", text), Field("source", _text)
)


class Decides(NamedTuple):
    who: str
    reason: str
    sure: bool
    settled_by: str | None
    simulated: bool
    hypothetical: bool


class BestFound(NamedTuple):
    """`better`: whether it is better than every outcome; `None`: not decided, or there is no outcome."""

    sets: tuple[tuple[str, ...], ...]
    decided: bool
    better: bool | None


_best = nullable(record(
    BestFound, "BestFound", Field("sets", many(many(text))), Field("decided", flag), Field("better", _flag),
))  # fmt: skip
_after = nullable(record(
    After, "After", Field("free", nullable(many(text))), Field("largest", _whole), Field("left", _whole),
))  # fmt: skip
decides_form = nullable(record(
    Decides, "Decides", Field("who", text), Field("reason", text), Field("sure", flag),
    Field("settledBy", _text, "settled_by"), Field("simulated", flag), Field("hypothetical", flag),
))  # fmt: skip
_FIELDS: tuple[tuple[str, Form], ...] = (
    ("decides", decides_form),
    ("mechanism", text), ("version", text), ("node", _text), ("unit", choice("gpu", "mig", "replica")),
    ("request", REQUEST), ("admitted", _flag), ("reason", _text), ("message", _text), ("outcomes", many(OUTCOME)),
    ("outcomesComplete", flag), ("families", many(FAMILY)), ("scores", many(_pair_score)), ("best", _best),
    ("claims", many(mapping(anything))), ("nodeSelector", nullable(mapping(anything))), ("why", many(text)),
    ("after", _after), ("assumptions", many(ASSUMPTION)), ("findings", shape.findings),
)  # fmt: skip


def encode(
    answer: model.Answer, *, node: str | None, best: Best | None = None, better: bool | None = None,
    decides: Decision | None = None, after: After | None = None, why: Sequence[str] | None = None,
    findings: Sequence[Finding] = (),
    claims: Sequence[Mapping[str, Any]] = (), node_selector: Mapping[str, Any] | None = None,
    assumptions: Sequence[NoteAssumption] | None = None, more: Mapping[str, Any] | None = None,
) -> Document:  # fmt: skip
    """The document of one node. `why` and `assumptions` replace the answer's own; `more`: further keys, as JSON."""
    values = {
        "decides": None if decides is None else decided(decides, answer.mechanism),
        "mechanism": answer.mechanism, "version": answer.version, "node": node, "unit": answer.unit,
        "request": answer.request, "admitted": answer.admitted, "reason": answer.reason, "message": answer.message,
        "outcomes": answer.outcomes, "outcomesComplete": answer.outcomes_complete, "families": answer.families,
        "scores": answer.scores, "best": None if best is None else BestFound(best.sets[:200], best.decided, better),
        "claims": claims, "nodeSelector": node_selector, "why": answer.why if why is None else why, "after": after,
        "assumptions": answer.assumptions if assumptions is None else assumptions, "findings": findings,
    }  # fmt: skip
    return {
        "apiVersion": shape.API_VERSION,
        "kind": KIND,
        **{name: form.encode(values[name]) for name, form in _FIELDS},
        **(more or {}),
    }


def decided(decision: Decision, mechanism: str) -> Decides:
    return Decides(
        decision.who, decision.reason, decision.sure, decision.settled_by or None, decision.simulated,
        decision.is_other(mechanism),
    )  # fmt: skip


def other_policies(found: Sequence[Otherwise]) -> list[dict[str, Any]]:
    """`otherwise`: the same request under other policies of the Topology Manager."""
    return [
        {
            "policy": one.policy, "inForce": one.in_force, "admitted": one.answer.admitted,
            "reason": one.answer.reason, "message": one.answer.message,
            "sets": [list(outcome.devices) for outcome in one.answer.outcomes],
            "setsComplete": one.answer.outcomes_complete, "largest": one.largest,
        }
        for one in found
    ]  # fmt: skip


def notes(assumed: Iterable[Assumed]) -> tuple[NoteAssumption, ...]:
    return tuple(one.note for one in assumed)


def encode_list(items: Iterable[Document]) -> Document:
    """`kind: AllocationList`, a document a node."""
    return {"apiVersion": shape.API_VERSION, "kind": LIST_KIND, "items": list(items)}


def parts() -> tuple[Schema, dict[str, Schema]]:
    """The schema of an Allocation and the definitions it refers to."""
    return document_schema(shape.API_VERSION, KIND, _FIELDS)
