"""A CheckResult as SARIF 2.1.0: each mismatch at the line of the evidence that says so, where that is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from gputopo.reports.check_lines import place, said
from gputopo.reports.sarif import document

Document = Mapping[str, Any]


def sarif(report: Document) -> dict[str, Any]:
    return document([(one["code"], _result(node, one)) for node in report["nodes"] for one in node["mismatches"]])


def _result(node: Document, one: Document) -> dict[str, Any]:
    file, at = place(node, one)
    spot = {"artifactLocation": {"uri": quote(file)}, "region": {"startLine": at or 1}}
    logical = [{"fullyQualifiedName": subject} for subject in one["subjects"][:1]]
    return {
        "level": "error",
        "message": {"text": said(one)},
        "locations": [{"physicalLocation": spot, **({"logicalLocations": logical} if logical else {})}],
        "baselineState": "unchanged" if one["known"] else "new",
    }
