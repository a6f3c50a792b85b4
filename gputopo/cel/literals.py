"""Values of literal tokens: cel-go parser/unescape.go and the Visit methods of parser/parser.go.

>>> integer("0x1F"), unquoted(r"'a\\n\\x41'", of_bytes=False), unquoted("r'a\\\\n'", of_bytes=False)
(31, 'a\\nA', 'a\\\\n')
"""

from __future__ import annotations

import math
from typing import Any

from gputopo.cel.values import Uint

_PLAIN = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"',
    "`": "`", "?": "?",
}  # fmt: skip
_HEX_DIGITS = {"x": 2, "X": 2, "u": 4, "U": 8}

WORDS = {"true": True, "false": False, "null": None}


def value(kind: str, text: str) -> Any:
    """Of a literal token of this kind, with its sign. Raises ValueError with cel-go's words."""
    if kind == "INT":
        return integer(text)
    if kind == "UINT":
        return unsigned(text)
    if kind == "FLOAT":
        return double(text)
    if kind == "STRING":
        return unquoted(text, of_bytes=False)
    if kind == "BYTES":
        return unquoted(text[1:], of_bytes=True).encode("latin-1")
    return WORDS[kind]


def integer(text: str) -> int:
    """Raises ValueError outside of 64 bits."""
    negative = text.startswith("-")
    digits = text[1:] if negative else text
    number = int(digits, 16) if digits.startswith("0x") else _decimal(digits)
    number = -number if negative else number
    if not -(2**63) <= number < 2**63:
        raise ValueError("invalid int literal")
    return number


def unsigned(text: str) -> Uint:
    digits = text[:-1]
    number = int(digits, 16) if digits.startswith("0x") else _decimal(digits)
    if number >= 2**64:
        raise ValueError("invalid uint literal")
    return Uint(number)


def _decimal(digits: str) -> int:
    # More digits than 64 bits hold are out of range anyway; int() of very long texts is slow or refused.
    short = digits.lstrip("0")
    return int(short or "0") if len(short) <= 20 else 2**64


def double(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("invalid double literal")
    return number


def unquoted(text: str, of_bytes: bool) -> str:
    """The text of a string literal, or for bytes one character a byte. Raises ValueError with cel-go's words."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    width = 3 if len(text) >= 6 and text[:3] in ("'''", '"""') else 1
    body = text[width:-width]
    if of_bytes:
        body = body.encode("utf-8", "surrogatepass").decode("latin-1")
    return body if raw or "\\" not in body else _unescaped(body, of_bytes)


def _unescaped(body: str, of_bytes: bool) -> str:
    parts: list[str] = []
    position = 0
    while position < len(body):
        slash = body.find("\\", position)
        if slash < 0:
            parts.append(body[position:])
            break
        parts.append(body[position:slash])
        letter = body[slash + 1]
        if letter in _PLAIN:
            parts.append(_PLAIN[letter])
            position = slash + 2
            continue
        if letter in _HEX_DIGITS:
            stop = slash + 2 + _HEX_DIGITS[letter]
            number = int(body[slash + 2 : stop], 16)
            if of_bytes and letter in "uU":
                raise ValueError("unable to unescape string")
        else:
            stop = slash + 4
            number = int(body[slash + 1 : stop], 8)
        if not of_bytes and (number > 0x10FFFF or 0xD800 <= number < 0xE000):
            raise ValueError("invalid unicode code point")
        parts.append(chr(number))
        position = stop
    return "".join(parts)
