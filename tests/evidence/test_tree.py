"""Root folders and archives: links stay inside, nothing blocks, limits hold."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.errors import GputopoError
from gputopo.evidence import expanded, tar_headers
from gputopo.evidence.archive import ArchiveTree, archive_kind, open_archive
from gputopo.evidence.tree import MEMBER_BYTES, FolderTree, find_root, find_roots


def write(root: Path, files: dict[str, str] | None = None, links: dict[str, str] | None = None) -> FolderTree:
    for name, text in (files or {}).items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    for name, target in (links or {}).items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)
    return FolderTree(str(root))


def tar(members: dict[str, bytes], links: dict[str, str] | None = None, form: int = tarfile.PAX_FORMAT) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=form) as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return packed.getvalue()


def opened(data: bytes) -> ArchiveTree:
    tree = open_archive(data, "test")
    assert tree is not None
    return tree


def test_a_link_inside_the_root_is_followed(tmp_path: Path) -> None:
    tree = write(tmp_path, {"sys/devices/a/class": "0x03"}, {"sys/bus/a": "../devices/a"})
    assert tree.read("sys/bus/a/class") == b"0x03"
    assert tree.resolve("sys/bus/a") == "sys/devices/a"
    assert tree.is_link("sys/bus/a")
    assert not tree.is_link("sys/devices/a")


def test_an_absolute_link_starts_at_the_root_of_the_tree(tmp_path: Path) -> None:
    tree = write(tmp_path, {"etc/passwd": "ours"}, {"sys/secret": "/etc/passwd"})
    assert tree.read("sys/secret") == b"ours"


@pytest.mark.parametrize("target", ["../../../../../../../../etc/passwd", "..", "../../..", "/../etc/passwd"])
def test_a_link_never_leads_out_of_the_root(tmp_path: Path, target: str) -> None:
    (tmp_path / "outside").write_text("outside")
    tree = write(tmp_path / "root", {"sys/a": "1"}, {"sys/bad": target})
    assert tree.read("sys/bad") is None
    assert tree.read("sys/bad/outside") is None
    assert tree.read("../outside") is None


def test_a_folder_that_is_a_link_out_of_the_root_is_empty(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("outside")
    tree = write(tmp_path / "root", {}, {"sys/out": str(tmp_path / "outside")})
    assert tree.names("sys/out") is None
    assert tree.read("sys/out/file") is None


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    tree = write(tmp_path, {}, {"sys/a": "b", "sys/b": "a", "sys/self": "self/self/self"})
    assert tree.read("sys/a") is None
    assert tree.resolve("sys/self") is None
    assert tree.names("sys/b") is None


def test_a_fifo_is_not_opened(tmp_path: Path) -> None:
    tree = write(tmp_path, {"sys/a": "1"})
    os.mkfifo(tmp_path / "sys" / "pipe")
    assert tree.read("sys/pipe") is None  # would block for ever
    assert tree.names("sys") == ("a", "pipe")


def test_a_link_whose_target_was_not_captured_still_names_it(tmp_path: Path) -> None:
    tree = write(tmp_path, {"sys/devices/a/class": "1"}, {"sys/devices/a/driver": "../../bus/pci/drivers/nvidia"})
    assert tree.resolve("sys/devices/a/driver") == "sys/bus/pci/drivers/nvidia"
    assert tree.names("sys/devices/a/driver") is None
    assert tree.resolve("sys/devices/b") is None


def test_at_most_one_mebibyte_of_a_file_is_read(tmp_path: Path) -> None:
    tree = write(tmp_path, {"sys/big": "x" * (MEMBER_BYTES + 5)})
    assert len(tree.read("sys/big") or b"") == MEMBER_BYTES
    assert len(opened(tar({"sys/big": b"x" * (MEMBER_BYTES + 5)})).read("sys/big") or b"") == MEMBER_BYTES


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no /proc here")
def test_files_of_proc_are_read_to_their_end_although_they_say_size_zero() -> None:
    assert b"Name:" in (FolderTree("/").read("proc/self/status") or b"")


@pytest.mark.parametrize("path", ["a\0b", "a/" * 3000, "", "/", ".", "..", "a" * 5000])
def test_odd_paths_are_absent(tmp_path: Path, path: str) -> None:
    assert write(tmp_path, {"sys/a": "1"}).read(path) is None


@pytest.mark.parametrize("prefix", ["", "NAME/", "fsroot/", "NAME/fsroot/"])
def test_the_root_of_a_capture_is_found(tmp_path: Path, prefix: str) -> None:
    found = find_root(write(tmp_path, {f"{prefix}sys/devices/x": "1", f"{prefix}proc/y": "2"}))
    assert found is not None
    assert (found.read("sys/devices/x"), found.names("")) == (b"1", ("proc", "sys"))
    packed = find_root(opened(tar({f"{prefix}sys/devices/x": b"1", f"{prefix}proc/y": b"2"})))
    assert packed is not None
    assert (packed.read("sys/devices/x"), packed.names("")) == (b"1", ("proc", "sys"))


def test_a_found_root_cannot_be_left_into_its_parent(tmp_path: Path) -> None:
    found = find_root(write(tmp_path, {"other": "x", "NAME/sys/bus/a": "1"}, {"NAME/sys/up": "../../other"}))
    assert found is not None
    assert found.read("sys/up") is None
    packed = find_root(opened(tar({"other": b"x", "NAME/sys/bus/a": b"1"}, {"NAME/sys/up": "../../other"})))
    assert packed is not None
    assert packed.read("sys/up") is None


def test_a_folder_without_sys_is_no_root(tmp_path: Path) -> None:
    assert find_root(write(tmp_path, {"a/b": "1", "sys/exit.c": "a program's own sys"})) is None


def test_every_capture_of_a_folder_is_found(tmp_path: Path) -> None:
    tree = write(tmp_path, {"a/sys/bus/x": "1", "b/fsroot/sys/class/x": "2", "c/y": "3"})
    assert [place for place, _ in find_roots(tree)] == ["a", "b/fsroot"]


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "tar": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.mark.parametrize("kind", PACKERS)
def test_every_compression_gives_the_same_tree(kind: str) -> None:
    data = PACKERS[kind](tar({"r/sys/a": b"1", "r/sys/d/b": b""}, {"r/sys/l": "d/../a"}))
    tree = opened(data)
    assert archive_kind(data[:512]) == kind
    assert tree.names("r/sys") == ("a", "d", "l")
    assert (tree.read("r/sys/l"), tree.read("r/sys/d/b"), tree.read("r/sys/d")) == (b"1", b"", None)


def test_a_zip_is_a_tree_with_its_links() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("r/sys/a", "1")
        archive.writestr("../evil", "2")
        link = zipfile.ZipInfo("r/sys/l")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "a")
    tree = opened(packed.getvalue())
    assert tree.read("r/sys/l") == b"1"
    assert tree.names("") == ("r",)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_and_long_link_targets_are_read_in_every_format(form: int) -> None:
    folder = "r/sys/" + "/".join(["pci0000:00"] * 12)
    target = "../" * 3 + "a" * (90 if form == tarfile.USTAR_FORMAT else 150)
    tree = opened(tar({f"{folder}/class": b"1"}, {f"{folder}/l": target}, form))
    assert tree.read(f"{folder}/class") == b"1"
    assert (tree.resolve(f"{folder}/l") or "").endswith(target.lstrip("./"))


def test_a_hard_link_has_the_content_of_its_target() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo("sys/a")
        entry.size = 1
        archive.addfile(entry, io.BytesIO(b"1"))
        hard = tarfile.TarInfo("sys/b")
        hard.type, hard.linkname = tarfile.LNKTYPE, "sys/a"
        archive.addfile(hard)
    assert opened(packed.getvalue()).read("sys/b") == b"1"


def test_absolute_names_parents_and_devices_in_a_tar_are_skipped() -> None:
    packed = io.BytesIO(tar({"/etc/passwd": b"1", "../up": b"2", "a/../../up": b"3", "sys/a": b"4"}))
    with tarfile.open(fileobj=packed, mode="a") as archive:
        for name, kind in (("sys/fifo", tarfile.FIFOTYPE), ("sys/dev", tarfile.CHRTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type = kind
            archive.addfile(entry)
    tree = opened(packed.getvalue())
    assert (tree.names(""), tree.names("sys")) == (("sys",), ("a",))


def test_too_many_members_are_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tar_headers, "MEMBERS", 10)
    with pytest.raises(GputopoError, match="more than 10 members"):
        open_archive(tar({f"sys/{number}": b"" for number in range(12)}), "many.tar")


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expanded, "EXPANDED_BYTES", 4 << 20)
    bomb = lzma.compress(tar({"sys/a": bytes(8 << 20)}))
    with pytest.raises(GputopoError, match="expands to more than"):
        open_archive(bomb, "bomb.tar.xz")


def test_a_compressed_text_is_no_archive() -> None:
    assert open_archive(gzip.compress(b"GPU0 GPU1\n" * 100)) is None
    assert open_archive(b"GPU0") is None
    assert open_archive(b"") is None


def test_a_cut_archive_gives_what_is_before_the_cut() -> None:
    members = {f"sys/{number}": os.urandom(600) for number in range(50)}
    whole = lzma.compress(tar(members))
    tree = opened(whole[: len(whole) // 2])
    names = tree.names("sys") or ()
    assert 0 < len(names) < 50
    assert all(tree.read(f"sys/{name}") == members[f"sys/{name}"] for name in names)
    assert (tree.whole, opened(whole).whole) == (False, True)


def test_a_member_that_a_plain_tar_ends_in_is_unreadable() -> None:
    tree = opened(tar({"sys/a": b"1", "sys/b": b"x" * 3000})[:2600])
    assert (tree.read("sys/a"), tree.read("sys/b"), tree.whole) == (b"1", None, False)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 4000), st.binary(min_size=1, max_size=40))
def test_a_damaged_tar_never_raises(place: int, damage: bytes) -> None:
    data = bytearray(tar({"sys/a": b"1", "sys/" + "n" * 200: b"2"}, {"sys/l": "a"}))
    data[place : place + len(damage)] = damage
    tree = open_archive(bytes(data), "damaged")
    for name in (tree.names("sys") or ()) if tree is not None else ():
        assert tree is not None
        tree.read(f"sys/{name}")
