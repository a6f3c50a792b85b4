"""`gputopo lint` as a user calls it: exit codes, outputs, and files that are none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gputopo.cli import run
from gputopo.documents.schema import schemas
from tests.lint.test_dra_rules import FINE, HERE, claim

SHARED = (
    Path(os.environ.get("GPUTOPO_SHARED", Path(__file__).parents[2].parent / "shared")) / "data" / "dra" / "samples"
)


def lint(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run(["lint", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def written(folder: Path, text: str, name: str = "claim.yaml") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def document(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    _, out, _ = lint(capsys, *words, "-o", "json")
    made: dict[str, Any] = json.loads(out)
    jsonschema.validate(made, schemas()["LintReport"])
    return made


def test_a_clean_file_is_exit_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = lint(capsys, written(tmp_path, claim(FINE)))
    assert (code, err) == (0, "")
    assert out == "nothing found (Kubernetes 1.36, NVIDIA's DRA driver 0.4, assumed)\n"


def test_a_line_has_file_line_column_code_and_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, claim(f"{HERE}productName == 'H100'"))
    code, out, _ = lint(capsys, file)
    assert code == 1
    assert out.startswith(f"{file}:16:53 GT304 error: productName == 'H100' is never true")
    _, quiet, _ = lint(capsys, "-q", file)
    assert quiet.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 0),
        (["--fail-on", "warning"], 1),
        (["--fail-on", "never"], 0),
        (["--fail-on", "warning", "--ignore", "GT308"], 0),
        (["--fail-on", "warning", "--select", "GT30"], 1),
        (["--fail-on", "warning", "--select", "GT304"], 0),
    ],
)
def test_exit_code_by_severity(words: list[str], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint(capsys, written(tmp_path, claim(count=2)), *words)[0] == code


def test_versions_decide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, claim(attribute="resource.kubernetes.io/numaNode"))
    assert [one["severity"] for one in document(capsys, file)["findings"]] == ["warning"]
    made = document(capsys, file, "--driver-version", "v0.5.0", "--k8s-version", "v1.35.2")
    assert (made["findings"], made["driver"], made["kubernetes"]) == ([], {"line": "0.5", "assumed": False}, "1.35")


@pytest.mark.parametrize(
    "words", [["--driver-version", "0.1"], ["--k8s-version", "one"], ["--k8s-version", "1.20"], ["--select", "GT999"]]
)
def test_a_wrong_option_is_one_line(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = lint(capsys, written(tmp_path, claim()), *words)
    assert (code, out) == (2, "")
    assert err.startswith("gputopo: error: ")
    assert err.count("\n") <= 2


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("kind: Pod\n  bad: [", ":2)"),
        ("kind: Gizmo\napiVersion: v1\n", "no rule knows kind Gizmo"),
        ("", "the file is empty"),
        ("apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nspec: {selectors: [{cel: {expression: '"
         + "(" * 5000 + "true" + ")" * 5000 + "'}}]}\n", "claim.yaml:3:39)"),
        ("[" * 10240, "nested"),
        ("x" * 100_000, "no mapping"),
    ],
)
def test_what_is_no_manifest_is_one_line_and_exit_2(
    text: str, part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = lint(capsys, written(tmp_path, text))
    assert (code, out) == (2, "")
    assert part in err.splitlines()[0]


def test_brackets_too_deep_in_a_selector_are_one_line_and_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = lint(capsys, written(tmp_path, claim("(" * 10240)))
    assert (code, out) == (2, "")
    assert "expression recursion limit exceeded: 250 (" in err


def test_objects_that_no_rule_knows_are_said_beside_those_that_one_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, claim() + "---\nkind: Gizmo\napiVersion: v1\n")
    assert document(capsys, file)["notChecked"] == [{"file": file, "line": 21, "kind": "Gizmo"}]


def test_sarif_and_github_have_the_same_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, claim(f"{HERE}model == 'H100'", count=2))
    found = document(capsys, file)["findings"]
    _, out, _ = lint(capsys, file, "-o", "sarif")
    [made] = json.loads(out)["runs"]
    assert [one["ruleId"] for one in made["results"]] == [one["rule"] for one in found]
    regions = [one["locations"][0]["physicalLocation"]["region"] for one in made["results"]]
    assert [(one["startLine"], one["startColumn"]) for one in regions] == [(f["line"], f["column"]) for f in found]
    assert all(made["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] == one["ruleId"] for one in made["results"])
    _, out, _ = lint(capsys, file, "-o", "github")
    assert [line.split("title=")[1][:5] for line in out.splitlines()] == [one["rule"] for one in found]


def sample(name: str) -> str:
    path = SHARED / name
    if not path.is_file():
        pytest.skip("the shared samples are not here")
    return str(path)


def test_of_the_wrong_claim_each_fault_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    found = {
        (one["rule"], one["line"], one["column"])
        for one in document(capsys, sample("claim-seed-wrong.yaml"))["findings"]
    }
    assert found == {
        ("GT301", 2, 13), ("GT303", 10, 25), ("GT303", 20, 61), ("GT304", 20, 61), ("GT302", 20, 121),
        ("GT311", 21, 15), ("GT302", 21, 17),
    }  # fmt: skip


@pytest.mark.parametrize(("version", "rules"), [("0.5", []), ("0.4.1", ["GT303"])])
def test_the_corrected_claim_needs_the_newer_driver(
    version: str, rules: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    made = document(capsys, sample("claim-seed-corrected-v1.yaml"), "--driver-version", version)
    assert [one["rule"] for one in made["findings"]] == rules
    assert {one["severity"] for one in made["findings"]} <= {"warning"}


def test_real_slices_and_classes_are_clean(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("real-aws-p5-8xh100-two-nodes-k8s-v1.yaml", "deviceclasses.yaml", "claim-gpu-nic-pairs-v1.yaml"):
        assert document(capsys, sample(name))["findings"] == []
