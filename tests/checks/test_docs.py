"""docs/check.md tells the truth: its commands run, and what it shows is what they print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from gputopo.checks.spec import KEYS, read
from gputopo.parsers import node_spec
from tests.checks.cli import call
from tests.checks.evidence import H100, MUTANTS, write
from tests.machines.render_nvml import render_nvml

DOCS = Path(__file__).resolve().parents[2] / "docs" / "check.md"
FIVE = "gpus:\n  count: 8\n  nvlinks: 18\n  nearestNics: 1 at PIX\n"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the guide speaks of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    topo, _, lscpu, _ = map(Path, write(H100, tmp_path / "good"))
    moved = Path(write(MUTANTS["NIC under another switch"][0](H100), tmp_path / "moved")[0])
    texts = {
        "a17.json": render_nvml(H100), "a18.json": render_nvml(MUTANTS["one link less"][0](H100)),
        "a17.txt": topo.read_text(), "b01.txt": topo.read_text(), "lscpu.txt": lscpu.read_text(),
        "b02.txt": moved.read_text(), "notes.txt": "meeting at noon\n", "five.yaml": FIVE,
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_every_command_prints_what_the_guide_shows(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = 0
    for block in re.findall(r"```console\n(.*?)```", DOCS.read_text(), re.DOTALL):
        for command, shown in re.findall(r"^\$ gputopo (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            said = call(capsys, *shlex.split(command))
            assert (said.out, said.err) == (shown, ""), command
            ran += 1
    assert ran == 10


def test_the_specification_of_the_guide_is_one() -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", DOCS.read_text(), re.DOTALL)
    spec = read(node_spec.read(text).object.body)
    assert len(spec.expects) == 11
    assert spec.allow == ("GT031", "GT113")


def test_every_key_is_in_the_guide() -> None:
    text = DOCS.read_text()
    for section, keys in KEYS.items():
        assert f"`{section}`" in text
        for key in keys:
            assert f"`{key.removesuffix(' pcie')}`" in text, key
