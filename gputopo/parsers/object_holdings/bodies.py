"""Objects out of a text one at a time: a list of every pod of a cluster is longer than what is read whole.

    >>> list(bodies('{"kind": "List", "apiVersion": "v1", "items": [{"kind": "Pod"},\\n {"kind": "Node"}]}'))
    [(1, {'kind': 'Pod'}), (2, {'kind': 'Node'})]
    >>> list(bodies('{"items": [{"metadata": {"name": "a"}}], "kind": "PodList", "apiVersion": "v1"}'))
    [(1, {'kind': 'Pod', 'apiVersion': 'v1', 'metadata': {'name': 'a'}})]

JSON is decoded object by object, each of them under a limit; YAML, which takes far more memory, is read whole under
the limits of kube_objects.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from gputopo.parsers.kube_objects import read
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.kube_object import Body
from gputopo.terms.structured_text import json_is_too_large

TEXT_MOST = 256 << 20  # bytes of one text
_OBJECT_MOST = 8 << 20  # characters of one object: etcd keeps at most 1.5 MiB of one
_WINDOW = 1 << 16
_WAITING_MOST = 20_000  # items of a list whose kind stands behind them
_SPACE = " \t\r\n"

Found = tuple[int, Body]


def bodies(text: str) -> Iterator[Found]:
    """(line, object) of each, lists taken apart. Raises Unreadable."""
    head = text[:_WINDOW].lstrip()
    if head[:1] not in ("{", "["):
        yield from _whole(text)
        return
    try:
        first = next(_json(text), None)
    except Unreadable:
        if len(text) > _OBJECT_MOST:
            raise
        try:
            yield from _whole(text)  # `{kind: Pod}` is YAML, too
            return
        except Unreadable:
            pass
        raise
    if first is not None:
        yield from _json(text)


def _whole(text: str) -> Iterator[Found]:
    for one in read(text):
        yield int(one.where.removeprefix("line ")), one.body


def _json(text: str) -> Iterator[Found]:
    """One value after another, as `kubectl get -o json` twice into one file leaves them."""
    reader = _Reader(text)
    while reader.peek():
        if reader.peek() == "[":
            yield from (one for place in reader.items() for one in _single(place))
        else:
            yield from _top(reader)


class _Item(NamedTuple):
    line: int
    body: Any


def _top(reader: _Reader) -> Iterator[Found]:
    """An object at the top: a list is taken apart while it is read, whichever key comes first."""
    line = reader.line()
    keys: Body = {}
    waiting: list[_Item] = []
    for key in reader.each_key():
        if key != "items" or reader.peek() != "[" or not _may_be_list(keys.get("kind")):
            keys[key] = reader.value()
            continue
        keys["items"] = None
        for item in reader.items():
            if _kind_of(item.body) or "kind" in keys:
                yield from _typed(item, keys)
            elif len(waiting) < _WAITING_MOST:
                waiting.append(item)
            else:
                raise Unreadable("a list whose kind stands behind its items is too long", item.line)
    if "items" not in keys:
        yield from _single(_Item(line, keys))
        return
    if not isinstance(keys.get("kind"), str):
        raise Unreadable("an object without a kind", line)
    for item in waiting:
        yield from _typed(item, keys)


def _may_be_list(kind: object) -> bool:
    return kind is None or (isinstance(kind, str) and kind.endswith("List"))


def _kind_of(body: Any) -> bool:
    return isinstance(body, dict) and isinstance(body.get("kind"), str)


def _typed(item: _Item, keys: Body) -> Iterator[Found]:
    """An item of a typed list (PodList) does not repeat its kind."""
    kind = keys.get("kind")
    body = item.body
    if isinstance(body, dict) and "kind" not in body and isinstance(kind, str) and kind != "List":
        body = {"kind": kind.removesuffix("List"), "apiVersion": keys.get("apiVersion")} | body
    yield from _single(_Item(item.line, body))


def _single(item: _Item) -> Iterator[Found]:
    line, body = item
    if not isinstance(body, dict):
        raise Unreadable("an item that is no object", line)
    if not _kind_of(body):
        raise Unreadable("an object without a kind", line)
    if body["kind"].endswith("List") and isinstance(body.get("items"), list):
        for one in body["items"]:
            yield from _typed(_Item(line, one), body)
        return
    yield line, body


class _Reader:
    """A place in a JSON text that moves forward."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._line = 1
        self._counted = 0
        self._decoder = json.JSONDecoder()

    def line(self) -> int:
        self._line += self._text.count("\n", self._counted, self._place)
        self._counted = self._place
        return self._line

    def peek(self) -> str:
        """The next character that is no space; "" at the end."""
        text, place = self._text, self._place
        while place < len(text) and text[place] in _SPACE:
            place += 1
        self._place = place
        return text[place : place + 1]

    def each_key(self) -> Iterator[str]:
        """Of the object here; behind each its value must be taken."""
        self._take("{")
        if self.peek() == "}":
            self._place += 1
            return
        while True:
            key = self.value()
            if not isinstance(key, str):
                raise Unreadable("not JSON: a key that is no string", self.line())
            self._take(":")
            yield key
            if self._more("}"):
                return

    def items(self) -> Iterator[_Item]:
        """Of the list here."""
        self._take("[")
        if self.peek() == "]":
            self._place += 1
            return
        while True:
            self.peek()
            yield _Item(self.line(), self.value())
            if self._more("]"):
                return

    def value(self) -> Any:
        """The value here, decoded out of a part of the text that grows until it is enough."""
        self.peek()
        size = _WINDOW
        while True:
            part = self._text[self._place : self._place + size]
            at_end = self._place + size >= len(self._text)
            if json_is_too_large(part):
                raise Unreadable("JSON of more values in one object than are read", self.line())
            try:
                body, length = self._decoder.raw_decode(part)
            except json.JSONDecodeError as error:
                if not at_end and size < _OBJECT_MOST:
                    size *= 8
                    continue
                if not at_end:
                    raise Unreadable("an object of more than 8 MiB, or no JSON", self.line()) from None
                lines = part.count("\n", 0, error.pos)
                what = f"{error.msg[:1].lower()}{error.msg[1:]}"
                raise Unreadable(f"not JSON: {what}; was it cut?", self.line() + lines) from None
            except (RecursionError, ValueError):
                raise Unreadable("not JSON of an object: nested too deep, or a number too long", self.line()) from None
            if length == len(part) and not at_end:
                size *= 8  # a number may go on
                continue
            self._place += length
            return body

    def _take(self, sign: str) -> None:
        if self.peek() != sign:
            raise Unreadable(f"not JSON: no {sign} where one must be; was it cut?", self.line())
        self._place += 1

    def _more(self, end: str) -> bool:
        """Whether this was the last; else the comma is taken."""
        sign = self.peek()
        if sign not in (",", end) or not sign:
            raise Unreadable(f"not JSON: no {end} where one must be; was it cut?", self.line())
        self._place += 1
        return sign == end
