"""A job's log is read line by line, whatever it is packed in and however large it is."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import tracemalloc
from pathlib import Path

import pytest

from gputopo.errors import GputopoError
from gputopo.evidence.log_lines import LINE_MOST, log_lines

TEXT = "node-a:7:7 [0] NCCL INFO Bootstrap : Using eth0\nzwölf\n\nthe last line has no end"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.encode("utf-16"),
        gzip.compress(TEXT.encode()),
        bz2.compress(TEXT.encode()),
        lzma.compress(TEXT.encode()),
    ],
    ids=["plain", "utf-8 mark", "utf-16", "gzip", "bzip2", "xz"],
)
def test_lines_of_a_file_and_of_a_pipe(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    path.write_bytes(data)
    assert list(log_lines(str(path))) == TEXT.split("\n")
    out, into = os.pipe()
    os.write(into, data)
    os.close(into)
    try:
        assert list(log_lines("-", stdin=out)) == TEXT.split("\n")
    finally:
        os.close(out)


def test_what_is_no_log_is_refused_at_once(tmp_path: Path) -> None:
    for name, data, said in (
        ("a", b"", "empty"),
        ("b", bytes(600), "binary"),
        ("c", b"PK\x03\x04" + b"a" * 600, "zip"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(GputopoError, match=said):
            log_lines(str(tmp_path / name))
    with pytest.raises(GputopoError, match="no such file"):
        log_lines(str(tmp_path / "none"))


def test_a_compressed_log_that_is_cut_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "job.log.gz"
    path.write_bytes(gzip.compress(os.urandom(3_000).hex().encode() + b"\n")[:-800])
    said: list[str] = []
    assert "".join(log_lines(str(path), warn=said.append))
    assert "cut" in said[0]


def test_memory_is_a_chunk_however_long_the_log_is(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    with path.open("wb") as file:
        for _ in range(12):
            file.write(b"node-a:7:7 [0] NCCL INFO Connected all rings\n" * 20_000 + b"x" * 3_000_000)
    tracemalloc.start()
    try:
        count = sum(1 for line in log_lines(str(path)) if len(line) <= LINE_MOST + (1 << 20) + 100)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 12 * 20_000 + 1
    assert peak < 12_000_000
