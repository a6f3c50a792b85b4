"""A job whose processes each write their own log (NCCL_DEBUG_FILE=nccl.%h.%p): judged as one log."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from gputopo.cli import run
from tests.jobs.texts import OTHER_BUSES, gpus_csv, nccl_log

HGX = "sample:hgx-h100"
OFF = {"NCCL_P2P_DISABLE": "1"}
Diagnose = Callable[..., dict[str, Any]]


@pytest.fixture
def diagnose(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Diagnose:
    monkeypatch.chdir(tmp_path)
    Path("gpus.csv").write_text(gpus_csv())

    def asked(*arguments: str) -> dict[str, Any]:
        run(["diagnose", HGX, "gpus.csv", *arguments, "-o", "json"])
        out, err = capsys.readouterr()
        assert out, err
        found: dict[str, Any] = json.loads(out)
        return {**found, "stderr": err}

    return asked


def whole(lines: Sequence[str]) -> str:
    Path("whole.log").write_text("".join(f"{line}\n" for line in lines))
    return "whole.log"


def by_process(lines: Sequence[str], folder: str = "logs") -> list[str]:
    """A file for each process, named as `nccl.%h.%p`; a print without one is of the first."""
    files: dict[str, list[str]] = {}
    heads = [line.split()[0].split(":") for line in lines]
    first = next(f"nccl.{head[0]}.{head[1]}" for head in heads if len(head) == 3)
    for head, line in zip(heads, lines):
        files.setdefault(f"nccl.{head[0]}.{head[1]}" if len(head) == 3 else first, []).append(line)
    Path(folder).mkdir(exist_ok=True)
    for name, own in files.items():
        Path(folder, name).write_text("".join(f"{line}\n" for line in own))
    return [f"{folder}/{name}" for name in sorted(files)]


def judged(found: dict[str, Any]) -> dict[str, Any]:
    """All but where it was read."""
    kept = {key: value for key, value in found.items() if key not in ("sources", "stderr", "setBasis")}
    kept["hops"] = [{key: hop[key] for key in ("a", "b", "kind", "transport")} for hop in found["hops"]]
    kept["findings"] = [{**one, "evidence": [seen["text"] for seen in one["evidence"]]} for one in found["findings"]]
    return kept


def no_ids(lines: Sequence[str]) -> list[str]:
    """As NCCL before 2.18 prints it, without a name of the communicator."""
    return [line.replace(" commId 0x1f", "") for line in lines]


@pytest.mark.parametrize("printed", [list, no_ids])
@pytest.mark.parametrize("how", ["folder", "options", "sources"])
def test_files_of_one_job_are_one_log(diagnose: Diagnose, printed: Callable[..., list[str]], how: str) -> None:
    lines = printed(nccl_log([0, 1, 4, 5], via="SHM/direct/direct", env=OFF))
    files = by_process(lines)
    options = [word for file in files for word in ("--nccl-log", file)]
    asked = {"folder": ["--nccl-log", "logs"], "options": options, "sources": files}[how]
    one, several = diagnose("--nccl-log", whole(lines)), diagnose(*asked)
    assert len(files) == 4
    assert judged(several) == judged(one)
    assert several["set"] == ["GPU0", "GPU1", "GPU4", "GPU5"]
    assert len(several["hops"]) == 4
    assert several["setBasis"] == "logs/nccl.gpu-a17.200 and 3 more"
    assert not [found for found in several["findings"] if found["rule"] == "GT551"], "nothing is missing of it"


def test_a_line_is_named_with_its_own_file(diagnose: Diagnose) -> None:
    files = by_process(nccl_log([0, 1, 4, 5], via="SHM/direct/direct", env=OFF))
    found = diagnose("--nccl-log", "logs")
    names = {one["id"]: one["name"] for one in found["sources"]}
    assert sorted(name for name in names.values() if name.startswith("logs/")) == files
    for hop in found["hops"]:
        said = Path(names[hop["source"]]).read_text().splitlines()[hop["line"] - 1]
        assert said.endswith("via SHM/direct/direct"), said
    [cause] = [one for one in found["findings"] if one["severity"] == "error"]
    for seen in cause["evidence"]:
        said = Path(names[seen["source"]]).read_text().splitlines()[seen["line"] - 1]
        assert "NCCL_P2P_DISABLE set by environment to 1" in said or "via SHM/direct/direct" in said


def test_a_rank_without_a_file_is_said(diagnose: Diagnose) -> None:
    files = by_process(nccl_log([0, 1, 4, 5]))
    Path(files[2]).unlink()
    found = diagnose("--nccl-log", "logs")
    [cut] = [one for one in found["findings"] if one["rule"] == "GT551"]
    assert "init lines of 3 of its 4 ranks" in cut["message"]


@pytest.mark.parametrize("printed", [list, no_ids])
def test_files_of_two_jobs_are_not_mixed(diagnose: Diagnose, printed: Callable[..., list[str]]) -> None:
    first = printed(nccl_log([0, 1, 2], via="P2P/CUMEM"))
    second = printed(nccl_log([4, 5], via="SHM/direct/direct", env=OFF, first_pid=700, comm_id="0x2f"))
    by_process(first)
    by_process(second)
    found = diagnose("--nccl-log", "logs")
    assert found["set"] == ["GPU0", "GPU1", "GPU2"]
    assert {hop["transport"] for hop in found["hops"]} == {"P2P/CUMEM"}


def test_files_of_another_node_are_not_joined(diagnose: Diagnose) -> None:
    by_process(nccl_log([0, 1, 4, 5], buses=OTHER_BUSES))
    found = diagnose("--nccl-log", "logs")
    [foreign] = [one for one in found["findings"] if one["rule"] == "GT550"]
    assert foreign["message"].startswith("logs/nccl.gpu-a17.200 and 3 more is of another node")
    assert not found["hops"]


def test_other_files_of_the_folder_are_named(diagnose: Diagnose) -> None:
    by_process(nccl_log([0, 1]))
    Path("logs/readme.txt").write_text("run 7\n")
    Path("logs/core").write_bytes(b"\x7fELF\0\0\0\1")
    Path("logs/.hidden").write_text("not read\n")
    Path("logs/empty").write_text("")
    found = diagnose("--nccl-log", "logs")
    assert found["set"] == ["GPU0", "GPU1"]
    assert found["stderr"].splitlines() == [
        "gputopo: skipped logs/core: this is binary, not a text",
        "gputopo: skipped logs/empty: the file is empty",
        "gputopo: skipped logs/readme.txt: no line of NCCL, nccl-tests or a launcher in it",
    ]


@pytest.mark.parametrize(
    ("files", "message"),
    [({}, "no file in this folder"), ({"a": "run 7\n", "b": ""}, "no line of NCCL, nccl-tests or a launcher in it")],
)
def test_a_folder_without_a_log(
    files: dict[str, str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert run(["diagnose", "--nccl-log", str(tmp_path)]) == 2
    assert f"gputopo: error: {message} ({tmp_path})" in capsys.readouterr().err
