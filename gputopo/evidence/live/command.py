r"""Runs a command that may never end; the one place where the program starts another.

The command gets no input and none of our descriptors, so that one that cannot be killed (it sleeps in the kernel,
as a driver call to a GPU off the bus does) holds neither our terminal nor a pipe that our output goes to.

    >>> run(["echo", "hello"], 5.0)
    Done(output=b'hello\n', end='exited', status=0)
    >>> run(["sleep", "60"], 0.05).end
    'timeout'
    >>> run(["/no/such/command"], 5.0)
    Done(output=b'no such file or directory', end='not started', status=None)
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from select import select
from time import monotonic
from typing import NamedTuple

EXITED, TIMEOUT, TOO_LONG, NOT_STARTED = "exited", "timeout", "too much output", "not started"
MOST_BYTES = 64 << 20
PATIENCE = 2.0  # s, before the person is told why it takes so long
_CHUNK = 1 << 16
_TO_DIE = 0.3  # s, for a process that was killed


class Done(NamedTuple):
    output: bytes  # standard output as far as it came; why it was not started
    end: str
    status: int | None  # as in subprocess: negative = the signal; None: not started, or it cannot be killed


def run(
    command: Sequence[str],
    timeout: float,
    *,
    environment: Mapping[str, str] | None = None,
    most: int = MOST_BYTES,
    slow: Callable[[], object] = lambda: None,
) -> Done:
    """What the command printed, after at most `timeout` seconds (and 0.3 to die in).

    Its standard error goes nowhere. `slow` is called once, when it has taken 2 s.
    """
    end = monotonic() + timeout
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=None if environment is None else dict(environment),
            start_new_session=True,  # Ctrl-C is ours; and what it starts is killed with it
        )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        return Done(why.lower().encode(), NOT_STARTED, None)
    assert process.stdout is not None
    output = bytearray()
    how = EXITED
    try:
        how = _read(process.stdout.fileno(), output, end, most, slow)
        if how == EXITED and not _gone(process, max(0.0, end - monotonic())):
            how = TIMEOUT
    finally:
        status = _end(process)
        process.stdout.close()
    return Done(bytes(output), how, status)


def _read(fd: int, output: bytearray, end: float, most: int, slow: Callable[[], object]) -> str:
    hint_at = monotonic() + PATIENCE
    told = False
    while True:
        now = monotonic()
        if not told and now >= hint_at:
            slow()
            told = True
        if now >= end:
            return TIMEOUT
        ready, _, _ = select([fd], [], [], (end if told else min(end, hint_at)) - now)
        if ready:
            part = os.read(fd, _CHUNK)
            if not part:
                return EXITED
            output += part
            if len(output) > most:
                del output[most:]
                return TOO_LONG


def _end(process: subprocess.Popen[bytes]) -> int | None:
    """Kills what still runs, and waits for its end only as long as a process needs that can be killed."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
        _gone(process, _TO_DIE)
    return process.returncode


def _gone(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
