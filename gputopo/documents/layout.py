r"""A document as text: indented by two, one line a record, always the same for the same document.

A node of 8 GPUs and 17 NICs has 300 pairs: a line each can be read, compared and searched with
grep, and lets the C encoder do the work (the standard `indent=2` is Python, ten times slower).

    >>> print(dumps({"kind": "Example", "pairs": [{"a": "GPU0", "b": "GPU1"}]}), end="")
    {
      "kind": "Example",
      "pairs": [
        {"a": "GPU0", "b": "GPU1"}
      ]
    }
    >>> print(dumps({"name": "\x9bH"}), end="")
    {
      "name": "\u009bH"
    }
"""

from __future__ import annotations

import json
from typing import Any

# Their records are long texts or many fields: a line a field.
_SPREAD = frozenset({"gpus", "findings", "items"})
_LINE = 100

_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False).encode


def dumps(document: dict[str, Any]) -> str:
    """JSON with a final newline. What a terminal would obey, or UTF-8 cannot hold, is escaped."""
    lines: list[str] = []
    _object(document, "", "", "", lines)
    text = "\n".join(lines) + "\n"
    if text.isascii() and "\x7f" not in text:
        return text
    # Lines end in \n and JSON escapes every other control character below U+0020 itself.
    return "\n".join(
        line if line.isprintable() else "".join(map(_escaped, line)) for line in text.split("\n")
    )


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _value(name: str, value: Any, indent: str, before: str, after: str, lines: list[str]) -> None:
    """Append `before` + value + `after`; `name` is the key it stands under."""
    if isinstance(value, dict) and value:
        flat = _encode(value) if len(value) <= 16 else None
        if flat is None or len(indent) + len(before) + len(flat) > _LINE:
            _object(value, indent, before, after, lines)
            return
        lines.append(before + flat + after)
    elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        _list(name, value, indent, before, after, lines)
    else:
        lines.append(before + _encode(value) + after)


def _object(value: dict[str, Any], indent: str, before: str, after: str, lines: list[str]) -> None:
    lines.append(before + "{")
    deeper = indent + "  "
    last = len(value) - 1
    for place, (key, item) in enumerate(value.items()):
        _value(key, item, deeper, f"{deeper}{_encode(key)}: ", "" if place == last else ",", lines)
    lines.append(indent + "}" + after)


def _list(name: str, value: list[Any], indent: str, before: str, after: str, lines: list[str]) -> None:
    lines.append(before + "[")
    deeper = indent + "  "
    last = len(value) - 1
    for place, item in enumerate(value):
        comma = "" if place == last else ","
        if name in _SPREAD and isinstance(item, dict):
            _object(item, deeper, deeper, comma, lines)
        else:
            lines.append(deeper + _encode(item) + comma)
    lines.append(indent + "]" + after)
