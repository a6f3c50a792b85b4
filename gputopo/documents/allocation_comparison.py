"""`kind: AllocationComparison`: every mechanism asked the same.

    rows[]: mechanism, version, setting, admitted, reason, outcomes as in an Allocation, outcomesComplete,
            families, givesBest always|sometimes|never|null, keepsIslands, left
    best: the best sets of the free units; onEmptyNode: of all units; would: settings that always give a best set
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gputopo.allocate.best import Best
from gputopo.allocate.compare import ALWAYS, NEVER, SOMETIMES, Compared, Comparison
from gputopo.allocate.decider import Decision
from gputopo.allocate.outcome import Family, Outcome
from gputopo.documents import shape
from gputopo.documents.allocation import ASSUMPTION, FAMILY, OUTCOME, REQUEST, decided, decides_form
from gputopo.documents.forms import Field, Schema, choice, document_schema, flag, many, nullable, record, text, whole
from gputopo.topology.node import NoteAssumption

KIND, LIST_KIND = "AllocationComparison", "AllocationComparisonList"
Document = dict[str, Any]


class _Row(NamedTuple):
    mechanism: str
    version: str
    setting: str
    admitted: bool | None
    reason: str | None
    message: str | None
    outcomes: tuple[Outcome, ...]
    outcomes_complete: bool
    families: tuple[Family, ...]
    gives_best: str | None
    keeps_islands: bool | None
    left: int | None


class _Would(NamedTuple):
    mechanism: str
    setting: str


_row = record(
    _Row, "ComparedAllocation",
    Field("mechanism", text), Field("version", text), Field("setting", text), Field("admitted", nullable(flag)),
    Field("reason", nullable(text)), Field("message", nullable(text)), Field("outcomes", many(OUTCOME)),
    Field("outcomesComplete", flag, "outcomes_complete"), Field("families", many(FAMILY)),
    Field("givesBest", nullable(choice(ALWAYS, SOMETIMES, NEVER)), "gives_best"),
    Field("keepsIslands", nullable(flag), "keeps_islands"), Field("left", nullable(whole)),
)  # fmt: skip
_best = nullable(record(Best, "BestSets", Field("sets", many(many(text))), Field("decided", flag)))
_would = record(_Would, "Setting", Field("mechanism", text), Field("setting", text))
_FIELDS = (
    ("node", nullable(text)), ("request", REQUEST), ("decides", decides_form), ("free", many(text)),
    ("rows", many(_row)), ("best", _best), ("onEmptyNode", _best), ("would", many(_would)),
    ("assumptions", many(ASSUMPTION)),
)  # fmt: skip


def encode(comparison: Comparison, decision: Decision, assumptions: Sequence[NoteAssumption]) -> Document:
    values: dict[str, Any] = {
        "node": comparison.state.node.name, "request": comparison.request,
        "decides": decided(decision, "all"), "free": comparison.state.free,
        "rows": [_said(row) for row in comparison.rows], "best": comparison.now, "onEmptyNode": comparison.empty,
        "would": [_Would(row.name, row.setting) for row in comparison.would], "assumptions": assumptions,
    }  # fmt: skip
    return {
        "apiVersion": shape.API_VERSION,
        "kind": KIND,
        **{name: form.encode(values[name]) for name, form in _FIELDS},
    }


def encode_list(items: Sequence[Document]) -> Document:
    return {"apiVersion": shape.API_VERSION, "kind": LIST_KIND, "items": list(items)}


def _said(row: Compared) -> _Row:
    answer = row.answer
    return _Row(
        row.name, answer.version, row.setting, answer.admitted, answer.reason, answer.message, answer.outcomes,
        answer.outcomes_complete, answer.families, row.gives_best, row.keeps_islands, row.left,
    )  # fmt: skip


def parts() -> tuple[Schema, dict[str, Schema]]:
    """The schema of an AllocationComparison and the definitions it refers to."""
    return document_schema(shape.API_VERSION, KIND, _FIELDS)
