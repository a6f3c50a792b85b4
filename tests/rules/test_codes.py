"""The static table of rules, and what each module has to offer."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import gputopo.rules
from gputopo.rules.codes import MODULES, load, name
from gputopo.rules.explain import HEADINGS, explain, explain_all, main, pages, sections
from gputopo.rules.finding import SEVERITIES

FOLDER = Path(gputopo.rules.__file__).parent


def test_the_table_is_sorted_and_lists_every_file() -> None:
    assert list(MODULES) == sorted(MODULES)
    assert len(set(MODULES.values())) == len(MODULES)
    rules = {
        ".".join(path.relative_to(FOLDER).with_suffix("").parts)
        for path in FOLDER.rglob("*.py")
        if re.search(r'^CODE = "GT\d', path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert rules == set(MODULES.values())


@pytest.mark.parametrize("code", MODULES)
def test_a_rule_is_documented_under_the_five_headings(code: str) -> None:
    rule = load(code)
    assert code == rule.CODE
    assert rule.SEVERITY in SEVERITIES
    assert (rule.__doc__ or "").splitlines()[0] == f"{code} {name(code)}"
    assert tuple(sections(code)) == HEADINGS
    assert all(sections(code).values())
    assert ">>> " in sections(code)["Example"]


def test_explain_gives_a_rule_by_code_in_any_case_by_name_and_by_prefix() -> None:
    assert explain("gt112").startswith("GT112 pcie-width-reduced\n\nWhat it says\n")
    assert explain("pcie-width-reduced") == explain("GT112")
    assert explain("GT12").count("When it is silent") == sum(code.startswith("GT12") for code in MODULES)


def test_explain_all_has_every_rule_with_its_severity() -> None:
    text = explain_all()
    for code in MODULES:
        assert re.search(rf"^{code}  {load(code).SEVERITY} +{name(code)}$", text, re.MULTILINE)


def test_the_pages_in_docs_are_those_of_the_docstrings(capsys: pytest.CaptureFixture[str]) -> None:
    if not (FOLDER.parents[1] / "pyproject.toml").is_file():
        pytest.skip("docs/ is not part of the installed package")
    assert main(["--check"]) == 0, capsys.readouterr().err


def test_writing_the_pages_makes_them_fresh_and_removes_those_of_gone_rules(tmp_path: Path) -> None:
    (tmp_path / "GT999.md").write_text("gone")
    assert main(["--check", str(tmp_path)]) == 1
    assert main(["--write", str(tmp_path)]) == 0
    assert main(["--check", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == set(pages())
    assert main(["--nonsense"]) == 2


def test_running_the_rules_imports_nothing_slow() -> None:
    program = (
        "import sys; from gputopo.rules.run import run; from gputopo.topology.node import Gpu, NodeTopology;"
        "run(NodeTopology(gpus=(Gpu('GPU0'), Gpu('GPU1'))));"
        "print([m for m in ('dataclasses', 'difflib', 'pathlib', 'inspect', 'yaml') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True,
                            cwd=FOLDER.parents[1])  # fmt: skip
    assert answer.stdout.strip() == "[]"
