"""A FleetReport as workflow commands of GitHub: what was found over its nodes, at the file of a node that shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gputopo.reports.annotations import Annotation, written
from gputopo.rules.codes import name as rule_name
from gputopo.rules.wording import counted

Document = Mapping[str, Any]


def github(report: Document) -> str:
    return "".join(written(one) for one in _annotations(report))


def _annotations(report: Document) -> Iterator[Annotation]:
    nodes = report["summary"]["nodes"]
    for one in report["distribution"]:
        example = one["example"]
        where = example["node"] or example["source"]
        message = f"{rule_name(one['rule'])} on {one['nodes']} of {counted(nodes, 'node')}, e.g. {where}"
        yield Annotation(one["severity"], one["rule"], message, example["source"])
    files = {node["node"]: node["source"] for shape in report["shapes"] for node in shape["members"] if node["node"]}
    files |= {lost["source"]: lost["source"] for lost in report["unreadable"]}
    files |= {node["source"]: node["source"] for again in report["duplicates"] for node in again["nodes"]}
    files |= {node["source"]: node["source"] for odd in report["odd"] for node in odd["nodes"]}
    for one in report["findings"]:
        said = [one["message"], *(f"{key}: {one[key]}" for key in ("matters", "because", "remedy") if one[key])]
        file = files.get(one["subjects"][0], "") if one["subjects"] else ""
        yield Annotation(one["severity"], one["rule"], "\n".join(said), file)
