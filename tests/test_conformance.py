"""The referee over the real upstream code: its questions, its recorded files, and that it is itself right.

A program is built only by `make conformance`, since its modules are fetched and compile for minutes. Where one
is there, the answers recorded beside another build of the same code have to come out of it again.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from conformance import gobuild, records, run
from conformance.gobuild import DRA, GPUALLOCATOR, KUBELET, Program
from conformance.pods import run as pods
from conformance.pods.compare import compare
from conformance.pods.said import Said
from conformance.pods.said import said as given
from tests.replay_kinds import KINDS

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("GPUTOPO_SHARED") or ROOT.parent / "shared")


def built(program: Program) -> Path:
    """The program over the newest release; skips where it would have to be fetched and compiled first."""
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    if not gobuild.is_built(program, version := gobuild.RELEASES[program][-1]):
        pytest.skip(f"{program.folder} {version} is not built yet: make conformance")
    return gobuild.build(program, version)


def recorded(path: str) -> Path:
    if not (SHARED / path).exists():
        pytest.skip(f"no recorded answers at {SHARED / path}; set GPUTOPO_SHARED")
    return SHARED / path


@pytest.mark.parametrize("name", sorted(run.MECHANISMS))
def test_a_seed_draws_the_same_questions_again(name: str) -> None:
    first, again, other = (run.draw(name, 60, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert sum(run.size(question) for question in first) >= 60


def test_admissions_hold_what_the_recorded_cases_lack() -> None:
    questions = run.draw("kubelet-admit", 1500, 3)
    options = [question["cpu_options"] for question in questions]
    limits = [
        name for question in questions for step in question["steps"]
        for container in step.get("containers", ()) for name in container["limits"]
    ]  # fmt: skip
    modes = {one["preferred"] for question in questions for one in question["resources"].values()}
    assert sum("align-by-socket" in given for given in options) > 100
    assert sum({"full-pcpus-only", "distribute-cpus-across-numa"} <= given.keys() for given in options) > 30
    assert {"hugepages-2Mi", "hugepages-1Gi"} <= set(limits)
    assert modes == {"first", "last", "off", "short", "empty", "outside", "error"}


def test_device_questions_are_well_formed() -> None:
    for question in run.draw("kubelet-hints", 300, 4):
        assert question["devices"].keys() >= set(question["reusable"]) | set(question["available"])
    for question in run.draw("kubelet-allocate", 300, 4):
        assert set(question["reusable"]) <= set(question["allocated"]) <= question["devices"].keys()


def test_recorded_files_keep_question_and_answer_apart() -> None:
    questions = [{"id": "a", "kind": "admit", "runs": 9}, {"id": "b", "kind": "admit", "runs": 9}]
    answers = [{"expect": {"steps": []}, "varies": False}, {"expect": {"steps": [1]}, "varies": True}]
    files = records.kubelet(questions, answers, "v1.37.2")
    first = json.loads(files["admit.jsonl"])
    assert first == {"id": "a", "kind": "admit", "release": "1.37.2", "expect": {"steps": []}}
    assert json.loads(files["admit-nondeterministic.jsonl"])["id"] == "b"


@pytest.mark.skipif("kubelet-admit" not in KINDS, reason="no kind kubelet-admit yet")
def test_every_mechanism_is_a_kind_of_replay() -> None:
    assert run.MECHANISMS.keys() <= KINDS.keys()


def test_without_go_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(gobuild, "BUILD", tmp_path)
    assert run.main(["--mechanism", "gpuallocator", "--count", "1"]) == 2
    assert capsys.readouterr().err == "conformance: go is not installed\n"


@pytest.mark.parametrize("kind", ["merge", "hints", "allocate", "admit"])
def test_the_kubelet_program_answers_as_recorded(kind: str) -> None:
    path = recorded(f"data/kubelet/{kind}.jsonl")
    program = built(KUBELET)
    with path.open(encoding="utf-8") as lines:
        cases = [json.loads(line) for line in islice(lines, 60)]
    questions = [{key: value for key, value in case.items() if key != "expect"} for case in cases]
    wrong = [
        case["id"] for case, got in zip(cases, run.ask(program, questions))
        if records.comparable(case) != records.comparable(got)
    ]  # fmt: skip
    assert not wrong


def test_the_dra_program_answers_as_recorded() -> None:
    cases = json.loads(recorded("data/dra/golden_fuzz_k8s1.36.json").read_text(encoding="utf-8"))[:60]
    answers = run.ask(built(DRA), cases)
    for case, got in zip(cases, answers):
        for said, now in zip(case["expected"], got["expected"]):
            assert said["satisfied"] == now["satisfied"]
            assert said["results"] == now["results"]


def test_the_dra_program_evaluates_as_recorded() -> None:
    cases = json.loads(recorded("data/dra/golden_cel_k8s1.36.json").read_text(encoding="utf-8"))
    answers = run.ask(built(DRA), cases)
    for case, got in zip(cases, answers):
        if "matches" in case["expected"]:
            assert got == {"matches": case["expected"]["matches"]}


def test_dra_questions_hold_every_implementation() -> None:
    questions = run.draw("dra-scenarios", 300, 5)
    assert {one["channel"] for one in questions} == {"stable", "incubating", "experimental"}
    assert any(one["allocatedCapacity"] for one in questions)
    assert any("DRAListTypeAttributes" in one["features"] for one in questions)


def test_a_release_is_asked_of_its_own_program() -> None:
    series = {"v1.36.3": KUBELET, "v0.36.6": DRA, "v0.6.0": GPUALLOCATOR}
    for version, program in series.items():
        assert [one for one in gobuild.RELEASES if run._serves(one, version)] == [program]


@pytest.mark.parametrize("name", ["node-DGX-1V", "node-PCIe-8-one-bridge", "alias-n13-14-size2"])
def test_the_gpuallocator_program_answers_as_recorded(name: str) -> None:
    file: dict[str, Any] = json.loads(recorded(f"data/gpuallocator/{name}.json").read_text(encoding="utf-8"))
    program = built(GPUALLOCATOR)
    topologies = file["topologies"][:4]
    questions = [
        {"n": one["n"], "links": one["links"], "cases": [case[:4] for case in one["cases"]]} for one in topologies
    ]
    for topology, answer in zip(topologies, run.ask(program, questions)):
        assert [case[4:] for case in topology["cases"]] == [case[:4] for case in answer["cases"]]
        if "copysafe_result" in topology:
            assert answer["cases"][0][4] == topology["copysafe_result"]


def test_nodes_hold_what_can_be_read_wrongly() -> None:
    questions = pods.draw(2000, 6)
    assert questions == pods.draw(2000, 6) != pods.draw(2000, 7)
    assert sum(map(pods.size, questions)) >= 2000
    steps = [step for question in questions for step in question["steps"]]
    added = [step for step in steps if step["op"] == "add"]
    kinds = [one["kind"] for step in added for one in step["containers"]]
    assert {step["op"] for step in steps} == {"add", "del", "end", "health"}
    assert {"init", "sidecar", "app"} == set(kinds)
    again = [Counter((step["namespace"], step["name"]) for step in question["steps"] if step["op"] == "add")
             for question in questions]  # fmt: skip
    assert any(number > 1 for names in again for number in names.values())
    assert any(step.get("lost") for step in steps)
    assert sum(len(claim["pods"]) > 1 for question in questions for claim in question["claims"]) > 5


def test_our_readers_say_what_the_kubelet_gave() -> None:
    """And a device, a pod or a claim that it did not give is found."""
    program = built(KUBELET)
    questions = pods.draw(250, 8)
    counts: Counter[str] = Counter()
    found: set[str] = set()
    with pods.kubelet(program) as ask:
        for question in questions:
            right = given(question, ask(question))
            assert list(compare(right, counts)) == []
            found |= {line.partition(":")[0] for line in compare(_otherwise(right), Counter())}
    assert min(counts[what] for what in ("List", "Get", "joined", "kubelet-checkpoint", "cpu-manager-state")) > 20
    assert found >= {"List", "Get", "GetAllocatableResources", "kubelet-checkpoint", "cpu-manager-state", "joined"}


def _otherwise(right: Said) -> Said:
    """Every container with one device, CPU and claim more than it has."""
    more = {
        key: one._replace(devices=one.devices | {("nvidia.com/gpu", "GPU-x", (0,))}, cpus=one.cpus | {9999})
        for key, one in right.holdings.items()
    }
    return right._replace(holdings=more, allocatable=right.allocatable | {("nvidia.com/gpu", "GPU-x", None)})


def test_draws_do_not_share_a_generator() -> None:
    """So that one mechanism can be drawn again alone."""
    alone = run.draw("kubelet-hints", 5, 9)
    run.draw("kubelet-merge", 5, 9)
    assert run.draw("kubelet-hints", 5, 9) == alone
    assert run.MECHANISMS["kubelet-hints"].draw(Random("9 kubelet-hints"), 5) == alone


def test_a_kubelet_of_1_37_or_later_is_built_with_its_own_arguments() -> None:
    tags = {version: gobuild.tags(KUBELET, version) for version in ("v1.35.4", "v1.36.3", "v1.37.2", "v1.38.0")}
    assert tags == {"v1.35.4": "", "v1.36.3": "", "v1.37.2": "since_1_37", "v1.38.0": "since_1_37"}
    assert gobuild.tags(GPUALLOCATOR, "v0.60.0") == ""
