"""One case under limits: read or refused within 2 s and 300 MB, or a failure with its place."""

from __future__ import annotations

import resource
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time
from typing import Any, NamedTuple

from fuzz.targets import REFUSALS, Target

CPU_SECONDS = 2.0
PEAK_KILOBYTES = 300_000
_ADDRESS_SPACE = 1 << 30
_GIVE_UP = 10.0  # CPU seconds after which a case is ended


class Failure(NamedTuple):
    """`where` tells two failures apart: what was raised, at which line of ours."""

    where: str
    what: str


class _TooSlow(BaseException):
    """Not an Exception: no parser may catch it."""


def limit_this_process() -> None:
    """From here on, memory past 1 GiB is a MemoryError and a case may be ended."""
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    signal.signal(signal.SIGPROF, _too_slow)


def _too_slow(*_: object) -> None:
    raise _TooSlow


def peak_kilobytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def judge(target: Target, case: Any, further: bool) -> tuple[Failure | None, bool]:
    """What is wrong with a case, and whether it was read (not refused)."""
    peak = peak_kilobytes()
    start = process_time()
    read = False
    try:
        with _ended_after(_GIVE_UP):
            target.run(case, further)
        read = True
    except REFUSALS as refusal:
        if "\n" in str(refusal.args[0] if refusal.args else ""):
            return Failure(f"refusal of several lines: {_place(refusal)}", str(refusal)), False
    except _TooSlow as error:
        return Failure(f"slow: {_place(error)}", f"more than {_GIVE_UP:g} s of CPU"), False
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return Failure(f"{type(error).__name__}: {_place(error)}", str(error)[:300]), False
    spent = process_time() - start
    if spent > CPU_SECONDS:
        return Failure(f"slow: {target.name}", f"{spent:.1f} s of CPU"), read
    if peak_kilobytes() > max(PEAK_KILOBYTES, peak):
        return Failure(f"memory: {target.name}", f"{peak_kilobytes() // 1000} MB"), read
    return None, read


@contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _place(error: BaseException) -> str:
    """The innermost line of ours, by function: line numbers change."""
    place = "?"
    for frame in traceback.extract_tb(error.__traceback__):
        folder, found, file = frame.filename.rpartition("/gputopo/")
        if found or ("/fuzz/" in folder + file and frame.filename != __file__):
            place = f"{file.rpartition('/fuzz/')[2]} {frame.name}"
    return place
