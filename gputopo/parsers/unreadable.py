"""A text is not what it should be, or carries its own error: what, at which line, what next."""

from __future__ import annotations


class Unreadable(Exception):
    """Raised by a parser that can give no record at all. One odd row is a `Gap`, not this."""

    def __init__(self, what: str, line: int | None = None, hint: str = "") -> None:
        super().__init__(what, line, hint)
        self.what = what
        self.line = line
        self.hint = hint
