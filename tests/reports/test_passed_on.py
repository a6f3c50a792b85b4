"""Markdown, CSV, annotations and the page: each read back by its own parser, with names made to do harm in them."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from gputopo.allocate.best import best
from gputopo.cli import run
from gputopo.reports.annotations import of_documents
from gputopo.reports.blocks import (
    Blank,
    Block,
    Column,
    Findings,
    Found,
    KeyValue,
    Listed,
    Listing,
    Matrix,
    Note,
    Notes,
    Row,
    Table,
    cell,
)
from gputopo.reports.forms import Picture, Shown, render
from gputopo.reports.html.explorer import MOST_SETS, explorer
from tests.draw import hostile
from tests.draw.made import machine, node_of
from tests.pods.test_verb import ask  # noqa: F401  (a fixture)

H = hostile.NAME
FORMULAS = ("=1+1", "+1", "-1+1", "@SUM(A1)", "  =1+1", "\t=1", "＝1+1", '=HYPERLINK("http://x","y")')
EVIL: tuple[Block, ...] = (
    KeyValue(H, (cell(H), cell(H, "strong")), H),
    Blank(),
    Table(H, (cell(H),), (Column(), Column()), (Row((cell("a", "dim"), cell("b", "dim"))), Row((cell(H), cell(H))))),
    Table("", (), (Column(), Column()), (Row((cell(H), cell(H)), 0.5), Row((cell("a"), cell("=1+1")))), by=0),
    Listing((Listed((cell(H), cell(H)), ((cell(H)), cell("=1+1"))), Listed(((), ()), (cell("=1+1"),))), by=1),
    Matrix(("GPU0", H), ((H, (cell("X"), cell(H))), ("GPU0", (cell("NV4", "NV"), cell("=1+1"))))),
    Blank(),
    Findings((Found("error", "GT112", (cell(H),), (("evidence", cell(H)), ("", cell(H)))),), (cell(H),)),
    Notes("ASSUMED", (Note(cell(H), H), *(Note(cell(one), one) for one in FORMULAS))),
    *(KeyValue("", (cell(one), cell(one))) for one in FORMULAS),
)


def evil(form: str) -> str:
    node = hostile.node()
    return render(form, "gputopo inspect", [Shown(H, EVIL, Picture(node, ("GPU0", "GPU1"), ("GPU0", "GPU2")))])


def printed(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    run(list(command))
    return capsys.readouterr().out


# Markdown


def tokens(text: str) -> list[Any]:
    flat: list[Any] = []
    for token in MarkdownIt("commonmark", {"linkify": False}).enable("table").enable("strikethrough").parse(text):
        flat += [token, *(token.children or ())]
    return flat


def test_markdown_has_the_matrix_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "inspect", "sample:pcie-2s-8gpu", "-o", "markdown")
    kinds = [token.type for token in tokens(out)]
    assert kinds.count("table_open") == 2  # wiring and matrix
    assert "### PAIRS" in out
    assert "| **GPU0** | X | PIX | PXB | PXB | SYS | SYS | SYS | SYS | PXB | SYS |" in out
    assert "exit 0" not in out


def test_markdown_obeys_no_name() -> None:
    text = evil("markdown")
    found = tokens(text)
    kinds = {token.type for token in found}
    assert not kinds & {"html_block", "link_open", "image", "fence", "code_block", "s_open", "hr", "blockquote_open"}
    assert {token.content for token in found if token.type == "html_inline"} <= {"<!-- -->"}
    headings = [token for token in found if token.type == "heading_open"]
    assert len(headings) == 3  # of the first block, of the table, ASSUMED: none that a name made
    words = "".join(token.content for token in found if token.type == "text")
    assert "<script>alert(1)</script>" in words  # as it was chosen
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("name", ["# x", "1. x", "- x", "+ x", "> x", "    x", "===", "---", "a | b", "**x**", "`x` `y",
                                  "[x](http://y)", "<b>", "&lt;", "~~x~~", "x\n\n# y", "\\", "_x_", "$x$"])  # fmt: skip
def test_a_name_in_markdown_is_the_text_that_it_was(name: str) -> None:
    text = render("markdown", "", [Shown("", (KeyValue("", (cell(name),)), Matrix((name,), (("a", (cell(name),)),))))])
    kinds = [token.type for token in tokens(text)]
    assert kinds.count("bullet_list_open") == 1
    assert kinds.count("th_open") == kinds.count("td_open") == 2
    assert not {"heading_open", "em_open", "link_open", "html_inline", "code_inline", "ordered_list_open"} & {*kinds}
    shown = [token.content for token in tokens(text) if token.type == "inline"]
    assert len(shown) == 5  # the line; of the table two headings, a label and a cell
    plain = "".join(token.content for token in tokens(text[: text.index("\n")]) if token.type == "text")
    assert plain == name.replace("\n", "\\n").strip()


# CSV


def rows(text: str) -> list[list[str]]:
    assert text.replace("\r\n", "").count("\r") == text.replace("\r\n", "").count("\n") == 0
    return [*csv.reader(StringIO(text, newline=""), strict=True)]


def test_csv_is_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(printed(capsys, "inspect", "sample:pcie-2s-8gpu", "sample:hgx-h100", "-o", "csv").replace("\n", "\r\n")
                 .replace("\r\r\n", "\r\n"))  # fmt: skip
    assert {len(row) for row in found} == {len(found[0])}
    assert found[0][:4] == ["report", "section", "kind", "1"]
    assert {row[0] for row in found[1:]} >= {"1", "2"}
    assert ["1", "PAIRS", "row", "GPU0", "X", "PIX", "PXB", "PXB", "SYS"] in [row[:9] for row in found]


def test_no_cell_of_csv_is_a_formula() -> None:
    found = rows(evil("csv"))
    assert {len(row) for row in found} == {len(found[0])}
    cells = [cell.lstrip() for row in found for cell in row]
    assert [cell for cell in cells if cell[:1] and cell[0] in "=+-@＝＋－＠" and cell != "-"] == []
    assert "'=1+1" in cells
    assert any("<script>alert(1)</script>" in cell for cell in cells)
    assert not any("\x1b" in cell or "\n" in cell for cell in cells)


# Annotations


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """As the runner reads them: actions/runner, src/Runner.Common/ActionCommand.cs."""
    found = []
    for line in text.splitlines():
        match = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line)
        assert match, line
        properties = dict(one.split("=", 1) for one in match[2].split(","))
        for code, letter in (("%3A", ":"), ("%2C", ","), ("%25", "%")):
            properties = {name: value.replace(code, letter) for name, value in properties.items()}
        found.append((match[1], properties, match[3].replace("%0A", "\n").replace("%25", "%")))
    return found


def test_annotations_name_the_line_of_the_input(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "a,b: 100%.txt"
    file.write_text(
        "pasted by someone\n\n"
        "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPIX\tSYS\t0-7\t0\nGPU1\tPIX\t X \tSYS\t0-7\t0\n"
        "GPU2\tNODE\tSYS\t X \t8-15\t1\n"
    )
    document = json.loads(printed(capsys, "inspect", str(file), "-o", "json"))
    found = commands(printed(capsys, "inspect", str(file), "-o", "github"))
    assert len(found) == len(document["findings"]) > 0
    lines = file.read_text().splitlines()
    told = [(properties, message) for _, properties, message in found if "line" in properties]
    assert told
    for properties, _ in told:
        assert properties["file"] == str(file)
        assert "GPU" in lines[int(properties["line"]) - 1]  # a row of the matrix, not of the text above
    assert {properties["title"] for _, properties, _ in found} == {one["rule"] for one in document["findings"]}


def test_a_refused_request_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    ((level, properties, message),) = commands(
        printed(capsys, "allocate", "kubelet", "sample:pcie-2s-8gpu", "-c", "5", "--topology-manager-policy",
                "single-numa-node", "-o", "github")
    )  # fmt: skip
    assert (level, properties) == ("error", {"title": "kubelet: TopologyAffinityError"})
    assert message


def test_annotations_of_hostile_names_are_one_line_each() -> None:
    finding = {"rule": "GT1", "severity": "error", "message": H, "matters": H, "because": "", "remedy": H,
               "evidence": [{"source": "s", "line": 3, "text": H}]}  # fmt: skip
    document = {"sources": [{"id": "s", "name": H, "where": ""}], "findings": [finding, finding]}
    found = commands(of_documents([document]))
    assert len(found) == 2
    assert all(properties["line"] == "3" and "\x1b" not in message for _, properties, message in found)


# The page

_VOID = {"meta", "link", "br"}
_TAGS = {
    "html", "head", "body", "meta", "link", "title", "style", "script", "header", "main", "article", "section", "div",
    "p", "span", "b", "a", "h1", "h2", "ul", "li", "dl", "dt", "dd", "code", "button", "details", "summary", "table",
    "thead", "tbody", "tr", "th", "td", "svg", "desc", "g", "rect", "path", "text",
}  # fmt: skip


class Read(HTMLParser):
    """Every element closed by its own end, none that the page does not write."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.ids: list[str] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _TAGS
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.texts:
            self.texts[self.open[-1]].append(data)


def policy(read: Read) -> str:
    metas = [value or "" for tag, _, value in read.attributes if tag == "meta"]
    (found,) = (value for value in metas if value.startswith("default-src"))
    return found


@pytest.mark.parametrize("make", [
    lambda: evil("html"),
    lambda: render("html", "gputopo draw", [Shown("x", (), Picture(machine(gpus=8, links="cables")))]),
    lambda: render("html", "gputopo pods", [Shown("a", EVIL), Shown("b", EVIL, Picture(machine(gpus=2)))]),
], ids=["hostile", "picture", "two"])  # fmt: skip
def test_a_page_is_whole_and_allows_only_its_own(make: Any) -> None:
    text = make()
    read = Read(text)
    assert len(read.ids) == len(set(read.ids))
    assert not [name for _, name, _ in read.attributes if name.startswith("on") or name in ("src", "style", "srcset")]
    assert {value for _, name, value in read.attributes if name.endswith("href")} == {"data:,", "#report"}
    data, script = read.texts["script"]
    allowed = policy(read)
    assert "default-src 'none'" in allowed
    for made in [script, *read.texts["style"]]:
        assert f"'sha256-{b64encode(hashlib.sha256(made.encode()).digest()).decode()}'" in allowed
    assert "unsafe" not in allowed
    assert json.loads(data)["markdown"]
    assert not set(text) & {"\x1b", "\u202e", "\u2066", "\u200b"}
    references = {value for _, name, value in read.attributes if name in ("aria-labelledby", "for")}
    assert {id for value in references for id in (value or "").split()} <= {*read.ids}


@pytest.mark.parametrize("sample", ["hgx-h100", "pcie-bridged", "dgx1-v100"])
def test_a_page_of_eight_gpus_is_small_and_the_same_every_time(sample: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("inspect", f"sample:{sample}", "-o", "html")
    once = printed(capsys, *command)
    assert len(once.encode()) < 400_000
    assert printed(capsys, *command) == once


@pytest.mark.parametrize("command", [
    ["inspect", "sample:mixed-5gpu"], ["inspect", "sample:single-gpu"], ["draw", "sample:gb200-tray"],
    ["allocate", "device-plugin", "sample:pcie-bridged", "-c", "4"], ["allocate", "koordinator", "sample:hgx-h100",
     "-c", "4"], ["allocate", "kubelet", "sample:hgx-h100", "-c", "9"], ["allocate", "device-plugin", "-c", "2",
     "--fleet", "sample:4x4090"], ["allocate", "all", "sample:pcie-bridged", "-c", "4"], ["allocate", "sequence",
     "sample:pcie-2s-8gpu", "--request", "1,1,4"], ["diff", "sample:pcie-bridged", "sample:4x4090"], ["check",
     "sample:pcie-bridged", "sample:4x4090"], ["fleet", "sample:pcie-bridged", "sample:4x4090"],
    ["diagnose", "sample:pcie-bridged", "--gpus", "0,1,4,5", "--measured", "3"],
], ids=lambda one: " ".join(one[:2]))  # fmt: skip
def test_every_verb_makes_a_page(command: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, *command, "-o", "html")
    assert Read(text).texts["style"]
    if "--fleet" not in command and command[0] not in ("check", "fleet"):
        assert 'class="ask"' in text


def test_pods_with_hostile_names_in_every_format(ask: Any) -> None:  # noqa: F811
    held = {H[:400]: [0, 2], "=1+1": [1]}
    assert json.loads(ask(held, "-o", "json")[1])["kind"] == "PodAudit"
    assert json.loads(ask(held, "-o", "sarif")[1])["runs"][0]["results"]
    from xml.etree import ElementTree

    assert ElementTree.fromstring(ask(held, "-o", "junit")[1]).tag == "testsuites"
    for line in ask(held, "-o", "prometheus")[1].splitlines():
        assert re.fullmatch(r'#.*|\w+(\{(\w+="([^"\\]|\\["\\n])*",?)*\})? [0-9.]+', line), line
    assert Read(ask(held, "-o", "html")[1])
    assert commands(ask(held, "-o", "github")[1])
    assert {"html_block", "link_open", "image"} & {one.type for one in tokens(ask(held, "-o", "markdown")[1])} == set()
    text = ask(held, "-o", "text")[1]
    assert text.isprintable() or {one for one in text if not one.isprintable()} == {"\n"}


# What the page knows


def test_the_page_knows_the_best_sets_and_bounds() -> None:
    node = node_of("sample:pcie-2s-8gpu")
    ids = [gpu.id for gpu in node.gpus]
    facts = explorer(node)
    for size in range(2, 9):
        found = best(node, ids, size)
        assert found is not None
        masks = {sum(1 << ids.index(id) for id in one) for one in found.sets}
        assert facts["best"][str(size)] == {"sets": [*facts["best"][str(size)]["sets"]], "decided": found.decided}
        assert set(facts["best"][str(size)]["sets"]) == masks
    said = {mask: text for text, _, masks in facts["rates"] for mask in masks}
    assert len(said) == 2**8 - 8 - 1
    assert said[0b1111] == "at most 24 GB/s"
    assert said[0b110011] == "at most 10 GB/s"


def test_ncclmodel_is_asked_where_gbps_were(capsys: pytest.CaptureFixture[str]) -> None:
    import gputopo
    from gputopo.nccl.set_rates import rates

    node = gputopo.load_node("sample:4x4090")
    facts = explorer(node, model=lambda: False)
    said = {mask: text for text, _, masks in facts["rates"] for mask in masks}
    assert said[0b1111] == f"{rates(node, [gpu.id for gpu in node.gpus]).expected:.4g} GB/s"


def test_many_gpus_are_not_searched_without_end() -> None:
    facts = explorer(node_of("sample:dgx2"))
    assert set(facts["best"]) == {"2", "3", "4", "14", "15", "16"}
    assert all(len(one["sets"]) <= MOST_SETS for one in facts["best"].values())
