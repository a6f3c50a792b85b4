"""The renderer: widths, wrapping, folding, colour; and JSON and YAML of a document."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.documents.load import loads
from gputopo.documents.node import encode
from gputopo.reports import json as json_report
from gputopo.reports import yaml as yaml_report
from gputopo.reports.blocks import (
    LEVEL_ROLES,
    ROLES,
    Blank,
    Column,
    KeyValue,
    Matrix,
    Note,
    Notes,
    Row,
    Span,
    Table,
    Text,
    Title,
    cell,
    level_cell,
)
from gputopo.reports.sanitise import clean, width
from gputopo.reports.style import SGR, Style
from gputopo.reports.text import render
from gputopo.topology.node import Gpu, NodeTopology
from tests.reports import nodes


def test_parts_stay_whole_where_they_fit_and_wrap_where_they_do_not() -> None:
    parts = (cell("one " * 10 + "end"), cell("two " * 10 + "end"), cell("three " * 20 + "end"))
    assert render([KeyValue("TITLE", parts)], Style(80)).splitlines() == [
        "TITLE     " + "one " * 10 + "end",
        "          " + "two " * 10 + "end",
        "          " + ("three " * 11).rstrip(),
        "          " + "three " * 9 + "end",
    ]


def test_a_word_wider_than_the_page_is_cut_into_lines() -> None:
    lines = render([KeyValue("T", (cell("x" * 200),))], Style(80)).splitlines()
    assert [len(line) for line in lines] == [80, 80, 70]
    assert "".join(line[10:] for line in lines) == "x" * 200


def test_a_title_too_long_to_stand_beside_anything_stands_alone() -> None:
    lines = render([KeyValue("n" * 60, (cell("8 GPUs"),))], Style(80)).splitlines()
    assert lines == ["n" * 60, "          8 GPUs"]


def test_wide_characters_take_two_columns_and_marks_none() -> None:
    rows = (Row((cell("機種"), cell("a"))), Row((cell("e\u0301xyz"), cell("b"))))
    lines = render([Table("", (), (Column(), Column()), rows)], Style(80)).splitlines()
    assert lines == ["  機種  a", "  e\u0301xyz  b"]
    assert [width(line) for line in lines] == [9, 9]


def test_a_table_drops_alike_columns_then_folds() -> None:
    columns = (Column(), Column("every GPU is green"), Column(fold=True))
    rows = (
        Title((cell("group"),)),
        Row((cell("a" * 30), cell("g" * 30), cell("c" * 30))),
        Row((cell("b" * 30), cell("g" * 30), ())),
    )
    table = Table("WIRING", (), columns, rows)
    wide = render([table], Style(100)).splitlines()
    assert wide[2] == f"  {'a' * 30}  {'g' * 30}  {'c' * 30}"
    middle = render([table], Style(80)).splitlines()
    assert middle == ["WIRING    every GPU is green", "group", f"  {'a' * 30}  {'c' * 30}", f"  {'b' * 30}"]
    long = table._replace(rows=(Row((cell("a" * 60), (), cell("c" * 60))),))
    assert render([long], Style(80)).splitlines() == ["WIRING", "  " + "a" * 60, "      " + "c" * 60]


def test_a_group_s_line_of_one_long_word_stays_on_the_page() -> None:
    table = Table("", (), (Column(),), (Title((cell("NUMA 0"), cell("9," * 200))), Row((cell("GPU0"),))))
    lines = render([table], Style(80)).splitlines()
    assert max(map(len, lines)) <= 80
    assert "".join(lines[1:-1]).replace(" ", "") == "9," * 200


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.text("ab ", max_size=90), min_size=4, max_size=4), max_size=4),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_no_table_is_wider_than_the_page_or_loses_a_word(texts: list[list[str]], folds: list[bool]) -> None:
    columns = tuple(Column(fold=fold) for fold in folds)
    rows = tuple(Row(tuple(map(cell, row))) for row in texts)
    printed = render([Table("", (), columns, rows)], Style(80))
    assert all(len(line) <= 80 for line in printed.splitlines())
    letters = "".join(sorted("".join("".join(row) for row in texts).replace(" ", "")))
    assert "".join(sorted("".join(printed.split()))) == letters


def test_a_matrix_is_split_into_even_groups_and_folds_rows_nobody_knows() -> None:
    names = tuple(f"GPU{at}" for at in range(18))
    known = tuple((name, tuple(level_cell("X" if name == other else "SYS") for other in names)) for name in names[:1])
    lost = tuple((name, tuple(level_cell("X" if name == other else None) for other in names)) for name in names[1:5])
    lines = render([Matrix(names, known + lost)], Style(80)).splitlines()
    assert lines[0].split() == list(names[:9])
    assert lines[1] == "GPU0" + " " * 6 + "X" + "  SYS" * 8
    assert lines[2] == "GPU1 to GPU4  none known"
    assert lines[3].split() == list(names[9:])


def test_blank_lines_never_come_in_twos_or_at_the_ends() -> None:
    made = [Blank(), Blank(), Text(cell("a")), Blank(), Blank(), Text(cell("b"), 4), Blank()]
    assert render(made, Style(80)) == "a\n\n    b\n"
    assert render([], Style(80)) == ""


def test_a_note_says_what_would_settle_it() -> None:
    made = [Notes("UNKNOWN", (Note(cell("sockets"), "lscpu"), Note(cell("model"))))]
    assert render(made, Style(80)) == "UNKNOWN   sockets   settle it: lscpu\n          model\n"


def test_widths_beyond_80_and_200_are_drawn_in() -> None:
    text = Text(cell("word " * 100))
    assert max(map(len, render([text], Style(20)).splitlines())) in range(76, 81)
    assert max(map(len, render([text], Style(1000)).splitlines())) in range(196, 201)


def test_every_role_has_a_look_and_levels_differ_in_more_than_hue() -> None:
    assert set(SGR) == ROLES
    looks = [SGR[level] for level in LEVEL_ROLES]
    assert len(set(looks)) == len(looks)
    bold = [look.startswith("1;") for look in looks]
    assert bold == [True, False, False, False, False, True]
    reds_and_greens = {"31", "32"}
    assert not {look.rpartition(";")[2] for look in (SGR["SYS"], SGR["NODE"], SGR["PHB"])} & reds_and_greens


def test_colour_is_put_around_texts_only() -> None:
    line = KeyValue("", ((Span("NV18", "NV"), Span(" and ", ""), Span("  ", "error")),))
    assert render([line], Style(80, colour=True)) == "          \x1b[1;32mNV18\x1b[0m and\n"


@given(st.text())
def test_cleaned_text_is_printable_and_ascii_where_asked(text: str) -> None:
    assert clean(text).isprintable()
    assert clean(text, ascii_only=True).isascii()
    if text.isascii() and text.isprintable():
        assert clean(text) == text


@pytest.mark.parametrize("make", [nodes.bridged, nodes.pasted, nodes.hgx], ids=lambda make: make.__name__)
def test_yaml_and_json_load_back_equal(make: object) -> None:
    inspection = make()  # type: ignore[operator]
    made = encode(inspection.node, inspection.findings, inspection.not_checked)
    assert yaml.safe_load(yaml_report.render(made)) == made
    assert loads(json_report.render(made)) == (inspection.node._replace(provenance={}),)


@pytest.mark.parametrize(
    "name",
    ["12e4", "1e3", "0o17", "010", "0x1f", "yes", "null", "~", "1:30", "0000:0f", "\x1b[0m", "\u202e", "é", "機"],
)
def test_yaml_keeps_texts_that_look_like_something_else(name: str) -> None:
    made = encode(NodeTopology(name=name, gpus=(Gpu("GPU0", uuid=name),)))
    printed = yaml_report.render(made)
    assert yaml.safe_load(printed) == made
    assert printed.isascii()
    assert printed.replace("\n", "").isprintable()
    if name in ("12e4", "1e3", "0o17"):
        assert f"name: '{name}'" in printed


def test_a_text_report_imports_nothing_heavy() -> None:
    heavy = "rich yaml pydantic json unicodedata dataclasses pathlib"
    script = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import gputopo.reports.text, gputopo.reports.style, gputopo.reports.views.inspect\n"
        f"print(*sorted((set(sys.modules) - before) & set({heavy!r}.split())))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
    script = script.replace("import gputopo.reports.text", "import gputopo.documents.layout, gputopo.documents.load")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "json"
