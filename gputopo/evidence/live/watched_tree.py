"""A live root in which no file can hold us up.

Most files of sysfs are the kernel's own and are there at once. Some ask a device or take a lock of its driver:
/proc/driver/nvidia waits for the NVIDIA driver, a port of an InfiniBand card for its firmware, `speed` of
a network card for its driver. When that hangs, the reader sleeps in the kernel and no signal wakes it. So these are
read by another process (a fork, made when the first one is read), which is left behind when it takes too
long; its file is then absent, and named in `stuck`. Files of the same kind are not tried again.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from select import select
from time import monotonic

from gputopo.evidence.tree import FolderTree

Read = Callable[[str], "bytes | None"]
_ABSENT = 0xFFFFFFFF
_LEAST = 0.2  # s, for a file even when the time is over: a healthy one takes microseconds


def may_hang(place: str) -> str:
    """What a file waits for, or "".

    >>> may_hang("proc/driver/nvidia/gpus/0000:0f:00.0/information")
    'the NVIDIA driver'
    >>> may_hang("sys/devices/pci0000:00/0000:01:00.0/infiniband/mlx5_0/ports/1/rate")
    'InfiniBand'
    >>> may_hang("sys/devices/pci0000:00/0000:01:00.0/numa_node")
    ''
    """
    if place.startswith("proc/driver/nvidia/"):
        return "the NVIDIA driver"
    if "/infiniband/" in place and "/ports/" in place:
        return "InfiniBand"
    if "/net/" in place and place.endswith("/speed"):
        return "network cards"
    return ""


class WatchedTree(FolderTree):
    """`stuck`: files that did not come, by what they wait for. `until`: the clock (monotonic) at which waiting ends."""

    __slots__ = ("_reader", "stuck", "until")

    def __init__(self, root: str, until: float, read: Read | None = None) -> None:
        super().__init__(root)
        self.until = until
        self.stuck: dict[str, str] = {}
        self._reader = _Reader(read or FolderTree(root)._content)

    def _waits_for(self, place: str) -> str:
        return may_hang(place)

    def _content(self, place: str) -> bytes | None:
        waits_for = self._waits_for(place)
        if not waits_for:
            return super()._content(place)
        if waits_for in self.stuck:
            return None
        try:
            return self._reader.read(place, max(_LEAST, self.until - monotonic()))
        except TimeoutError:
            self.stuck[waits_for] = place
            return None

    def close(self) -> None:
        self._reader.close()


class _Reader:
    """The other process: paths in, contents out."""

    __slots__ = ("_from", "_pid", "_read", "_to")

    def __init__(self, read: Read) -> None:
        self._read = read
        self._pid = 0

    def read(self, place: str, seconds: float) -> bytes | None:
        """Raises TimeoutError; the process is then given up."""
        if not self._pid:
            self._start()
        end = monotonic() + seconds
        try:
            os.write(self._to, place.encode("utf-8", "surrogateescape") + b"\0")
            size = int.from_bytes(self._receive(4, end), "little")
            return None if size == _ABSENT else self._receive(size, end)
        except OSError:  # TimeoutError is one; so is a pipe whose other end died
            self.close()
            raise TimeoutError(place) from None

    def _receive(self, size: int, end: float) -> bytes:
        parts = b""
        while len(parts) < size:
            ready, _, _ = select([self._from], [], [], max(0.0, end - monotonic()))
            part = os.read(self._from, size - len(parts)) if ready else b""
            if not part:
                raise TimeoutError
            parts += part
        return parts

    def _start(self) -> None:
        from_us, self._to = os.pipe()
        self._from, to_us = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            self._serve(from_us, to_us)
        os.close(from_us)
        os.close(to_us)

    def _serve(self, paths: int, answers: int) -> None:
        """In the child. Never returns: nothing of the parent may run twice."""
        try:
            os.close(self._to)
            os.close(self._from)
            nowhere = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):  # a reader that hangs must not keep the pipe open that our output goes to
                os.dup2(nowhere, fd)
            pending = b""
            while data := os.read(paths, 4096):
                *asked, pending = (pending + data).split(b"\0")
                for path in asked:
                    content = self._read(path.decode("utf-8", "surrogateescape"))
                    size = _ABSENT if content is None else len(content)
                    _send(answers, size.to_bytes(4, "little") + (content or b""))
        finally:
            os._exit(0)

    def close(self) -> None:
        """Lets the process go, and does not wait for one that cannot end."""
        if not self._pid:
            return
        os.close(self._to)
        os.close(self._from)
        with suppress(OSError):
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, os.WNOHANG)
        self._pid = 0


def _send(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
