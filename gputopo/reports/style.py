"""How a text report is to look: decided once by the command, never looked up while printing."""

from __future__ import annotations

from typing import NamedTuple

NARROWEST, WIDEST = 80, 200

# Basic colours only, readable on dark and on light. Neighbouring levels differ in weight, or along
# blue-yellow, never in red against green alone: ends are bold, NODE recedes.
SGR = {
    "NV": "1;32",
    "PIX": "32",
    "PXB": "36",
    "PHB": "",
    "NODE": "2",
    "SYS": "1;35",
    "error": "1;31",
    "warning": "1;33",
    "info": "36",
    "strong": "1",
    "dim": "2",
    "": "",
}


class Style(NamedTuple):
    """Columns to fill, and whether colour codes and characters beyond ASCII may be printed."""

    width: int = 100
    colour: bool = False
    unicode: bool = True

    @property
    def columns(self) -> int:
        return min(max(self.width, NARROWEST), WIDEST)
