"""A matrix typed by hand, or of another tool: letters in a square, but rows that are not `GPUn`.

>>> first_row("     GP0  GP1\\nGP0  X    NV2\\nGP1. NV2  X\\n")
('GP0  X    NV2', 2)
>>> first_row("x = NODE X SYS") is None
True
"""

from __future__ import annotations

import re
from itertools import islice

_LETTER = r"(?:SYS|NODE|PHB|PXB|PIX|SOC|NV\d{1,2})\.?"
_ROW = re.compile(
    rf"^[ \t>|]*[\w.\-]{{1,24}}[ \t|]+(?:{_LETTER}[ \t|]+){{0,256}}X(?:[ \t|]+{_LETTER}){{0,256}}[ \t|.]*$",
    re.MULTILINE,
)
_TWO_LETTERS = re.compile(rf"X[ \t|]+{_LETTER}|{_LETTER}[ \t|]+X")


def first_row(text: str) -> tuple[str, int] | None:
    """The first row of such a square and its line; `None` where there are not two rows."""
    rows = list(islice((match for match in _ROW.finditer(text) if _TWO_LETTERS.search(match[0])), 2))
    if len(rows) < 2:
        return None
    return rows[0][0].strip()[:60], text.count("\n", 0, rows[0].start()) + 1
