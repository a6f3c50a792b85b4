"""A command that never ends costs its time and no more; one that cannot be killed is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gputopo.evidence.live import command
from gputopo.evidence.live.command import NOT_STARTED, TIMEOUT, TOO_LONG, Done, run


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


def test_what_was_printed_before_the_end_is_kept() -> None:
    done = run(python("import time; print('one', flush=True); time.sleep(60)"), 1.0)
    assert done == Done(b"one\n", TIMEOUT, -9)


def test_a_command_that_closes_its_output_and_stays_is_ended() -> None:
    start = time.monotonic()
    done = run(python("import os, time; os.close(1); time.sleep(60)"), 0.5)
    assert (done.end, done.status) == (TIMEOUT, -9)
    assert time.monotonic() - start < 5


def test_its_children_end_with_it(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    done = run(["sh", "-c", f"sleep 60 & echo $! > {marker}; wait"], 0.5)
    assert done.end == TIMEOUT
    child = int(marker.read_text())
    for _ in range(100):
        state = Path(f"/proc/{child}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            break
        time.sleep(0.02)
    else:
        pytest.fail("the child of the command still runs")


def test_endless_output_is_cut() -> None:
    done = run(["yes"], 20.0, most=100_000)
    assert (done.end, len(done.output)) == (TOO_LONG, 100_000)


def test_it_reads_nothing_of_ours_and_says_nothing_on_our_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["sh", "-c", "cat; echo err >&2; echo out"], 10.0).output == b"out\n"
    assert capfd.readouterr() == ("", "")


def test_a_status_and_an_environment() -> None:
    assert run(["/bin/sh", "-c", "echo $WORD; exit 7"], 10.0, environment={"WORD": "a"}) == Done(b"a\n", "exited", 7)
    assert run(["\0"], 1.0).end == NOT_STARTED


def test_a_slow_command_is_announced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "PATIENCE", 0.1)
    said: list[str] = []
    run(["sleep", "60"], 0.4, slow=lambda: said.append("slow"))
    assert said == ["slow"]
    run(["true"], 5.0, slow=lambda: said.append("again"))
    assert said == ["slow"]


def test_one_that_cannot_be_killed_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in a driver call sleeps through SIGKILL; here the signal is not sent at all."""
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def kept(*arguments: object, **settings: object) -> subprocess.Popen[bytes]:
        started.append(real(*arguments, **settings))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", kept)
    monkeypatch.setattr(os, "killpg", lambda *ids: None)
    start = time.monotonic()
    assert run(["sleep", "30"], 0.2) == Done(b"", TIMEOUT, None)
    assert time.monotonic() - start < 2
    monkeypatch.undo()
    started[0].kill()
    started[0].wait()
