"""The kubelet's files: below its root folder on a node, and in a bundle of `gputopo collect`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from gputopo.cli import run
from gputopo.evidence.kubelet_files import STATE_FILES
from gputopo.evidence.live.kubelet_root import NotRead, read
from gputopo.evidence.open import open_sources
from gputopo.parsers.recognise_holdings import parse
from tests.machines import MACHINES
from tests.machines.render_sysfs import render_sysfs
from tests.pods_sources.test_dra_manager_state import CLAIM, claims
from tests.pods_sources.test_kubelet_holdings import checkpoint, entry

FORMATS = ("kubelet-checkpoint", "cpu-manager-state", "memory-manager-state", "dra-manager-state")
# Of 1.37, whose state stands once more in a text.
CPUS = {"policyName": "static", "defaultCpuSet": "0", "entries": {"uid-1": {"trainer": "1-4"}}, "checksum": 1}
BASELINES = {"baselines": {"uid-1": {"trainer": {"baseline": "1-4"}}}}
FILES = {
    STATE_FILES[0]: checkpoint(entry({"0": ["GPU-a"]}, container="trainer")),
    STATE_FILES[1]: json.dumps(CPUS | {"data": json.dumps(CPUS | BASELINES), "dataChecksum": 7}),
    STATE_FILES[2]: '{"policyName":"None","machineState":{},"checksum":1}',
    STATE_FILES[3]: claims(CLAIM),
}


def kubelet(folder: Path, files: Mapping[str, str] = FILES) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def test_all_state_files_are_pieces(tmp_path: Path) -> None:
    found = read(str(kubelet(tmp_path)))
    assert [(piece.name, piece.where) for piece in found.pieces] == [
        (f"{tmp_path}/{name}", "live") for name in STATE_FILES
    ]
    assert [said.format for piece in found.pieces for said in parse(piece.data or b"")] == list(FORMATS)
    assert found.not_read == ()


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    kubelet(tmp_path, {STATE_FILES[1]: FILES[STATE_FILES[1]], STATE_FILES[2]: " \n"})
    (tmp_path / STATE_FILES[3]).mkdir()
    found = read(str(tmp_path))
    assert len(found.pieces) == 1
    assert found.not_read == (
        NotRead(f"{tmp_path}/{STATE_FILES[0]}", "there is no such file"),
        NotRead(f"{tmp_path}/{STATE_FILES[2]}", "the file is empty"),
        NotRead(f"{tmp_path}/{STATE_FILES[3]}", "not a plain file"),
    )


@pytest.mark.parametrize(
    ("root", "why"), [("none", "no such folder"), ("file", "no such folder"), ("a\0b", "not a path")]
)
def test_no_root_folder(root: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert read(f"{tmp_path}/{root}").not_read == (NotRead(f"{tmp_path}/{root}", why),)


def test_links_stay_inside(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    root = kubelet(tmp_path / "kubelet", {"real": FILES[STATE_FILES[1]]})
    (root / STATE_FILES[1]).symlink_to("/real")
    (root / STATE_FILES[2]).symlink_to(secret)
    (root / STATE_FILES[3]).symlink_to("../secret")
    os.mkfifo(root / "pipe")
    (root / "device-plugins").mkdir()
    (root / STATE_FILES[0]).symlink_to("../pipe")
    found = read(str(root))
    assert [piece.data for piece in found.pieces] == [FILES[STATE_FILES[1]].encode()]
    assert [one.why for one in found.not_read] == [
        "not a plain file", *["a link that leads out of the root folder, or nowhere"] * 2,
    ]  # fmt: skip


def test_permission_denied_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    root = kubelet(tmp_path / "kubelet")
    for place in (tmp_path, *tmp_path.parents):
        if not place.stat().st_mode & 0o001:
            place.chmod(place.stat().st_mode | 0o111)
    (root / STATE_FILES[1]).chmod(0)
    (root / "device-plugins").chmod(0)
    code = (
        "import os, sys; from gputopo.evidence.live.kubelet_root import read\n"
        "if not os.geteuid(): os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "found = read(sys.argv[1])\n"
        "print(len(found.pieces), *(f'{os.path.basename(one.what)}: {one.why}' for one in found.not_read), sep='\\n')\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=False)
    (root / "device-plugins").chmod(0o700)
    assert done.stdout.splitlines() == [
        "2",
        "kubelet_internal_checkpoint: permission denied (root may)",
        "cpu_manager_state: permission denied (root may)",
    ], done.stderr


@pytest.mark.parametrize("packed", ["node.tar.gz", "node.ndjson"])
def test_a_bundle_gives_the_same(packed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host = tmp_path / "host"
    render_sysfs(MACHINES["single-gpu"], host)
    kubelet(host / "var/lib/kubelet")
    file = tmp_path / packed
    collect = ["collect", "--root", str(host), "--with", "kubelet", "--keep", "all", "-o", str(file)]
    assert run([*collect, "--driver-root", str(tmp_path)]) == 0, capsys.readouterr().err
    live = read(str(host / "var/lib/kubelet")).pieces
    bundled = [piece for piece in open_sources([str(file)], kubelet=True) if "kubelet/" in piece.where]
    assert [os.path.basename(piece.where) for piece in bundled] == [os.path.basename(piece.name) for piece in live]
    assert [parse(piece.data or b"") for piece in bundled] == [parse(piece.data or b"") for piece in live]
    assert not [piece for piece in open_sources([str(file)]) if "kubelet/" in piece.where]


def test_names_within_the_text_of_1_37_are_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host = tmp_path / "host"
    render_sysfs(MACHINES["single-gpu"], host)
    kubelet(host / "var/lib/kubelet")
    file = tmp_path / "node.ndjson"
    collect = ["collect", "--root", str(host), "--with", "kubelet", "-o", str(file), "--driver-root", str(tmp_path)]
    assert run(collect) == 0, capsys.readouterr().err
    [state] = [piece for piece in open_sources([str(file)], kubelet=True) if "cpu_manager_state" in piece.where]
    assert b"trainer" not in (state.data or b"")
    assert str(parse(state.data or b"")[0].containers[0].cpus) == "1-4"
