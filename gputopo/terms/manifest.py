"""A Kubernetes object or configuration with the place of each of its values in the file.

A place counts lines and columns from 1, columns in code points. Where the text of a value is folded, indented or
escaped, `inside` finds the character of the file behind a character of the value.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from gputopo.terms.kube_object import KubeObject

Path = tuple["str | int", ...]
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_BLANK = " \t\r\n\x85\u2028\u2029"
_ESCAPE_LENGTH = {"x": 2, "u": 4, "U": 8}


class Place(NamedTuple):
    line: int
    column: int


class SourceText:
    """The text of a file, with the offsets of its lines."""

    __slots__ = ("starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(found.end() for found in _BREAK.finditer(text))]

    def offset(self, mark: Any) -> int:
        """Of a mark of PyYAML, which counts from 0."""
        start: int = self.starts[min(mark.line, len(self.starts) - 1)]
        return start + int(mark.column)

    def place(self, offset: int) -> Place:
        from bisect import bisect_right

        line = bisect_right(self.starts, offset)
        return Place(line, offset - self.starts[line - 1] + 1)


class Manifest(NamedTuple):
    """`tree`: PyYAML's node of the object, None where the text is JSON that YAML does not read; then every place is
    the object's line."""

    object: KubeObject
    source: SourceText
    tree: Any
    line: int
    outer: tuple[Any, Path] | None = None  # the manifest and the path of the text that this one was read from

    @property
    def kind(self) -> str:
        found = self.object.body.get("kind")
        return found if isinstance(found, str) else ""

    def at(self, path: Path) -> Place:
        """Of a value; of the nearest that is there, where it is absent."""
        node, _ = _follow(self.tree, path)
        return self._outside(Place(self.line, 1) if node is None else self._start(node))

    def key(self, path: Path) -> Place:
        """Of the key that leads to a value."""
        node, key = _follow(self.tree, path)
        found = key if key is not None else node
        return self._outside(Place(self.line, 1) if found is None else self._start(found))

    def inside(self, path: Path, line: int, column: int) -> Place:
        """Of a character of a text value, named by line and column of the value, both from 1."""
        node, _ = _follow(self.tree, path)
        if node is None or not isinstance(node.value, str):
            return self.at(path)
        value: str = node.value
        lines = value.split("\n")
        wanted = sum(len(one) + 1 for one in lines[: line - 1]) + column - 1
        if line < 1:
            return self.at(path)
        raw = self.source.text[self.source.offset(node.start_mark) : self.source.offset(node.end_mark)]
        offset = raw_offset(raw, value, min(wanted, len(value)), node.style)
        if offset is None:
            return self.at(path)
        return self._outside(self.source.place(self.source.offset(node.start_mark) + offset))

    def _outside(self, place: Place) -> Place:
        """The place in the file, of one in the text that this was read from."""
        if self.outer is None:
            return place
        manifest, path = self.outer
        found: Place = manifest.inside(path, *place)
        return found

    def _start(self, node: Any) -> Place:
        return Place(node.start_mark.line + 1, node.start_mark.column + 1)


def _follow(node: Any, path: Path) -> tuple[Any, Any]:
    """The node at the end of a path, or the last on the way, and its key where it was found."""
    key = None
    for step in path:
        found = _child(node, step)
        if found is None:
            return node, None
        key, node = found
    return node, key


def _child(node: Any, step: str | int) -> tuple[Any, Any] | None:
    value = getattr(node, "value", None)
    if not isinstance(value, list):
        return None
    if isinstance(step, int):
        return (None, value[step]) if step < len(value) and not isinstance(value[step], tuple) else None
    for pair in reversed(value):  # of keys given twice the last one counts
        if isinstance(pair, tuple) and pair[0].value == step:
            return pair
    return None


def raw_offset(raw: str, value: str, wanted: int, style: str | None) -> int | None:
    """Where in a scalar as it is written the character `wanted` of its value stands; `None`: not found.

    >>> raw_offset("|-\\n    a\\n    bc", "a\\nbc", 3, "|")
    14
    >>> raw_offset("'it''s'", "it's", 3, "'")
    5
    >>> raw_offset("a\\n   b", "a b", 2, None)
    5
    """
    place = _begin(raw, style)
    for index, character in enumerate(value):
        place = _skipped(raw, place, character, style)
        if index == wanted or place >= len(raw):
            break
        place = _passed(raw, place, character, style)
        if place < 0:
            return None
    return min(place, max(len(raw) - 1, 0))


def _begin(raw: str, style: str | None) -> int:
    if style in ("|", ">"):
        head = _BREAK.search(raw)
        return head.end() if head else len(raw)
    return 1 if style in ("'", '"') else 0


def _skipped(raw: str, place: int, character: str, style: str | None) -> int:
    """Past what the value does not have: indentation, and line ends that are escaped."""
    if character in _BLANK:
        return place
    while place < len(raw):
        if raw[place] in _BLANK:
            place += 1
        elif style == '"' and raw[place] == "\\" and raw[place + 1 : place + 2] in ("\n", "\r"):
            place += 2
        else:
            break
    return place


def _passed(raw: str, place: int, character: str, style: str | None) -> int:
    """Behind the character; -1 where another stands there."""
    here = raw[place]
    if style == '"' and here == "\\":
        return place + 2 + _ESCAPE_LENGTH.get(raw[place + 1 : place + 2], 0)
    if character in _BLANK:
        return place + 1 if here in _BLANK else place
    if here != character:
        return -1
    return place + (2 if style == "'" and here == "'" else 1)
