"""Bundles that are read: also cut ones, many of them, and those of strangers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gputopo.errors import GputopoError
from gputopo.evidence import bundle_write
from gputopo.evidence.archive import ArchiveTree
from gputopo.evidence.bundle_read import pieces
from gputopo.evidence.open import open_sources
from gputopo.evidence.tar_headers import Member
from gputopo.evidence.tree import FILE, FOLDER, LINK

ROOT = {"sys/devices/system/node/online": Member(FILE, data=b"0\n"), "sys/bus/pci/devices": Member(FOLDER)}


def bundle_of(evidence: object = ("root",), **more: object) -> dict[str, Member]:
    said = {"gputopo": "bundle", "version": 1, "evidence": evidence, **more}
    return {"manifest.json": Member(FILE, data=json.dumps(said).encode()),
            **{f"root/{path}": member for path, member in ROOT.items()}}  # fmt: skip


def opened(path: Path, members: Mapping[str, Member], *cut: slice) -> Any:
    data = bundle_write.tar_gz(members)
    path.write_bytes(data[cut[0]] if cut else data)
    return open_sources([str(path)])


def test_no_link_leads_out_of_a_bundle(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    hostile = bundle_of() | {
        "root/sys/absolute": Member(LINK, f"{tmp_path}/secret"),
        "root/sys/up": Member(LINK, "../../../../../../etc/passwd"),
        "root/sys/other": Member(LINK, "../../manifest.json"),
        "root/sys/round": Member(LINK, "round"),
    }
    [piece] = opened(tmp_path / "a.tar.gz", hostile)
    for name in ("absolute", "up", "other", "round"):
        assert piece.tree.read(f"sys/{name}") is None
    folder = tmp_path / "unpacked"
    for path, member in hostile.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        if member.kind == LINK:
            (folder / path).symlink_to(member.target)
        elif member.kind == FILE:
            (folder / path).write_bytes(member.data or b"")
    [piece] = open_sources([str(folder)])
    for name in ("absolute", "up", "other", "round"):
        assert piece.tree is not None
        assert piece.tree.read(f"sys/{name}") is None


@pytest.mark.parametrize(
    "evidence", ["../../etc", "/etc", "manifest.json", "inspect.json", "absent", "../root", "root/../../etc", 7]
)
def test_a_manifest_names_no_evidence_outside_the_bundle(evidence: object, tmp_path: Path) -> None:
    members = bundle_of([evidence]) | {"inspect.json": Member(FILE, data=b"{}")}
    with pytest.raises(GputopoError, match="this bundle holds no evidence"):
        opened(tmp_path / "a.tar.gz", members)


@pytest.mark.parametrize("evidence", [{"a": 1}, None, "root", 7])
def test_a_manifest_without_a_list_is_read_for_what_can_be_evidence(evidence: object, tmp_path: Path) -> None:
    [piece] = opened(tmp_path / "a.tar.gz", bundle_of(evidence))
    assert piece.where == "root"


@pytest.mark.parametrize("version", [2, 0, "1", None, 1.5])
def test_another_version_is_refused(version: object, tmp_path: Path) -> None:
    with pytest.raises(GputopoError, match="bundle of version"):
        opened(tmp_path / "a.tar.gz", bundle_of(version=version))


@pytest.mark.parametrize(
    "live", [7, [], {"surroundings": 3, "stuck": [1]}, {"stuck": {"x": {"y": 1}}}, {"surroundings": {"pci": "yes"}}]
)
def test_what_a_manifest_says_beside_the_files_may_be_anything(live: object, tmp_path: Path) -> None:
    from gputopo.inspection import inspect

    [one] = inspect(opened(tmp_path / "a.tar.gz", bundle_of(live=live, incomplete=["root", 3])))
    assert one.node.gpus == ()


def test_what_the_driver_did_not_say_comes_back(tmp_path: Path) -> None:
    from gputopo.inspection import inspect

    said = {"gputopo": "nvml-recording", "version": 1, "failure": {"kind": "no-answer", "text": "it did not answer"},
            "snapshot": {"gpus": {"error": 10}}}  # fmt: skip
    members = bundle_of(["root", "nvml.json"], incomplete=["nvml.json"]) | {
        "nvml.json": Member(FILE, data=json.dumps(said).encode())
    }
    [whole] = inspect(opened(tmp_path / "a.tar.gz", members))
    assert [finding.message for finding in whole.findings if finding.rule == "GT020"] == ["it did not answer"]
    assert {source.id: source.whole for source in whole.node.sources} == {"sysfs-root": True, "nvml-recording": False}


def test_a_cut_bundle_is_read_up_to_the_cut_and_says_so(tmp_path: Path) -> None:
    members = bundle_of() | {
        f"root/sys/devices/x{number}": Member(FILE, data=bytes([number % 251]) * 999) for number in range(200)
    }
    said: list[str] = []
    data = bundle_write.tar_gz(members)
    (tmp_path / "a.tar.gz").write_bytes(data[: len(data) * 3 // 4])
    [piece] = open_sources([str(tmp_path / "a.tar.gz")], warn=said.append)
    assert not piece.whole
    assert "cut or damaged" in said[0]
    assert piece.tree is not None
    assert piece.tree.read("sys/devices/x0") == bytes(999)
    assert piece.tree.read("sys/devices/x99") is None


@pytest.mark.parametrize("cut", [40, 200, -2])
def test_a_cut_record_is_one_line(cut: int, tmp_path: Path) -> None:
    (tmp_path / "a").write_text(bundle_write.record(bundle_of())[:cut])
    with pytest.raises(GputopoError, match="no whole record"):
        open_sources([str(tmp_path / "a")])


def test_every_bundle_of_a_folder_and_every_line_of_a_file_is_a_node(tmp_path: Path) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    (folder / "a.tar.gz").write_bytes(bundle_write.tar_gz(bundle_of()))
    (folder / "b.tar").write_bytes(gzip.decompress(bundle_write.tar_gz(bundle_of())))
    (folder / "c.ndjson").write_text(bundle_write.record(bundle_of()) * 2)
    (folder / "d.ndjson").write_text('{"gputopo": "bundle", "cut')
    (folder / "notes.txt").write_text("nothing\n")
    said: list[str] = []
    found = open_sources([str(folder)], warn=said.append, why_not=lambda text: "of no known format")
    assert [(Path(piece.name).name, piece.where) for piece in found] == [
        ("a.tar.gz", "root"), ("b.tar", "root"), ("c.ndjson", "line 1/root"), ("c.ndjson", "line 2/root"),
    ]  # fmt: skip
    assert ["d.ndjson" in line or "notes.txt" in line for line in said] == [True, True]
    from gputopo.inspection import nodes

    assert len(nodes(found)) == 4


def test_a_bundle_beside_other_evidence_is_joined_with_it() -> None:
    found = pieces(ArchiveTree(bundle_of(), None), "bundle")
    from gputopo.evidence.piece import Piece
    from gputopo.inspection import nodes

    text = b"NUMA node(s):        1\nSocket(s):           1\nCPU(s):              4\nNUMA node0 CPU(s):   0-3\n"
    [node] = nodes((*found, Piece("lscpu.txt", data=text)), merge=True)
    assert {source.format for source in node.sources} == {"sysfs-root", "lscpu"}
