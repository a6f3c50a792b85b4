"""What `allocate all` and `allocate sequence` say, as workflow commands of GitHub: who is refused, what is split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gputopo.reports.annotations import Annotation, written
from gputopo.rules.wording import counted

Document = Mapping[str, Any]


def of_comparisons(documents: Sequence[Document]) -> str:
    """A mechanism that refuses is an error where none admits, else a warning."""
    return "".join(written(one) for document in documents for one in _refused(document))


def of_forecasts(documents: Sequence[Document]) -> str:
    """A pod that is refused whatever was picked before is an error; what can go wrong is a warning."""
    return "".join(written(one) for document in documents for one in _trouble(document))


def _refused(document: Document) -> Iterator[Annotation]:
    rows = document["rows"]
    severity = "error" if all(row["admitted"] is False for row in rows) else "warning"
    for row in rows:
        if row["admitted"] is False:
            title = f"{row['mechanism']} {row['setting']}: {row['reason'] or 'refused'}"
            yield Annotation(severity, title, _where(document, row["message"] or "the request is refused"))


def _trouble(document: Document) -> Iterator[Annotation]:
    for one in document["events"]:
        if one["event"] != "start":
            continue
        asks = f"{one['owner']} asks for {counted(one['count'], 'unit')} of {document['resource']}"
        if one["refused"] != "never":
            can = "is" if one["refused"] == "always" else "can be"
            severity = "error" if one["refused"] == "always" else "warning"
            why = f": {one['reason']}" if one["reason"] else ""
            yield Annotation(severity, f"{one['owner']} {can} refused", _where(document, f"{asks}{why}"))
        if one["split"] != "never":
            can = "is" if one["split"] == "always" else "can be"
            sets = "; ".join(" ".join(each) for each in one["splitSets"][:4])
            yield Annotation("warning", f"{one['owner']} {can} split", _where(document, f"{asks}: {sets}"))


def _where(document: Document, said: str) -> str:
    return f"{document['node']}: {said}" if document["node"] else said
