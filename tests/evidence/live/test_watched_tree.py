"""A file that a hanging driver holds up costs its time once, and only the files of that driver."""

from __future__ import annotations

import os
import time

import pytest

from gputopo.evidence.live.watched_tree import WatchedTree
from gputopo.evidence.tree import FolderTree
from tests.machines import Spelled

INFORMATION = "proc/driver/nvidia/gpus/0000:0f:00.0/information"


@pytest.fixture
def root(spelled: Spelled) -> str:
    return str(spelled("hgx-h100")["sysfs-root"])


def hanging(root: str, *words: str) -> WatchedTree:
    plain = FolderTree(root)

    def read(place: str) -> bytes | None:
        if any(word in place for word in words):
            time.sleep(60)
        return plain._content(place)

    return WatchedTree(root, time.monotonic() + 0.3, read)


def test_a_healthy_tree_reads_as_any_other(root: str) -> None:
    plain, watched = FolderTree(root), WatchedTree(root, time.monotonic() + 10)
    paths = [INFORMATION, "proc/driver/nvidia/version", "proc/driver/nvidia/gpus/none/information",
             "sys/class/infiniband/mlx5_0/ports/1/rate", "sys/class/net/ens8np0/speed", "proc/cpuinfo"]  # fmt: skip
    assert [watched.read(path) for path in paths] == [plain.read(path) for path in paths]
    assert plain.read(INFORMATION)
    assert watched.stuck == {}
    watched.close()


def test_a_hanging_file_is_absent_and_named_and_its_kind_is_not_tried_again(root: str) -> None:
    tree = hanging(root, "driver/nvidia")
    start = time.monotonic()
    assert tree.read(INFORMATION) is None
    assert tree.read("proc/driver/nvidia/version") is None
    assert time.monotonic() - start < 2
    assert tree.read("sys/class/infiniband/mlx5_0/ports/1/rate") == b"400 Gb/sec (4X)\n"
    assert tree.read("proc/cpuinfo")
    assert tree.stuck == {"the NVIDIA driver": INFORMATION}
    tree.close()


def test_each_kind_has_its_own_chance(root: str) -> None:
    tree = hanging(root, "driver/nvidia", "/ports/")
    start = time.monotonic()
    for path in (INFORMATION, "sys/class/infiniband/mlx5_0/ports/1/rate", "sys/class/infiniband/mlx5_1/ports/1/rate"):
        assert tree.read(path) is None
    assert time.monotonic() - start < 3
    assert sorted(tree.stuck) == ["InfiniBand", "the NVIDIA driver"]
    tree.close()


def test_a_reader_that_dies_is_a_file_that_did_not_come(root: str) -> None:
    def read(place: str) -> bytes | None:
        os._exit(1)

    tree = WatchedTree(root, time.monotonic() + 10, read)
    start = time.monotonic()
    assert tree.read(INFORMATION) is None
    assert time.monotonic() - start < 5
    assert tree.stuck


def test_no_process_is_started_where_nothing_can_hang(root: str) -> None:
    tree = WatchedTree(root, time.monotonic() + 10)
    assert tree.read("proc/cpuinfo")
    assert tree._reader._pid == 0
