"""`gputopo collect`: the bundle says what the node said; the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from gputopo.cli import run
from gputopo.evidence.live import node as live
from gputopo.evidence.redact import KINDS
from tests.evidence import planted
from tests.evidence.bundles import called, driver_says, shown, unnamed
from tests.evidence.live import standin
from tests.machines import Spelled
from tests.machines.render_sysfs import render_sysfs
from tests.test_live import CONTAINER

MACHINE = planted.MACHINE
HOST_VIEW = ("0::/\n", "/dev/sda1 / ext4 rw 0 0\n")
needs_compiler = pytest.mark.skipif(standin.compiler() is None, reason=standin.NO_COMPILER)


# The bundle says what the node said


HEALTHY: dict[str, str] = {}
CASES = {
    "healthy": (HOST_VIEW, HEALTHY),
    "a call hangs": (HOST_VIEW, {"do.nvmlDeviceGetName.5": "hang"}),
    "a lost GPU": (HOST_VIEW, {"do.nvmlDeviceGetName.6": "15"}),
    "a container": (CONTAINER, HEALTHY),
    "no driver": (HOST_VIEW, None),
}


@pytest.fixture(params=CASES)
def reading(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """`--root` of a node whose driver is asked once: what it says second may differ in time, not in kind."""
    view, planted_faults = CASES[request.param]
    root = tmp_path / "root"
    render_sysfs(MACHINE, root)
    for name, text in zip(("cgroup", "mounts"), view):
        (root / "proc/self" / name).write_text(text)
    if view == CONTAINER:
        (root / "proc/self/status").write_text("Cpus_allowed_list:\t4-7\n")
    where = "/nowhere"
    if planted_faults is not None:
        where = str(request.getfixturevalue("library").parent)
        driver_says(monkeypatch, tmp_path, standin.answers(MACHINE) | planted_faults)
    once = live.read(str(root), where, 1.0 if request.param == "a call hangs" else 10.0)
    monkeypatch.setattr(live, "read", lambda *_, **__: once)
    return str(root)


def test_every_packing_inspects_as_the_node_did(
    reading: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    redacted = called(capsys, "collect", "--root", reading, "--stdout", "-q")
    node = shown(json.loads(called(capsys, "inspect", "--root", reading, "-o", "json")))
    tar, record = tmp_path / "n.tar.gz", tmp_path / "n.ndjson"
    for file in (tar, record):
        called(capsys, "collect", "--root", reading, "--keep", "all", "-q", "-o", str(file))
        assert shown(json.loads(called(capsys, "inspect", str(file), "-o", "json"))) == node
    unpacked = tmp_path / "unpacked"
    with tarfile.open(tar) as archive:
        archive.extractall(unpacked, **({"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}))  # type: ignore[arg-type]
    assert shown(json.loads((unpacked / "inspect.json").read_text())) == node
    (unpacked / "inspect.json").write_text("{}")
    assert shown(json.loads(called(capsys, "inspect", str(unpacked), "-o", "json"))) == node
    (unpacked / "inspect.json").unlink()
    assert shown(json.loads(called(capsys, "inspect", str(unpacked), "-o", "json"))) == node
    (tmp_path / "redacted").write_text(redacted)
    found = json.loads(called(capsys, "inspect", str(tmp_path / "redacted"), "-o", "json"))
    assert unnamed(shown(found)) == unnamed(node)


@pytest.mark.parametrize("name", ["gb200-tray", "l40s-vm-flat", "pcie-bridged", "mixed-5gpu"])
def test_other_machines_come_back_whole(
    name: str, spelled: Spelled, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--root", str(spelled(name)["sysfs-root"]), "--driver-root", "/nowhere")
    node = shown(json.loads(called(capsys, "inspect", *options, "-o", "json")))
    called(capsys, "collect", *options, "--keep", "all", "-q", "-o", str(tmp_path / "n.tar.gz"))
    assert shown(json.loads(called(capsys, "inspect", str(tmp_path / "n.tar.gz"), "-o", "json"))) == node


def test_this_machine_as_a_process(tmp_path: Path) -> None:
    def gputopo(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "gputopo", *arguments], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    gputopo("collect", "--keep", "all", "-o", str(tmp_path / "n.tar.gz"))
    node = shown(json.loads(gputopo("inspect", "-o", "json")))
    found = shown(json.loads(gputopo("inspect", str(tmp_path / "n.tar.gz"), "-o", "json")))
    for one in (*node["numaNodes"], *found["numaNodes"]):
        one["memoryBytes"] = None  # a virtual machine's may be given and taken any second
    assert found == node


# The command line


@pytest.fixture
def empty_root(tmp_path: Path) -> str:
    (tmp_path / "root/sys/bus/pci/devices").mkdir(parents=True)
    return str(tmp_path / "root")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "x.zip"], "the name says how to pack it"),
        (["--stdout", "-o", "x.ndjson"], "exclude one another"),
        (["--keep", "uuids"], "--keep knows no 'uuids'"),
        (["--with", "secrets"], "--with knows no 'secrets'"),
        (["--redact-salt", ""], "--redact-salt is empty"),
        (["--print-script", "-o", "x.ndjson"], "goes to standard output"),
        (["--print-script", "--with", "kubelet"], "--with is not for --print-script"),
        (["--print-script", "--root", "/host"], "--root is not for --print-script"),
        (["-o", "no/such/folder/x.tar.gz"], "no such folder"),
        (["--root", "/nowhere"], "no sys/ in this root folder"),
        (["--timeout", "0"], "--timeout takes seconds"),
    ],
)
def test_what_cannot_be_is_one_line(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["collect", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err.splitlines()[0]
    assert len(err.splitlines()) <= 2
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_not_overwritten_unless_asked(
    empty_root: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "n.tar.gz"
    file.write_text("mine")
    assert run(["collect", "--root", empty_root, "-o", str(file)]) == 2
    assert "the file is there already" in capsys.readouterr().err
    assert file.read_text() == "mine"
    called(capsys, "collect", "--root", empty_root, "--output-file", str(file), "--force")
    assert file.read_bytes()[:2] == b"\x1f\x8b"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["n.tar.gz", "root"]


def test_the_message_says_where_and_what(
    empty_root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["collect", "--root", empty_root]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("gputopo: wrote gputopo-bundle.tar.gz: ")
    assert len(err.splitlines()) == 1
    assert run(["collect", "--root", empty_root, "--force", "-q"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_pipe_is_read_at_the_other_end(empty_root: str) -> None:
    command = f"{sys.executable} -m gputopo"
    line = f"{command} collect --stdout --root {empty_root} | {command} inspect -"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert "no GPUs" in done.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_only_root_may_read_is_named(empty_root: str, capsys: pytest.CaptureFixture[str]) -> None:
    online = Path(empty_root) / "sys/devices/system/cpu/online"
    online.parent.mkdir(parents=True)
    online.touch(mode=0o000)
    record = called(capsys, "collect", "--root", empty_root, "--stdout")
    said = json.loads(json.loads(record)["members"]["manifest.json"])
    assert {"what": "root/sys/devices/system/cpu/online", "why": "permission denied"} in said["notRead"]


def test_the_help_names_every_kind_that_can_be_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = called(capsys, "collect", "--help")
    assert max(map(len, out.splitlines())) <= 80
    words = " ".join(out.replace("│", " ").split())
    assert f"Leave as they are: {', '.join(KINDS)}, all" in words
