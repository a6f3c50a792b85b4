"""What `fleet --state FILE` keeps: a line for each thing that was read, so that a run that was ended goes on.

    {"gputopo": "fleet-state", "version": 1, "asked": DIGEST}
    {"features": 0, "is": {…}}                                  what nodes have in common, once
    {"task": KEY, "nodes": [{"features": 0, …}], "lost": […]}    one thing that was read

A line that is cut (the run was ended while it was written) is as if it were not there.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from gputopo.documents.forms import Field, flag, many, mapping, nullable, record, text, whole
from gputopo.errors import GputopoError
from gputopo.fleet.features import KINDS, Features
from gputopo.fleet.part import Crossing, Held, Keys, Lost, Node, Part
from gputopo.fleet.shape import Outline

VERSION = 1
_MARK = "fleet-state"
_text, _whole = nullable(text), nullable(whole)

_outline = record(
    Outline, "Outline", Field("gpus", whole), Field("models", many(text)), Field("numa_nodes", _whole),
    Field("packages", _whole), Field("nics", _whole),
)  # fmt: skip


class _Row(NamedTuple):
    """Features, with the fields as mappings."""

    product: str | None
    models: tuple[str, ...]
    evidence: str
    fingerprint: str
    exact: bool
    form: str
    outline: Outline
    fields: dict[str, dict[str, str]]


_features = record(
    _Row, "Features", Field("product", _text), Field("models", many(text)), Field("evidence", text),
    Field("fingerprint", text), Field("exact", flag), Field("form", text), Field("outline", _outline),
    Field("fields", mapping(mapping(text))),
)  # fmt: skip
_crossing = record(Crossing, "Crossing", Field("owner", text), Field("pods", whole), Field("avoidable", whole))
_held = nullable(
    record(Held, "Held", Field("free", _whole), Field("lost", _whole), Field("crossing", many(_crossing)))
)
_keys = record(Keys, "Keys", Field("gpus", _text), Field("boot", _text), Field("name", _text))
_node = record(
    Node, "Node", Field("at", many(whole)), Field("source", text), Field("name", _text), Field("keys", _keys),
    Field("findings", many(many(text))), Field("held", _held),
)  # fmt: skip
_lost = record(Lost, "Lost", Field("at", many(whole)), Field("source", text), Field("reason", text))


def header(asked: str) -> str:
    return _line({"gputopo": _MARK, "version": VERSION, "asked": asked})


class Writer:
    """Lines for what was read. `known`: features that a line before says."""

    def __init__(self, known: dict[Features, int]) -> None:
        self._known = known

    def lines(self, key: str, part: Part) -> str:
        """Of one task."""
        made = []
        nodes = []
        for features, own in part.nodes.items():
            number = self._known.get(features)
            if number is None:
                number = self._known[features] = len(self._known)
                row = _Row(*features[:-1], {name: dict(values) for name, values in features.fields})
                made.append(_line({"features": number, "is": _features.encode(row)}))
            nodes += [{"features": number, **_node.encode(one)} for one in own]
        made.append(_line({"task": key, "nodes": nodes, "lost": [_lost.encode(one) for one in part.lost]}))
        return "".join(made)


class Reader:
    """`part(key, at)` of what a file holds. Raises GputopoError: no such file of ours, or of another question."""

    def __init__(self, first: str, asked: str, where: str) -> None:
        found = _object(first)
        if found.get("gputopo") != _MARK or found.get("version") != VERSION:
            raise GputopoError("this is no state of gputopo fleet", where, "--state names a file of its own")
        if found.get("asked") != asked:
            raise GputopoError("this state is of other options or another version", where, "give another --state FILE")
        self.known: dict[Features, int] = {}
        self._features: dict[int, Features] = {}
        self._tasks: dict[str, str] = {}

    def take(self, line: str) -> None:
        """A line that cannot be read is passed over."""
        found = _object(line)
        number, key = found.get("features"), found.get("task")
        try:
            if isinstance(number, int):
                row: _Row = _features.decode(found.get("is"), "is")
                fields = tuple((name, tuple(values.items())) for name, values in row.fields.items() if name in KINDS)
                one = Features(*row[:-1], fields)
                self._features[number] = one
                self.known.setdefault(one, number)
            elif isinstance(key, str):
                self._part(found, 0)
                self._tasks[key] = line
        except (GputopoError, TypeError):
            pass

    def part(self, key: str, at: int) -> Part | None:
        """What was read of it, at its place of now."""
        line = self._tasks.get(key)
        return None if line is None else self._part(_object(line), at)

    def _part(self, found: dict[str, Any], at: int) -> Part:
        nodes: dict[Features, list[Node]] = {}
        for row in found.get("nodes", ()):
            one: Node = _node.decode(row, "nodes")
            features = self._features.get(row.get("features"))
            if features is None or len(one.at) != 2 or any(len(pair) != 2 for pair in one.findings):
                raise GputopoError("nodes: damaged")
            nodes.setdefault(features, []).append(one._replace(at=(at, one.at[1])))
        gone: list[Lost] = [_lost.decode(row, "lost") for row in found.get("lost", ())]
        lost = [one._replace(at=(at, *one.at[-1:])) for one in gone]
        return Part({features: tuple(own) for features, own in nodes.items()}, tuple(lost))


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n"


def _object(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
