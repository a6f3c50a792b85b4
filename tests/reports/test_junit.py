"""`-o junit` against the structure of junit-10.xsd (jenkinsci/xunit-plugin), read by an XML parser."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gputopo.allocate.request import Request
from gputopo.documents.admission import encode
from gputopo.fleet.admission import Judged, Pod, Report, Unreadable
from gputopo.fleet.alike import Member
from gputopo.fleet.shape import Outline
from gputopo.fleet.verdict import Verdict
from gputopo.reports.admission_junit import junit

# Element: (required attributes, other attributes, elements it may hold). Of the schema, written down by hand.
_TOLD: tuple[set[str], set[str], set[str]] = (set(), {"type", "message"}, set())
XSD: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": (
        {"name"}, {"time", "classname", "group"},
        {"skipped", "error", "failure", "rerunFailure", "rerunError", "flakyFailure", "flakyError", "system-out",
         "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "failure": _TOLD, "error": _TOLD, "skipped": _TOLD,
    "system-out": (set(), set(), set()), "system-err": (set(), set(), set()),
}  # fmt: skip


def valid(text: str) -> ElementTree.Element:
    """The root of a text that the schema takes."""
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        required, optional, children = XSD[element.tag]
        assert required <= set(element.attrib) <= required | optional, element.tag
        assert {child.tag for child in element} <= children, element.tag
    return root


def shape(key: str, verdict: Verdict, name: str = "a17", **more: Any) -> Judged:
    """A hundred nodes like this one."""
    members = tuple(Member(at, f"fleet/{name}-{at}.txt", name) for at in range(100))
    made = Judged(key, f"f{key}", True, Outline(8, ("NVIDIA H100",), 2, 2, 10), members, verdict, 8, 8)
    return made._replace(**more)


def report(*shapes: Judged, unreadable: tuple[Unreadable, ...] = ()) -> dict[str, Any]:
    return encode(Report(
        "kubelet", "v1.36", Pod("Pod", "train", "ml", "pod.yaml: line 1"), Request(4), None, shapes, unreadable,
    ))  # fmt: skip


REFUSED = shape("1", Verdict("refused", ("TopologyAffinityError: none",), "always"), reason="TopologyAffinityError",
                message="Resources cannot be allocated with Topology locality")  # fmt: skip
SPLIT = shape("2", Verdict("split", ("{0,4} crosses sockets",), "sometimes"))
OPEN = shape("3", Verdict("undecided", ("the NUMA nodes are not known",)))
FINE = shape("4", Verdict("fine", ("{0,1}, in one socket",)))
LOST = (Unreadable("fleet/zero.bin", "this is binary, not a text"),)


def outcomes(text: str) -> list[str]:
    found = []
    for case in valid(text).iter("testcase"):
        tags = [child.tag for child in case if child.tag != "system-out"]
        found.append(tags[0] if tags else "passed")
    return found


@pytest.mark.parametrize(
    ("fail_on", "said"),
    [
        ("error", ["failure", "skipped", "error", "passed", "error"]),
        ("warning", ["failure", "failure", "error", "passed", "error"]),
        ("never", ["skipped", "skipped", "error", "passed", "error"]),
    ],
)
def test_a_case_for_each_shape_and_each_thing_that_was_not_read(fail_on: str, said: list[str]) -> None:
    text = junit(report(REFUSED, SPLIT, OPEN, FINE, unreadable=LOST), fail_on)
    assert outcomes(text) == said
    [suite] = valid(text)
    counted = [suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")]
    assert counted == ["5", str(said.count("failure")), str(said.count("error")), str(said.count("skipped"))]


def test_the_message_says_why_and_the_text_says_more() -> None:
    root = valid(junit(report(REFUSED), "error"))
    [failure] = root.iter("failure")
    assert failure.attrib == {"type": "TopologyAffinityError", "message": "refused: TopologyAffinityError: none"}
    assert (failure.text or "").splitlines() == [
        "TopologyAffinityError: none", "Resources cannot be allocated with Topology locality", "nodes: 100",
        "example: fleet/a17-0.txt",
    ]  # fmt: skip


def test_names_are_the_same_in_every_run_and_unique() -> None:
    """What CI keeps a history of must not hold a count or the name of a node; two of one shape are told apart."""
    busy = shape("5", Verdict("fine", ("fine",)), free=6)
    root = valid(junit(report(FINE, busy, FINE._replace(key="6")), "error"))
    assert [case.attrib["name"] for case in root.iter("testcase")] == [
        "8x NVIDIA H100, shape f4 4", "8x NVIDIA H100, 6 of 8 free, shape f5", "8x NVIDIA H100, shape f4 6",
    ]  # fmt: skip


@given(some.text(some.characters(codec=None), max_size=40))
def test_whatever_a_name_holds_it_is_xml(text: str) -> None:
    """Control characters, quotes, surrogates, markup: names of files and nodes come from strangers."""
    made = shape("1", Verdict("refused", (text,), "always"), message=text, reason=text)
    root = valid(junit(report(made, unreadable=(Unreadable(text, text),)), "error"))
    [case] = [case for case in root.iter("testcase") if str(case.attrib["classname"]).endswith("unreadable")]
    ranges = ((" ", "~"), ("\x85", "\x85"), ("\xa0", "\ud7ff"), ("\ue000", "\ufffd"), ("\U00010000", "\U0010ffff"))
    assert case.attrib["name"] == "".join(
        one for one in text if one in "\t\n\r" or any(low <= one <= high for low, high in ranges)
    )
