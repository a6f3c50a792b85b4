"""Bytes from a file, a pipe or a device: never more than the limit, never longer than the timeout."""

from __future__ import annotations

import os
import stat
from typing import NoReturn

from gputopo.errors import GputopoError
from gputopo.evidence import limits
from gputopo.evidence.text import UTF16, looks_binary
from gputopo.terms.protobuf_bytes import begins_as_message


def read_path(path: str, name: str, timeout: float, most: int = limits.TEXT_BYTES) -> bytes:
    """All bytes of a file, a pipe (`/dev/fd/63`) or a device. Raises GputopoError."""
    try:
        # O_NONBLOCK: opening a pipe that nobody writes must not wait for ever.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        cannot_open(error, name)
    try:
        return read_fd(fd, name, timeout, most)
    finally:
        os.close(fd)


def read_fd(fd: int, name: str, timeout: float, most: int = limits.TEXT_BYTES) -> bytes:
    """All bytes of an open descriptor, at most `most`; each wait ends after `timeout` s."""
    try:
        status = os.fstat(fd)
        if stat.S_ISREG(status.st_mode) and status.st_size > most:
            raise _too_large(name, most)
        waits = not stat.S_ISREG(status.st_mode) and not os.isatty(fd)
        parts: list[bytes] = []
        size = 0
        while part := read_some(fd, name, timeout if waits else None):
            if not parts:
                _refuse_binary(part, name)
            parts.append(part)
            size += len(part)
            if size > most:
                raise _too_large(name, most)
    except OSError as error:
        cannot_open(error, name)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_some(fd: int, name: str, timeout: float | None) -> bytes:
    """At most a chunk of an open descriptor, b"" at its end; with a timeout the wait for it ends after that many s."""
    if timeout is None:
        return os.read(fd, limits.CHUNK)
    from select import select
    from time import monotonic

    end = monotonic() + timeout
    while True:
        ready, _, _ = select([fd], [], [], max(0.0, end - monotonic()))
        if not ready:
            raise GputopoError(
                f"nothing to read for {timeout:g} s", name, "does the other end still run? --timeout SECONDS"
            )
        try:
            return os.read(fd, limits.CHUNK)
        except BlockingIOError:  # another reader was faster
            continue


def _refuse_binary(head: bytes, name: str) -> None:
    """Stops at the first chunk: /dev/zero and disk images need not be read to the limit."""
    if looks_binary(head) and head[:2] not in UTF16 and packing(head) is None and not begins_as_message(head):
        raise binary(name)


def packing(data: bytes) -> str | None:
    """What evidence/archive.py calls this; it is imported only where the first bytes leave a chance.

    The magic numbers begin with one of these five bytes; a tar header always holds NULs.
    """
    head = data[:512]
    if head[:1] not in (b"\x1f", b"B", b"\xfd", b"(", b"P") and b"\0" not in head:
        return None
    from gputopo.evidence.archive import archive_kind

    return archive_kind(head)


def binary(name: str) -> GputopoError:
    return GputopoError("this is binary, not a text", name, "gputopo formats lists what can be read")


def _too_large(name: str, most: int) -> GputopoError:
    return GputopoError(f"more than {most // limits.MIB} MiB", name, "give the part with the topology in it")


def cannot_open(error: OSError, name: str) -> NoReturn:
    """An operating system error as one line."""
    hints = {
        "FileNotFoundError": "check the path; gputopo formats --samples lists the shipped samples",
        "PermissionError": f"read it as a user who may: sudo cat {name} | gputopo -",
    }
    what = (error.strerror or str(error)).lower()
    if isinstance(error, FileNotFoundError):
        what = "no such file or folder"
    raise GputopoError(what, name, hints.get(type(error).__name__, "")) from error
