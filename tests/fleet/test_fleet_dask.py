"""The same two functions on a Dask cluster: the same bytes, also where a worker is killed while it reads."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gputopo.cli import run
from gputopo.fleet.here import chunked
from gputopo.fleet.on_dask import in_cluster
from tests.fleet.planted import write
from tests.fleet.test_fleet_verb import deadly, given_up

distributed = pytest.importorskip("distributed", reason="needs the extra [dask]")
NODES = 120


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    dask = pytest.importorskip("dask")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),  # by default three, each takes a worker
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A fleet, and its document as this process makes it."""
    folder = tmp_path_factory.mktemp("dask")
    write(folder / "fleet", NODES)
    return folder / "fleet", asked(folder / "fleet", folder / "alone.json", "--workers", "1")


def asked(fleet: Path, out: Path, *arguments: str) -> str:
    code = run(["fleet", str(fleet), "-o", "json", "--output-file", str(out), "--fail-on", "never", *arguments])
    assert code == 0
    return out.read_text()


def test_a_cluster_of_two_gives_the_same_bytes(cluster: Any, alone: tuple[Path, str], tmp_path: Path) -> None:
    fleet, expected = alone
    assert asked(fleet, tmp_path / "o.json", "--scheduler", cluster.scheduler_address) == expected


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(
    cluster: Any, alone: tuple[Path, str], tmp_path: Path
) -> None:
    fleet, expected = alone
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        pids = client.run(os.getpid)
    killed: list[int] = []
    state = tmp_path / "state"

    def kill() -> None:
        while not state.exists() or '{"task"' not in state.read_text():
            time.sleep(0.01)
        killed.append(state.read_text().count('{"task"'))
        os.kill(next(iter(pids.values())), signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    got = asked(fleet, tmp_path / "o.json", "--scheduler", cluster.scheduler_address, "--state", str(state))
    killer.join(10)
    assert got == expected
    assert 0 < killed[0] < NODES  # it was in the middle
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=30)
        assert set(client.run(os.getpid).values()) != set(pids.values())


def test_what_kills_every_worker_is_given_up_by_name(cluster: Any) -> None:
    answers = in_cluster(deadly, chunked(range(6, 10), 2), cluster.scheduler_address, 10.0, given_up)
    found = sorted(answer for _, some in answers for answer in some)
    assert found == [(6, "read"), (7, "given up"), (8, "read"), (9, "read")]


def test_no_scheduler_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["fleet", "sample:dgx2", "--scheduler", "tcp://127.0.0.1:9", "--timeout", "1"])
    err = capsys.readouterr().err
    assert code == 2
    assert "gputopo: error: no Dask scheduler answers (tcp://127.0.0.1:9)" in err
