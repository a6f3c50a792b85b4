"""Judging the texts of the affinity cells: whole, perhaps cut, damaged.

From 470 on the printer adds no further range once the text has ten characters (measured on 470, 535
and 550), so a shorter text is complete and a longer one may be a prefix of the truth:

    >>> [may_be_cut(text, never=False) for text in ("0-63", "0,2,4,6,8,10", "0-15,32-47")]
    [False, True, True]
    >>> may_be_cut("0-15,32-47,64-79", never=False)      # goes on behind ten characters: an older printer
    False
    >>> is_fragment("2-63,96-127", {"2-63,96-127", "32-63,96-127"})
    True
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from gputopo.terms.cpu_set import CpuSet

_SINGLE_RANGE = re.compile(r"(?:^|,)(\d+)-\1(?:,|$)")


def never_cuts(texts: Iterable[str]) -> bool:
    """Whether a cell has 418's form (`1-1`, `0-0,2-2`): that printer does not cut."""
    return any("-" in text and _SINGLE_RANGE.search(text) for text in texts)


def may_be_cut(text: str, never: bool) -> bool:
    return len(text) >= 10 and not never and len(text.rpartition(",")[0]) < 10


def is_fragment(text: str, texts: Collection[str]) -> bool:
    """Whether a text is the beginning or the end of another GPU's, with CPUs in common.

    CPUs near one GPU are those near another or none of them; `2-63,96-127` beside `32-63,96-127`
    has lost a character.
    """
    for other in texts:
        if len(other) > len(text) and (other.endswith(text) or other.startswith(text)):
            mine, theirs = CpuSet.parse_list(text), CpuSet.parse_list(other)
            if mine and theirs and mine & theirs and mine != theirs:
                return True
    return False


def confirms(text: str, others: Iterable[str]) -> bool:
    """Whether other GPUs' cells show that a CPU text at the very end of the input is whole.

    The same text; or it ends with a range, has as many CPUs, and none in common: a cut range has fewer.
    """
    mine = CpuSet.parse_list(text)
    if not mine:
        return False
    ranged = "-" in text.rpartition(",")[2]
    for other in others:
        theirs = CpuSet.parse_list(other)
        if theirs and (other == text or (ranged and len(theirs) == len(mine) and not theirs & mine)):
            return True
    return False
