"""`kind: LintReport`: what is wrong with manifests and configuration files.

files, kubernetes, driver (a line of versions; assumed where nobody named one),
findings[]: rule, severity, file, line and column from 1, path as kubectl writes it, message, because, remedy
  fixes[]: what `--fix` does: edits[] from line and column up to endLine and endColumn, all of them or none
  notFixed: why there is no fix, where that is not plain
notChecked[]: objects that no rule knows
mended[]: with --fix the files that change: how many findings go and stay, the diff, whether it is written, and which
  releases of Kubernetes and lines of NVIDIA's DRA driver the result can be used with
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gputopo.documents import shape
from gputopo.documents.forms import Field, Schema, choice, document_schema, flag, many, nullable, record, text, whole
from gputopo.rules.finding import SEVERITIES
from gputopo.rules.manifests.problem import Context, Problem

KIND = "LintReport"
Document = dict[str, Any]


class Change(NamedTuple):
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class Fix(NamedTuple):
    description: str
    edits: tuple[Change, ...]


class Found(NamedTuple):
    rule: str
    severity: str
    file: str
    line: int
    column: int
    path: str
    message: str
    because: str
    remedy: str
    fixes: tuple[Fix, ...] = ()
    not_fixed: str = ""


class Unknown(NamedTuple):
    file: str
    line: int
    kind: str


class Mended(NamedTuple):
    """`kubernetes` and `kubernetes_last`: the first and last release; `driver`: lines; `needs`: both in words."""

    file: str
    findings: int
    left: int
    written: bool
    kubernetes: str | None
    kubernetes_last: str | None
    driver: tuple[str, ...]
    needs: str
    diff: str


class _Driver(NamedTuple):
    line: str
    assumed: bool


_change = record(
    Change, "LintEdit",
    Field("line", whole), Field("column", whole), Field("endLine", whole, "end_line"),
    Field("endColumn", whole, "end_column"), Field("text", text),
)  # fmt: skip
_fix = record(Fix, "LintFix", Field("description", text), Field("edits", many(_change)))
_found = record(
    Found, "LintFinding",
    Field("rule", text), Field("severity", choice(*SEVERITIES)), Field("file", text), Field("line", whole),
    Field("column", whole), Field("path", text), Field("message", text), Field("because", text),
    Field("remedy", text), Field("fixes", many(_fix)), Field("notFixed", text, "not_fixed"),
)  # fmt: skip
_mended = record(
    Mended, "LintMended",
    Field("file", text), Field("findings", whole), Field("left", whole), Field("written", flag),
    Field("kubernetes", nullable(text)), Field("kubernetesLast", nullable(text), "kubernetes_last"),
    Field("driver", many(text)), Field("needs", text), Field("diff", text),
)  # fmt: skip
_unknown = record(Unknown, "LintNotChecked", Field("file", text), Field("line", whole), Field("kind", text))
_driver = record(_Driver, "LintDriver", Field("line", text), Field("assumed", flag))
_FIELDS = (
    ("files", many(text)), ("kubernetes", text), ("driver", _driver), ("findings", many(_found)),
    ("notChecked", many(_unknown)), ("mended", many(_mended)),
)  # fmt: skip


def found(file: str, one: Problem) -> Found:
    line, column = one.place
    edits = tuple(Change(*begin, *end, edit.text) for edit, (begin, end) in zip(one.edits, one.spots))
    fixes = (Fix(one.remedy or one.message, edits),) if edits else ()
    return Found(
        one.rule, one.severity, file, line, column, one.path, one.message, one.because, one.remedy, fixes, one.why_not
    )  # fmt: skip


def encode(
    files: Sequence[str], context: Context, items: Sequence[Found], unknown: Sequence[Unknown],
    mended: Sequence[Mended] = (),
) -> Document:  # fmt: skip
    values: dict[str, Any] = {
        "files": tuple(files), "kubernetes": f"1.{context.minor}",
        "driver": _Driver(context.driver, not context.driver_said), "findings": tuple(items),
        "notChecked": tuple(unknown), "mended": tuple(mended),
    }  # fmt: skip
    return {
        "apiVersion": shape.API_VERSION,
        "kind": KIND,
        **{name: form.encode(values[name]) for name, form in _FIELDS},
    }


def parts() -> tuple[Schema, dict[str, Schema]]:
    """The schema of a LintReport and the definitions it refers to."""
    return document_schema(shape.API_VERSION, KIND, _FIELDS)
