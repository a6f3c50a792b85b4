"""`--state FILE`: what was read is written down as it comes, and not read again by the next run.

A file is known by its path, size and time of change, a folder by its path and time, a line by what is in it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256
from types import TracebackType
from typing import TextIO

from gputopo.commands.fleet_map import Asked, Task
from gputopo.documents.fleet_state import Reader, Writer, header
from gputopo.errors import GputopoError
from gputopo.evidence.fleet_plan import FAILED, FILE, NODE, TEXT, TOGETHER, Later
from gputopo.fleet.part import Part
from gputopo.version import __version__

_NOT_OURS = "this is no state of gputopo fleet"


class State:
    """Of one FILE, open for as long as the run takes. Raises GputopoError: not ours, of other options, not writable."""

    def __init__(self, path: str, asked: Asked) -> None:
        how = asked.how
        question = repr((__version__, how.as_format, sorted(how.assume.items()), asked.select, asked.ignore))
        digest = sha256(question.encode()).hexdigest()[:16]
        self._reader: Reader | None = None
        self._path = path
        try:
            whole = self._read(digest)
            self._file: TextIO = open(path, "a", encoding="ascii")  # noqa: SIM115  (closed by __exit__)
            if self._reader is None:
                self._file.write(header(digest))
            elif not whole:
                self._file.write("\n")
        except (OSError, UnicodeDecodeError) as error:
            what = error.strerror.lower() if isinstance(error, OSError) and error.strerror else _NOT_OURS
            raise GputopoError(what, path, "--state names a file of its own") from error
        self._writer = Writer(dict(self._reader.known) if self._reader is not None else {})

    def __enter__(self) -> State:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:  # fmt: skip
        self._file.close()

    def known(self, task: Task) -> Part | None:
        """What was read of it before, and has not changed since."""
        key = _key(task.later)
        return None if self._reader is None or key is None else self._reader.part(key, task.at)

    def keep(self, tasks: Sequence[Task], part: Part) -> None:
        of: dict[int, Part] = {task.at: Part({}, ()) for task in tasks}
        for features, own in part.nodes.items():
            for node in own:
                nodes = of[node.at[0]].nodes
                nodes[features] = (*nodes.get(features, ()), node)
        for one in part.lost:
            of[one.at[0]] = of[one.at[0]]._replace(lost=(*of[one.at[0]].lost, one))
        try:
            for task in tasks:
                key = _key(task.later)
                if key is not None and not _by_time(of[task.at]):
                    self._file.write(self._writer.lines(key, of[task.at]))
            self._file.flush()
        except OSError as error:
            raise GputopoError(f"cannot write: {(error.strerror or str(error)).lower()}", self._path) from error

    def _read(self, digest: str) -> bool:
        """Whether the file ends with a whole line."""
        if not os.path.exists(self._path) or not os.path.getsize(self._path):
            return True
        line = ""
        with open(self._path, encoding="ascii") as file:
            self._reader = Reader(file.readline(), digest, self._path)
            for line in file:
                self._reader.take(line)
        return line.endswith("\n") or not line


def _by_time(part: Part) -> bool:
    """Not read in time: worth another try."""
    return any("--timeout" in one.reason for one in part.lost)


def _key(later: Later) -> str | None:
    """`None`: whether it has changed cannot be told."""
    if later.kind == TEXT:
        return f"{later.path} {sha256(later.data).hexdigest()}"
    if later.kind not in (FILE, NODE, TOGETHER) or later.kind == FAILED:
        return None
    try:
        seen = [os.stat(path) for path in later.files or (later.path,)]
    except OSError:
        return None
    return f"{later.kind} {later.path} {[(one.st_size, one.st_mtime_ns) for one in seen]}"


