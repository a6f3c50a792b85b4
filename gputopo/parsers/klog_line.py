r"""One line of a Kubernetes component's log, text or JSON, with what journald or a container runtime wrote before it.

    >>> line = read('I1129 03:12:07.123456    1234 manager.go:9] "Pod admission denied" pod="ml/a" n=1')
    >>> line.message, line.at, line.fields
    ('Pod admission denied', '11-29T03:12:07', {'pod': 'ml/a', 'n': '1'})
    >>> json = '{"ts":1764385927123.4,"caller":"x.go:1","msg":"Hi","pod":{"name":"a","namespace":"ml"},"n":[1]}'
    >>> read("2025-11-29T03:12:07.1+0000 n1 kubelet[77]: " + json)
    Line(message='Hi', at='2025-11-29T03:12:07Z', host='n1', fields={'pod': 'ml/a', 'n': [1]})

klog writes no year and no zone (k8s.io/klog/v2, internal/serialize): such a time stays as short as it is. Values that
are JSON, as structures are since klog 2.90, become what they say; before, and in printed messages, they are text.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_HEADER = re.compile(r"[IWEF](\d\d)(\d\d) (\d\d:\d\d:\d\d)\.\d+ +\d+ [^\s\]]{1,200}\] ")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d+)?(Z|[+-]\d\d:?\d\d)")
_BEFORE = re.compile(r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?|\d{4}-\d\d-\d\dT\S+) (\S{1,253}) \S+\[\d+\]: ")
_MESSAGE = re.compile(r'"((?:[^"\\]|\\.)*)"')
_KEY = re.compile(r"\s*([A-Za-z_][\w./-]*)=")
_BARE = re.compile(r"[^\s]*")
_ESCAPE = re.compile(r"\\(.)")
_CONTROL = {"n": "\n", "t": "\t"}
_LONGEST = 1 << 16  # characters
_MOST_FIELDS = 64
_OF_JSON = ("ts", "caller", "msg", "v", "logger", "err")


class Line(NamedTuple):
    """`at`: RFC 3339, or MM-DDThh:mm:ss."""

    message: str
    at: str | None
    host: str
    fields: dict[str, Any]


def read(line: str) -> Line | None:
    """None for what is no line of klog."""
    line = line[:_LONGEST]
    before = _BEFORE.match(line)
    host = before[1] if before else ""
    begin = line.find("{")
    header = _HEADER.search(line)
    if begin >= 0 and '"msg"' in line and (header is None or header.start() > begin):
        return _of_json(line, begin, host)
    if header is None:
        return None
    at = _stamped(line[: header.start()]) or f"{header[1]}-{header[2]}T{header[3]}"
    rest = line[header.end() :]
    quoted = _MESSAGE.match(rest)
    if quoted is None:
        return Line(rest.rstrip(), at, host, {})
    return Line(_plain(quoted[1]), at, host, _fields(rest, quoted.end()))


def _stamped(before: str) -> str | None:
    """The time that journald or the runtime wrote, which has a year."""
    found = _STAMP.search(before)
    if found is None:
        return None
    zone = found[2]
    if zone in ("Z", "+0000", "+00:00", "-0000", "-00:00"):
        return f"{found[1]}Z"
    return found[1] + (zone if ":" in zone else f"{zone[:3]}:{zone[3:]}")


def _of_json(line: str, begin: int, host: str) -> Line | None:
    try:
        body, _ = json.JSONDecoder().raw_decode(line, begin)
    except (ValueError, RecursionError):
        return None
    message = body.get("msg") if isinstance(body, dict) else None
    if not isinstance(message, str):
        return None
    fields = {key: _named(value) for key, value in body.items() if key not in _OF_JSON}
    return Line(message, _stamped(line[:begin]) or _of_number(body.get("ts")), host, fields)


def _named(value: Any) -> Any:
    """An object's name as the text form writes it."""
    if isinstance(value, dict) and isinstance(value.get("name"), str) and value.keys() <= {"name", "namespace"}:
        return f"{value['namespace']}/{value['name']}" if value.get("namespace") else value["name"]
    return value


def _of_number(stamp: Any) -> str | None:
    """Milliseconds since 1970."""
    if not isinstance(stamp, (int, float)) or isinstance(stamp, bool):
        return None
    from datetime import datetime, timezone

    try:
        return datetime.fromtimestamp(int(stamp / 1000), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return None


def _fields(text: str, place: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    decoder = json.JSONDecoder()
    while len(found) < _MOST_FIELDS and (key := _KEY.match(text, place)) is not None:
        place = key.end()
        quoted = _MESSAGE.match(text, place)
        if quoted is not None:
            value, place = _plain(quoted[1]), quoted.end()
        elif text[place : place + 1] in ("{", "["):
            value, place = _structure(text, place, decoder)
        else:
            bare = _BARE.match(text, place)
            assert bare is not None
            value, place = bare[0], bare.end()
        found.setdefault(key[1], value)
    return found


def _structure(text: str, place: int, decoder: json.JSONDecoder) -> tuple[Any, int]:
    """JSON, or Go's own form up to its bracket."""
    try:
        return decoder.raw_decode(text, place)
    except (ValueError, RecursionError):
        depth = 0
        for at in range(place, len(text)):
            depth += (text[at] in "{[") - (text[at] in "}]")
            if not depth:
                return text[place : at + 1], at + 1
        return text[place:], len(text)


def _plain(quoted: str) -> str:
    return _ESCAPE.sub(lambda match: _CONTROL.get(match[1], match[1]), quoted) if "\\" in quoted else quoted
