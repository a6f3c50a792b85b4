"""gputopo.toml: what it suppresses is counted and has a reason, what it does not know is an error with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gputopo.cli import run
from gputopo.rules.codes import MODULES
from gputopo.rules.settings import THRESHOLDS

Ask = Callable[..., tuple[int, str, str]]
LEAVES = ("diagnose", "sample:pcie-bridged", "--gpus", "0,1,4")
IGNORE = """# what this site has decided
[[ignore]]
rule = "{rule}"
subjects = [{subjects}]
reason = "{reason}"
"""


def ignoring(rule: str, *subjects: str, reason: str = "built so") -> str:
    return IGNORE.format(rule=rule, subjects=", ".join(f'"{one}"' for one in subjects), reason=reason)


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)

    def asked(*arguments: str, toml: str | None = None) -> tuple[int, str, str]:
        if toml is not None:
            Path("gputopo.toml").write_text(toml)
        code = run(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return asked


def test_a_suppressed_finding_is_counted_with_its_reason_and_is_no_cause(ask: Ask) -> None:
    code, out, err = ask(*LEAVES, "--ignore", "GT501", toml=ignoring("GT502", "GPU*"))
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "suppressed  1 finding by gputopo.toml: 1 GT502 (built so)"
    assert "GT502" not in out.replace(out.splitlines()[-1], "")
    assert out.startswith("VERDICT   No fault found in the evidence")


def test_of_a_document_it_is_said_on_stderr(ask: Ask) -> None:
    _, out, err = ask(*LEAVES, "-o", "json", toml=ignoring("set-leaves-nvlink-island"))
    assert err == "gputopo: suppressed 1 finding by gputopo.toml: 1 GT502 (built so)\n"
    assert "GT502" not in [one["rule"] for one in json.loads(out)["findings"]]


def test_all_subjects_of_a_finding_must_be_named(ask: Ask) -> None:
    code, out, _ = ask(*LEAVES, toml=ignoring("GT502", "GPU0", "GPU1"))
    assert code == 1
    assert "error   GT502" in out
    assert "suppressed" not in out


@pytest.mark.parametrize(
    ("verb", "rule"),
    [
        (("inspect", "sample:pcie-bridged"), "GT120"),
        (("lint", "pod.yaml"), "GT360"),
    ],
)
def test_the_other_verbs_do_the_same(verb: tuple[str, ...], rule: str, ask: Ask) -> None:
    Path("pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: c\n    image: i\n"
        "    resources:\n      limits: {nvidia.com/gpu: 2}\n      requests: {nvidia.com/gpu: 1}\n"
    )
    _, before, _ = ask(*verb)
    assert rule in before
    _, out, _ = ask(*verb, toml=ignoring(rule))
    assert f"suppressed  1 finding by gputopo.toml: 1 {rule} (built so)" == out.splitlines()[-1]
    _, elsewhere, _ = ask(*verb, toml=ignoring(rule, "another"))
    assert elsewhere == before


def test_the_nearest_file_counts_and_config_goes_before_it(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a/b").mkdir(parents=True)
    Path("gputopo.toml").write_text(ignoring("GT502", reason="above"))
    Path("other.toml").write_text(ignoring("GT502", reason="asked for"))
    monkeypatch.chdir("a/b")
    assert "by ../../gputopo.toml: 1 GT502 (above)" in ask(*LEAVES)[1]
    Path("gputopo.toml").write_text(ignoring("GT502", reason="near"))
    assert "by gputopo.toml: 1 GT502 (near)" in ask(*LEAVES)[1]
    assert "by ../../other.toml: 1 GT502 (asked for)" in ask(*LEAVES, "--config", "../../other.toml")[1]


def test_a_threshold_moves_the_rule_and_the_verdict(ask: Ask) -> None:
    measured = ("diagnose", "sample:hgx-h100", "--gpus", "0-7", "--measured", "300")
    code, out, _ = ask(*measured, "--fail-on", "warning", toml="")
    assert (code, "GT540" in out.partition("not checked")[0]) == (0, False)
    code, out, _ = ask(*measured, "--fail-on", "warning", toml="[thresholds]\nslower_than_expected = 0.9\n")
    assert code == 1
    assert "warning GT540  measured 300 GB/s is 62 % of the 480 GB/s to be expected" in out
    assert out.startswith("VERDICT   Undecided: GPU0-GPU7 measures 300 of 480 GB/s")


@pytest.mark.parametrize(
    ("toml", "where", "what", "hint"),
    [
        ("[[ignore]\n", "1:9", "no TOML: ", ""),
        ("[[ignor]]\nrule = 1\n", "1:3", "no such key: ignor", "did you mean ignore?"),
        ('[[ignore]]\nrule = "GT5"\nreason = "x"\n[[ignore]]\n  rul = "GT1"\n', "5:3", "no such key: rul",
         "did you mean rule?"),
        ('[[ignore]]\nrule = "GT502"\n', "1:1", "[[ignore]] of GT502 gives no reason", 'reason = "why it may be so"'),
        ('[[ignore]]\nrule = "GT502"\nreason = " "\n', "3:1", "[[ignore]] of GT502 gives no reason", "why it may"),
        ('[[ignore]]\nreason = "x"\n', "1:1", "[[ignore]] names no rule", 'rule = "GT112"'),
        ('[[ignore]]\nrule = "GT9"\nreason = "x"\n', "2:1", "no rule GT9", "lists all rules"),
        ('[[ignore]]\nrule = "GT1"\nreason = "x"\nsubjects = "GPU3"\n', "4:1", "subjects is a list of texts", "GPU3"),
        ('ignore = "GT1"\n', "1:1", "ignore is a list of tables: [[ignore]]", ""),
        ("[thresholds]\nslower = 0.5\n", "2:1", "no such key: slower", "slower_than_expected"),
        ("[thresholds]\nslower_than_expected = 2\n", "2:1", "slower_than_expected is a number from 0.01 to 1", ""),
        ("[thresholds]\nslower_than_expected = true\n", "2:1", "slower_than_expected is a number", ""),
    ],
)  # fmt: skip
def test_a_word_that_means_nothing_is_one_line_with_its_place(
    toml: str, where: str, what: str, hint: str, ask: Ask
) -> None:
    code, out, err = ask(*LEAVES, toml=toml)
    first, *rest = err.splitlines()
    assert (code, out) == (2, "")
    assert first.startswith(f"gputopo: error: {what}")
    assert first.endswith(f"(gputopo.toml:{where})")
    assert len(rest) <= 1
    assert hint in "".join(rest)


def test_a_file_that_is_not_there_and_one_that_is_no_text(ask: Ask) -> None:
    code, _, err = ask(*LEAVES, "--config", "none.toml")
    assert (code, err.splitlines()[0]) == (2, "gputopo: error: no such file or folder (none.toml)")
    Path("gputopo.toml").write_bytes(b"a = 1\n\xff\n")
    code, _, err = ask(*LEAVES)
    assert (code, err) == (2, "gputopo: error: not UTF-8 (gputopo.toml:2)\n")


def test_a_reason_from_a_stranger_cannot_draw_on_the_terminal(ask: Ask) -> None:
    _, out, _ = ask(*LEAVES, toml=ignoring("GT502", reason="\\u001b[2Jx"))
    assert "\x1b" not in out


def test_thresholds_are_of_rules_that_there_are() -> None:
    for name, row in THRESHOLDS.items():
        assert row.rule in MODULES, name
        assert row.least <= row.default <= row.most
