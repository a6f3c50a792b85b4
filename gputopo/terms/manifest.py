"""A Kubernetes object or configuration with the place of each of its values in the file.

A place counts lines and columns from 1, columns in code points. Where the text of a value is folded, indented or
escaped, `inside` finds the character of the file behind a character of the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gputopo.terms.edits import Edit, Mend
from gputopo.terms.kube_object import KubeObject
from gputopo.terms.scalar_text import BREAK, raw_offset, rewritten

Path = tuple["str | int", ...]


class Place(NamedTuple):
    line: int
    column: int


class SourceText:
    """The text of a file, with the offsets of its lines."""

    __slots__ = ("_shared", "starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(found.end() for found in BREAK.finditer(text))]
        self._shared: dict[int, frozenset[int]] = {}

    def shared(self, document: Any) -> frozenset[int]:
        """The nodes of a document that stand at several places of it: what an anchor names, what is merged."""
        if id(document) not in self._shared:
            self._shared[id(document)] = _met_again(document)
        return self._shared[id(document)]

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
    document: Any = None  # PyYAML's node of all that stands between two `---`

    @property
    def kind(self) -> str:
        found = self.object.body.get("kind")
        return found if isinstance(found, str) else ""

    @property
    def of_file(self) -> SourceText:
        """The text of the file, also of what stands in a text of it."""
        found: SourceText = self.source if self.outer is None else self.outer[0].of_file
        return found

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

    def rewrite(self, path: Path, changes: Iterable[Edit]) -> Mend:
        """The edits of the file that change a text value; the changes count characters of the value."""
        nodes = list(_way(self.tree, path))
        if len(nodes) <= len(path) or not isinstance(nodes[-1].value, str):
            return Mend((), "its place in the file is not known")
        flow = any(getattr(one, "flow_style", False) for one in nodes)
        return self._rewritten(nodes, nodes[-1], changes, flow)

    def rename(self, path: Path, name: str) -> Mend:
        """The edits of the file that give a key another name."""
        nodes = list(_way(self.tree, path[:-1]))
        _, key = _follow(self.tree, path)
        if len(nodes) < len(path) or key is None:
            return Mend((), "its place in the file is not known")
        flow = any(getattr(one, "flow_style", False) for one in nodes)
        return self._rewritten([*nodes, key], key, [Edit(0, len(key.value), name)], flow)

    def _rewritten(self, nodes: list[Any], scalar: Any, changes: Iterable[Edit], flow: bool) -> Mend:
        if self.is_shared(nodes):
            return Mend((), "an anchor makes it stand at several places")
        start, end = (self.source.offset(mark) for mark in (scalar.start_mark, scalar.end_mark))
        made = rewritten(self.source.text[start:end], scalar.value, scalar.style, changes, flow)
        return self.outwards(tuple(Edit(start + one.start, start + one.end, one.text) for one in made.edits), made)

    def outwards(self, edits: tuple[Edit, ...], made: Mend) -> Mend:
        """Edits of the text that this was read from as edits of the file."""
        if made.why_not or self.outer is None:
            return made._replace(edits=edits)
        manifest, path = self.outer
        found: Mend = manifest.rewrite(path, edits)
        return found

    def is_shared(self, nodes: Iterable[Any]) -> bool:
        found = self.source.shared(self.document)
        return any(id(one) in found for one in nodes)

    def node(self, path: Path) -> Any:
        """PyYAML's node of a value; None where it is not there."""
        nodes = list(_way(self.tree, path))
        return nodes[-1] if len(nodes) > len(path) else None

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


def _way(node: Any, path: Path) -> Iterator[Any]:
    """The nodes on the way along a path, as far as they are there."""
    if node is None:
        return
    yield node
    for step in path:
        found = _child(node, step)
        if found is None:
            return
        node = found[1]
        yield node


def below(node: Any) -> Iterator[Any]:
    """A node and all nodes in it, each as often as it stands there; not through one that holds itself."""
    waiting = [node]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        yield one
        if id(one) in seen or not isinstance(one.value, list):
            continue
        seen.add(id(one))
        for part in one.value:
            waiting += part if isinstance(part, tuple) else (part,)


def _met_again(document: Any) -> frozenset[int]:
    seen: set[int] = set()
    found: set[int] = set()
    for one in below(document) if document is not None else ():
        (found if id(one) in seen else seen).add(id(one))
    return frozenset(found)


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
