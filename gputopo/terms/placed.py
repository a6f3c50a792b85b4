"""The tree behind `Manifest.tree` for files that are no YAML: values with their places, in the shape of PyYAML's nodes.

    >>> from gputopo.terms.kube_object import KubeObject
    >>> from gputopo.terms.manifest import Manifest
    >>> source = SourceText("AutoDetect=nvml\\nName=gpu\\n")
    >>> tree = node({"keys": [Span("nvml", 11, 15), Span("gpu", 21, 24)]}, source, 0)
    >>> body = plain({"keys": [Span("nvml", 11, 15), Span("gpu", 21, 24)]})
    >>> one = Manifest(KubeObject(body), source, tree, 1)
    >>> body, one.at(("keys", 1)), one.inside(("keys", 1), 1, 3)
    ({'keys': ['nvml', 'gpu']}, Place(line=2, column=6), Place(line=2, column=8))
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gputopo.terms.manifest import SourceText


class Span(NamedTuple):
    """A value with the offsets of its text in the file, end behind it."""

    value: Any
    start: int
    end: int


class _Mark(NamedTuple):
    line: int
    column: int


class Node:
    """What Manifest asks of a PyYAML node."""

    __slots__ = ("end_mark", "start_mark", "style", "value")

    def __init__(self, value: Any, start: _Mark, end: _Mark) -> None:
        self.value = value
        self.start_mark = start
        self.end_mark = end
        self.style = None


def node(value: Any, source: SourceText, start: int) -> Node:
    """Of mappings, lists and Spans; what has no Span stands at `start`, or where the first in it stands.

    A mapping of one Span under the key "" is placed there: `{"": Span(…), "name": …}`.
    """
    if isinstance(value, Span):
        return _scalar(value, source)
    if isinstance(value, dict):
        here = value[""].start if isinstance(value.get(""), Span) else start
        pairs = [(Node(key, *_marks(source, here)), node(one, source, here)) for key, one in value.items() if key]
        return Node(pairs, *_marks(source, here))
    if isinstance(value, list):
        return Node([node(one, source, start) for one in value], *_marks(source, start))
    return Node(value, *_marks(source, start))


def plain(value: Any) -> Any:
    """The same without places."""
    if isinstance(value, Span):
        return value.value
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items() if key}
    return [plain(one) for one in value] if isinstance(value, list) else value


def _scalar(span: Span, source: SourceText) -> Node:
    return Node(span.value, _mark(source, span.start), _mark(source, span.end))


def _marks(source: SourceText, start: int) -> tuple[_Mark, _Mark]:
    mark = _mark(source, start)
    return mark, mark


def _mark(source: SourceText, offset: int) -> _Mark:
    line, column = source.place(offset)
    return _Mark(line - 1, column - 1)
