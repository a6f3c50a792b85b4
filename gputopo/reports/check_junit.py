"""A CheckResult as JUnit XML: one test case a node; undecided is skipped, which is no pass and no failure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gputopo.reports.check_lines import new, open_line, place, said
from gputopo.reports.junit import Case, suite

_SUITE = "gputopo.check"
Document = Mapping[str, Any]


def junit(report: Document) -> str:
    expectations = report["expectations"]
    told = {"expectations": expectations["name"] or expectations["from"], "nodes": len(report["nodes"])}
    return suite(_SUITE, [_case(node) for node in report["nodes"]], told)


def _case(node: Document) -> Case:
    name = node["name"]
    if node["status"] == "unreadable":
        return Case(name, _SUITE, "error", "unreadable", node["reason"], [node["hint"]])
    failed = new(node)
    if failed:
        lines = [*map(_line, [node] * len(failed), failed), *map(open_line, node["undecided"])]
        return Case(name, _SUITE, "failure", failed[0]["code"], said(failed[0]), lines)
    if node["undecided"]:
        lines = list(map(open_line, node["undecided"]))
        return Case(name, _SUITE, "skipped", "undecided", lines[0], lines)
    return Case(name, _SUITE, lines=[f"known: {said(one)}" for one in node["mismatches"]])


def _line(node: Document, one: Document) -> str:
    file, at = place(node, one)
    return f"{file}:{at}: {said(one)} {one['code']}" if at else f"{said(one)} {one['code']}"
