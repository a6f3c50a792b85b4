"""The processes that compute on the GPUs of this node: the driver's list of them, and /proc to look at each.

`numa_maps` and `environ` of a process take a lock of its memory. A process that hangs in a driver may hold it, and
then the reader would sleep with it: they are read as files that may hang (watched_tree.py), each process for itself.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from gputopo.evidence import limits
from gputopo.evidence.live.ask_driver import Answer, ask_processes
from gputopo.evidence.live.driver import libraries
from gputopo.evidence.live.watched_tree import Read, WatchedTree
from gputopo.evidence.tree import FolderTree

_LOCKED = ("numa_maps", "environ")
_FILES = 1.0  # s, for the files after the driver has used up its time


class Reading(NamedTuple):
    """What parsers/gpu_processes.py takes. `answer` may be trouble; `proc` has a folder for each process."""

    answer: Answer
    proc: ProcTree
    root: FolderTree


def read(
    proc: str = "/proc",
    root: str = "/",
    driver_root: str | None = None,
    timeout: float = 10.0,
    *,
    slow: Callable[[], object] = lambda: None,
) -> Reading:
    """`proc`: another /proc, `/host/proc`, whose process ids the driver must be telling; `root` has the control groups.

    Files that a process holds up are waited for until 1 s after `timeout`. `slow` is called once when it takes 2 s.
    """
    tree = ProcTree(proc, monotonic() + timeout + _FILES)
    answer = ask_processes(libraries(root, driver_root), timeout, slow=slow)
    return Reading(answer, tree, FolderTree(root))


class ProcTree(WatchedTree):
    """/proc, or a copy of it."""

    __slots__ = ()

    def __init__(self, root: str, until: float, read: Read | None = None) -> None:
        super().__init__(root, until, read or _whole(FolderTree(root).root))

    def _waits_for(self, place: str) -> str:
        pid, _, name = place.partition("/")
        return f"process {pid}" if name in _LOCKED else ""


def _whole(root: str) -> Read:
    """A line for each of thousands of mappings is more than what a tree hands out of other files."""

    def read(place: str) -> bytes | None:
        try:
            file = os.open(f"{root}/{place}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        try:
            return _to_the_end(file) if stat.S_ISREG(os.fstat(file).st_mode) else None
        except OSError:  # the process has ended
            return None
        finally:
            os.close(file)

    return read


def _to_the_end(file: int) -> bytes | None:
    parts, left = [], limits.TEXT_BYTES
    while part := os.read(file, 1 << 16):
        parts.append(part)
        left -= len(part)
        if left < 0:
            return None
    return b"".join(parts)
