"""A log's lines, one at a time: a job's log may be larger than any other evidence, and nobody needs all of it at once.

A file, a pipe, `-`, compressed or not. Memory is a chunk and a line, however long the log is.
"""

from __future__ import annotations

import codecs
import io
import os
import stat
from collections.abc import Callable, Iterator

from gputopo.errors import GputopoError
from gputopo.evidence import limits
from gputopo.evidence.reading import binary, cannot_open, packing, read_some
from gputopo.evidence.text import UTF16, looks_binary

LINE_MOST = 65_536  # characters; of a longer line the beginning is kept
Warn = Callable[[str], object]


def log_files(spec: str) -> tuple[str, ...]:
    """The files that a log is in: of a folder its plain files, by name, else `spec` itself.

    A folder holds what NCCL_DEBUG_FILE=nccl.%h.%p makes, a file for each process. Hidden files and folders in it are
    none. Raises GputopoError for a folder that cannot be read, or without files.
    """
    if spec == "-" or not os.path.isdir(spec):
        return (spec,)
    try:
        with os.scandir(spec) as entries:
            names = sorted(one.name for one in entries if one.is_file() and not one.name.startswith("."))
    except OSError as error:
        cannot_open(error, spec)
    if not names:
        raise GputopoError("no file in this folder", spec, "name the log, or the folder with the ranks' logs")
    return tuple(os.path.join(spec, name) for name in names)


def log_lines(
    spec: str, *, stdin: int | None = None, timeout: float = 10.0, warn: Warn = lambda message: None
) -> Iterator[str]:
    """The lines of a log without their ends. Raises GputopoError at once where it cannot be opened or is no text.

    `stdin` is the descriptor that `-` means; each wait on a pipe ends after `timeout` s. A compressed log that is cut
    is read as far as it goes, with a message through `warn`; what it expands to is limited as in every archive.
    """
    name = "standard input" if spec == "-" else spec
    if spec == "-":
        if stdin is None:
            raise GputopoError("standard input is closed", "-")
        chunks = _chunks(stdin, name, timeout, close=False)
    else:
        try:
            fd = os.open(spec, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            cannot_open(error if isinstance(error, OSError) else OSError(str(error)), name)
        chunks = _chunks(fd, name, timeout, close=True)
    head = next(chunks, b"")
    if not head:
        raise GputopoError("the file is empty" if spec != "-" else "no input", name)
    kind = packing(head)
    if kind in ("tar", "zip"):
        raise GputopoError(f"a log is one text, not a {kind} archive", name, "unpack it and name the log in it")
    if kind is not None:
        return _text(_expanded(head, chunks, kind, name, warn), b"")
    if looks_binary(head) and head[:2] not in UTF16:
        raise binary(name)
    return _text(chunks, head)


def _chunks(fd: int, name: str, timeout: float, *, close: bool) -> Iterator[bytes]:
    try:
        waits = not stat.S_ISREG(os.fstat(fd).st_mode) and not os.isatty(fd)
        while chunk := read_some(fd, name, timeout if waits else None):
            yield chunk
    except OSError as error:
        cannot_open(error, name)
    finally:
        if close:
            os.close(fd)


class _Stream(io.RawIOBase):
    """Chunks as a file, for the decompressor."""

    def __init__(self, head: bytes, chunks: Iterator[bytes]) -> None:
        self._left = head
        self._chunks = chunks

    def read(self, size: int = -1) -> bytes:
        if not self._left:
            self._left = next(self._chunks, b"")
        part, self._left = self._left[:size], self._left[size:]
        return part


def _expanded(head: bytes, chunks: Iterator[bytes], kind: str, name: str, warn: Warn) -> Iterator[bytes]:
    from gputopo.evidence.expanded import Expanded

    stream = Expanded(_Stream(head, chunks), kind, name)  # type: ignore[arg-type]
    first = True
    while part := stream.take(limits.CHUNK):
        if first and looks_binary(part):
            raise binary(name)
        first = False
        yield part
    if not stream.whole:
        warn(f"{name}: the {kind} file is cut or damaged; what is before that is read")


def _text(chunks: Iterator[bytes], head: bytes) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(UTF16.get(head[:2], "utf-8"))("replace")
    head = head[2:] if head[:2] in UTF16 else head.removeprefix(codecs.BOM_UTF8)
    left = ""
    for chunk in _and(head, chunks):
        lines = (left + decoder.decode(chunk)).split("\n")
        left = lines.pop()[:LINE_MOST]
        yield from lines
    left += decoder.decode(b"", True)
    if left:
        yield left


def _and(head: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from chunks
