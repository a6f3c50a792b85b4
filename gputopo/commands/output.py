"""Where a report goes: standard output or a file; and what is known of the place (width, colour)."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO

from gputopo.errors import GputopoError

NARROWEST, WIDEST, PIPED = 80, 200, 100
FORMS = ("markdown", "csv", "html")  # those of reports/forms.py, which is loaded for them only


def write(text: str, file: str | None) -> bool:
    """To the file, or to standard output; a reader that left early (`| head`) is no error, and False."""
    if file is not None:
        _write_file(text, file)
        return True
    if sys.stdout is None:
        raise GputopoError("cannot write: standard output is closed")
    return _write_stream(text, sys.stdout)


def say(message: str) -> None:
    """A message for the person, on stderr, on one line."""
    from gputopo.commands.failure import plain

    if sys.stderr is not None:
        print(f"gputopo: {plain(message)}", file=sys.stderr)


def width(stream: TextIO | None) -> int:
    """Columns for a report: COLUMNS, the terminal's, or 100; between 80 and 200."""
    said = os.environ.get("COLUMNS", "")
    if said.isascii() and said.isdigit() and int(said[:9]) > 0:
        columns = int(said[:9])
    elif stream is not None and stream.isatty():
        try:
            columns = os.get_terminal_size(stream.fileno()).columns or PIPED
        except OSError:
            columns = PIPED
    else:
        columns = PIPED
    return max(NARROWEST, min(WIDEST, columns))


def on_terminal(file: str | None) -> bool:
    """Whether a person reads the report now: standard output, and a terminal."""
    return file is None and sys.stdout is not None and sys.stdout.isatty()


def coloured(when: str, file: str | None) -> bool:
    """`auto`: on a terminal that can, unless NO_COLOR is set (https://no-color.org)."""
    if when != "auto":
        return when == "always"
    if not on_terminal(file):
        return False
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def place(when: str, file: str | None) -> tuple[int, bool, bool]:
    """Width, colour and whether more than ASCII can be written: looked up here, once."""
    stream = None if file is not None else sys.stdout
    encoding = "utf-8" if stream is None else (stream.encoding or "ascii")
    return width(stream), coloured(when, file), encoding.lower().replace("-", "").startswith("utf")


def _write_stream(text: str, stream: TextIO) -> bool:
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        # Python flushes again on exit; what is left goes nowhere instead.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return False
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        what = (error.strerror or str(error)).lower()
        raise GputopoError(f"cannot write: {what}", "standard output") from error
    return True


def write_binary(data: bytes, file: str | None) -> None:
    """Bytes as they are, to the file or to standard output."""
    if file is not None:
        write_bytes(data, file)
    elif sys.stdout is None:
        raise GputopoError("cannot write: standard output is closed")
    else:
        try:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError as error:
            raise GputopoError(f"cannot write: {(error.strerror or str(error)).lower()}", "standard output") from error


def _write_file(text: str, file: str) -> None:
    write_bytes(text.encode("utf-8", "backslashreplace"), file)


def write_bytes(data: bytes, file: str) -> None:
    """Whole or not at all: beside it first, then renamed. A device or a pipe is written straight. Mode and, where it
    may be kept, owner are those of the file before."""
    target = os.path.realpath(file)
    try:
        if os.path.lexists(target) and not os.path.isfile(target):
            with open(target, "wb") as out:
                out.write(data)
            return
        beside = os.path.join(os.path.dirname(target), f".{os.path.basename(target)[:200]}.{os.getpid()}")
        try:
            with open(beside, "xb") as out:
                out.write(data)
            if os.path.exists(target):
                _make_alike(beside, os.stat(target))
            os.replace(beside, target)
        finally:
            if os.path.lexists(beside):
                os.unlink(beside)
    except OSError as error:
        what = (error.strerror or str(error)).lower()
        raise GputopoError(f"cannot write: {what}", file) from error


def _make_alike(file: str, before: os.stat_result) -> None:
    now = os.stat(file)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(OSError):  # only root may give files away
            os.chown(file, before.st_uid, before.st_gid)
    os.chmod(file, before.st_mode & 0o777)
