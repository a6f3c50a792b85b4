r"""JUnit XML, as Jenkins, GitLab and GitHub actions read it: cases of one suite, whoever they are of.

Elements and attributes are those of junit-10.xsd (jenkinsci/xunit-plugin,
src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd).

XML has no way to write most control characters, not even escaped (XML 1.0, "Char"): they are left out.

    >>> print(_attribute('a<b> & "c"\x00\x1b'), _text("]]\ufffe>"))
    a&lt;b&gt; &amp; &quot;c&quot; ]]&gt;
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

# Char of XML 1.0 (fifth edition), production 2, without the C1 controls, which it discourages.
_NOT_XML = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}


class Case:
    """`outcome`: failure, skipped, error or nothing."""

    __slots__ = ("classname", "lines", "message", "name", "outcome", "type")

    def __init__(
        self, name: str, classname: str, outcome: str = "", type: str = "", message: str = "", lines: Sequence[str] = ()
    ) -> None:
        self.name, self.classname = name, classname
        self.outcome, self.type, self.message, self.lines = outcome, type, message, lines


def suite(name: str, cases: Sequence[Case], said: Mapping[str, object] = {}, assumed: Sequence[str] = ()) -> str:
    """The whole document. `said`: properties of the run, those that are None left out."""
    numbers = {
        "tests": len(cases),
        "failures": sum(case.outcome == "failure" for case in cases),
        "errors": sum(case.outcome == "error" for case in cases),
    }
    counts = " ".join(f'{name}="{number}"' for name, number in numbers.items())
    skipped = sum(case.outcome == "skipped" for case in cases)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="gputopo" {counts}>']
    lines.append(f'<testsuite name="{_attribute(name)}" {counts} skipped="{skipped}">')
    lines += ["<properties>", *_properties(said, assumed), "</properties>"]
    for case in cases:
        lines += _written(case)
    return "\n".join([*lines, "</testsuite>", "</testsuites>"]) + "\n"


def _properties(said: Mapping[str, object], assumed: Sequence[str]) -> Iterator[str]:
    for name, value in said.items():
        if value is not None:
            yield f'<property name="{name}" value="{_attribute(str(value))}"/>'
    for text in assumed:
        yield f'<property name="assumed" value="{_attribute(text)}"/>'


def _written(case: Case) -> Iterator[str]:
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
