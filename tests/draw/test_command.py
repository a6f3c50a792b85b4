"""`gputopo draw` as a user calls it, and as its page says."""

from __future__ import annotations

import re
import shlex
import sys
import types
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from gputopo.cli import run
from tests.pods.test_verb import CSV, LSCPU, checkpoint, matrix

PAGE = Path(__file__).resolve().parents[2] / "docs" / "draw.md"
SAMPLE = "sample:pcie-2s-8gpu"


def draw(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["draw", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["draw", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) <= 2
    return err.splitlines()[0].removeprefix("gputopo: error: ")


def console_lines() -> list[list[str]]:
    lines = re.findall(r"^\$ gputopo draw (.*)$", PAGE.read_text(), re.MULTILINE)
    return [shlex.split(line.partition(">")[0], comments=True) for line in lines]


@pytest.mark.parametrize("arguments", console_lines(), ids=" ".join)
def test_a_command_of_the_page_works(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    out = draw(capsys, *arguments)
    assert out or (tmp_path / "node.svg").read_text().endswith("</svg>\n")


@pytest.mark.parametrize(
    ("file", "begins"),
    [("n.svg", "<?xml"), ("n.dot", "graph "), ("n.gv", "graph "), ("n.mmd", "---"), ("n.txt", "sample")],
)
def test_the_ending_of_the_file_says_what_is_written(
    file: str, begins: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    assert draw(capsys, SAMPLE, "--output-file", str(tmp_path / file)) == ""
    assert (tmp_path / file).read_text().startswith(begins)


def test_only_some_devices(capsys: pytest.CaptureFixture[str]) -> None:
    out = draw(capsys, SAMPLE, "-o", "svg", "--only", "gpus")
    words = [one.text for one in ElementTree.fromstring(out).iter("{http://www.w3.org/2000/svg}text")]
    assert "GPU7" in words
    assert "NIC0" not in words
    assert "left out (--only): NICs and NVMe drives" in words


def test_the_best_set_beside_what_was_given(capsys: pytest.CaptureFixture[str]) -> None:
    lines = draw(capsys, SAMPLE, "--highlight", "0,1,4,5", "--against", "best").splitlines()
    assert "between sockets  [SYS]  crossed by A" in lines
    assert "<B> GPU0-GPU3, one socket, weakest pair GPU0-GPU2 PXB (4 of 6 pairs)" in lines
    assert "    B is better" in lines


def test_pods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("topo.txt", matrix()), ("gpus.csv", CSV), ("lscpu.txt", LSCPU)):
        (tmp_path / name).write_text(text)
    held = tmp_path / "kubelet_internal_checkpoint"
    held.write_text(checkpoint({"a": [1, 2], "b": [3]}))
    asked = [*(str(tmp_path / name) for name in ("topo.txt", "gpus.csv", "lscpu.txt")), "--pods", str(held)]
    lines = draw(capsys, *asked).splitlines()
    assert [line.split("─ ")[1].split()[0] + line[line.find("<") :] for line in lines if "<" in line and "GPU" in line
            and "─ " in line] == ["GPU1<1>", "GPU2<1>", "GPU3<2>"]  # fmt: skip
    assert "<1> pod a  GPU1, GPU2, weakest pair SYS crosses sockets" in lines
    out = draw(capsys, *asked, "-o", "svg")
    assert out.count('class="gputopo-gpu-pod-1"') == 2
    assert out.count('class="gputopo-gpu-other"') == 1  # GPU0 is free


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([SAMPLE, "--highlight", "9"], "no such GPU: 9 (--highlight)"),
        ([SAMPLE, "--highlight", ","], "an empty set (--highlight)"),
        ([SAMPLE, "--against", "0"], "--against needs a set to stand beside (--against)"),
        ([SAMPLE, "--only", "gpus,cpus"], "--only takes gpus, nics, nvme, not cpus (--only)"),
        ([SAMPLE, "sample:dgx2", "--each", "-o", "svg"], "no such option: --each"),
        ([SAMPLE, "-o", "jpeg"], "invalid value for '-o' / '--output': 'jpeg' is not one of "
                                 "'svg', 'html', 'dot', 'mermaid', 'ascii', 'png'"),
        (["sample:hgx-h100", "--pods", "/nowhere"], "no such file or folder (/nowhere)"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn(arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert fails(capsys, *arguments) == error


def test_several_nodes_are_drawn_as_text_one_by_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for at in (1, 2):
        (tmp_path / f"{at}.txt").write_text(matrix())
    files = [str(tmp_path / "1.txt"), str(tmp_path / "2.txt")]
    assert draw(capsys, *files).count("GPU3") == 2
    assert fails(capsys, *files, "-o", "svg").startswith("2 nodes in the sources: this picture is of one")


def test_a_png_without_what_it_needs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    assert fails(capsys, SAMPLE, "-o", "png") == "-o png needs CairoSVG and the cairo library"


def test_a_png_is_the_light_svg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    stand_in = types.ModuleType("cairosvg")
    stand_in.svg2png = lambda bytestring, scale: b"%g " % scale + bytestring  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cairosvg", stand_in)
    assert draw(capsys, SAMPLE, "--output-file", str(tmp_path / "n.png")) == ""
    data = (tmp_path / "n.png").read_bytes()
    assert data.startswith(b"2 <?xml")
    assert b"<style>" not in data


def test_a_real_png(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cairosvg", reason="no CairoSVG here: pip install 'gputopo[png]'", exc_type=ImportError)
    assert draw(capsys, SAMPLE, "--output-file", str(tmp_path / "n.png")) == ""
    assert (tmp_path / "n.png").read_bytes().startswith(b"\x89PNG\r\n")
