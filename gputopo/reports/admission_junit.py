"""An AdmissionReport as JUnit XML: one test case a shape of node.

A failure where it is at or above --fail-on, skipped where it is only worth a word, an error where it could not be
decided or read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gputopo.reports.junit import Case, suite
from gputopo.rules.finding import SEVERITIES


def junit(document: Mapping[str, Any], fail_on: str) -> str:
    name = f"gputopo.allocate.{document['mechanism']}"
    cases = [*_shapes(document, name, fail_on), *_unreadable(document, name)]
    pod, request = document["pod"] or {}, document["request"] or {}
    said = {
        "pod": pod.get("name"), "resource": request.get("resource"), "count": request.get("count"),
        "version": document["version"], "nodes": document["summary"]["nodes"],
        "shapes": document["summary"]["shapes"],
    }  # fmt: skip
    return suite(name, cases, said, [one["text"] for one in document["assumptions"]])


def _shapes(document: Mapping[str, Any], suite: str, fail_on: str) -> Iterator[Case]:
    worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on in SEVERITIES else ()
    names = _names(document["shapes"])
    for one in document["shapes"]:
        name = names[one["key"]]
        lines = [*one["why"], f"nodes: {one['nodes']}", f"example: {one['example']['source']}"]
        if one["message"]:
            lines.insert(1, one["message"])
        message = f"{one['verdict']}: {one['why'][0]}" if one["why"] else one["verdict"]
        if one["verdict"] == "undecided":
            yield Case(name, suite, "error", "undecided", message, lines)
        elif one["severity"] in worst:
            yield Case(name, suite, "failure", one["reason"] or one["verdict"], message, lines)
        elif one["severity"] is not None:
            yield Case(name, suite, "skipped", one["verdict"], message, lines)
        else:
            yield Case(name, suite, lines=[message, *lines[1:]])


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


def _unreadable(document: Mapping[str, Any], suite: str) -> Iterator[Case]:
    for one in document["unreadable"]:
        yield Case(one["source"], f"{suite}.unreadable", "error", "unreadable", one["reason"])
