"""A line of progress is for a person who waits: on a terminal, after two seconds, and gone at the end."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from gputopo.commands import progress
from gputopo.commands.deadline import TimeIsUp, deadline
from gputopo.commands.progress import Progress
from tests.allocate.dra.worlds import claim, device, request, slice_


class Terminal(io.StringIO):
    """Where a person looks. `lines`: what stood there, one after another."""

    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.getvalue().split("\r")]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_after_two_seconds_with_the_rate_and_then_gone(clock: list[float]) -> None:
    screen = Terminal()
    with Progress("reading", unit="nodes", total=1000, stream=screen) as shown:
        for _ in range(20):
            clock[0] += 0.125
            shown.step(10)
    assert screen.lines == [
        "", "gputopo: reading: 160 of 1,000 nodes, 80/s", "gputopo: reading: 180 of 1,000 nodes, 80/s",
        "gputopo: reading: 200 of 1,000 nodes, 80/s", "", "",
    ]  # fmt: skip
    assert screen.getvalue().endswith("\r" + " " * len("gputopo: reading: 200 of 1,000 nodes, 80/s") + "\r")


@pytest.mark.parametrize("quiet", [True, False])
def test_nothing_in_a_pipe_nor_with_q_nor_before_two_seconds(clock: list[float], quiet: bool) -> None:
    pipe, screen, early = io.StringIO(), Terminal(), Terminal()
    for stream, silent, waited in ((pipe, quiet, 9.0), (screen, True, 9.0), (early, False, 1.9)):
        with Progress("reading", stream=stream, quiet=silent) as shown:
            clock[0] += waited
            shown.step()
        assert stream.getvalue() == ""


def test_it_is_gone_after_an_error_too(clock: list[float]) -> None:
    screen = Terminal()

    def interrupted() -> None:
        with Progress("reading\x1b[2J", stream=screen) as shown:
            clock[0] += 5
            shown.step()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "\x1b" not in screen.getvalue()
    assert screen.getvalue().endswith("\r")


def test_a_terminal_that_went_away_is_no_error(clock: list[float]) -> None:
    class Gone(Terminal):
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

    with Progress("reading", stream=Gone()) as shown:
        clock[0] += 5
        shown.step()


def test_a_deadline_ends_what_has_no_clock() -> None:
    ticks = []

    def busy() -> None:
        with deadline(0.7, lambda: ticks.append(1)):
            while True:
                pass

    with pytest.raises(TimeIsUp):
        busy()
    assert len(ticks) == 1
    with deadline(5):
        pass


SEARCH = """
import sys
from gputopo.commands import progress
progress._AFTER = 0.0
from gputopo.cli import run
sys.exit(run(sys.argv[1:]))
"""


def test_a_long_search_of_dra_counts_its_steps_on_a_terminal(tmp_path: Path) -> None:
    def wants(x: int, y: int) -> list[dict[str, object]]:
        return [{"counterSet": "set", "counters": {"x": {"value": str(x)}, "y": {"value": str(y)}}}]

    def put(name: str, kind: str, *items: dict[str, object]) -> str:
        path = tmp_path / name
        objects = [{"apiVersion": "resource.k8s.io/v1", "kind": kind, **one} for one in items]
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        return str(path)

    counters = [{"name": "set", "counters": {"x": {"value": "15"}, "y": {"value": "15"}}}]
    devices = [device(f"d{at}", consumesCounters=wants(3, 1) if at % 2 else wants(1, 3)) for at in range(60)]
    arguments = [
        "allocate", "dra", "--claim", put("claims", "ResourceClaim", claim("c", [request("r", 8)])),
        "--slices", put("slices", "ResourceSlice", slice_("c", [], slices=2, sharedCounters=counters),
                        slice_("s", devices, slices=2)),
        "--classes", put("classes", "DeviceClass", {"metadata": {"name": "any"}, "spec": {}}), "--timeout", "1.5",
    ]  # fmt: skip
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", SEARCH, *arguments], stdout=subprocess.PIPE, stderr=theirs, timeout=60, check=False
    )
    os.close(theirs)
    said = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.returncode == 3
    assert "gputopo: searching: " in said
    assert " steps, " in said
    assert "/s; --timeout ends it after 1.5 s" in said
    assert said.split("\r")[-2].strip() == ""
    assert b"--timeout ended the search" in done.stdout
