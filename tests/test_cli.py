"""The command line: verbs, exit codes, one-line errors, where output goes."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gputopo.cli import VERBS, commands, run
from gputopo.version import __version__

TOPO = (
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNV18\t0-15\t0\t\tN/A\n"
    "GPU1\tNV18\t X \t16-31\t1\t\tN/A\n"
)


@pytest.fixture
def topo(tmp_path: Path) -> str:
    file = tmp_path / "topo.txt"
    file.write_text(TOPO)
    return str(file)


def gputopo(*arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    settings: dict[str, object] = {"capture_output": True, "text": True, "check": False, "timeout": 60} | more
    return subprocess.run([sys.executable, "-m", "gputopo", *arguments], **settings)  # type: ignore[call-overload,no-any-return]


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    """What and hint of a command line that must end with 2, in one line each."""
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert 1 <= len(lines) <= 2, err
    assert lines[0].startswith("gputopo: error: ")
    assert all(line.startswith("hint: ") for line in lines[1:])
    return lines[0].removeprefix("gputopo: error: "), lines[1].removeprefix("hint: ") if lines[1:] else ""


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"gputopo {__version__}\n"


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_every_verb_and_its_summary(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([option]) == 0
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for verb, (_, summary) in VERBS.items():
        assert f"{verb} {summary}" in out


@pytest.mark.parametrize(("words", "same"), [
    (["help"], ["--help"]),
    (["help", "explain"], ["explain", "--help"]),
    (["help", "help"], ["--help"]),
    (["version"], ["--version"]),
    (["-V"], ["--version"]),
    (["inspect", "-h"], ["inspect", "--help"]),
])  # fmt: skip
def test_words_that_users_of_other_tools_type(
    words: list[str], same: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 0
    said = capsys.readouterr().out
    assert run(same) == 0
    assert said == capsys.readouterr().out


@pytest.mark.parametrize("words", [words for words, _ in commands()])
def test_every_verb_has_help(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words.split(), "--help"]) == 0
    assert "--output" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "what", "hint"),
    [
        (["insepct"], "no such file or verb (insepct)", "gputopo inspect"),
        (["inspct"], "no such file or verb (inspct)", "did you mean gputopo inspect?"),
        (["hlep"], "no such file or verb (hlep)", "did you mean gputopo help?"),
        (["help", "explian"], "no such file or verb (explian)", "did you mean gputopo explain?"),
        (["completion"], "missing argument 'SHELL'", "gputopo completion --help"),
        (["completion", "bsh"], "invalid value for 'SHELL': 'bsh'", "did you mean bash?"),
        (["/no/such/file.txt"], "no such file or verb (/no/such/file.txt)", "gputopo --help"),
        (["inspect", "/no/such/file.txt"], "no such file or folder (/no/such/file.txt)", "check the path"),
        (["inspect", "--outptu", "json"], "no such option: --outptu", "--output"),
        (["--verison"], "no such option: --verison", "--version"),
        (["inspect", "-o", "jsn"], "invalid value for '-o' / '--output': 'jsn'", "json"),
        (["inspect", "--timeout", "soon"], "invalid value for '--timeout': 'soon'", "gputopo inspect --help"),
        (["inspect", "--timeout", "0"], "--timeout takes seconds", ""),
        (["inspect", "--timeout", "nan"], "--timeout takes seconds", ""),
        (["inspect", "--timeout"], "option '--timeout' requires", "gputopo --help"),
        (["inspect", "--merge", "--each"], "--merge and --each", ""),
        (["inspect", "--root", "/no/such/root"], "no sys/ in this root folder (/no/such/root)", "--root"),
        (["inspect", "--root", "/", "a.txt"], "--root is for the live node", ""),
        (["inspect", "sample:no-such"], "no such sample (sample:no-such)", "--samples"),
        (["explain", "GT11Z"], "no rule GT11Z", "GT11"),
        (["explain", "a", "b"], "got unexpected extra argument", "gputopo explain --help"),
        (["formats", "--sample"], "no such option: --sample", "--samples"),
    ],
)
def test_errors_are_one_line_and_one_hint(
    arguments: list[str], what: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said, next_step = fails(capsys, *arguments)
    assert said.startswith(what)
    assert hint in next_step


@pytest.mark.parametrize(
    ("options", "what", "hint"),
    [
        (["--as", "nvidia-smi-tpo"], "no such format: nvidia-smi-tpo (--as)", "nvidia-smi-topo"),
        (["--as", "hwloc-xml"], "", ""),
        (["--assume", "sockets"], "--assume takes KEY=VALUE, not 'sockets'", "sockets=numa"),
        (["--select", "GTX"], "no rule GTX", "gputopo explain"),
        (["--output-file", "/no/such/folder/out.txt"], "cannot write: no such file or directory", ""),
    ],
)
def test_wrong_values_beside_a_good_source(
    options: list[str], what: str, hint: str, topo: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said, next_step = fails(capsys, "inspect", topo, *options)
    assert said.startswith(what)
    assert hint in next_step


@pytest.mark.parametrize("name", ["nl\nin name", "esc\x1b[31m red", "tab\there", "bidi\u202e"])
def test_an_error_stays_on_its_line_whatever_the_name(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said, _ = fails(capsys, "inspect", str(tmp_path / name))
    assert said.isprintable()


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"meeting at noon\n", bytes(range(256)), b"\x00" * 5000, b"{", b"<system", b"[]", b"<a/>"],
)
def test_input_that_is_nothing_is_an_error_of_one_line(
    data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "input"
    file.write_bytes(data)
    said, _ = fails(capsys, str(file))
    assert str(file) in said


def test_a_bare_file_is_inspected(topo: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([topo]) == 0
    bare = capsys.readouterr()
    assert run(["inspect", topo]) == 0
    assert capsys.readouterr() == bare
    assert "GPU1" in bare.out


def test_options_of_inspect_may_stand_first(topo: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-o", "json", topo]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["apiVersion"], document["kind"]) == ("gputopo/v1alpha1", "NodeTopology")
    assert [gpu["id"] for gpu in document["gpus"]] == ["GPU0", "GPU1"]


def test_a_verb_wins_over_a_file_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("formats").write_text(TOPO)
    assert run(["formats"]) == 0
    assert "nvidia-smi-topo" in capsys.readouterr().out
    assert run(["./formats", "-o", "json"]) == 0
    assert '"GPU1"' in capsys.readouterr().out


def test_several_nodes_are_a_list(topo: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([topo, topo, "--each", "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "NodeTopologyList"
    assert len(document["items"]) == 2


@pytest.mark.parametrize("sources", [("a17", "b03"), (".",)])
def test_each_of_several_folders_is_a_node(
    sources: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder a node, with the same commands in each, and nothing that names the nodes."""
    for name in ("a17", "b03"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "topo.txt").write_text(TOPO)
        (tmp_path / name / "lscpu.txt").write_text("CPU(s): 4\nSocket(s): 1\nNUMA node(s): 1\nNUMA node0 CPU(s): 0-3\n")
    assert run(["inspect", *(str(tmp_path / source) for source in sources), "-o", "json"]) == 0
    items = json.loads(capsys.readouterr().out)["items"]
    assert [[source["format"] for source in node["sources"]] for node in items] == [["lscpu", "nvidia-smi-topo"]] * 2
    assert [len(node["gpus"]) for node in items] == [2, 2]


def test_json_read_back_is_the_same_document(topo: str) -> None:
    first = gputopo(topo, "-o", "json").stdout
    assert json.loads(first)["gpus"]
    assert gputopo("-", "-o", "json", input=first).stdout == first
    assert gputopo("inspect", "-", "-o", "json", input=first).stdout == first


def test_yaml_is_the_same_document(topo: str, capsys: pytest.CaptureFixture[str]) -> None:
    import yaml

    assert run([topo, "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert run([topo, "-o", "yaml"]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == document


def test_fail_on_makes_findings_an_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "asymmetric.txt"
    file.write_text(TOPO.replace("GPU1\tNV18", "GPU1\tSYS"))
    assert run([str(file), "-o", "json"]) == 0
    severities = {finding["severity"] for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert severities & {"error", "warning"}
    assert run([str(file), "--fail-on", "info"]) == 1
    assert run([str(file), "--fail-on", "info", "--select", "GT015"]) == 0
    assert run([str(file), "--fail-on", "info", "--ignore", "GT0,GT1"]) == 0


def test_output_file(topo: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report.txt"
    out.write_text("old")
    out.chmod(0o640)
    assert run([topo, "--output-file", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert "GPU1" in out.read_text()
    assert "\x1b" not in out.read_text()
    assert out.stat().st_mode & 0o777 == 0o640
    assert run([topo, "--output-file", str(out), "--color", "always"]) == 0
    assert "\x1b[" in out.read_text()
    assert sorted(os.listdir(tmp_path)) == ["report.txt", "topo.txt"]
    assert run([topo, "--output-file", "/dev/null"]) == 0


def test_colour_only_when_asked_for_or_on_a_terminal(topo: str) -> None:
    assert "\x1b" not in gputopo(topo).stdout
    assert "\x1b" in gputopo(topo, "--color", "always").stdout
    plain = {**os.environ, "TERM": "xterm"}
    plain.pop("NO_COLOR", None)
    assert "\x1b[" in on_terminal(topo, env=plain)
    assert "\x1b" not in on_terminal(topo, env={**plain, "NO_COLOR": "1"})
    assert "\x1b" not in on_terminal(topo, env={**plain, "TERM": "dumb"})
    assert "\x1b" not in on_terminal(topo, "--color", "never", env=plain)


def test_a_person_is_told_what_the_exit_code_means(topo: str, tmp_path: Path) -> None:
    """On a terminal only: what is saved or piped has the code itself."""
    plain = {**os.environ, "TERM": "dumb"}
    said = on_terminal(topo, env=plain).splitlines()[-1]
    assert said == "exit 0    (inspect reports, it does not judge; --fail-on SEVERITY does)"
    wrong = tmp_path / "asymmetric.txt"
    wrong.write_text(TOPO.replace("GPU1\tNV18", "GPU1\tSYS"))
    said = on_terminal(str(wrong), "--fail-on", "info", env=plain).splitlines()[-1]
    assert said == "exit 1    (there is a finding at or above --fail-on info)"
    said = on_terminal(topo, str(wrong), "--each", "--fail-on", "error", "--ignore", "GT", env=plain)
    assert said.count("\nexit ") == 1
    assert said.splitlines()[-1] == "exit 0    (no finding at or above --fail-on error)"
    assert "exit 0" not in on_terminal(topo, "-q", env=plain)
    assert "exit 0" not in gputopo(topo).stdout


def on_terminal(*arguments: str, env: dict[str, str]) -> str:
    """Standard output of a command whose output is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "gputopo", *arguments], stdout=theirs, env=env):
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 65536):
                parts.append(part)
        except OSError:
            pass  # Linux says EIO when the other side has gone
        os.close(ours)
    return b"".join(parts).decode()


@pytest.mark.parametrize(("columns", "widest"), [("80", 80), ("20", 80), ("500", 200), ("many", 100)])
def test_width_follows_columns_between_80_and_200(columns: str, widest: int, topo: str) -> None:
    out = gputopo(topo, env={**os.environ, "COLUMNS": columns}).stdout
    assert max(map(len, out.splitlines())) <= widest


def test_a_reader_that_leaves_early_is_no_error(topo: str) -> None:
    command = f"{sys.executable} -m gputopo {topo} -o json | head -c 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "{", "")


def test_output_that_cannot_be_written(topo: str) -> None:
    with open("/dev/full", "w") as full:
        done = gputopo(topo, stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["gputopo: error: cannot write: no space left on device (standard output)"]
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m gputopo {topo} >&-"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_ascii_terminals_get_ascii(topo: str) -> None:
    done = gputopo(topo, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert done.stdout.isascii()


def test_an_error_of_ours_is_one_line_unless_debugging(
    topo: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*args: object, **more: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr("gputopo.inspection.inspect", broken)
    said, hint = fails(capsys, topo)
    assert said.startswith("internal error: ZeroDivisionError: planted (")
    assert "GPUTOPO_DEBUG=1" in hint
    monkeypatch.setenv("GPUTOPO_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run([topo])


def test_interrupted(topo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gputopo.inspection.inspect", interrupted)
    assert run([topo]) == 130


def test_this_node_is_inspected_without_a_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
    (tmp_path / "sys/devices/system/node/node0").mkdir(parents=True)
    (tmp_path / "sys/devices/system/node/online").write_text("0\n")
    (tmp_path / "sys/devices/system/node/node0/cpulist").write_text("0-7\n")
    assert run(["--root", str(tmp_path), "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [node["cpus"] for node in document["numaNodes"]] == ["0-7"]
    assert gputopo().returncode == 0


def test_explain_and_formats(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "gt112"]) == 0
    assert capsys.readouterr().out.startswith("GT112")
    assert run(["explain", "-o", "json"]) == 0
    assert {rule["rule"] for rule in json.loads(capsys.readouterr().out)["items"]} >= {"GT001", "GT112"}
    assert run(["formats"]) == 0
    text = capsys.readouterr().out
    assert run(["formats", "-o", "json"]) == 0
    for row in json.loads(capsys.readouterr().out)["items"]:
        assert re.search(rf"^{row['id']} ", text, re.MULTILINE)
        assert row["get"][0] in " ".join(text.split())
    assert run(["formats", "--samples"]) == 0
    assert "sample:hgx-h100" in capsys.readouterr().out.splitlines()
