"""`gputopo lint --fix [--write]` as a user calls it."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest

from gputopo.cli import run

WRONG = """\
# Four GPUs that are near each other.
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaimTemplate
metadata:
  name: mesh
spec:
  spec:
    devices:
      constraints:
      - matchAttribute: gpu.nvidia.com/nvlinkDomain  # all in one
        requests: [mesh]
      requests:
      - name: mesh
        deviceClassName: gpu.nvidia.com
        count: 4  # half a node
        selectors:
        - cel:
            expression: device.attributes['gpu.nvidia.com'].model == 'H100' &&
              device.capacity['gpu.nvidia.com'].memory >= 79Gi
"""
COMMENTS = ("# Four GPUs that are near each other.", "# all in one", "# half a node")
DRIVER = ("--driver-version", "0.5")


def lint(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = run(["lint", *words, *DRIVER])
    return code, capsys.readouterr().out


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "claim.yaml"
    path.write_text(WRONG)
    return path


@pytest.mark.skipif(shutil.which("patch") is None, reason="no patch here")
def test_the_diff_makes_a_file_without_findings(
    wrong: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    code, diff = lint(capsys, "--fix", str(wrong))
    assert code == 1
    assert wrong.read_text() == WRONG
    patched = tmp_path / "patched.yaml"
    subprocess.run(["patch", "-s", "-o", str(patched), str(wrong)], input=diff, text=True, check=True)
    code, said = lint(capsys, str(patched))
    assert (code, said.partition(" (")[0]) == (0, "nothing found")


def test_write_mends_once_and_keeps_comments(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint(capsys, "--fix", "--write", str(wrong))[0] == 0
    text = wrong.read_text()
    assert text != WRONG
    assert all(text.count(comment) == 1 for comment in COMMENTS)
    assert lint(capsys, "--fix", "--write", str(wrong))[0] == 0
    assert wrong.read_text() == text
    assert lint(capsys, "--fix", str(wrong)) == (0, "")


def test_what_is_no_text_of_objects_stays_beside_what_is_mended(
    wrong: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    packed, gres = tmp_path / "packed.yaml.gz", tmp_path / "gres.conf"
    packed.write_bytes(gzip.compress(WRONG.encode()))
    gres.write_text("Name=gpu File=/dev/nvidia[0-3] Cores=0-\n")
    before = packed.read_bytes(), gres.read_text()
    lint(capsys, "--fix", "--write", str(packed), str(gres), str(wrong))
    assert (packed.read_bytes(), gres.read_text()) == before
    assert wrong.read_text() != WRONG
