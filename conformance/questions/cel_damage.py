"""Expressions that no longer are any: a token lost, doubled, put in, exchanged, two of them swapped, a part cut off.

The real parser goes on behind an error and reports what it finds there; one damage alone would not ask it how.
"""

from __future__ import annotations

import re
from random import Random

_PIECE = re.compile(r"\w+|\s+|[^\w\s]")
_PIECES = (
    "==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":", "+",
    "*", "/", "%", "true", "false", "null", "1", "1.5", "2u", "0x", ".5", "1e5", "99999999999999999999", "'x'", "b'y'",
    "a", "device", "`z`", "=", "&", "|", "#", "é", "'", '"', "\\", "'''", '"""', "r'", r"'\q'", r"'\ud800'", "if",
    "for", " and ", "Gi", "u", "..", "?.", "[?", "- -", "!!", "-1", "a{", "has(", ".all(", "x.map(", "x.exists(1,",
    "cel.bind(", "x.sortBy(", "x.optMap(", "\n", "\r\n", "\t", " ", "// c\n",
)  # fmt: skip


def damaged(rng: Random, text: str) -> str:
    pieces = _PIECE.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        pieces = _changed(rng, pieces)
    return "".join(pieces)


def _changed(rng: Random, pieces: list[str]) -> list[str]:
    place = rng.randint(0, len(pieces))
    before, here, after = pieces[:place], pieces[place : place + 1], pieces[place + 1 :]
    kind = rng.randrange(11)
    if kind < 3:
        return before + after
    if kind < 5:
        return before + here + here + after
    if kind < 7:
        return [*before, rng.choice(_PIECES), *here, *after]
    if kind < 9:
        return [*before, rng.choice(_PIECES), *after]
    if kind < 10:
        return before + after[:1] + here + after[1:]
    return before or after


def senseless(rng: Random) -> str:
    """Tokens in any order."""
    between = rng.choice(("", " "))
    return between.join(rng.choice(_PIECES) for _ in range(rng.randint(1, rng.choice((4, 12, 40)))))
