r"""Makes foreign text safe to print, and measures it. The one place for both.

Device names, file names and lines of evidence come from strangers. What a terminal would obey
(escape sequences, C1 controls, new lines) or what hides the order of letters (bidi overrides,
zero-width characters) is shown as an escape; tabs and odd blanks become a blank.

    >>> print(clean("mlx5\x1b[2J_0"), clean("a\u202eb"), clean("two\nlines"), clean("tab\there"))
    mlx5\x1b[2J_0 a\u202eb two\nlines tab here
    >>> print(clean("Größe", ascii_only=True))
    Gr\xf6\xdfe
    >>> width("GPU0"), width("機種"), width("e\u0301")
    (4, 4, 1)
"""

from __future__ import annotations


def clean(text: str, *, ascii_only: bool = False) -> str:
    """The text with everything unprintable made visible."""
    if text.isprintable() and (not ascii_only or text.isascii()):
        return text
    return "".join(
        character
        if character.isprintable() and (not ascii_only or character.isascii())
        else _visible(character)
        for character in text
    )


def _visible(character: str) -> str:
    if character == "\t" or (character.isspace() and not character.isprintable() and character > "\x85"):
        return " "
    return character.encode("unicode_escape").decode("ascii")


def width(text: str) -> int:
    """Columns a cleaned text takes on a terminal."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if character.isascii():
        return 1
    import unicodedata

    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
