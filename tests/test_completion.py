"""Completion, as the shells and kubectl really do it: what Tab makes of a command line."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gputopo.cli import VERBS, commands, run
from gputopo.commands.complete import DIRECTORIES, NO_FILES, NO_SPACE, VALUES, WORDS, at_cursor
from gputopo.commands.completion_scripts import SCRIPTS
from gputopo.parsers.formats import FORMATS
from gputopo.rules.codes import MODULES
from gputopo.sample_files import sample_names

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}


def values(*words: str) -> list[str]:
    return [value for value, _ in at_cursor(words).items]


def test_every_kind_of_value_is_known() -> None:
    """An option whose metavar is no row of the table would silently complete to nothing."""
    for words, command in commands():
        for parameter in command.params:
            taken = not getattr(parameter, "is_flag", False)
            if taken and not getattr(parameter.type, "choices", None) and not WORDS.keys() & set(parameter.opts):
                assert parameter.metavar in VALUES, f"{words} {parameter.opts}"


def test_a_verb_with_verbs_of_its_own() -> None:
    assert [value for value, _ in at_cursor(["allocate", "k"]).items] == ["kubelet", "koordinator"]
    policies = at_cursor(["allocate", "kubelet", "--topology-manager-policy", "s"])
    assert [value for value, _ in policies.items] == ["single-numa-node"]
    assert at_cursor(["allocate", "nonsense", "-"]).items == ()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], [*VERBS, "help", "version"]),
        (["ins"], ["inspect"]),
        (["help", "ex"], ["export", "explain"]),
        (["help", "explain", ""], []),
        (["--ver"], ["--version", "--verbose"]),
        (["-o", "j"], ["json"]),
        (["topo.txt", "-o", ""], ["text", "json", "yaml", "markdown", "csv", "html", "github"]),
        (["explain", "-o", ""], ["text", "json"]),
        (["inspect", "-vo", "y"], ["yaml"]),
        (["inspect", "-ojson", "--fail-on", "w"], ["warning"]),
        (["inspect", "--fail-on=e"], ["error"]),
        (["inspect", "--verbose=t"], []),
        (["inspect", "--no-such=t"], []),
        (["inspect", "--output", "json", "--outp"], ["--output-file"]),
        (["inspect", "--select", "GT112", "--sel"], ["--select"]),
        (["inspect", "--as", "lspci"], ["lspci-tv", "lspci-vvv"]),
        (["inspect", "--select", "GT112,gt11"], [f"GT112,GT11{n}" for n in (0, 1, 3, 4, 5, 6)]),
        (["inspect", "--ignore", "pcie-w"], ["pcie-width-reduced"]),
        (["explain", "GT11"], [code for code in MODULES if code.startswith("GT11")]),
        (["explain", "GT112", ""], []),
        (["inspect", "sa"], ["sample:"]),
        (["inspect", "a.txt", "sample:hgx-h1"], ["sample:hgx-h100"]),
        (["inspect", "--", "--outp"], []),
        (["inspect", "--timeout", ""], []),
        (["collect", "--keep", "uuid,ser"], ["uuid,serial"]),
        (["collect", "--with", ""], ["kubelet"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["no-such-verb", "--fo"], []),
    ],
)
def test_what_is_offered(words: list[str], expected: list[str]) -> None:
    assert values(*words) == expected


def test_tables_are_offered_whole() -> None:
    assert values("inspect", "--as", "") == [row.id for row in FORMATS]
    assert values("inspect", "--select", "") == list(MODULES)
    assert values("sample:") == [f"sample:{name}" for name in sample_names()]


@pytest.mark.parametrize(
    ("words", "directive"),
    [
        ([""], NO_FILES),
        (["x"], 0),
        (["inspect", ""], 0),
        (["inspect", "s"], NO_SPACE),
        (["inspect", "sample:"], NO_FILES),
        (["inspect", "--root", ""], DIRECTORIES),
        (["inspect", "--output-file="], 0),
        (["collect", "-o", ""], 0),
        (["collect", "x"], NO_FILES),
        (["inspect", "--timeout", "1"], NO_FILES),
    ],
)
def test_where_file_names_may_stand(words: list[str], directive: int) -> None:
    assert at_cursor(words).directive == directive


def test_a_failure_offers_nothing_and_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(word: str) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setitem(VALUES, "FORMAT", broken)
    assert run(["__complete", "inspect", "--as", ""]) == 0
    assert capsys.readouterr() == (":0\n", "")


@pytest.mark.parametrize("words", [["\udcff"], ["inspect", "\x00"], ["-"], ["--"], ["--", "="], ["-=", "-"], ["="]])
def test_odd_words_are_answered(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["__complete", *words]) == 0
    out, err = capsys.readouterr()
    assert re.fullmatch(r"([^\n]+\n)*:\d+\n", out)
    assert err == ""


def test_completion_loads_nothing_slow() -> None:
    code = (
        "import sys; from gputopo.cli import run; run(sys.argv[1:])\n"
        "print(*sys.modules, sep='\\n', file=sys.stderr)"
    )
    for words in (["ins"], ["inspect", "--o"], ["inspect", "--select", ""], ["sample:"], ["inspect", "--as", ""]):
        done = subprocess.run(
            [sys.executable, "-c", code, "__complete", *words], capture_output=True, text=True, check=True
        )
        loaded = set(done.stderr.split())
        assert "gputopo.commands.complete" in loaded
        assert not loaded & {"rich", "yaml", "pynvml", "psutil", "asyncio", "importlib.metadata", "gputopo.inspection"}


class Bash:
    """An interactive bash with readline, in which `gputopo` completes and prints its arguments."""

    def __init__(self, folder: Path) -> None:
        (folder / "gputopo.bash").write_text(SCRIPTS["bash"])
        python = f"{sys.executable} -m gputopo"
        (folder / "rc").write_text(
            "PS1='READY> '; bind 'set enable-bracketed-paste off'; bind 'set bell-style none'\n"
            f"gputopo() {{ if [[ $1 == __complete ]]; then {python} \"$@\"; return; fi\n"
            "printf 'GOT<%s>' \"$@\"; echo; }\n"
            "source ./gputopo.bash\n"
        )
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(shutil.which("bash") or "", ["bash", "--noprofile", "--rcfile", "rc", "-i"], {
                **ENVIRONMENT, "TERM": "dumb", "COLUMNS": "200", "INPUTRC": "/dev/null"})  # fmt: skip
        self.until("READY> ")

    def until(self, mark: str, seconds: float = 20) -> str:
        said, end = "", time.monotonic() + seconds
        while mark not in said:
            assert select.select([self.terminal], [], [], end - time.monotonic())[0], f"no {mark!r} in {said!r}"
            said += os.read(self.terminal, 65536).decode()
        return said

    def tab(self, line: str) -> str:
        """The arguments of the line after Tab and Return."""
        os.write(self.terminal, (line + "\t\n").encode())
        said = self.until("GOT<")
        if "READY> " not in said.split("GOT<", 1)[1]:
            said += self.until("READY> ")
        return "GOT<" + said.split("GOT<", 1)[1].splitlines()[0]

    def listed(self, line: str) -> str:
        """What two Tabs show; the line is then given up."""
        os.write(self.terminal, (line + "\t\t").encode())
        said = self.until("READY> " + line)  # readline shows the line again under its list
        os.write(self.terminal, b"\x15echo DO''NE\n")
        self.until("DONE\r\nREADY> ")
        return said

    def close(self) -> None:
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bash]:
    if shutil.which("bash") is None:
        pytest.skip("no bash here")
    folder = tmp_path_factory.mktemp("bash")
    for name in ("topo.txt", "insane.log", "a file.txt", "colon:file"):
        (folder / name).write_text("")
    (folder / "captures").mkdir()
    (folder / "captures.txt").write_text("")
    shell = Bash(folder)
    yield shell
    shell.close()


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("gputopo expl", "GOT<explain>"),
        ("gputopo inspect --outp", "GOT<inspect>GOT<--output>"),  # the longest they share; --output-file is longer
        ("gputopo inspect --mer", "GOT<inspect>GOT<--merge>"),
        ("gputopo inspect -o js", "GOT<inspect>GOT<-o>GOT<json>"),
        ("gputopo inspect --output=js", "GOT<inspect>GOT<--output=json>"),
        ("gputopo -o y", "GOT<-o>GOT<yaml>"),
        ("gputopo inspect sample:hgx-h1", "GOT<inspect>GOT<sample:hgx-h100>"),
        ("gputopo sample:dgx1", "GOT<sample:dgx1-v100>"),
        ("gputopo inspect --select GT112,GT13", "GOT<inspect>GOT<--select>GOT<GT112,GT13>"),
        ("gputopo inspect --select GT112,gt130", "GOT<inspect>GOT<--select>GOT<GT112,GT130>"),
        ("gputopo inspect --assume so", "GOT<inspect>GOT<--assume>GOT<sockets=numa>"),
        ("gputopo inspect --assume sockets=n", "GOT<inspect>GOT<--assume>GOT<sockets=numa>"),
        ("gputopo inspect --assume=sockets=n", "GOT<inspect>GOT<--assume=sockets=numa>"),
        ("gputopo top", "GOT<topo.txt>"),
        ("gputopo inspect to", "GOT<inspect>GOT<topo.txt>"),
        ("gputopo ins", "GOT<ins>"),  # a verb and a file begin so
        ("gputopo insa", "GOT<insane.log>"),
        ("gputopo inspect a", "GOT<inspect>GOT<a file.txt>"),
        ("gputopo inspect topo.txt --root capt", "GOT<inspect>GOT<topo.txt>GOT<--root>GOT<captures/>"),
        ("gputopo inspect --output-file=top", "GOT<inspect>GOT<--output-file=topo.txt>"),
        ("gputopo inspect --timeout to", "GOT<inspect>GOT<--timeout>GOT<to>"),
        ("gputopo collect -o to", "GOT<collect>GOT<-o>GOT<topo.txt>"),
        ("true; gputopo inspect --col", "GOT<inspect>GOT<--color>"),
    ],
)
def test_tab_in_bash(line: str, arguments: str, bash: Bash) -> None:
    assert bash.tab(line) == arguments


def test_two_tabs_in_bash_tell_what_each_is(bash: Bash) -> None:
    said = bash.listed("gputopo ")
    for verb, (_, summary) in VERBS.items():
        assert re.search(rf"{verb} +\({re.escape(summary)}\)", said)
    said = bash.listed("gputopo inspect sample:")
    assert "hgx-h100" in said
    assert re.search(r"GT112 +\(pcie-width-reduced\)", bash.listed("gputopo explain GT1"))


def test_bash_takes_the_script_without_a_word() -> None:
    done = subprocess.run(["bash", "-n"], input=SCRIPTS["bash"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def wrapper(folder: Path, name: str, function: str) -> None:
    """What an installer makes of a line of [project.scripts]."""
    file = folder / name
    file.write_text(f"#!{sys.executable}\nimport sys\nfrom gputopo.cli import {function}\nsys.exit({function}())\n")
    file.chmod(0o755)


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """A folder for the PATH with our console scripts, as pyproject.toml names them."""
    text = (ROOT / "pyproject.toml").read_text()
    found = re.findall(r'^(\S+) = "gputopo\.cli:(\w+)"', text, re.MULTILINE)
    assert {name for name, _ in found} == {"gputopo", "kubectl-gputopo", "kubectl_complete-gputopo"}
    folder = tmp_path / "scripts"
    folder.mkdir()
    for name, function in found:
        wrapper(folder, name, function)
    return folder


def called(*command: str, scripts: Path) -> subprocess.CompletedProcess[str]:
    environment = {**ENVIRONMENT, "PATH": f"{scripts}:{ENVIRONMENT['PATH']}", "HOME": str(scripts)}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, env=environment, cwd=scripts
    )  # fmt: skip


def test_the_plugin_speaks_of_itself_as_it_was_called(scripts: Path) -> None:
    done = called("kubectl-gputopo", "explian", scripts=scripts)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "kubectl gputopo: error: no such file or verb (explian)",
        "hint: did you mean kubectl gputopo explain?",
    ]
    done = called("kubectl-gputopo", "inspect", "--as", "nothing", "x", scripts=scripts)
    assert done.stderr.splitlines()[1] == "hint: kubectl gputopo formats lists them"
    done = called("kubectl-gputopo", "inspect", "--timeout", "soon", scripts=scripts)
    assert done.stderr.splitlines()[1] == "hint: kubectl gputopo inspect --help"
    assert "Usage: kubectl gputopo inspect" in called("kubectl-gputopo", "inspect", "-h", scripts=scripts).stdout
    assert called("gputopo", "explian", scripts=scripts).stderr.startswith("gputopo: error: ")


def test_kubectl_asks_the_completion_file(scripts: Path) -> None:
    done = called("kubectl_complete-gputopo", "explain", "GT112", scripts=scripts)
    assert done.stdout == "GT112\tpcie-width-reduced\n:4\n"


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl here")
def test_kubectl_runs_and_completes_the_plugin(scripts: Path) -> None:
    done = called("kubectl", "gputopo", "explain", "GT112", scripts=scripts)
    assert done.stdout.startswith("GT112 ")
    assert called("kubectl", "gputopo", "explain", "GT11Z", scripts=scripts).returncode == 2
    done = called("kubectl", "__complete", "gputopo", "inspect", "--fail-on", "w", scripts=scripts)
    assert done.stdout.splitlines()[:2] == ["warning", ":4"]
    done = called("kubectl", "__complete", "gputopo", "expl", scripts=scripts)
    assert done.stdout.splitlines()[0] == f"explain\t{VERBS['explain'][1]}"


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish here")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("gputopo expl", ["explain\t" + VERBS["explain"][1]]),
        ("gputopo inspect -o j", ["json"]),
        ("gputopo inspect --output=j", ["--output=json"]),
        ("gputopo inspect sample:hgx-h1", ["sample:hgx-h100"]),
        ("gputopo inspect --root capt", ["captures/"]),
        ("gputopo inspect topo", ["topo.txt"]),
    ],
)
def test_tab_in_fish(line: str, expected: list[str], scripts: Path) -> None:
    (scripts / "topo.txt").write_text("")
    (scripts / "captures").mkdir()
    (scripts / "gputopo.fish").write_text(SCRIPTS["fish"])
    done = called("fish", "--no-config", "-c", f"source gputopo.fish; complete -C '{line}'", scripts=scripts)
    assert done.stderr == ""
    # Fish itself calls a directory one.
    assert [re.sub(r"/\t.*", "/", offered) for offered in done.stdout.splitlines()] == expected


# The functions of zsh's completion system, which lives only inside its line editor.
ZSH_STANDS_IN = """
compdef() { :; }
compset() { :; }
_describe() { shift; print -rl -- "${(@P)1}"; }
_files() { print -r -- "files $*"; }
"""


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["expl"], ["explain:" + VERBS["explain"][1], "files "]),
        (["inspect", "-o", "j"], ["json"]),
        (["inspect", "sample:hgx-h1"], [r"sample\:hgx-h100"]),
        (["inspect", "--root", ""], ["files -/"]),
        (["inspect", ""], ["files "]),
    ],
)
def test_tab_in_zsh(words: list[str], expected: list[str], scripts: Path) -> None:
    (scripts / "gputopo.zsh").write_text(SCRIPTS["zsh"])
    line = " ".join(f"'{word}'" for word in ["gputopo", *words])
    code = f"{ZSH_STANDS_IN}\nsource ./gputopo.zsh\nwords=({line}); CURRENT=$#words; PREFIX=$words[-1]; _gputopo"
    done = called("zsh", "-f", "-c", code, scripts=scripts)
    assert done.stderr == ""
    assert done.stdout.splitlines() == expected


def test_the_verb_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    for shell, script in SCRIPTS.items():
        assert run(["completion", shell]) == 0
        assert capsys.readouterr().out == script
