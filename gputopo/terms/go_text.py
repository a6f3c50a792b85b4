"""How Go prints numbers and strings: strconv.FormatFloat with shortest digits, strconv.Quote.

>>> go_float(1e6), go_float(123456.5), go_float(0.00001), go_float_plain(1e21), go_quoted('a"b')
('1e+06', '123456.5', '1e-05', '1000000000000000000000', '"a\\\\"b"')
"""

from __future__ import annotations

import math
from decimal import Decimal

_ESCAPES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"',
}  # fmt: skip


def go_float(number: float) -> str:
    """`%g` with the shortest digits: an exponent below 1e-4 and from 1e6 on."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0") or "0"
    power = len(digits) + exponent - 1 if number else 0
    if -4 <= power < 6:
        return go_float_plain(number)
    mantissa = text[0] + (f".{text[1:]}" if len(text) > 1 else "")
    return f"{'-' if sign else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def go_float_plain(number: float) -> str:
    """`%f` with the shortest digits: never an exponent."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    text = f"{Decimal(repr(number)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def go_quoted(text: str) -> str:
    """strconv.Quote: in double quotes, with what is not printable escaped."""
    return '"' + "".join(map(_quoted_character, text)) + '"'


def _quoted_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    point = ord(character)
    if point < 0x80:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"
