"""`gputopo diff` as a user calls it."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from gputopo.documents.schema import schemas
from tests.checks.cli import call
from tests.checks.evidence import H100, MUTANTS, twin, write
from tests.machines.render_nvml import render_nvml


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name, machine in (
        ("monday", H100), ("tuesday", MUTANTS["one link less"][0](H100)), ("twin", twin(H100)),
        ("other", MUTANTS["other model"][0](H100)),
    ):  # fmt: skip
        (tmp_path / f"{name}.json").write_text(render_nvml(machine))
    (tmp_path / "topo.txt").write_text(Path(write(H100, tmp_path / "h")[0]).read_text())
    (tmp_path / "lscpu.txt").write_text((tmp_path / "h" / "lscpu.txt").read_text())
    return tmp_path


def test_two_times_of_one_node(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "diff", "monday.json", "tuesday.json")
    assert said.code == 1
    assert said.out == (
        "a         monday.json\n"
        "b         tuesday.json\n"
        "aligned   GPUs by UUID   all under the same names\n"
        "DIFFERENT 2 differences\n"
        "  gpus[5].nvlinks.active  18 -> 17\n"
        "  gpus[5].nvlinks.total   18 -> 17\n"
    )
    same = call(capsys, "diff", "monday.json", "monday.json", "-q")
    assert (same.code, same.out) == (0, "DIFFERENT nothing\n")


def test_another_node_is_aligned_by_shape(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "diff", "monday.json", "twin.json", "--by", "shape", "-o", "json")
    assert said.code == 0
    document = said.json
    jsonschema.validate(document, schemas()["Diff"])
    assert document["alignedBy"] == "shape"
    assert sorted(document["aligned"]) == sorted(document["aligned"].values())
    assert document["differences"] == []
    jsonschema.validate(call(capsys, "diff", "monday.json", "other.json", "-o", "json").json, schemas()["Diff"])


def test_a_card_that_was_replaced_is_that_of_its_slot(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (files / "monday.json").read_text()
    (files / "tuesday.json").write_text(text.replace("8000-000000000003", "8000-0000000000ff"))
    said = call(capsys, "diff", "monday.json", "tuesday.json", "-o", "json")
    assert said.code == 1
    [one] = said.json["differences"]
    assert (one["field"], one["subjects"]) == ("gpus[3].uuid", ["GPU3"])
    # Two machines have no card in common: their slots tell what is what, and that the UUIDs differ is no news.
    (files / "tuesday.json").write_text(text.replace("8000-0000000000", "8000-0000000001"))
    said = call(capsys, "diff", "monday.json", "tuesday.json", "-o", "json")
    assert (said.code, said.json["alignedBy"]) == (0, "pci")


def test_what_one_side_does_not_know_is_no_difference(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "diff", "topo.txt", "monday.json", "-o", "json")
    assert said.code == 0
    assert "gpus.name" in {one["field"] for one in said.json["notCompared"]}
    nothing = call(capsys, "diff", "lscpu.txt", "monday.json")
    assert nothing.code == 3


def test_a_source_is_one_node(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (files / "topo.txt").read_text()
    (files / "two.txt").write_text(text + "\n" + text)
    said = call(capsys, "diff", "two.txt", "monday.json")
    assert said.code == 2
    assert said.err == "gputopo: error: 2 nodes in one source: diff compares one with one (two.txt)\n"
    assert call(capsys, "diff", "-", "-").err == "gputopo: error: standard input can be read once (-)\n"
