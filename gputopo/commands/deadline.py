"""An end to a computation that has no clock of its own: what `--timeout` says, for one answer of many."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_EVERY = 0.5  # seconds


class TimeIsUp(BaseException):
    """No Exception: nothing on the way may take it for an error of its own."""


@contextmanager
def deadline(seconds: float, tick: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Raises TimeIsUp in the block after so many seconds; `tick` is called now and then before.

    Outside the main thread it never ends.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    end = time.monotonic() + seconds

    def look(number: int, frame: FrameType | None) -> None:
        if time.monotonic() >= end:
            raise TimeIsUp
        tick()

    step = min(seconds, _EVERY)
    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, step, step)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
