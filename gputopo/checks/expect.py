"""What a value must be: one value, one of several, or how many devices have which.

    nvlinks: 18                    every GPU has 18
    name: NVIDIA H100*             every name begins so
    rateGbps: [200, 400]           every NIC has one of these
    rateGbps: {400: 8, 100: 2}     8 have 400 and 2 have 100
    driver: ">=550.90, <581"       a range of versions

    >>> met(">=550.90, <581", "570.124.06"), met(">=550.90, <581", "550.54.15"), met("NVIDIA H100*", "NVIDIA H100 NVL")
    (True, False, True)
    >>> met(16, 8), met("16", 16), met("1 at PIX", "1 at PIX")
    (False, True, True)
    >>> range_problem(">=550,=<581")
    "'=<581' is no bound: >=, >, <=, <, == or != and a version"
"""

from __future__ import annotations

import re
from typing import NamedTuple

Value = "str | int | float"

_BOUND = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*v?([0-9]{1,9}(?:\.[0-9]{1,9}){0,8})\s*")
_NUMBERS = re.compile(r"[0-9]{1,9}")
_LONGEST = 256  # characters of a pattern or a version


class Expect(NamedTuple):
    """`options`: each device has one of these; `shares`: (value, how many devices have it), and no others."""

    options: tuple[str | int | float, ...] = ()
    shares: tuple[tuple[str | int | float, int], ...] = ()
    line: int = 0  # in the specification

    def wanted(self) -> str:
        if self.shares:
            return " and ".join(f"{count} of {said(value)}" for value, count in self.shares)
        return " or ".join(said(one) for one in self.options)


def said(value: object) -> str:
    """400.0 is 400.

    >>> said(400.0), said("NV18"), said(2.5)
    ('400', 'NV18', '2.5')
    """
    if isinstance(value, float) and value == value // 1:
        return str(int(value))
    return str(value)


def met(option: str | int | float, found: str | int | float) -> bool:
    if not isinstance(option, str):
        return option == found
    if is_range(option):
        return all(_holds(one, str(found)) for one in option.split(","))
    if "*" in option or "?" in option:
        return bool(_glob(option).fullmatch(said(found)[:4096]))
    return option == said(found)


def is_range(text: str) -> bool:
    return text.lstrip()[:1] in ("<", ">") or text.lstrip()[:2] in ("==", "!=")


def range_problem(text: str) -> str | None:
    """Why a range cannot be read."""
    for one in text.split(","):
        if not _BOUND.fullmatch(one):
            return f"{one.strip()[:40]!r} is no bound: >=, >, <=, <, == or != and a version"
    return None


def _holds(bound: str, version: str) -> bool:
    found = _BOUND.fullmatch(bound)
    if found is None:
        return False
    sign, wanted = found[1], [int(part) for part in found[2].split(".")]
    have = [int(part) for part in _NUMBERS.findall(version[:_LONGEST])]
    size = max(len(wanted), len(have))
    a, b = have + [0] * (size - len(have)), wanted + [0] * (size - len(wanted))
    return {">=": a >= b, "<=": a <= b, ">": a > b, "<": a < b, "==": a == b, "!=": a != b}[sign]


def _glob(pattern: str) -> re.Pattern[str]:
    """`*` any text, `?` one character; several stars in a row are one, so that matching stays quick."""
    squeezed = re.sub(r"\*+", "*", pattern[:_LONGEST])
    parts = [".*" if one == "*" else "." if one == "?" else re.escape(one) for one in squeezed]
    return re.compile("".join(parts), re.DOTALL)
