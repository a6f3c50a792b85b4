"""Whether a program behind a unix socket speaks HTTP/2, as every gRPC server does: its first frame is SETTINGS.

The client begins with the connection preface and a SETTINGS frame of its own (RFC 9113, 3.4). A frame is 9 bytes of
head: 3 of length, type (SETTINGS is 4), flags, 4 of stream.
"""

from __future__ import annotations

import os
import socket
from time import monotonic, sleep

SETTINGS = "settings"
NOTHING = "nothing"  # nothing came in time, or nobody takes the connection
NOT_HTTP2 = "not-http2"

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_HEAD = 9
_SETTINGS_TYPE = 4
_AGAIN = 0.02  # s, until a full queue of connections is tried again
LONGEST_PATH = 107  # bytes of sockaddr_un's path


def first_frame(path: str, seconds: float) -> str:
    """Raises OSError where the socket cannot be connected to, ValueError for a path with a NUL."""
    end = monotonic() + seconds
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection, Short(path) as short:
        if not _connected(connection, short, end):
            return NOTHING
        try:
            connection.settimeout(max(end - monotonic(), 0.001))
            connection.sendall(_PREFACE)
            return _judged(connection, end)
        except TimeoutError:
            return NOTHING
        except OSError:  # closed by the other side, which did not like the preface
            return NOT_HTTP2


def _connected(connection: socket.socket, path: str, end: float) -> bool:
    connection.setblocking(False)
    while True:
        try:
            connection.connect(path)
            return True
        except BlockingIOError:  # its queue is full: whoever listens accepts nothing
            if monotonic() >= end:
                return False
            sleep(_AGAIN)


def _judged(connection: socket.socket, end: float) -> str:
    head = b""
    while len(head) < _HEAD:
        connection.settimeout(max(end - monotonic(), 0.001))
        part = connection.recv(_HEAD - len(head))
        if not part:
            return NOT_HTTP2
        head += part
        if head[:1] != b"\0":  # the length of a first frame is far below 65,536
            return NOT_HTTP2
    return SETTINGS if head[3] == _SETTINGS_TYPE else NOT_HTTP2


class Short:
    """A path that fits into a socket's address: a longer one is named through its folder's descriptor."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.folder: int | None = None

    def __enter__(self) -> str:
        if len(os.fsencode(self.path)) <= LONGEST_PATH:
            return self.path
        folder, name = os.path.split(self.path)
        self.folder = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"/proc/self/fd/{self.folder}/{name}"

    def __exit__(self, *_: object) -> None:
        if self.folder is not None:
            os.close(self.folder)
