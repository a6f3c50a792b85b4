"""`gputopo inspect` in a process of its own, with its memory and time: how hostile input must end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import monotonic
from typing import NamedTuple

MEMORY_MOST = 300_000  # KB
SECONDS_MOST = 20.0  # a text of 32 MiB takes 3 s on one core; machines that test are busy

# VmHWM is this program's own peak; ru_maxrss counts the parent's memory at fork too.
_CHILD = """
import sys
from gputopo.cli import run
code = run(sys.argv[2:])
with open(sys.argv[1], "w") as out:
    try:
        out.write(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:")))
    except OSError:
        import resource
        out.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
sys.exit(code)
"""


class Ended(NamedTuple):
    code: int
    out: str
    err: str
    kilobytes: int
    seconds: float


def inspect(*arguments: object, note: Path, **more: object) -> Ended:
    """Run it; `note` is a folder for the figure of its memory."""
    start = monotonic()
    figure = note / "peak"
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(figure), "inspect", *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=60, **more,  # type: ignore[call-overload]
    )  # fmt: skip
    kilobytes = int(figure.read_text())
    return Ended(done.returncode, done.stdout, done.stderr, kilobytes, monotonic() - start)


def refused(ended: Ended) -> str:
    """The one line of a refusal, after everything that a refusal must be was looked at."""
    assert ended.code == 2, ended
    assert ended.out == ""
    lines = [line for line in ended.err.splitlines() if not line.startswith(("hint: ", "gputopo: skipped "))]
    assert len(lines) == 1, ended.err
    assert lines[0].startswith("gputopo: error: ")
    assert "internal error" not in lines[0]
    assert all(line.isprintable() for line in ended.err.splitlines())
    in_bounds(ended)
    return lines[0].removeprefix("gputopo: error: ")


def in_bounds(ended: Ended) -> None:
    assert ended.kilobytes < MEMORY_MOST, f"{ended.kilobytes // 1000} MB"
    assert ended.seconds < SECONDS_MOST, f"{ended.seconds:.1f} s"
