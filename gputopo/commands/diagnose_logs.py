"""The files of `diagnose --nccl-log`: logs, or folders with a log for each process of a job."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence

from gputopo.commands import output
from gputopo.errors import GputopoError
from gputopo.evidence.log_lines import log_files, log_lines


class LogFiles:
    """By what was named. Each is opened when the one before it has been read."""

    def __init__(self, specs: Sequence[str], quiet: bool) -> None:
        if specs.count("-") > 1:
            raise GputopoError("standard input can be read once", "-")
        self._files = {spec: log_files(spec) for spec in specs}
        self._unread: set[str] = set()
        self._warn = (lambda message: None) if quiet else output.say

    def read(self, timeout: float) -> Iterator[tuple[str, Iterable[str]]]:
        """(name, lines) of each. Of a folder's files, what is no text is named and left out."""
        stdin = sys.stdin.fileno() if "-" in self._files and sys.stdin is not None else None
        for spec, files in self._files.items():
            for file in files:
                try:
                    lines = log_lines(file, stdin=stdin, timeout=timeout, warn=self._warn)
                except GputopoError as error:
                    if files == (spec,):
                        raise
                    self._warn(f"skipped {file}: {error.what}")
                    self._unread.add(file)
                else:
                    yield file, lines

    def heard(self, silent: Sequence[str]) -> None:
        """What was named must say something of a job: a log, or some file of a folder, whose others are named."""
        for spec, files in self._files.items():
            mute = [file for file in files if file in silent]
            if len(mute) + len(self._unread.intersection(files)) == len(files):
                raise GputopoError(
                    "no line of NCCL, nccl-tests or a launcher in it", spec,
                    "NCCL_DEBUG=INFO makes NCCL print; NCCL_DEBUG_FILE names where",
                )  # fmt: skip
            for file in mute:
                self._warn(f"skipped {file}: no line of NCCL, nccl-tests or a launcher in it")
