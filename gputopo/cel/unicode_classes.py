"""`\\pL`, `\\p{Lu}` and their kin: the ranges of a Unicode general category.

Scripts (`\\p{Greek}`) need tables that Python does not carry: Refused, for whether one matches is not known.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from gputopo.cel.values import Refused

_CATEGORIES = frozenset(
    {"C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No", "P",
     "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs"}
)  # fmt: skip


@lru_cache(maxsize=16)
def property_ranges(name: str) -> tuple[tuple[int, int], ...] | None:
    if name == "Any":
        return ((0, 0x10FFFF),)
    if len(name) > 2 and name.replace("_", "").isalpha() and name[0].isupper():
        raise Refused(f"\\p{{{name}}}: patterns with scripts are not evaluated here")
    if name not in _CATEGORIES:
        return None
    ranges: list[tuple[int, int]] = []
    for point in range(0x110000):
        category = unicodedata.category(chr(point))
        # Go has no category for what is not assigned.
        if not category.startswith(name) or category == "Cn":
            continue
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1] = (ranges[-1][0], point)
        else:
            ranges.append((point, point))
    return tuple(ranges)
