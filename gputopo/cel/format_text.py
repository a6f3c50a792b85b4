"""`'%s'.format([…])`: cel-go ext/formatting.go with the locale en_US.

>>> formatted_text("%d GPUs, %.1f %%", [4, 1234.5]), formatted_text("%s", [["a", 1]])
('4 GPUs, 1,234.5 %', '["a", 1]')
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gputopo.cel.conversions import to_string
from gputopo.cel.syntax import ListNode, MapNode, Node
from gputopo.cel.values import CelError, CelMap, Duration, Timestamp, type_name
from gputopo.terms.go_text import go_quoted

_WHAT = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
         "timestamps",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}  # fmt: skip
_TAKES = {
    "s": {"list", "map", "int", "uint", "double", "bool", "string", "google.protobuf.Timestamp", "bytes",
          "google.protobuf.Duration", "type", "null_type"},
    "d": {"int", "uint"}, "f": {"double"}, "e": {"double"}, "b": {"int", "uint", "bool"},
    "x": {"int", "uint", "string", "bytes"}, "o": {"int", "uint"},
}  # fmt: skip
_SPECIAL = ("NaN", "Infinity", "-Infinity")
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class FormatFault(Exception):
    """What is wrong with a format string, and the offset of the argument that is, if one is."""

    def __init__(self, text: str, at: int | None = None) -> None:
        super().__init__(text)
        self.at = at


def _refused(clause: str, name: str, at: int | None = None) -> FormatFault:
    return FormatFault(f"error during formatting: {_WHAT[clause]}, was given {name}", at)


Formatter = Callable[[int, str, "int | None"], str]


def _walk(text: str, count: int, each: Formatter, checking: bool) -> tuple[str, int]:
    """The text with each clause replaced by what `each(argument number, letter, precision)` makes of it.

    `checking`, not running: of two faults at the end of the text the other is named."""
    parts: list[str] = []
    place = used = 0
    while place < len(text):
        if text[place] != "%":
            parts.append(text[place])
            place += 1
            continue
        if text[place + 1 : place + 2] == "%":
            parts.append("%")
            place += 2
            continue
        if place + 1 >= len(text) and (checking or used < count):
            raise FormatFault("unexpected end of string")
        if used >= count:
            raise FormatFault(f"index {used} out of range")
        place, precision = _precision(text, place + 1)
        letter = text[place]
        if letter not in "sdfebxXo":
            first = chr(letter.encode("utf-8", "surrogatepass")[0])  # cel-go looks at the byte
            raise FormatFault(f'could not parse formatting clause: unrecognized formatting clause "{first}"')
        parts.append(each(used, letter, precision))
        place, used = place + 1, used + 1
    return "".join(parts), used


def _precision(text: str, place: int) -> tuple[int, int | None]:
    if text[place] != ".":
        return place, None
    end = place + 1
    while end < len(text) and text[end] in "0123456789":
        end += 1
    head = "could not parse formatting clause: error while parsing precision: "
    if end >= len(text):
        raise FormatFault(f"{head}could not find end of precision specifier")
    digits = text[place + 1 : end]
    significant = digits.lstrip("0")
    if not digits or len(significant) > 19 or int(significant or "0") >= 2**63:
        why = "value out of range" if digits else "invalid syntax"
        raise FormatFault(f'{head}error while converting precision to integer: strconv.Atoi: parsing "{digits}": {why}')
    return end, min(int(significant or "0"), 10_000)


def formatted_text(text: str, values: list[Any]) -> str:
    """Raises CelError."""
    try:
        return _walk(
            text, len(values), lambda at, letter, precision: _clause(values[at], letter, precision), checking=False
        )[0]
    except FormatFault as error:
        raise CelError(str(error)) from error


def check_literal(text: str, elements: list[Node]) -> int:
    """How many of the literal arguments the format string uses. Raises FormatFault."""

    def each(at: int, letter: str, precision: int | None) -> str:
        _check_type(letter.lower(), elements[at])
        return ""

    return _walk(text, len(elements), each, checking=True)[1]


def _check_type(clause: str, node: Node) -> None:
    takes = _TAKES[clause] | ({"string"} if clause in "fe" else set())
    if node.type.kind != "dyn" and node.type.name not in takes:
        raise _refused(clause, node.type.name, node.at)
    if clause == "s" and isinstance(node, (ListNode, MapNode)):
        for part in node.parts():
            _check_type(clause, part)


def _clause(value: Any, letter: str, precision: int | None) -> str:
    clause, name = letter.lower(), type_name(value)
    special = clause in "fe" and isinstance(value, str) and value in _SPECIAL
    if name not in _TAKES[clause] and not special:
        raise _refused(clause, name)
    if clause == "s":
        return _string(value)
    if clause in "fe":
        number = float(value.replace("Infinity", "inf")) if isinstance(value, str) else value
        return _float(number, clause, 6 if precision is None else precision)
    if clause == "x" and isinstance(value, (str, bytes)):
        digits = (value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value).hex()
    else:
        digits = f"{int(value):{clause}}"
    return digits.upper() if letter == "X" else digits


def _float(number: float, clause: str, precision: int) -> str:
    """cel-go hands the precision of %e on as a width, and always prints six digits."""
    if math.isnan(number):
        text = "NaN"
    elif math.isinf(number):
        text = "∞" if number > 0 else "-∞"
    elif clause == "f":
        text = f"{number:,.{precision}f}"
    else:
        mantissa, _, exponent = f"{number:.6e}".partition("e")
        sign = "⁻" if exponent[0] == "-" else ""
        text = f"{mantissa}×10{sign}{exponent[1:].translate(_SUPERSCRIPT)}"
    return text.rjust(precision) if clause == "e" else text


def _string(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_inside, value))}]"
    if isinstance(value, CelMap):
        pairs = sorted((_key(key), _inside(one)) for key, one in value.pairs())
        return "{" + ", ".join(f"{key}:{one}" for key, one in pairs) + "}"
    return "null" if value is None else to_string(value)


def _key(key: Any) -> str:
    if isinstance(key, (str, bool, int)):
        return _inside(key)
    raise FormatFault(f"error during formatting: no formatting function for map key of type {type_name(key)}")


def _inside(value: Any) -> str:
    """As an element of a list or a map: a literal."""
    if isinstance(value, str):
        return go_quoted(value)
    if isinstance(value, bytes):
        return f"b{go_quoted(to_string(value))}"
    if isinstance(value, Duration):
        return f'duration("{to_string(value)}")'
    if isinstance(value, Timestamp):
        return f'timestamp("{to_string(value)}")'
    if isinstance(value, float):
        if math.isfinite(value):
            return f"{value:.6f}"
        return go_quoted("NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf")
    if type_name(value) not in _TAKES["s"]:
        raise FormatFault(f"error during formatting: no formatting function for {type_name(value)}")
    return _string(value)
