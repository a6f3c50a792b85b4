"""SARIF 2.1.0, which code scanning of GitHub, GitLab and Azure DevOps reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from gputopo.reports.lint_lines import said
from gputopo.version import __version__

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif(report: Mapping[str, Any]) -> dict[str, Any]:
    """Of a LintReport. Columns count code points, as its columns do."""
    return document([(one["rule"], _result(one)) for one in report["findings"]])


def document(results: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """A log of one run: the results, each with the code of its rule."""
    from gputopo.rules.codes import name

    codes = sorted({code for code, _ in results})
    rules = [{"id": code, "name": name(code)} for code in codes]
    run = {
        "tool": {"driver": {"name": "gputopo", "version": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [{"ruleId": code, "ruleIndex": codes.index(code), **result} for code, result in results],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(one: Mapping[str, Any]) -> dict[str, Any]:
    place = {
        "artifactLocation": {"uri": quote(one["file"])},
        "region": {"startLine": one["line"], "startColumn": one["column"]},
    }
    fixes = [_fix(fix, place["artifactLocation"]) for fix in one["fixes"]]
    return {
        "level": LEVELS[one["severity"]],
        "message": {"text": said(one)},
        "locations": [{"physicalLocation": place}],
        **({"fixes": fixes} if fixes else {}),
    }


def _fix(fix: Mapping[str, Any], artifact: Mapping[str, Any]) -> dict[str, Any]:
    """An end of a region is behind its last character, so that an insertion has the same begin and end."""
    replacements = [
        {
            "deletedRegion": {
                "startLine": edit["line"],
                "startColumn": edit["column"],
                "endLine": edit["endLine"],
                "endColumn": edit["endColumn"],
            },
            "insertedContent": {"text": edit["text"]},
        }
        for edit in fix["edits"]
    ]
    return {
        "description": {"text": fix["description"]},
        "artifactChanges": [{"artifactLocation": artifact, "replacements": replacements}],
    }
