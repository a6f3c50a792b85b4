"""JSON of tools that print one value after another, or a list of them, and what stands in it at a path.

    >>> [one["id"] for _, one in values('{"id": 1}\\n[{"id": 2}, {"id": 3}]', "a list of ids")]
    [1, 2, 3]
    >>> body = {"State": {"Pid": 7, "Status": None}}
    >>> at(body, "State", "Pid"), text(body, "State", "Status"), mapping(body, "Labels"), items(body, "State")
    (7, '', {}, [])
    >>> values("[" * 100_000, "an answer")
    Traceback (most recent call last):
    gputopo.parsers.unreadable.Unreadable: ('not JSON of an answer; was it cut?', 1, '')

What a tool leaves out, or writes in another shape than it does, is absent: a field of another release must not hide
the rest.
"""

from __future__ import annotations

import json
from typing import Any

from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.structured_text import json_is_too_large

_BLANK = " \t\r\n"
Values = list[tuple[int, dict[str, Any]]]


def values(text: str, what: str) -> Values:
    """(line, object) of each object, lists taken apart. Raises Unreadable."""
    if json_is_too_large(text):
        raise Unreadable(f"{what} with more values than are read at once")
    decoder, found, place, line, counted = json.JSONDecoder(), [], 0, 1, 0
    while (place := _skip(text, place)) < len(text):
        line += text.count("\n", counted, place)
        counted = place
        try:
            body, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            raise Unreadable(f"not JSON of {what}; was it cut?", line) from None
        own = body if isinstance(body, list) else [body]
        if not all(isinstance(one, dict) for one in own):
            raise Unreadable(f"not JSON of {what}: a value that is no object", line)
        found += [(line, one) for one in own]
    return found


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in _BLANK:
        place += 1
    return place


def at(body: Any, *path: str) -> Any:
    """The value at a path of keys; `None` where there is none."""
    for key in path:
        body = body.get(key) if isinstance(body, dict) else None
    return body


def text(body: Any, *path: str) -> str:
    found = at(body, *path)
    return found if isinstance(found, str) else ""


def mapping(body: Any, *path: str) -> dict[str, Any]:
    found = at(body, *path)
    return found if isinstance(found, dict) else {}


def texts(body: Any, *path: str) -> dict[str, str]:
    """An object of texts: labels, annotations."""
    return {key: one for key, one in mapping(body, *path).items() if isinstance(one, str)}


def items(body: Any, *path: str) -> list[Any]:
    found = at(body, *path)
    return found if isinstance(found, list) else []


def whole(body: Any, *path: str) -> int | None:
    """A number without a fraction."""
    found = at(body, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None
