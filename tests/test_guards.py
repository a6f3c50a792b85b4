"""Hostile input: one line and exit code 2, little memory, nothing written, no link followed out of a root."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.guarded import in_bounds, inspect, refused

TOPO = (
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNV4\t0-15\t0\t\tN/A\n"
    "GPU1\tNV4\t X \t0-15\t0\t\tN/A\n"
)
MIB = 1 << 20


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder for the input, in a folder that must hold nothing else afterwards."""
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    yield inside
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]
    assert {path.name for path in tmp_path.iterdir()} <= {"a", "peak"}


def packed_tar(entries: list[tuple[str, bytes, bytes | str]]) -> bytes:
    """(name, type, content or link target) → a tar."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, kind, said in entries:
            entry = tarfile.TarInfo(name)
            entry.type = kind
            if isinstance(said, str):
                entry.linkname = said
                archive.addfile(entry)
            else:
                entry.size = len(said)
                archive.addfile(entry, io.BytesIO(said))
    return out.getvalue()


# Bombs


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_text_that_never_ends(pack: Callable[[bytes], bytes], place: Path, tmp_path: Path) -> None:
    """Several streams one after another are one text."""
    (place / "bomb").write_bytes(pack(b"GPU0 X \n" * (MIB // 8)) * 40)
    said = refused(inspect(place / "bomb", note=tmp_path))
    assert "unpacks to more than 32 MiB" in said or "it expands to more than" in said


def test_zeros_without_end_in_gzip(place: Path, tmp_path: Path) -> None:
    with gzip.open(place / "bomb", "wb", 9) as out:
        for _ in range(300):
            out.write(bytes(MIB))
    refused(inspect(place / "bomb", note=tmp_path))


def test_gzip_in_gzip_is_opened_once(place: Path, tmp_path: Path) -> None:
    data = TOPO.encode()
    for _ in range(20):
        data = gzip.compress(data)
    (place / "nested.gz").write_bytes(data)
    assert "binary" in refused(inspect(place / "nested.gz", note=tmp_path))


def test_a_zip_bomb(place: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(place / "bomb.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(120):
            archive.writestr(f"topo{number}.txt", b"GPU0 X \n" * (MIB // 8))
    assert "more than" in refused(inspect(place / "bomb.zip", note=tmp_path))


def test_a_zip_whose_members_overlap(place: Path, tmp_path: Path) -> None:
    """Many names in the directory for one piece of data, as in David Fifield's bomb."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("topo.txt", bytes(MIB))
        [entry] = archive.infolist()
        for number in range(500):
            copy = zipfile.ZipInfo(f"topo{number}.txt")
            for field in ("header_offset", "compress_size", "file_size", "CRC", "compress_type"):
                setattr(copy, field, getattr(entry, field))
            archive.filelist.append(copy)
    (place / "overlap.zip").write_bytes(out.getvalue())
    refused(inspect(place / "overlap.zip", note=tmp_path))


def test_a_tar_of_one_huge_member(place: Path, tmp_path: Path) -> None:
    header = tarfile.TarInfo("node/sys/devices/x")
    header.size = 1 << 40
    with gzip.open(place / "bomb.tgz", "wb", 1) as out:
        out.write(header.tobuf(tarfile.GNU_FORMAT))
        for _ in range(300):
            out.write(bytes(MIB))
    assert "archive refused" in refused(inspect(place / "bomb.tgz", note=tmp_path))


def test_a_tar_of_too_many_members(place: Path, tmp_path: Path) -> None:
    block = tarfile.TarInfo("node/sys/devices/x").tobuf(tarfile.USTAR_FORMAT)
    (place / "many.tgz").write_bytes(gzip.compress(block * 100_001, 1))
    assert "more than 100,000 members" in refused(inspect(place / "many.tgz", note=tmp_path))


def test_a_tar_of_as_many_members_as_are_allowed(place: Path, tmp_path: Path) -> None:
    blocks = b"".join(_empty_file(f"node/sys/devices/d{number // 300}/f{number}") for number in range(99_990))
    (place / "many.tgz").write_bytes(gzip.compress(blocks + bytes(1024), 1))
    ended = inspect(place / "many.tgz", note=tmp_path)
    assert ended.code in (0, 2)
    assert "internal error" not in ended.err
    in_bounds(ended)


def _empty_file(name: str) -> bytes:
    """As `TarInfo(name).tobuf()`, ten times as fast."""
    said = name.encode()
    return said + _REST[len(said) : 148] + b"%06o" % (_SUM + sum(said)) + _REST[154:]


_REST = tarfile.TarInfo("").tobuf(tarfile.USTAR_FORMAT)
_SUM = int(_REST[148:154], 8)


def test_an_archive_of_texts_that_are_each_refused(place: Path, tmp_path: Path) -> None:
    """What one of them took is given back before the next."""
    log = (TOPO.encode() * 9_000)[: MIB - 1]
    (place / "logs.tgz").write_bytes(
        gzip.compress(packed_tar([(f"log{number}", tarfile.REGTYPE, log) for number in range(20)]), 1)
    )
    ended = inspect(place / "logs.tgz", note=tmp_path)
    assert "nothing in this archive can be read" in refused(ended)
    assert "more than 1,000 outputs in one text" in ended.err
    assert ended.kilobytes < 100_000, "20 of them kept are more"


def test_bundles_of_a_folder_are_limited_together(place: Path, tmp_path: Path) -> None:
    manifest = b'{"gputopo": "bundle", "version": 1, "evidence": ["root"]}'
    bundle = [("manifest.json", tarfile.REGTYPE, manifest), ("root/sys/bus/online", tarfile.REGTYPE, b"0\n")]
    bundle += [(f"root/sys/class/x{number}", tarfile.REGTYPE, bytes(MIB)) for number in range(40)]
    packed = gzip.compress(packed_tar(bundle), 1)
    (place / "bundles").mkdir()
    for number in range(10):
        (place / "bundles" / f"{number}.tgz").write_bytes(packed)
    ended = inspect(place / "bundles", note=tmp_path)
    assert ended.err.count("the bundles of this folder hold more than 96 MiB") == 8
    in_bounds(ended)


def test_a_sparse_file(place: Path, tmp_path: Path) -> None:
    with (place / "sparse").open("wb") as out:
        out.truncate(1 << 30)
    assert "more than 32 MiB" in refused(inspect(place / "sparse", note=tmp_path))


# Names and links


def test_nothing_leaves_an_archive(place: Path, tmp_path: Path) -> None:
    """`..`, absolute names, links out of it and devices: all are in, none is followed or written."""
    secret = tmp_path / "a" / "b" / "secret"
    secret.write_text("0-7\n")
    target = str(secret)
    node = "node/sys/devices/system/node/node0"
    (place / "evil.tar").write_bytes(
        packed_tar([
            ("../escaped", tarfile.REGTYPE, b"x"),
            ("node/../../escaped", tarfile.REGTYPE, b"x"),
            (str(tmp_path / "escaped"), tarfile.REGTYPE, b"x"),
            (f"{node}/cpulist", tarfile.SYMTYPE, target),
            (f"{node}/meminfo", tarfile.SYMTYPE, "../" * 40 + target[1:]),
            (f"{node}/distance", tarfile.LNKTYPE, target),
            ("node/sys/class", tarfile.SYMTYPE, "/"),
            ("node/sys/bus", tarfile.SYMTYPE, "bus"),
            ("node/sys/devices/zero", tarfile.CHRTYPE, ""),
            ("node/sys/devices/pipe", tarfile.FIFOTYPE, ""),
            ("node/sys/devices/system/node/online", tarfile.REGTYPE, b"0\n"),
        ])
    )  # fmt: skip
    ended = inspect(place / "evil.tar", "-o", "json", note=tmp_path)
    assert "0-7" not in ended.out
    assert "Traceback" not in ended.err
    in_bounds(ended)
    assert sorted(path.name for path in place.iterdir()) == ["evil.tar", "secret"]


def test_a_link_in_a_folder_does_not_lead_out_of_it(place: Path, tmp_path: Path) -> None:
    node = place / "root" / "sys" / "devices" / "system" / "node" / "node0"
    node.mkdir(parents=True)
    (node.parent / "online").write_text("0\n")
    secret = place / "secret"
    secret.write_text("40-47\n")
    (node / "cpulist").symlink_to(secret)
    (place / "root" / "sys" / "class").symlink_to("/sys/class")
    os.mkfifo(node / "distance")
    ended = inspect(place / "root", "-o", "json", note=tmp_path)
    assert "40-47" not in ended.out
    assert "Traceback" not in ended.err
    in_bounds(ended)


# Things that are no files


def test_a_pipe_that_says_nothing(place: Path, tmp_path: Path) -> None:
    os.mkfifo(place / "pipe")
    writer = os.open(place / "pipe", os.O_RDWR)
    try:
        ended = inspect(place / "pipe", "--timeout", "0.5", note=tmp_path)
    finally:
        os.close(writer)
    assert "nothing to read for 0.5 s" in refused(ended)


def test_a_pipe_without_a_writer(place: Path, tmp_path: Path) -> None:
    os.mkfifo(place / "pipe")
    assert "nothing to read" in refused(inspect(place / "pipe", "--timeout", "0.5", note=tmp_path))


def test_a_pipe_that_goes_silent(place: Path, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, TOPO[:40].encode())
    try:
        ended = inspect("-", "--timeout", "0.5", note=tmp_path, stdin=reader)
    finally:
        os.close(writer)
        os.close(reader)
    assert "nothing to read for 0.5 s" in refused(ended)


def test_the_output_of_a_command(place: Path, tmp_path: Path) -> None:
    (place / "topo.txt").write_text(TOPO)
    line = f'{sys.executable} -m gputopo inspect <(sleep 0.2; cat "{place / "topo.txt"}")'
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "GPU1" in done.stdout


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom"])
def test_a_device_that_never_ends(path: str, tmp_path: Path) -> None:
    assert "binary" in refused(inspect(path, note=tmp_path))


def test_a_device_that_is_empty(tmp_path: Path) -> None:
    assert "empty" in refused(inspect("/dev/null", note=tmp_path))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(place: Path, tmp_path: Path) -> None:
    (place / "topo.txt").write_text(TOPO)
    (place / "topo.txt").chmod(0)
    assert "permission denied" in refused(inspect(place / "topo.txt", note=tmp_path))


# A source that changes while it is read


def test_a_file_that_is_cut_while_it_is_read(place: Path, tmp_path: Path) -> None:
    _while_changing(place, tmp_path, lambda file: os.truncate(file, 5_000))


def test_a_file_that_grows_while_it_is_read(place: Path, tmp_path: Path) -> None:
    def grow(file: Path) -> None:
        with file.open("ab") as out:
            out.write(b"GPU0 X\n" * 100_000)

    _while_changing(place, tmp_path, grow)


def _while_changing(place: Path, tmp_path: Path, change: Callable[[Path], None]) -> None:
    file = place / "log.txt"
    file.write_bytes(b"noise of a log\n" * 200_000 + TOPO.encode())
    ending = threading.Event()

    def go_on() -> None:
        while not ending.wait(0.01) and file.stat().st_size < 20 * MIB:
            change(file)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        ended = inspect(file, note=tmp_path)
    finally:
        ending.set()
        thread.join()
    assert ended.code in (0, 2)
    assert "Traceback" not in ended.err
    assert "internal error" not in ended.err
    in_bounds(ended)
