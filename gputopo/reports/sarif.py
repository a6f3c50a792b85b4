"""A LintReport as SARIF 2.1.0, which code scanning of GitHub, GitLab and Azure DevOps reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from gputopo.reports.lint_lines import said
from gputopo.version import __version__

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif(report: Mapping[str, Any]) -> dict[str, Any]:
    """Columns count code points, as those of a LintReport do."""
    from gputopo.rules.codes import name

    found = report["findings"]
    codes = sorted({one["rule"] for one in found})
    rules = [{"id": code, "name": name(code)} for code in codes]
    driver = {"name": "gputopo", "version": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, codes.index(one["rule"])) for one in found],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(one: Mapping[str, Any], index: int) -> dict[str, Any]:
    place = {
        "artifactLocation": {"uri": quote(one["file"])},
        "region": {"startLine": one["line"], "startColumn": one["column"]},
    }
    return {
        "ruleId": one["rule"],
        "ruleIndex": index,
        "level": _LEVELS[one["severity"]],
        "message": {"text": said(one)},
        "locations": [{"physicalLocation": place}],
    }
