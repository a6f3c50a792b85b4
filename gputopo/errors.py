"""The one exception users see: what, where, what next, and the exit code it means."""

from __future__ import annotations


class GputopoError(Exception):
    """Bad input or bad usage, printed as `gputopo: error: WHAT (WHERE)` and `hint: NEXT`.

    The parts go to `Exception.__init__`, so the error survives pickling between processes.
    """

    def __init__(self, what: str, where: str = "", hint: str = "", exit_code: int = 2) -> None:
        super().__init__(what, where, hint, exit_code)
        self.what = what
        self.where = where
        self.hint = hint
        self.exit_code = exit_code

    def __str__(self) -> str:
        text = f"{self.what} ({self.where})" if self.where else self.what
        return f"{text}\nhint: {self.hint}" if self.hint else text
