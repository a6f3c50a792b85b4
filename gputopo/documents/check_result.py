"""`kind: CheckResult`: which nodes have the shape they should have.

expectations: `from` file | built-in, and the name of the specification
nodes[]: name (of the sources, joined by " + "), node (its own name), status pass | fail | undecided | unreadable
  mismatches[]: field (of the node's document; `findings` for a finding of a rule), subjects, want, found, code,
    message (of a finding), source and line (where the evidence says so), known (in the baseline: no failure)
  undecided[]: field, subjects, reason, settledBy
  reason, hint: why a source is unreadable
counts: nodes by status
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from gputopo.checks.result import STATUSES, Checked, Mismatch, Open
from gputopo.documents import shape
from gputopo.documents.forms import (
    Field,
    Schema,
    choice,
    document_schema,
    flag,
    many,
    mapping,
    nullable,
    record,
    text,
    whole,
)

KIND = "CheckResult"

_mismatch = record(
    Mismatch, "CheckMismatch",
    Field("field", text), Field("subjects", many(text)), Field("want", text), Field("found", text),
    Field("code", text), Field("message", text), Field("source", nullable(text)), Field("line", nullable(whole)),
    Field("known", flag),
)  # fmt: skip
_open = record(
    Open, "CheckUndecided",
    Field("field", text), Field("subjects", many(text)), Field("reason", text), Field("settledBy", text, "settled_by"),
)  # fmt: skip
_node = record(
    Checked, "CheckedNode",
    Field("name", text), Field("node", nullable(text)), Field("status", choice(*STATUSES)),
    Field("mismatches", many(_mismatch)), Field("undecided", many(_open)), Field("reason", text), Field("hint", text),
)  # fmt: skip


class _Expectations:
    def __init__(self, origin: str, name: str) -> None:
        self.origin, self.name = origin, name


_expectations = record(
    _Expectations, "CheckExpectations", Field("from", choice("file", "built-in"), "origin"), Field("name", text)
)
_FIELDS = (("expectations", _expectations), ("nodes", many(_node)), ("counts", mapping(whole)))


def encode(nodes: Sequence[Checked], spec: str | None) -> dict[str, Any]:
    """`spec`: the file, or None."""
    counts = Counter(one.status for one in nodes)
    values: dict[str, Any] = {
        "expectations": _Expectations("built-in" if spec is None else "file", spec or ""),
        "nodes": tuple(nodes), "counts": {status: counts[status] for status in STATUSES},
    }  # fmt: skip
    return {
        "apiVersion": shape.API_VERSION,
        "kind": KIND,
        **{name: form.encode(values[name]) for name, form in _FIELDS},
    }


def parts() -> tuple[Schema, dict[str, Schema]]:
    """The schema of a CheckResult and the definitions it refers to."""
    return document_schema(shape.API_VERSION, KIND, _FIELDS)
