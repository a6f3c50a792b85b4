"""A scalar of YAML or JSON as it is written, and its value: which character stands for which, and how to write one.

>>> spans("'it''s'", "it's", "'")
[(1, 2), (2, 3), (3, 5), (5, 6)]
>>> written("don't", "'"), written('a "b"', '"'), written("a: b", None)
("don''t", 'a \\\\"b\\\\"', None)
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gputopo.terms.edits import Edit, Mend, apply

BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_BLANK = " \t\r\n\x85\u2028\u2029"
_ESCAPE_LENGTH = {"x": 2, "u": 4, "U": 8}
# What may stand anywhere in a plain scalar but at its begin; there a letter or digit is always safe.
_PLAIN = re.compile(r"[^\s:#](?:[^\n\r\t:#]*[^\s:#])?")
_NOT_PLAIN = re.compile(r"\s#|:(?:\s|$)")
_IN_FLOW = re.compile(r"[\[\]{},]")


def raw_offset(raw: str, value: str, wanted: int, style: str | None) -> int | None:
    """Where in a scalar as it is written the character `wanted` of its value stands; `None`: not found.

    >>> raw_offset("|-\\n    a\\n    bc", "a\\nbc", 3, "|")
    14
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


def spans(raw: str, value: str, style: str | None) -> list[tuple[int, int]] | None:
    """Begin and end of each character of the value; `None` where they cannot be told. Those of blanks are not exact:
    a fold, and the indentation behind a line end, are no characters of their own."""
    place = _begin(raw, style)
    found = []
    for character in value:
        start = _skipped(raw, place, character, style)
        place = _passed(raw, start, character, style) if start < len(raw) or character in _BLANK else -1
        if place < 0:
            return None
        found.append((start, place))
    return found


def _begin(raw: str, style: str | None) -> int:
    if style in ("|", ">"):
        head = BREAK.search(raw)
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
    here = raw[place : place + 1]
    if style == '"' and here == "\\":
        return place + 2 + _ESCAPE_LENGTH.get(raw[place + 1 : place + 2], 0)
    if character in _BLANK:
        return place + 1 if here and here in _BLANK else place
    if here != character:
        return -1
    return place + (2 if style == "'" and here == "'" else 1)


def written(text: str, style: str | None, first: bool = False, flow: bool = False) -> str | None:
    """A piece of a value as it is written inside a scalar of this style; `None` where this style cannot say it.
    `first`: the scalar begins with it; `flow`: the scalar stands in a `[...]` or `{...}`."""
    if style == '"':
        import json

        return json.dumps(text, ensure_ascii=False)[1:-1]
    if not text.isprintable():
        return None
    if style == "'":
        return text.replace("'", "''")
    if style in ("|", ">"):
        return text
    if not text:
        return None if first else ""
    fine = _PLAIN.fullmatch(text) and not (first and not text[0].isalnum()) and not (flow and _IN_FLOW.search(text))
    return text if fine else None


def rewritten(raw: str, value: str, style: str | None, changes: Iterable[Edit], flow: bool) -> Mend:
    """Changes of a value as edits of the scalar as it is written."""
    if raw[:1] != style if style else raw[:1] in ("&", "!", "*"):
        return Mend((), "the value has an anchor or a tag")
    found = spans(raw, value, style)
    if found is None:
        return Mend((), "the value is written with escapes whose places are not certain")
    edits = []
    for start, end, new in changes:
        begin, stop = _edges(found, value, start, end)
        text = written(new, style, start == 0, flow)
        if begin is None or stop is None:
            return Mend((), "the place of the change in the file is not certain")
        if text is None:
            return Mend((), "what is to be written needs other quotes than the value has")
        edits.append(Edit(begin, stop, text))
    if style is None and _NOT_PLAIN.search(apply(raw, edits)):
        return Mend((), "what is to be written needs quotes")
    return Mend(tuple(edits))


def _edges(found: list[tuple[int, int]], value: str, start: int, end: int) -> tuple[int | None, int | None]:
    """Where a part of the value begins and ends: told by characters that are no blanks, whose places are exact."""
    before = found[start - 1][1] if start > 0 and value[start - 1] not in _BLANK else None
    behind = found[end][0] if end < len(value) and value[end] not in _BLANK else None
    if start == end:
        place = behind if before is None else before
        return place, place
    begin = found[start][0] if value[start] not in _BLANK else before
    stop = found[end - 1][1] if value[end - 1] not in _BLANK else behind
    return begin, stop
