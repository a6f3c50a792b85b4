r"""Workflow commands of GitHub Actions, which it shows beside the lines of a change and in the summary of a run.

Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions; how values are escaped:
actions/toolkit, packages/core/src/command.ts.

    >>> print(written(Annotation("info", "GT301", "50% x\ny", "a,b.yaml", 2, 3)), end="")
    ::notice file=a%2Cb.yaml,line=2,col=3,title=GT301::50%25 x%0Ay
    >>> print(written(Annotation("error", "GT1::", "\x1b[2J ::stop-commands::x")), end="")
    ::error title=GT1%3A%3A::\x1b[2J ::stop-commands::x
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gputopo.reports.sanitise import clean

_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}
Document = Mapping[str, Any]


class Annotation(NamedTuple):
    """`message` may have several lines; without `file` it stands in the run's summary."""

    severity: str
    title: str
    message: str
    file: str = ""
    line: int | None = None
    column: int | None = None


def written(one: Annotation) -> str:
    place = (("file", one.file), ("line", one.line), ("col", one.column)) if one.file else ()
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in (*place, ("title", one.title)) if value)
    return f"::{_LEVELS[one.severity]} {properties}::{_data(one.message)}\n"


def of_documents(documents: Sequence[Document]) -> str:
    """The findings of documents, each at the line of the input that its evidence names; a refused request too."""
    return "".join(written(one) for document in documents for one in _annotations(document))


def _annotations(document: Document) -> Iterator[Annotation]:
    files = {one["id"]: file_of(one) for one in document.get("sources", ()) if file_of(one)}
    if document.get("admitted", True) is False:
        asked = document["mechanism"]
        message = "\n".join([document["message"] or "the request is refused", *document["why"]])
        yield Annotation("error", f"{asked}: {document['reason'] or 'refused'}", message)
    for one in document["findings"]:
        said = [one["message"], *(f"{key}: {one[key]}" for key in ("matters", "because", "remedy") if one[key])]
        proofs = [proof for proof in one["evidence"] if proof["source"] in files]
        proof = next((proof for proof in proofs if proof["line"] is not None), proofs[0] if proofs else None)
        where = (files[proof["source"]], proof["line"]) if proof is not None else ("", None)
        yield Annotation(one["severity"], one["rule"], "\n".join(said), *where)


def file_of(source: Document) -> str:
    """Its name where it is a file, else ""."""
    name: str = source["name"]
    if name in ("", "-", "/") or name.startswith("sample:") or source["where"] == "live":
        return ""
    return name


def _data(value: str) -> str:
    lines = (clean(line).replace("%", "%25") for line in value.split("\n"))
    return "%0A".join(lines)


def _property(value: str) -> str:
    return clean(value).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
