"""A matrix typed by hand, or of another tool: letters in a square, but rows that are not `GPUn`.

>>> first_row("     GP0  GP1\\nGP0  X    NV2\\nGP1. NV2  X\\n")
('GP0  X    NV2', 2)
>>> first_row("GPU0 X\\nGPU1 X\\n") is None  # no letter
True
>>> first_row("x = NODE X SYS") is None
True
"""

from __future__ import annotations

import re
from itertools import islice

# A label, then X with letters before or after it: `GPU0 X` alone is a line of anything, and a log has millions.
_LETTER = r"(?:SYS|NODE|PHB|PXB|PIX|SOC|NV\d{1,2})\.?"
_ROW = re.compile(
    r"^[ \t>|]*[\w.\-]{1,24}[ \t|]+(?!X[ \t|.]*$)"
    rf"(?:{_LETTER}[ \t|]+){{0,256}}X(?:[ \t|]+{_LETTER}){{0,256}}[ \t|.]*$",
    re.MULTILINE,
)


def first_row(text: str) -> tuple[str, int] | None:
    """The first row of such a square and its line; `None` where there are not two rows."""
    rows = list(islice(_ROW.finditer(text), 2))
    if len(rows) < 2:
        return None
    return rows[0][0].strip()[:60], text.count("\n", 0, rows[0].start()) + 1
