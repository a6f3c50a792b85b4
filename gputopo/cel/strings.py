"""The strings library: cel-go ext/strings.go version 2 (no reverse), and the string methods of the standard.

>>> substring("H100 80GB", 0, 4), index_of("a-b-c", "-", 2), split("a,b,c", ",", 2)
('H100', 3, ['a', 'b,c'])
"""

from __future__ import annotations

from typing import Any

from gputopo.cel.bounds import counted, measured
from gputopo.cel.values import CelError, shown

_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def _out_of_range(index: int) -> CelError:
    return CelError(f"index out of range: {index}")


def char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return text.find(part, offset) if offset < len(text) else -1


def last_index_of(text: str, part: str, offset: int | None = None) -> int:
    if not part:
        return len(text) if offset is None else offset
    if offset is None:
        return text.rfind(part)
    if offset < 0:
        raise _out_of_range(offset)
    return text.rfind(part, 0, offset + len(part)) if offset < len(text) else -1


def lower_ascii(text: str) -> str:
    return "".join(one.lower() if "A" <= one <= "Z" else one for one in text)


def upper_ascii(text: str) -> str:
    return "".join(one.upper() if "a" <= one <= "z" else one for one in text)


def replace(text: str, old: str, new: str, count: int = -1) -> str:
    found = text.count(old) if old else len(text) + 1
    measured(len(text) + (found if count < 0 else min(found, count)) * max(0, len(new) - len(old)))
    return text.replace(old, new, count if count >= 0 else -1)


def split(text: str, separator: str, count: int = -1) -> list[str]:
    """A count of 0 gives nothing, of n at most n parts, below 0 all."""
    if count == 0:
        return []
    counted(text.count(separator) + 1)
    if not separator:
        parts = list(text)
        return parts if count < 0 or len(parts) <= count else [*parts[: count - 1], text[count - 1 :]]
    return text.split(separator, count - 1 if count > 0 else -1)


def substring(text: str, start: int, end: int | None = None) -> str:
    if end is None:
        if not 0 <= start <= len(text):
            raise _out_of_range(start)
        return text[start:]
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


def trim(text: str) -> str:
    return text.strip(_SPACE)


def join(parts: list[Any], separator: str = "") -> str:
    for part in parts:
        if not isinstance(part, str):
            raise CelError(f"join: invalid input: {shown(part)}")
    measured(sum(map(len, parts)) + len(separator) * len(parts))
    return separator.join(parts)


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\",
            '"': '\\"'}  # fmt: skip


def quote(text: str) -> str:
    """strings.quote(): CEL's own escapes, everything else as it is."""
    return '"' + "".join(_ESCAPES.get(one, one) for one in text) + '"'


def contains(text: str, part: str) -> bool:
    return part in text


def starts_with(text: str, part: str) -> bool:
    return text.startswith(part)


def ends_with(text: str, part: str) -> bool:
    return text.endswith(part)
