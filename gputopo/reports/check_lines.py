"""A CheckResult as single lines: GitHub's workflow commands, and what Nagios and the node-problem-detector read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gputopo.reports.annotations import Annotation, written
from gputopo.reports.sanitise import clean
from gputopo.rules.checks.node_not_as_specified import line
from gputopo.rules.wording import counted

Document = Mapping[str, Any]
_WORDS = {0: "OK", 1: "WARNING", 2: "CRITICAL", 3: "UNKNOWN"}
_LONGEST = 400  # characters of a plugin's line


def github(report: Document) -> str:
    """`::error file=FILE,line=N,title=CODE::…` for each mismatch, a warning for what is open."""
    return "".join(written(one) for node in report["nodes"] for one in _annotations(node))


def _annotations(node: Document) -> Iterator[Annotation]:
    for one in new(node):
        file, at = place(node, one)
        yield Annotation("error", one["code"], clean(said(one)), file, at or 1)
    for one in node["undecided"]:
        yield Annotation("warning", "undecided", clean(open_line(one)), first(node), 1)
    if node["status"] == "unreadable":
        yield Annotation("error", "unreadable", clean(node["reason"]), first(node), 1)


def status_line(report: Document, code: int) -> str:
    """One line, as a plugin prints it."""
    counts = {status: count for status, count in report["counts"].items() if count}
    said_of = [f"{node['name']}: {text}" for node in report["nodes"] for text in _worst(node)]
    total = ", ".join(f"{count} {status}" for status, count in counts.items())
    text = f"GPUTOPO {_WORDS[code]} - {counted(sum(counts.values()), 'node')}: {total}"
    return clean("; ".join([text, *said_of])[:_LONGEST], ascii_only=True) + "\n"


def _worst(node: Document) -> Iterator[str]:
    yield from (said(one) for one in new(node))
    if node["status"] == "undecided":
        yield from (open_line(one) for one in node["undecided"])
    if node["status"] == "unreadable":
        yield node["reason"]


def new(node: Document) -> list[Document]:
    """The mismatches that were not known before."""
    return [one for one in node["mismatches"] if not one["known"]]


def said(one: Document) -> str:
    if one["message"]:
        return str(one["message"])
    return line(one["field"], one["want"], one["found"])


def open_line(one: Document) -> str:
    settle = f"; add {one['settledBy']}" if one["settledBy"] else ""
    return f"{one['field']} {one['reason']}{settle}"


def first(node: Document) -> str:
    name: str = node["name"]
    return name.partition(" + ")[0]


def place(node: Document, one: Document) -> tuple[str, int | None]:
    return one["source"] or first(node), one["line"]
