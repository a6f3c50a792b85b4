"""How far a long answer is: one line on a terminal's stderr after two seconds, gone again at the end.

    gputopo: reading saved nodes: 370 of 1,000, 85/s

Nothing is written where stderr is no terminal, with -q, or where it was done before.
"""

from __future__ import annotations

import os
import sys
import time
from math import ceil
from types import TracebackType
from typing import TextIO

_AFTER, _EVERY = 2.0, 0.25  # seconds: before the first line, between two


class Progress:
    """`what` is being done; `unit` is what is counted; `note` stands behind it: how it would end."""

    def __init__(
        self, what: str, *, unit: str = "", total: int | None = None, note: str = "", quiet: bool = False,
        stream: TextIO | None = None, eta: bool = False,
    ) -> None:  # fmt: skip
        self.what = what
        self.total = total
        self._unit = unit
        self._note = note
        self._eta = eta  # also how long it will take, where the total is known
        self._stream = sys.stderr if stream is None else stream
        self._on = not quiet and self._stream is not None and self._stream.isatty()
        self._began = time.monotonic()
        self._next = self._began + _AFTER
        self._done = 0
        self._shown = 0  # columns of the line that stands there now

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:  # fmt: skip
        self.erase()

    def step(self, number: int = 1) -> None:
        """So many more are done; 0 only looks at the clock."""
        self._done += number
        if self._on:
            now = time.monotonic()
            if now >= self._next:
                self._next = now + _EVERY
                self._show(now - self._began)

    def erase(self) -> None:
        """Makes room: for a message, or for good."""
        if self._shown:
            self._write("\r" + " " * self._shown + "\r")
            self._shown = 0

    def _show(self, seconds: float) -> None:
        from gputopo.commands.failure import plain

        done = f": {self._count()}, {rate(self._done / seconds)}/s" if self._done else ""
        if self._eta and self._done and self.total is not None and self.total > self._done:
            done += f", {left((self.total - self._done) * seconds / self._done)} left"
        line = plain(f"gputopo: {self.what}{done}{self._note}")
        line = line[: _columns(self._stream) - 1]
        self._write("\r" + line + " " * max(0, self._shown - len(line)))
        self._shown = len(line)

    def _count(self) -> str:
        number = f"{self._done:,}" if self.total is None else f"{self._done:,} of {self.total:,}"
        return f"{number} {self._unit}".rstrip()

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text.encode(self._stream.encoding or "ascii", "replace").decode(errors="replace"))
            self._stream.flush()
        except (OSError, ValueError):
            self._on = False  # nobody looks any more


def rate(number: float) -> str:
    """
    >>> rate(0.25), rate(8.04), rate(85.2), rate(123456.7)
    ('0.2', '8.0', '85', '123,457')
    """
    return f"{number:.1f}" if number < 10 else f"{number:,.0f}"


def left(seconds: float) -> str:
    """
    >>> left(8.2), left(100), left(4000)
    ('9 s', '2 min', '1 h 7 min')
    """
    if seconds <= 90:
        return f"{ceil(seconds)} s"
    minutes = ceil(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
