"""What users name, and what becomes of it: pieces, or one line that names the path."""

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
from collections.abc import Callable
from pathlib import Path

import pytest

from gputopo.errors import GputopoError
from gputopo.evidence import limits
from gputopo.evidence.open import open_sources
from gputopo.evidence.piece import Piece

TEXT = "GPU0\t X \t0-15\n"


def opened(*specs: object, **more: object) -> tuple[Piece, ...]:
    return open_sources([str(spec) for spec in specs], timeout=0.3, **more)  # type: ignore[arg-type]


def refused(spec: object, **more: object) -> GputopoError:
    with pytest.raises(GputopoError) as caught:
        opened(spec, **more)
    assert caught.value.exit_code == 2
    assert "\n" not in caught.value.what + caught.value.where + caught.value.hint
    return caught.value


def why_not(text: str) -> str:
    return "" if "GPU0" in text else "of no known format"


def tar_of(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def zip_of(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "two gzip streams": lambda data: gzip.compress(data[:5]) + gzip.compress(data[5:]),
}


@pytest.mark.parametrize("packer", PACKERS)
def test_a_text_is_unpacked_whatever_its_name(packer: str, tmp_path: Path) -> None:
    file = tmp_path / "picture.png"
    file.write_bytes(PACKERS[packer](TEXT.encode()))
    assert opened(file) == (Piece(str(file), data=TEXT.encode()),)


ARCHIVES = [(zip_of, "plain"), *((tar_of, packer) for packer in PACKERS)]


@pytest.mark.parametrize(("pack", "packer"), ARCHIVES)
def test_an_archive_of_texts_gives_each(pack: Callable[[dict[str, bytes]], bytes], packer: str, tmp_path: Path) -> None:
    file = tmp_path / "texts"
    file.write_bytes(PACKERS[packer](pack({"a/topo.txt": TEXT.encode(), "a/b.gz": gzip.compress(b"CPU(s)")})))
    assert {(piece.where, piece.data) for piece in opened(file)} == {
        ("a/topo.txt", TEXT.encode()),
        ("a/b.gz", b"CPU(s)"),
    }


@pytest.mark.parametrize("inside", ["", "node-7/", "fsroot/", "node-7/fsroot/"])
@pytest.mark.parametrize("packer", ["plain", "xz"])
def test_a_captured_machine_is_a_tree(inside: str, packer: str, tmp_path: Path) -> None:
    file = tmp_path / "capture"
    file.write_bytes(PACKERS[packer](tar_of({f"{inside}sys/devices/system/cpu/online": b"0-7\n"})))
    [piece] = opened(file)
    assert piece.tree is not None
    assert piece.tree.read("sys/devices/system/cpu/online") == b"0-7\n"
    folder = tmp_path / "folder" / inside / "sys"
    folder.mkdir(parents=True)
    [piece] = opened(tmp_path / "folder")
    assert piece.tree is not None
    assert piece.tree.names("sys") == ()


def test_two_captures_in_one_folder_are_two_trees_and_texts_beside_them_are_read(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name / "sys").mkdir(parents=True)
    (tmp_path / "topo.txt").write_text(TEXT)
    (tmp_path / "README").write_text("notes")
    messages: list[str] = []
    pieces = opened(tmp_path, why_not=why_not, warn=messages.append)
    assert [piece.where for piece in pieces] == ["a", "b", "topo.txt"]
    assert messages == []


def test_a_folder_of_texts_keeps_what_is_evidence_and_says_what_not(tmp_path: Path) -> None:
    (tmp_path / "one" / "two" / "three").mkdir(parents=True)
    (tmp_path / "topo.txt").write_text(TEXT)
    (tmp_path / "one" / "two" / "deep.txt").write_text(TEXT)
    (tmp_path / "one" / "two" / "three" / "too-deep.txt").write_text(TEXT)
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)))
    (tmp_path / "prose.txt").write_text("meeting at noon")
    (tmp_path / "empty.txt").touch()
    (tmp_path / ".hidden").write_text(TEXT)
    os.mkfifo(tmp_path / "pipe")
    messages: list[str] = []
    pieces = opened(tmp_path, why_not=why_not, warn=messages.append)
    assert [piece.where for piece in pieces] == ["topo.txt", "one/two/deep.txt"]
    assert sorted(message.rpartition("/")[2].split(": ", 1)[1] for message in messages) == [
        "noise.bin: this is binary, not a text",
        "prose.txt: of no known format",
    ]


def test_a_folder_with_too_many_files_is_read_in_part_and_says_so(tmp_path: Path) -> None:
    for number in range(limits.FOLDER_FILES + 5):
        (tmp_path / f"{number:04}.txt").write_text(TEXT)
    messages: list[str] = []
    assert len(opened(tmp_path, warn=messages.append)) == limits.FOLDER_FILES
    assert len(messages) == 1


@pytest.mark.parametrize(
    ("data", "text", "notes"),
    [
        (b"\xef\xbb\xbfGPU0", "GPU0", 0),
        ("GPU0 →".encode("utf-16"), "GPU0 →", 0),
        ("GPU0 →".encode("utf-16-be"), None, 0),
        (b"\xfe\xff" + "GPU0 →".encode("utf-16-be"), "GPU0 →", 0),
        (b"f\xfcr GPU0", "für GPU0", 1),
        ("für GPU0".encode(), "für GPU0", 0),
        (b"\x1b[4mGPU0\x1b[0m\r\n", "\x1b[4mGPU0\x1b[0m\r\n", 0),
        (b"GPU0\0GPU1", None, 0),
        (b"\x01\x02\x03\x04\x05\x06", None, 0),
    ],
)
def test_encodings(data: bytes, text: str | None, notes: int, tmp_path: Path) -> None:
    file = tmp_path / "topo.txt"
    file.write_bytes(data)
    messages: list[str] = []
    if text is None:
        assert "binary" in refused(file).what
        return
    assert opened(file, warn=messages.append) == (Piece(str(file), data=text.encode()),)
    assert len(messages) == notes


@pytest.mark.parametrize("data", [b"", b" \n\t\n", gzip.compress(b"", mtime=0), b"\xef\xbb\xbf"])
def test_an_empty_file_is_an_error(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "topo.txt"
    file.write_bytes(data)
    error = refused(file)
    assert "empty" in error.what
    assert error.where == str(file)


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    error = refused(tmp_path / "nope")
    assert (error.what, error.where) == ("no such file or folder", str(tmp_path / "nope"))
    assert error.hint
    assert refused("name\0with NUL").what
    assert refused("a" * 5000).what
    (tmp_path / "loop").symlink_to("loop")
    assert refused(tmp_path / "loop").where == str(tmp_path / "loop")


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    assert "nothing in this folder" in refused(tmp_path).what


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Played, since root may read everything."""
    (tmp_path / "topo.txt").write_text(TEXT)

    def refuse(*args: object, **more: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", refuse)
    monkeypatch.setattr("os.scandir", refuse)
    for path in (tmp_path / "topo.txt", tmp_path):
        error = refused(path)
        assert (error.what, error.where) == ("permission denied", str(path))
        assert "sudo" in error.hint


def test_a_silent_pipe_ends_by_the_timeout(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "nothing to read for 0.3 s" in refused(pipe).what


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(TEXT * 10_000))
    writer.start()
    [piece] = opened(pipe)
    writer.join()
    assert piece.data == TEXT.encode() * 10_000


def test_a_descriptor_and_standard_input() -> None:
    for spec in ("/dev/fd/{}", "-"):
        read, write = os.pipe()
        os.write(write, TEXT.encode())
        os.close(write)
        [piece] = opened(spec.format(read), stdin=read)
        os.close(read)
        assert piece.data == TEXT.encode()


def test_standard_input_that_is_closed_or_wanted_twice() -> None:
    assert refused("-").where == "-"
    with pytest.raises(GputopoError):
        opened("-", "-", stdin=0)


def test_a_device_that_never_ends() -> None:
    assert "binary" in refused("/dev/zero").what


def test_a_packed_bomb(tmp_path: Path) -> None:
    file = tmp_path / "bomb.gz"
    with gzip.open(file, "wb", 1) as out:
        for _ in range(70):
            out.write(b"GPU0 " * 210_000)
    assert "32 MiB" in refused(file).what


def test_damaged_packing(tmp_path: Path) -> None:
    file = tmp_path / "topo.gz"
    file.write_bytes(gzip.compress(TEXT.encode())[:11])
    assert "damaged" in refused(file).what


def test_an_archive_in_an_archive_is_skipped(tmp_path: Path) -> None:
    file = tmp_path / "nested.tar"
    file.write_bytes(tar_of({"inner.zip": zip_of({"topo.txt": TEXT.encode()}), "topo.txt": TEXT.encode()}))
    messages: list[str] = []
    assert [piece.where for piece in opened(file, warn=messages.append)] == ["topo.txt"]
    assert len(messages) == 1


def test_unknown_samples_get_the_nearest(tmp_path: Path) -> None:
    pytest.importorskip("gputopo.sample_files")
    assert "hgx-h100" in refused("sample:hgx-h10").hint
    assert opened("sample:hgx-h100")[0].name == "sample:hgx-h100"


# Not ru_maxrss: a child begins with the peak of the process that started it.
HUGE = """
import sys
from gputopo.cli import run
code = run([sys.argv[1]])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
sys.exit(code)
"""


@pytest.mark.parametrize("kind", ["sparse", "/dev/zero", "bomb"])
def test_memory_stays_below_300_mb(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "huge"
    if kind == "sparse":
        with file.open("wb") as out:
            out.truncate(1 << 30)
    elif kind == "bomb":
        with gzip.open(file, "wb", 1) as packed:
            for _ in range(200):
                packed.write(bytes(1 << 20))
    done = subprocess.run(
        [sys.executable, "-c", HUGE, "/dev/zero" if kind == "/dev/zero" else str(file)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert int(done.stdout) < 300_000
    assert len(done.stderr.splitlines()) <= 2
    assert done.stderr.startswith("gputopo: error: ")
