"""JSON with the place of each value in its text, for what is written inside an annotation.

    >>> spot = read('{"a": [1, {"b": "x"}]}')
    >>> spot.value, spot.members["a"].members[1].members["b"].start, spot.keys["a"]
    ({'a': [1, {'b': 'x'}]}, 16, 1)
    >>> read('{"a": }')
    Traceback (most recent call last):
    json.decoder.JSONDecodeError: Expecting value: line 1 column 7 (char 6)
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

_BLANK = " \t\n\r"
_DEEPEST = 200


class Spot(NamedTuple):
    """`members` by key or index, `keys` the places of the keys. Of a key given twice the last one counts, as in Go."""

    value: Any
    start: int
    end: int
    members: dict[Any, Spot]
    keys: dict[str, int]


def read(text: str) -> Spot:
    """Raises json.JSONDecodeError."""
    spot = _value(text, _skip(text, 0), 0)
    rest = _skip(text, spot.end)
    if rest != len(text):
        raise json.JSONDecodeError("Extra data", text, rest)
    return spot


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in _BLANK:
        place += 1
    return place


def _value(text: str, start: int, depth: int) -> Spot:
    if depth > _DEEPEST:
        raise json.JSONDecodeError("Nested too deep", text, start)
    first = text[start : start + 1]
    if first == "{":
        return _mapping(text, start, depth)
    if first == "[":
        return _list(text, start, depth)
    if first in ("N", "I") or text.startswith("-I", start):  # NaN, Infinity: of Python, not of JSON
        raise json.JSONDecodeError("Expecting value", text, start)
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except RecursionError:  # pragma: no cover - no list or mapping is decoded here
        raise json.JSONDecodeError("Nested too deep", text, start) from None
    return Spot(value, start, end, {}, {})


def _mapping(text: str, start: int, depth: int) -> Spot:
    members: dict[Any, Spot] = {}
    keys: dict[str, int] = {}
    place = _skip(text, start + 1)
    if text[place : place + 1] == "}":
        return Spot({}, start, place + 1, {}, {})
    while True:
        if text[place : place + 1] != '"':
            raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, place)
        key = _value(text, place, depth)
        colon = _skip(text, key.end)
        if text[colon : colon + 1] != ":":
            raise json.JSONDecodeError("Expecting ':' delimiter", text, colon)
        member = _value(text, _skip(text, colon + 1), depth + 1)
        members[key.value], keys[key.value] = member, key.start
        place, done = _next(text, member.end, "}")
        if done:
            return Spot({name: one.value for name, one in members.items()}, start, place, members, keys)


def _list(text: str, start: int, depth: int) -> Spot:
    members: dict[Any, Spot] = {}
    place = _skip(text, start + 1)
    if text[place : place + 1] == "]":
        return Spot([], start, place + 1, {}, {})
    while True:
        member = _value(text, place, depth + 1)
        members[len(members)] = member
        place, done = _next(text, member.end, "]")
        if done:
            return Spot([one.value for one in members.values()], start, place, members, {})


def _next(text: str, end: int, close: str) -> tuple[int, bool]:
    """Past a comma, or past the end."""
    place = _skip(text, end)
    found = text[place : place + 1]
    if found == close:
        return place + 1, True
    if found != ",":
        raise json.JSONDecodeError("Expecting ',' delimiter", text, place)
    return _skip(text, place + 1), False
