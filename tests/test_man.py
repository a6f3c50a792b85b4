"""The pages made from the program: gputopo(1) and docs/formats.md say what the program does, and are readable."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from gputopo.cli import VERBS, commands, load
from gputopo.commands import formats, generated, man
from gputopo.parsers.formats import FORMATS, Format

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "man" / "gputopo.1"


@pytest.mark.parametrize(
    ("module", "page", "file"),
    [
        ("gputopo.commands.man", man.page, PAGE),
        ("gputopo.commands.formats", formats.page, ROOT / "docs" / "formats.md"),
    ],
)
def test_a_page_is_written_checked_and_not_stale(module, page, file, tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    assert generated.main(module, page, file, ["--check"]) == 0
    copy = tmp_path / "new" / "page"
    assert generated.main(module, page, file, ["--check", str(copy)]) == 1
    assert generated.main(module, page, file, ["--write", str(copy)]) == 0
    assert copy.read_bytes() == file.read_bytes()
    copy.write_text(copy.read_text() + "more")
    assert generated.main(module, page, file, ["--check", str(copy)]) == 1
    assert capsys.readouterr().err == f"{copy} is stale: python -m {module} --write\n" * 2
    assert generated.main(module, page, file, ["--wirte"]) == 2


def shown() -> str:
    """The page as a reader sees it."""
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-P-c", "-rLL=160n", str(PAGE)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return re.sub(r".\x08", "", done.stdout)


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff here")
def test_groff_shows_every_verb_option_and_format_without_a_warning() -> None:
    lines = [" ".join(line.split()) for line in shown().splitlines()]
    text = "\n".join(lines)
    for words, command in commands():
        assert f"gputopo {words}" in lines
        for one in command.params:
            for name in one.opts if one.param_type_name == "option" else ():
                assert re.search(rf"(^|, ){re.escape(name)}\b", text, re.MULTILINE), (words, name)
    for row in FORMATS:
        assert any(line.split(" ")[0] == row.id for line in lines)
    assert "--as FORMAT" in text
    assert "source <(gputopo completion bash)" in text  # what is to be typed can be copied


@pytest.mark.skipif(shutil.which("man") is None, reason="no man here")
def test_man_takes_the_page_and_knows_its_name() -> None:
    done = subprocess.run(["man", "--warnings=all", "-l", str(PAGE)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    if shutil.which("lexgrog"):
        done = subprocess.run(["lexgrog", str(PAGE)], capture_output=True, text=True, check=False)
        assert '"gputopo - how a GPU node is wired' in done.stdout


def test_roff_sees_no_request_and_no_escape_of_strangers() -> None:
    assert man.plain(".so /etc/passwd") == r"\&.so /etc/passwd"
    assert man.plain("a\\fBb") == r"a\efBb"
    for line in man.page().splitlines():
        assert re.match(r"\.(\\\"|TH|SH|SS|TP|PP|br)\b|\.\\\"|[^.']", line), line


def test_the_wheel_installs_the_page() -> None:
    assert '"docs/man/gputopo.1" = "share/man/man1/gputopo.1"' in (ROOT / "pyproject.toml").read_text()


def test_the_exit_codes_are_those_of_the_readme() -> None:
    rows = re.findall(r"^\| (\d+) \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert [str(code) for code, _ in man.EXIT_CODES] == rows


@pytest.mark.parametrize("row", FORMATS, ids=lambda row: row.id)
def test_a_format_says_how_to_get_it(row: Format) -> None:
    """And where gputopo itself writes it, the command line is one that gputopo takes."""
    assert row.get
    for line in row.get:
        words = shlex.split(line.split(">")[0].split(";")[0])
        if words[0] == "gputopo":
            verb = words[1] if words[1] in VERBS else "inspect"
            rest = words[2:] if words[1] in VERBS else words[1:]
            load(verb).make_context(verb, rest)
