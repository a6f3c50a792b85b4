"""README, docs/ and CONTRIBUTING tell the truth: their outputs are the real ones, and their commands work.

`python tests/test_readme.py` puts the present outputs into them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gputopo.rules.codes import MODULES
from tests.pages import play
from tests.pages.read import OUTPUT, README, ROOT, pages, shell, shown

# Programs that a page may call beside ours: what people have on a node, at a desk, in CI.
OTHERS = frozenset({
    "cat", "clush", "cp", "docker", "git", "helm", "kubectl", "lscpu", "lspci", "make", "mkdir", "nvidia-smi", "pip",
    "pre-commit", "pytest", "python", "scp", "sh", "ssh", "tar", "torchrun",
})  # fmt: skip
LINK = re.compile(r"\]\(([^)#]*)(#[^)]*)?\)")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", pages(), ids=name)
def test_commands_work_and_outputs_are_the_real_ones(page: Path, tmp_path: Path) -> None:
    with play.place(tmp_path):
        assert list(play.troubles(page)) == []
        assert play.rewritten(page) == page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", pages(), ids=name)
def test_a_shell_can_read_it_and_knows_every_program(page: Path) -> None:
    text = shell(page)
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    targets = set(re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for one in shown(page):
        for words in one.programs:
            assert words[0] == "gputopo" or Path(words[0]).name in OTHERS, one.line
            if words[0] == "make":
                assert words[1] in targets, one.line
            if words[:2] == ("python", "-m"):
                assert find_spec(words[2]), one.line
            elif words[0] in ("python", "pytest"):
                assert all((ROOT / word).exists() for word in words[1:]), one.line


@pytest.mark.parametrize("page", pages(), ids=name)
def test_its_links_lead_somewhere(page: Path) -> None:
    for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in path:
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        if anchor and target.suffix == ".md":
            heads = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor[1:] in {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}, anchor


@pytest.mark.parametrize("page", pages(), ids=name)
def test_the_rules_it_names_exist(page: Path) -> None:
    assert set(re.findall(r"\bGT\d{3}\b", page.read_text(encoding="utf-8"))) <= set(MODULES)


@pytest.mark.parametrize(("page", "schema"), [("pods", "PodAudit"), ("diagnose", "Diagnosis")])
def test_the_json_fields_it_names_exist(page: str, schema: str) -> None:
    """The first column of the table below `## JSON`."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    table = text.partition("\n## JSON\n")[2].partition("\n## ")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = {word for cell in cells for word in re.findall(r"\w+", cell)}
    written = json.loads((ROOT / "docs" / "schema" / f"{schema}.json").read_text(encoding="utf-8"))
    known = {*written["properties"], *(key for one in written["$defs"].values() for key in one.get("properties", ()))}
    assert len(named) > 10
    assert named <= known


def test_the_index_names_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / path).resolve() for path, _ in LINK.findall(index.read_text(encoding="utf-8"))}
    assert set(pages()) - {index} <= linked


def test_live_commands_of_the_readme_work(tmp_path: Path) -> None:
    """This machine stands in for a reader's, whatever it is."""
    lines = [one.line for one in shown(README) if ("gputopo",) in one.programs or "gputopo collect -o" in one.line]
    assert len(lines) == 2
    for line in lines:
        done = subprocess.run(
            play.live(line), capture_output=True, text=True, check=False, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert done.returncode == 0
        assert done.stdout or done.stderr.startswith("gputopo: wrote node.tar.gz: ")


def test_what_is_wrong_on_a_page_is_said(tmp_path: Path) -> None:
    """A verb, an option, an exit code, an output that is not so."""
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ gputopo sample:dgx2 --matrixx\n$ gputopo lint pod.yaml   # exit 1\n"
        "$ gputopo allocate everything sample:dgx2\n$ gputopo pods --kube -A\n```\n"
        "<!-- output: explain GT402 | head -1 -->\n```text\nold\n```\n<!-- end -->\n"
    )
    (tmp_path / "folder").mkdir()
    with play.place(tmp_path / "folder"):
        said = list(play.troubles(page))
        assert [one.split(":")[0].split()[1] for one in said] == ["sample", "lint", "allocate"]
        assert "GT402 sockets-crossed-over-pcie" in play.rewritten(page)


def test_every_exit_code_and_format_is_there() -> None:
    text = README.read_text()
    for code in (0, 1, 2, 3, 130):
        assert f"| {code} |" in text
    assert "not related to Alibaba Cloud's gputopo-device-plugin" in text


def main() -> None:
    for page in pages():
        if OUTPUT.search(page.read_text(encoding="utf-8")):
            with tempfile.TemporaryDirectory() as folder, play.place(Path(folder)):
                list(play.troubles(page))
                page.write_text(play.rewritten(page), encoding="utf-8")


if __name__ == "__main__":
    main()
