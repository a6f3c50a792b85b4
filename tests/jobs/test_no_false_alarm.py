"""Healthy evidence gives no error, by the index files' own words for what is healthy; what is not gives its finding."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gputopo.errors import GputopoError
from gputopo.evidence.open import open_sources
from gputopo.evidence.piece import Piece
from gputopo.inspection_job import Wanted, diagnoses, sorted_evidence
from gputopo.rules import run as of_node
from gputopo.rules.finding import Finding
from gputopo.rules.jobs.run import run

DATA = Path(os.environ.get("GPUTOPO_SHARED", Path(__file__).resolve().parents[2].parent / "shared")) / "data"
SAMPLES = sorted(path.name for path in (Path(__file__).parents[2] / "samples" / "nvidia-smi-topo").iterdir())


def rows(index: str) -> list[dict[str, Any]]:
    file = DATA / index
    return [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []


def findings(pieces: tuple[Piece, ...], logs: Iterator[str] | None = None) -> list[Finding]:
    """What `inspect` and `diagnose` find in this: of its nodes, and of a job that has all their GPUs."""
    evidence = sorted_evidence(pieces, [("job.log", logs)] if logs is not None else ())
    found: list[Finding] = []
    for one in diagnoses(evidence, Wanted()):
        found += [*run(one)[0], *of_node.run(one.node)[0]]
    return found


def read(path: Path) -> tuple[Piece, ...]:
    return (Piece(path.name, path.read_bytes()),)


def errors(found: list[Finding]) -> list[str]:
    return [f"{one.rule} {one.message}" for one in found if one.severity == "error"]


@pytest.mark.parametrize("name", SAMPLES)
def test_our_samples_are_healthy(name: str) -> None:
    assert errors(findings(open_sources([f"sample:{name}"]))) == []


XML = rows("nccl/xml/index.jsonl")
# What is wrong with each file that the index calls bad, by its note: a rule and a word of the message.
LINT_WORTHY = {
    "b200-vm-badnvlink.xml": ("GT015", "more NVLinks"),
    "b200-vm-handaffinity.xml": ("GT015", "for a NIC"),
    "gb300-2tray-missing-nvlink-excerpt.xml": ("GT111", "no active NVLink"),
}


@pytest.mark.skipif(not XML, reason="no recorded topology files beside the project")
def test_recorded_topology_files_give_errors_exactly_where_they_are_bad() -> None:
    for row in XML:
        try:
            found = errors(findings(read(DATA / "nccl" / "xml" / row["file"])))
        except GputopoError:
            assert row["n_gpus"] == 0 or row["root"] == "graphs", row["file"]  # nothing of which anything could be said
            continue
        if row["kind"].endswith("-bad"):
            code, word = LINT_WORTHY[row["file"]]
            assert any(one.startswith(code) and word in one for one in found), (row["file"], found)
        else:
            assert found == [], row["file"]
    assert {row["file"] for row in XML if row["kind"].endswith("-bad")} == set(LINT_WORTHY)


LOGS = rows("nccl/logs/index.jsonl")


@pytest.mark.skipif(not LOGS, reason="no recorded logs beside the project")
def test_recorded_logs_give_errors_exactly_where_nccl_gave_up() -> None:
    for row in LOGS:
        with (DATA / "nccl" / "logs" / row["file"]).open(errors="replace") as lines:
            found = errors(findings((), lines))
        assert bool(found) is bool(row["truth"].get("fatal")), (row["file"], found)


DUMPS = rows("topo-dumps/index.jsonl")


@pytest.mark.skipif(not DUMPS, reason="no recorded matrices beside the project")
def test_recorded_matrices_give_no_error() -> None:
    """076 is another parser's fixture, whose letters cannot all be right."""
    for row in DUMPS:
        found = errors(findings(read(DATA / "topo-dumps" / row["file"])))
        expected = ["GT005"] if row["file"].startswith("076") else []
        assert sorted({one[:5] for one in found}) == expected, row["file"]
