"""What is passed on of many nodes, or of none: fleet, diff, check, allocate all and sequence, hostile names in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gputopo.checks.align import align
from gputopo.checks.differences import compare
from gputopo.documents import diff, fleet
from gputopo.fleet.features import Features
from gputopo.fleet.part import Crossing, Held, Lost, Node, Part
from gputopo.fleet.report import Report, report
from gputopo.fleet.shape import Outline
from gputopo.reports import check_lines, diff_annotations, fleet_annotations
from gputopo.reports.allocate_annotations import of_comparisons, of_forecasts
from gputopo.reports.forms import Shown, render
from gputopo.reports.views import check as check_view
from gputopo.reports.views import diff as diff_view
from gputopo.reports.views.fleet import PAGE, blocks
from tests.draw import hostile
from tests.draw.made import machine
from tests.reports.test_passed_on import Read, commands, printed, rows, tokens

H = hostile.NAME


def fleet_of(usual: int, odd: int, name: str = "node") -> Report:
    """`usual` nodes with one driver, `odd` with another, each with a finding; a file that was not read."""

    def features(driver: str) -> Features:
        return Features(name, (name,), "bundle", "f00", True, "f00…", Outline(8, (name,), 2, 2, 8),
                        (("system.driver", (("", driver),)),))  # fmt: skip

    held = Held(4, 2, (Crossing(name, 2, 1),))
    nodes = [Node((at, 0), f"{at}{name}", f"{name}{at}", findings=(("GT112", "error"),), held=held)
             for at in range(usual + odd)]  # fmt: skip
    parts = {features(f"570{name}"): tuple(nodes[:usual]), features(f"525{name}"): tuple(nodes[usual:])}
    return report(Part(parts, (Lost((usual + odd, 0), name, name),)))


def passed_on(form: str, found: Report) -> str:
    return render(form, "gputopo fleet", [Shown("fleet", blocks(found, tables=True, most=PAGE))])


def check_report(name: str) -> dict[str, Any]:
    mismatch = {"field": name, "want": name, "found": name, "code": "GT120", "message": "", "known": False,
                "subjects": [name], "source": name, "line": 3}  # fmt: skip
    node = {"name": name, "node": name, "status": "fail", "reason": "", "hint": "", "mismatches": [mismatch, mismatch],
            "undecided": [{"field": name, "reason": name, "settledBy": name}]}  # fmt: skip
    lost = {**node, "status": "unreadable", "reason": name, "hint": name, "mismatches": [], "undecided": []}
    return {"nodes": [node, lost], "counts": {"fail": 1, "unreadable": 1}, "expectations": {"name": name}}


def diff_document() -> dict[str, Any]:
    a, b = hostile.node(), machine(gpus=4, nics=4, links="cables")
    alignment = align(a, b, "id")
    return diff.encode(a, b, alignment, compare(a, b, alignment))


VIEWS = {
    "fleet": lambda: blocks(fleet_of(4, 1, H), tables=True, verbose=True),
    "check": lambda: check_view.blocks(check_report(H)),
    "diff": lambda: diff_view.blocks(diff_document()),
}
LINES = {
    "fleet": lambda: fleet_annotations.github(fleet.encode(fleet_of(4, 1, H))),
    "check": lambda: check_lines.github(check_report(H)),
    "diff": lambda: diff_annotations.github(diff_document()),
    "all": lambda: of_comparisons([
        {"node": H, "rows": [{"mechanism": H, "setting": H, "admitted": False, "reason": H, "message": H}]}
    ]),
    "sequence": lambda: of_forecasts([
        {"node": H, "resource": H, "events": [{"event": "start", "owner": H, "count": 2, "refused": "sometimes",
                                               "split": "always", "reason": H, "splitSets": [[H, H]]}]}
    ]),
}  # fmt: skip


@pytest.mark.parametrize("verb", VIEWS)
def test_hostile_names_stay_words(verb: str) -> None:
    shown = [Shown(H, VIEWS[verb]())]
    page = render("html", f"gputopo {verb}", shown)
    read = Read(page)
    assert len(read.ids) == len(set(read.ids))
    assert not [name for _, name, _ in read.attributes if name.startswith("on") or name in ("src", "style", "srcset")]
    assert not set(page) & {"\x1b", "\u202e", "\u2066", "\u200b"}
    markdown = render("markdown", "", shown)
    assert not {"html_block", "link_open", "image", "fence", "s_open"} & {token.type for token in tokens(markdown)}
    assert "\x1b" not in markdown
    assert not [one for row in rows(render("csv", "", shown)) for one in row if one.lstrip()[:1] in tuple("=+-@")]


@pytest.mark.parametrize("verb", LINES)
def test_hostile_names_end_no_annotation(verb: str) -> None:
    text = LINES[verb]()
    assert commands(text)
    assert "\x1b" not in text


def test_a_page_of_a_fleet_has_shapes_odd_nodes_and_findings() -> None:
    page = passed_on("html", fleet_of(4, 1))
    read = Read(page)
    assert [value for _, name, value in read.attributes if name == "data-by"] == ["ODD: FIELD", "FOUND: SEVERITY"]
    assert [value for _, name, value in read.attributes if name == "data-of"] == ["system.driver", "error"]
    bars = [value for tag, name, value in read.attributes if tag == "rect" and name == "width"]
    assert bars == ["100", "100"] * 2  # one shape of all five nodes; a finding on all five
    markdown = passed_on("markdown", fleet_of(4, 1))
    assert "| **node4** | system.driver |  | **525node** | 570node | 4 of 5 | node (node) |" in markdown
    assert [token.type for token in tokens(markdown)].count("table_open") == 3


def test_a_page_of_a_large_fleet_is_bounded() -> None:
    page = passed_on("html", fleet_of(3000, 2500))
    assert page.count('data-of="system.driver"') == PAGE.lines
    assert "and 1,500 more (-v)" in page
    assert len(page) < 800_000


def test_annotations_of_a_fleet_are_at_the_file_of_the_node() -> None:
    found = commands(fleet_annotations.github(fleet.encode(fleet_of(4, 1))))
    assert [(level, one["title"], one["file"]) for level, one, _ in found] == [
        ("error", "GT112", "0node"), ("warning", "GT602", "node"), ("warning", "GT605", "4node"),
    ]  # fmt: skip
    assert found[0][2] == "pcie-width-reduced on 5 of 5 nodes, e.g. node0"


def test_a_difference_is_a_warning_at_the_second_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    matrix = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t{0}\t0-7\t0\nGPU1\t{0}\t X \t8-15\t1\n"
    for name, level in (("a", "SYS"), ("b", "NODE")):
        (tmp_path / name).write_text(matrix.format(level))
    files = str(tmp_path / "a"), str(tmp_path / "b")
    found = commands(printed(capsys, "diff", *files, "-o", "github"))
    assert ("warning", {"title": "pairs[GPU0-GPU1].pcie", "file": files[1]}, "SYS -> NODE") in found
    assert len(found) == len(json.loads(printed(capsys, "diff", *files, "-o", "json"))["differences"])
    assert printed(capsys, "diff", files[0], files[0], "-o", "github") == ""


def test_who_refuses_and_what_is_split_are_annotations(capsys: pytest.CaptureFixture[str]) -> None:
    found = commands(printed(capsys, "allocate", "all", "sample:pcie-2s-8gpu", "-c", "5", "-o", "github"))
    titles = [(level, properties["title"]) for level, properties, _ in found]
    assert ("warning", "kubelet single-numa-node: TopologyAffinityError") in titles
    command = ("allocate", "sequence", "sample:pcie-2s-8gpu", "--request", "4,2,4", "-o", "github")
    ((level, properties, message),) = commands(printed(capsys, *command))
    assert (level, properties["title"]) == ("error", "pod-3 is refused")
    assert message.startswith("pod-3 asks for 4 units of nvidia.com/gpu")


def test_a_check_lists_its_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    command = ("check", "sample:pcie-bridged", "sample:4x4090")
    text = printed(capsys, *command, "-o", "markdown")
    kinds = [token.type for token in tokens(text)]
    assert kinds.count("list_item_open") == 2
    assert text.startswith("- sample:pcie-bridged **undecided** ")
    page = Read(printed(capsys, *command, "-o", "html"))
    assert [value for _, name, value in page.attributes if name == "data-of"] == ["undecided", "undecided"]
