"""How wide a text gets, without a font at hand: widths of DejaVu Sans, the widest of the fonts a picture names.

Hundredths of an em for the characters from the blank to `~`, rounded up, as the font's `hmtx` table has them
(DejaVu 2.37). With a narrower font (Helvetica, Arial, Liberation Sans) a text takes less room than it was given.

    >>> text_width("GPU0", 12), text_width("GPU0", 12, bold=True)
    (33.24, 37.08)
    >>> fit("mlx5_bond_0_of_a_long_name", 60, 10)
    'mlx5_bon…'
    >>> wrap(["CPUs 0-55,112-167 (112)", "1007 GiB"], 10, lambda line: 100)
    ['CPUs 0-55,112-167', '(112) · 1007 GiB']

What a renderer shows as an escape is measured as one.

    >>> fit("a\\u202eb", 60, 10)
    'a\\\\u202eb'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from gputopo.reports.sanitise import clean

_REGULAR = (
    32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34,
    84, 84, 84, 54, 100, 69, 69, 70, 77, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79, 61, 79, 70, 64, 62, 74, 69, 99,
    69, 62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53,
    40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
)  # fmt: skip
_BOLD = (
    35, 46, 53, 84, 70, 101, 88, 31, 46, 46, 53, 84, 38, 42, 38, 37, 70, 70, 70, 70, 70, 70, 70, 70, 70, 70, 40, 40,
    84, 84, 84, 58, 100, 78, 77, 74, 83, 69, 69, 83, 84, 38, 38, 78, 64, 100, 84, 85, 74, 85, 77, 73, 69, 82, 78, 111,
    78, 73, 73, 46, 37, 46, 84, 50, 50, 68, 72, 60, 72, 68, 44, 72, 72, 35, 35, 67, 35, 105, 72, 69, 72, 72, 50, 60,
    48, 72, 66, 93, 65, 66, 59, 72, 37, 72, 84,
)  # fmt: skip
_WIDEST, _BEYOND = 100, 140  # any other character of the plane that names are written in; emoji and the like
ELLIPSIS = "…"


@lru_cache(4096)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """Pixels a text takes at most; kerning only narrows it."""
    text = clean(text)
    table = _BOLD if bold else _REGULAR
    units = sum(
        table[ord(one) - 32] if " " <= one <= "~" else _WIDEST if one < "\U00010000" else _BEYOND for one in text
    )
    return round(units * size / 100, 2)


def fit(text: str, room: float, size: float, bold: bool = False) -> str:
    """The text, or its beginning with an ellipsis where it takes more room."""
    text = clean(text)
    if text_width(text, size, bold) <= room:
        return text
    kept, left = [], room - text_width(ELLIPSIS, size, bold)
    for one in text:
        left -= text_width(one, size, bold)
        if left < 0:
            break
        kept.append(one)
    return "".join(kept).rstrip() + ELLIPSIS


def words(text: str) -> list[str]:
    """Where a line may break: after a blank or a comma.

    >>> words("CPUs 0-55,112-167 (112)")
    ['CPUs ', '0-55,', '112-167 ', '(112)']
    """
    return re.findall(r"[^ ,]*[ ,]+|[^ ,]+", text)


def wrap(parts: Iterable[str], size: float, room_of: Callable[[int], float], bold: bool = False) -> list[str]:
    """Parts one after the other, told apart by a dot, in lines; `room_of(line)` is how much room a line has."""
    pieces: list[str] = []
    for part in parts:
        if pieces:
            pieces[-1] += " · "
        pieces += words(clean(part))
    lines = [""]
    for piece in pieces:
        longer = lines[-1] + piece
        if lines[-1] and text_width(longer.rstrip(), size, bold) > room_of(len(lines) - 1):
            lines.append(piece)
        else:
            lines[-1] = longer
    return [fit(line.rstrip(), room_of(at), size, bold) for at, line in enumerate(lines) if line.strip()]
