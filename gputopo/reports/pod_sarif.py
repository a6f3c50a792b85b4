"""PodAudits as SARIF 2.1.0. A finding is about a pod, not a line: it points to the source that says who holds what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from gputopo.reports.sarif import LEVELS, document

Document = Mapping[str, Any]


def sarif(audits: Sequence[Document]) -> dict[str, Any]:
    return document([(one["rule"], _result(one, audit)) for audit in audits for one in audit["findings"]])


def _result(one: Document, audit: Document) -> dict[str, Any]:
    names = {source["id"]: source["name"] for source in audit["sources"]}
    said = [names[proof["source"]] for proof in one["evidence"] if proof["source"] in names]
    held = [source["name"] for source in audit["sources"]]
    file = (said or held or ["live"])[0]
    text = one["message"] + "".join(f". {one[key]}" for key in ("matters", "because", "remedy") if one[key])
    place = {"artifactLocation": {"uri": quote(file)}, "region": {"startLine": 1}}
    logical = [{"fullyQualifiedName": subject} for subject in one["subjects"][:1]]
    return {
        "level": LEVELS[one["severity"]],
        "message": {"text": text},
        "locations": [{"physicalLocation": place, "logicalLocations": logical}],
    }
