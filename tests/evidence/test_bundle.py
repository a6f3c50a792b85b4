"""A bundle that is made: what is captured, listed, left out, and its bytes."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gputopo.errors import GputopoError
from gputopo.evidence import bundle, bundle_write
from gputopo.evidence.archive import ArchiveTree
from gputopo.evidence.bundle import Collected, NotRead, Part
from gputopo.evidence.bundle_capture import RecordingTree
from gputopo.evidence.bundle_identities import identities
from gputopo.evidence.bundle_trim import pci_config
from gputopo.evidence.live.watched_tree import WatchedTree
from gputopo.evidence.redact import Known, Redactor
from gputopo.evidence.tar_headers import Member
from gputopo.evidence.tree import FILE, FOLDER, LINK, FolderTree

ROOT = {"sys/devices/system/node/online": Member(FILE, data=b"0\n"), "sys/bus/pci/devices": Member(FOLDER)}


def made(collected: Collected, *keep: str, known: tuple[Known, ...] = ()) -> dict[str, Member]:
    return bundle.members(collected, Redactor(b"salt", keep, known), salted=True)


def manifest(members: Mapping[str, Member]) -> Any:
    return json.loads(members["manifest.json"].data or b"")


def content(root: Path, path: str, text: str = "") -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


# Capture


@pytest.fixture
def captured(tmp_path: Path) -> RecordingTree:
    content(tmp_path, "sys/a/read", "1\n")
    content(tmp_path, "sys/a/unread", "secret\n")
    content(tmp_path, "sys/b/there", "secret\n")
    (tmp_path / "sys/c/empty").mkdir(parents=True)
    (tmp_path / "sys/link").symlink_to("a/read")
    (tmp_path / "sys/away").symlink_to("../gone")
    return RecordingTree(WatchedTree(str(tmp_path), 0.0))


def test_what_was_asked_is_answered_from_the_capture_as_before(captured: RecordingTree) -> None:
    def ask(tree: Any) -> list[object]:
        return [
            tree.names("sys"),
            tree.read("sys/a/read"),
            tree.resolve("sys/b/there"),
            tree.names("sys/c"),
            tree.names("sys/d"),
            tree.read("sys/link"),
            tree.is_link("sys/away"),
            tree.resolve("sys/away"),
            tree.names("sys/c/empty"),
        ]

    first = ask(captured)
    members = captured.members()
    assert ask(ArchiveTree(members, None)) == first
    assert b"secret" not in b"".join(member.data or b"" for member in members.values())
    assert "sys/a/unread" not in members


def test_a_file_that_cannot_be_read_is_named_with_its_reason(tmp_path: Path) -> None:
    class Refusing(WatchedTree):
        def _content(self, place: str) -> bytes | None:
            return None

    content(tmp_path, "sys/whole", "x")
    content(tmp_path, "sys/devices/x/net/eth0/speed", "x")
    tree = RecordingTree(Refusing(str(tmp_path), 0.0))
    assert tree.read("sys/whole") is None
    assert tree.read("sys/devices/x/net/eth0/speed") is None
    # The second waits for a driver: it is not opened again to learn why.
    assert tree.unread == {
        "sys/whole": "could not be read to its end", "sys/devices/x/net/eth0/speed": "could not be read",
    }  # fmt: skip


def test_the_number_of_our_process_is_not_kept(tmp_path: Path) -> None:
    content(tmp_path, "proc/4711/status", "Cpus_allowed_list:\t0\n")
    (tmp_path / "proc/self").symlink_to("4711")
    tree = RecordingTree(WatchedTree(str(tmp_path), 0.0))
    assert tree.read("proc/self/status")
    assert list(tree.members()) == ["proc/self/status"]


# Redaction of a bundle


def test_what_still_holds_an_identity_is_left_out_and_said(tmp_path: Path) -> None:
    collected = Collected(
        {
            **ROOT,
            "sys/odd": Member(FILE, data=b"xx0c42a1036ad2xx\n"),
            "sys/bytes/config": Member(FILE, data=b"\x0c\x42\xa1\x03\x6a\xd2"),
            "sys/way": Member(LINK, "../xx0c42a1036ad2xx"),
        },
        not_read=(NotRead("root/sys/zz0C42A1036AD2zz", "no reason"),),
    )
    found = made(collected, known=(Known("mac", "0c:42:a1:03:6a:d2"),))
    assert not {"root/sys/odd", "root/sys/bytes/config", "root/sys/way"} & set(found)
    told = {(row["what"], row["why"]) for row in manifest(found)["notRead"]}
    left = "left out: a mac of this node is still in it"
    assert {
        ("root/sys/odd", left),
        ("root/sys/bytes/config", left),
        ("root/sys/way", left),
        ("something", "its name is an identity"),
    } <= told


def test_the_manifest_says_where_from_without_names() -> None:
    part = Part("nvml.json", b"{}", "/home/berit/driver/libnvidia-ml.so.1", evidence=True)
    found = made(Collected(ROOT, (part,), (NotRead("root/sys/fs/cgroup/jupyter-berit/cpuset.cpus", "no"),)))
    assert b"berit" not in b"".join(member.data or b"" for member in found.values())
    assert manifest(found)["notRead"] == [{"what": "root/sys/fs/cgroup/x/cpuset.cpus", "why": "no"}]
    assert manifest(found)["evidence"] == ["root", "nvml.json"]


@pytest.mark.parametrize(
    ("name", "stays"), [("gpu-17", False), ("h100", False), ("master", False), ("localhost", True)]
)
def test_the_host_name_is_replaced_in_its_own_file_whatever_it_is(name: str, stays: bool) -> None:
    path = "proc/sys/kernel/hostname"
    found = made(Collected({**ROOT, path: Member(FILE, data=f"{name}\n".encode())}))
    assert (found[f"root/{path}"].data == f"{name}\n".encode()) is stays


def test_a_host_called_like_its_gpus_does_not_change_their_name(tmp_path: Path) -> None:
    content(tmp_path, "proc/sys/kernel/hostname", "h100\n")
    known = identities(FolderTree(str(tmp_path)), None, {"gpus": [{"name": "NVIDIA H100 80GB HBM3"}]})
    assert Redactor(b"", (), known).text("NVIDIA H100 80GB HBM3") == "NVIDIA H100 80GB HBM3"


def test_a_kubelet_file_that_is_no_json_is_left_out() -> None:
    found = made(Collected(ROOT, (Part("kubelet/cpu_manager_state", b"pod-of-berit", "x"),)))
    assert "kubelet/cpu_manager_state" not in found
    assert [row["what"] for row in manifest(found)["notRead"]] == ["kubelet/cpu_manager_state"]


def capability(id: int, following: int) -> bytes:
    return (id | 1 << 16 | following << 20).to_bytes(4, "little")


def test_a_serial_number_in_config_space_is_not_taken_along() -> None:
    config = bytearray(512)
    config[0x100:0x10C] = capability(0x0003, 0x140) + b"\x0c\x42\xa1\x03\x00\x6a\xd2\x00"
    config[0x140:0x148] = capability(0x000D, 0) + b"\x7f\x00\x1d\x00"
    kept = pci_config(bytes(config))
    assert len(kept) == 512
    assert kept[0x100:0x10C] == capability(0x0003, 0x140) + bytes(8)
    assert kept[0x140:0x148] == config[0x140:0x148]


# Bytes


ODD = {
    "root/sys/text": Member(FILE, data="ü\n".encode()), "root/sys/bytes": Member(FILE, data=b"\0\xff"),
    "root/sys/link": Member(LINK, "../away/" + "long/" * 40), "root/sys/folder": Member(FOLDER),
    "root/sys/" + "deep/" * 40 + "file": Member(FILE, data=b""),
    "manifest.json": Member(FILE, data=b'{"gputopo": "bundle", "version": 1, "evidence": ["root"]}'),
}  # fmt: skip


def test_a_tar_says_nothing_of_who_wrote_it_and_when() -> None:
    packed = bundle_write.tar_gz(ODD)
    assert packed == bundle_write.tar_gz(dict(reversed(ODD.items())))
    assert packed[3] == 0  # FLG: no name, no comment (RFC 1952)
    assert packed[4:8] == bytes(4)  # MTIME
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        entries = archive.getmembers()
    assert [entry.name for entry in entries] == sorted(ODD)
    assert {(entry.uid, entry.gid, entry.uname, entry.gname, entry.mtime) for entry in entries} == {(0, 0, "", "", 0)}
    assert {key for entry in entries for key in entry.pax_headers} <= {"path", "linkpath"}


def test_every_packing_holds_the_same_members() -> None:
    from gputopo.evidence import bundle_read

    assert bundle_read._members(bundle_write.record(ODD), "x") == ODD
    with tarfile.open(fileobj=io.BytesIO(bundle_write.tar_gz(ODD))) as archive:
        found = {
            entry.name: (entry.linkname, archive.extractfile(entry).read() if entry.isfile() else None)  # type: ignore[union-attr]
            for entry in archive.getmembers()
        }
    assert found == {path: (one.target, one.data) for path, one in ODD.items()}


def test_without_a_zstd_module_it_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle_write, "ZSTD_MODULES", ("no_such_module",))
    with pytest.raises(GputopoError) as error:
        bundle_write.tar_zst(ODD)
    assert str(error.value.what) == "cannot write zstd: this Python has no zstd module"
    assert error.value.hint


def test_zstd_is_written_where_there_is_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a module of the same interface, so that it is proven on every Python."""
    monkeypatch.setattr(bundle_write, "ZSTD_MODULES", ("no_such_module", "zlib"))
    import zlib

    with tarfile.open(fileobj=io.BytesIO(zlib.decompress(bundle_write.tar_zst(ODD)))) as archive:
        assert archive.getnames() == sorted(ODD)
