r"""`-o junit`: an AdmissionReport as the JUnit XML that Jenkins, GitLab and GitHub actions read.

One test case a shape of node: a failure where it is at or above --fail-on, skipped where it is only worth a
word, an error where it could not be decided or read. Elements and attributes are those of junit-10.xsd
(jenkinsci/xunit-plugin, src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd).

XML has no way to write most control characters, not even escaped (XML 1.0, "Char"): they are left out.

    >>> print(_attribute('a<b> & "c"\x00\x1b'), _text("]]\ufffe>"))
    a&lt;b&gt; &amp; &quot;c&quot; ]]&gt;
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gputopo.rules.finding import SEVERITIES

# Char of XML 1.0 (fifth edition), production 2, without the C1 controls, which it discourages.
_NOT_XML = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}


class _Case:
    """`outcome`: failure, skipped, error or nothing."""

    __slots__ = ("classname", "lines", "message", "name", "outcome", "type")

    def __init__(
        self, name: str, classname: str, outcome: str = "", type: str = "", message: str = "", lines: Sequence[str] = ()
    ) -> None:
        self.name, self.classname = name, classname
        self.outcome, self.type, self.message, self.lines = outcome, type, message, lines


def junit(document: Mapping[str, Any], fail_on: str) -> str:
    suite = f"gputopo.allocate.{document['mechanism']}"
    cases = [*_shapes(document, suite, fail_on), *_unreadable(document, suite)]
    numbers = {
        "tests": len(cases),
        "failures": sum(case.outcome == "failure" for case in cases),
        "errors": sum(case.outcome == "error" for case in cases),
    }
    counts = " ".join(f'{name}="{number}"' for name, number in numbers.items())
    skipped = sum(case.outcome == "skipped" for case in cases)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="gputopo" {counts}>']
    lines.append(f'<testsuite name="{_attribute(suite)}" {counts} skipped="{skipped}">')
    lines += ["<properties>", *_properties(document), "</properties>"]
    for case in cases:
        lines += _written(case)
    return "\n".join([*lines, "</testsuite>", "</testsuites>"]) + "\n"


def _shapes(document: Mapping[str, Any], suite: str, fail_on: str) -> Iterator[_Case]:
    worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on in SEVERITIES else ()
    names = _names(document["shapes"])
    for one in document["shapes"]:
        name = names[one["key"]]
        lines = [*one["why"], f"nodes: {one['nodes']}", f"example: {one['example']['source']}"]
        if one["message"]:
            lines.insert(1, one["message"])
        message = f"{one['verdict']}: {one['why'][0]}" if one["why"] else one["verdict"]
        if one["verdict"] == "undecided":
            yield _Case(name, suite, "error", "undecided", message, lines)
        elif one["severity"] in worst:
            yield _Case(name, suite, "failure", one["reason"] or one["verdict"], message, lines)
        elif one["severity"] is not None:
            yield _Case(name, suite, "skipped", one["verdict"], message, lines)
        else:
            yield _Case(name, suite, lines=[message, *lines[1:]])


def _names(shapes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Key → a name that is the same in the next run: what it is, what is free, the shape; the key where it must."""
    plain = {one["key"]: _name(one) for one in shapes}
    several = {name for name, number in Counter(plain.values()).items() if number > 1}
    return {key: f"{name} {key}" if name in several else name for key, name in plain.items()}


def _name(one: Mapping[str, Any]) -> str:
    what, free = one["what"], ""
    if one["units"] is not None and one["free"] != one["units"]:
        free = f", {one['free']} of {one['units']} free"
    if what is None:
        return f"slices only, shape {one['fingerprint']}"
    return f"{what['gpus']}x {' + '.join(what['models']) or 'GPU'}{free}, shape {one['fingerprint']}"


def _unreadable(document: Mapping[str, Any], suite: str) -> Iterator[_Case]:
    for one in document["unreadable"]:
        yield _Case(one["source"], f"{suite}.unreadable", "error", "unreadable", one["reason"])


def _properties(document: Mapping[str, Any]) -> Iterator[str]:
    pod, request = document["pod"] or {}, document["request"] or {}
    said = {
        "pod": pod.get("name"), "resource": request.get("resource"), "count": request.get("count"),
        "version": document["version"], "nodes": document["summary"]["nodes"],
        "shapes": document["summary"]["shapes"],
    }  # fmt: skip
    for name, value in said.items():
        if value is not None:
            yield f'<property name="{name}" value="{_attribute(str(value))}"/>'
    for one in document["assumptions"]:
        yield f'<property name="assumed" value="{_attribute(one["text"])}"/>'


def _written(case: _Case) -> Iterator[str]:
    opening = f'<testcase name="{_attribute(case.name)}" classname="{_attribute(case.classname)}"'
    body = _text("\n".join(case.lines))
    if case.outcome:
        told = f'type="{_attribute(case.type)}" message="{_attribute(case.message)}"'
        inside = f"<{case.outcome} {told}>{body}</{case.outcome}>"
    elif body:
        inside = f"<system-out>{body}</system-out>"
    else:
        yield f"{opening}/>"
        return
    yield f"{opening}>"
    yield inside
    yield "</testcase>"


def _attribute(text: str) -> str:
    """Blanks as references: a reader turns a bare one into a space."""
    return "".join(_ESCAPES.get(one, one) for one in _NOT_XML.sub("", text))


def _text(text: str) -> str:
    cleaned = _NOT_XML.sub("", text)
    return cleaned.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")
