"""What changed on a node between two looks: a line a change, or a JSON document a line.

`+` came, `~` is otherwise now, `-` went; findings that are new, and those that are gone. `type` is as in a Kubernetes
watch (ADDED, MODIFIED, DELETED), of findings FOUND and GONE.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from gputopo.checks.align import align
from gputopo.checks.differences import Difference, compare
from gputopo.inspection import Inspection
from gputopo.reports.sanitise import clean
from gputopo.rules.finding import Finding

_PLACE = re.compile(r"\[\d+\]")
_MARK = {"ADDED": "+", "MODIFIED": "~", "DELETED": "-"}


def lines(before: Inspection, after: Inspection) -> str:
    """Lines for a person; empty where nothing changed."""
    made = [_line(one) for one in _differences(before, after)]
    made += [f"  {one.severity} {one.rule}  {one.message}" for one in _new(before, after)]
    made += [f"  gone: {one.rule}  {one.message}" for one in _new(after, before)]
    return "".join(f"{clean(one)}\n" for one in made)


def events(before: Inspection, after: Inspection) -> str:
    """NDJSON; empty where nothing changed."""
    made: list[dict[str, Any]] = [
        {"type": _type(one), "subjects": list(one.subjects), "field": _field(one), "before": one.a, "after": one.b}
        for one in _differences(before, after)
    ]
    for kind, found in (("FOUND", _new(before, after)), ("GONE", _new(after, before))):
        made += [
            {"type": kind, "rule": one.rule, "severity": one.severity, "subjects": list(one.subjects),
             "message": one.message}
            for one in found
        ]  # fmt: skip
    return "".join(f"{json.dumps(one)}\n" for one in made)


def _differences(before: Inspection, after: Inspection) -> tuple[Difference, ...]:
    return compare(before.node, after.node, align(before.node, after.node)).differences


def _new(before: Inspection, after: Inspection) -> Iterator[Finding]:
    known = {(one.rule, one.subjects, one.message) for one in before.findings}
    return (one for one in after.findings if (one.rule, one.subjects, one.message) not in known)


def _type(one: Difference) -> str:
    whole = _field(one) in ("gpus", "nics", "packages", "numaNodes")
    if whole and one.a is None:
        return "ADDED"
    return "DELETED" if whole and one.b is None else "MODIFIED"


def _field(one: Difference) -> str:
    """`gpus[5].pcie.width` is `gpus.pcie.width`: which one it is stands in the subjects."""
    return _PLACE.sub("", one.field)


def _line(one: Difference) -> str:
    kind = _type(one)
    name = " ".join(one.subjects) or "node"
    if kind != "MODIFIED":
        return f"{_MARK[kind]} {name}  {one.a if one.b is None else one.b}"
    return f"~ {name}  {_field(one).partition('.')[2] or _field(one)}: {_shown(one.a)} -> {_shown(one.b)}"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    return "unknown" if value is None else str(value)
