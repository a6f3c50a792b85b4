"""`kind: LintReport`: what is wrong with manifests and configuration files.

files, kubernetes, driver (a line of versions; assumed where nobody named one),
findings[]: rule, severity, file, line and column from 1, path as kubectl writes it, message, because, remedy
notChecked[]: objects that no rule knows
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gputopo.documents import shape
from gputopo.documents.forms import Field, Schema, choice, document_schema, flag, many, record, text, whole
from gputopo.rules.finding import SEVERITIES
from gputopo.rules.manifests.problem import Context, Problem

KIND = "LintReport"
Document = dict[str, Any]


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


class Unknown(NamedTuple):
    file: str
    line: int
    kind: str


class _Driver(NamedTuple):
    line: str
    assumed: bool


_found = record(
    Found, "LintFinding",
    Field("rule", text), Field("severity", choice(*SEVERITIES)), Field("file", text), Field("line", whole),
    Field("column", whole), Field("path", text), Field("message", text), Field("because", text),
    Field("remedy", text),
)  # fmt: skip
_unknown = record(Unknown, "LintNotChecked", Field("file", text), Field("line", whole), Field("kind", text))
_driver = record(_Driver, "LintDriver", Field("line", text), Field("assumed", flag))
_FIELDS = (
    ("files", many(text)), ("kubernetes", text), ("driver", _driver), ("findings", many(_found)),
    ("notChecked", many(_unknown)),
)  # fmt: skip


def found(file: str, one: Problem) -> Found:
    line, column = one.place
    return Found(one.rule, one.severity, file, line, column, one.path, one.message, one.because, one.remedy)


def encode(files: Sequence[str], context: Context, items: Sequence[Found], unknown: Sequence[Unknown]) -> Document:
    values: dict[str, Any] = {
        "files": tuple(files), "kubernetes": f"1.{context.minor}",
        "driver": _Driver(context.driver, not context.driver_said), "findings": tuple(items),
        "notChecked": tuple(unknown),
    }  # fmt: skip
    return {
        "apiVersion": shape.API_VERSION,
        "kind": KIND,
        **{name: form.encode(values[name]) for name, form in _FIELDS},
    }


def parts() -> tuple[Schema, dict[str, Schema]]:
    """The schema of a LintReport and the definitions it refers to."""
    return document_schema(shape.API_VERSION, KIND, _FIELDS)
