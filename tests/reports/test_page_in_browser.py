"""The page in a real browser: what it answers is right, nothing leaves it, everybody can use it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from gputopo.allocate.best import best
from gputopo.cli import run
from gputopo.topology.gpu_sets import Sight
from tests.draw.made import node_of
from tests.reports import browser

SOURCE = "sample:pcie-2s-8gpu"  # PCIe only: where a set lies matters


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser.chromium() as made:
        yield made


class Opened:
    """A page with all that it asked for and complained of."""

    def __init__(self, chromium: Any, file: Path, **context: Any) -> None:
        self.context = chromium.new_context(**context)
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda said: self.complaints.append(f"{said.type}: {said.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(file.as_uri())
        self.address = file.as_uri()

    def close(self) -> None:
        """A page that only reads itself has asked for itself and said nothing."""
        self.context.close()
        assert self.complaints == []
        assert [url for url in self.requests if url != self.address and not url.startswith("data:")] == []


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Iterator[Any]:
    pages: list[Opened] = []

    def make(*command: str, **context: Any) -> Any:
        file = tmp_path / f"{len(pages)}.html"
        assert run([*command, "-o", "html", "--output-file", str(file)]) in (0, 1)
        pages.append(Opened(chromium, file, **context))
        return pages[-1].page

    yield make
    for one in pages:
        one.close()


def press(page: Any, *gpus: int) -> None:
    for gpu in gpus:
        page.get_by_role("button", name=f"GPU{gpu}", exact=True).click()


# Presses the buttons of each set and reads what is said: text, and the level of the weakest pair.
_ASK = """sets => sets.map(those => {
  const buttons = [...document.querySelectorAll(".ask fieldset button")];
  buttons.forEach((one, at) => { if ((one.ariaPressed === "true") !== those.includes(at)) one.click(); });
  const place = document.querySelector(".ask [role=status]");
  const weakest = [...place.querySelectorAll("dt")].find(one => one.textContent === "Weakest pair").nextSibling;
  return [place.innerText, weakest.querySelector(".level")?.textContent ?? ""];
})"""


def test_pick_a_set_and_read_the_warning(opened: Any) -> None:
    page = opened("inspect", SOURCE)
    press(page, 0, 1, 4, 5)
    said = page.locator(".ask [role=status]").inner_text()
    assert "Warning: it crosses sockets (2+2), and its weakest pair is SYS where PXB is possible." in said
    assert "GPU0 – GPU4 SYS, 4 of 6 pairs" in said
    assert "at most 10 GB/s" in said
    assert "GPU0, GPU1, GPU2, GPU3, and 1 as good: one socket, weakest pair PXB, at most 24 GB/s" in said
    assert page.locator("svg g.picked").count() == 4
    page.get_by_role("button", name="Pick it").click()
    assert page.locator(".ask [aria-pressed=true]").all_inner_texts() == ["GPU0", "GPU1", "GPU2", "GPU3"]
    assert "Nothing of this size is better." in page.locator(".ask [role=status]").inner_text()
    page.locator("svg g[data-gpu='3']").click()
    assert page.locator(".ask [aria-pressed=true]").count() == 3


def test_the_script_sees_every_set_as_we_do(opened: Any) -> None:
    """Sockets, weakest level and whether it is best, for all sets of three sizes."""
    node = node_of("sample:pcie-bridged")
    ids = [gpu.id for gpu in node.gpus]
    page = opened("inspect", "sample:pcie-bridged")
    for size in (2, 3, 5):
        found = best(node, ids, size)
        assert found is not None
        sets = [*combinations(range(8), size)]
        for gpus, (said, level) in zip(sets, page.evaluate(_ASK, sets)):
            seen = Sight(node).see([ids[gpu] for gpu in gpus])
            assert ("crosses sockets (" in said) == seen.cross_package, gpus
            assert level == (seen.weakest.level if seen.weakest else ""), gpus
            assert not found.decided or ("Nothing of this size is better" in said) == (
                tuple(ids[gpu] for gpu in gpus) in found.sets
            ), gpus


def test_a_pair_tells_its_level_bandwidth_and_evidence(opened: Any) -> None:
    page = opened("inspect", SOURCE)
    page.locator("table.matrix tbody tr").nth(0).locator("td").nth(4).hover()
    told = page.locator(".pair").first.inner_text()
    for part in ("GPU0 – GPU4 SYS", "crosses sockets", "10 GB/s one way", "evidence: sample:pcie-2s-8gpu"):
        assert part in told
    assert page.locator("svg g.hot").count() == 2
    page.locator("table.matrix td[tabindex='0']").focus()  # GPU0-GPU1
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert "GPU1 – GPU2 PXB" in page.locator(".pair").first.inner_text()


def test_findings_by_severity(opened: Any) -> None:
    page = opened("diagnose", "sample:pcie-bridged", "--gpus", "0,1,4,5", "--measured", "3")
    buttons = page.get_by_role("group", name="Show findings").get_by_role("button")
    names = [text.split()[0] for text in buttons.all_inner_texts()]
    assert len(names) > 1
    buttons.first.click()
    assert page.locator(f".finding.{names[0]}:visible").count() == 0
    assert page.locator(".finding:visible").count() > 0
    buttons.first.click()
    assert page.locator(f".finding.{names[0]}:visible").count() > 0


def odd_fleet(folder: Path) -> Path:
    """Four nodes of which the last two are not as the others: the NUMA node of a GPU, the level of a pair."""
    fleet = folder / "fleet"
    fleet.mkdir()
    for number, (numa, level) in enumerate((("1", "SYS"),) * 4 + (("0", "SYS"), ("1", "NODE"))):
        rows = f"GPU0\t X \t{level}\t0-7\t0\nGPU1\t{level}\t X \t8-15\t{numa}\n"
        (fleet / f"n{number}.txt").write_text("\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n" + rows)
    return fleet


def test_odd_nodes_by_field(opened: Any, tmp_path: Path) -> None:
    page = opened("fleet", str(odd_fleet(tmp_path)), "--workers", "1")
    odd = page.get_by_role("region", name="ODD: table")
    every = odd.locator("tbody tr:visible").count()
    assert every > 1
    buttons = page.get_by_role("group", name="Show rows, ODD: FIELD").get_by_role("button")
    assert buttons.first.inner_text() == f"all {every}"
    buttons.filter(has_text="gpus[].numaNodes").click()
    assert odd.locator("tbody tr:visible td:first-child").all_inner_texts() == ["n4.txt"]
    assert odd.locator("tbody tr:visible td:nth-child(2)").all_inner_texts() == ["gpus[].numaNodes"]
    assert page.locator("#said").inner_text() == f"1 of {every} rows shown"
    buttons.first.click()
    assert odd.locator("tbody tr:visible").count() == every


def test_themes_paper_and_clipboard(opened: Any, tmp_path: Path) -> None:
    page = opened("inspect", SOURCE, permissions=["clipboard-read", "clipboard-write"])
    ground = "['svg rect', 'body'].map(one => getComputedStyle(document.querySelector(one))).map(s => s.fill + s.color)"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Dark").click()
    dark = page.evaluate(ground)
    assert dark != light
    paper = tmp_path / "page.pdf"
    page.pdf(path=str(paper))
    assert paper.read_bytes().startswith(b"%PDF-")
    assert page.evaluate(ground) == dark  # paper was white; the screen is as it was
    page.get_by_role("button", name="Copy as Markdown").click()
    page.wait_for_function("document.getElementById('said').textContent")
    assert page.evaluate("navigator.clipboard.readText()").startswith("## sample:pcie-2s-8gpu\n")


def test_by_the_keyboard_alone(opened: Any) -> None:
    page = opened("inspect", SOURCE)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "GPU0":
            break
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator(".ask [aria-pressed=true]").all_inner_texts() == ["GPU0", "GPU1"]


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_screen(opened: Any, width: int) -> None:
    page = opened("inspect", "sample:hgx-h100", viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened: Any, scheme: str, tmp_path: Path) -> None:
    """WCAG 2.2 AA as https://github.com/dequelabs/axe-core checks it."""
    source = browser.axe()
    for command in (
        ["inspect", "sample:hgx-h100"], ["diagnose", "sample:pcie-bridged", "--gpus", "0,1,4,5", "--measured", "3"],
        ["allocate", "device-plugin", "sample:pcie-bridged", "-c", "4", "--in-use", "0,6"],
        ["diff", "sample:pcie-bridged", "sample:4x4090"], ["fleet", str(odd_fleet(tmp_path)), "--workers", "1"],
    ):  # fmt: skip
        page = opened(*command, color_scheme=scheme, reduced_motion="reduce")  # no colour half-way to another
        if command[0] == "inspect":
            press(page, 0, 1, 4, 5)
        page.evaluate(source)
        found = page.evaluate("axe.run()")
        assert {"color-contrast", "button-name", "aria-valid-attr"} <= {one["id"] for one in found["passes"]}
        worst = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
        assert [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in worst] == []


def test_hostile_names_stay_words(chromium: Any, tmp_path: Path) -> None:
    from gputopo.reports.forms import Picture, Shown, render
    from gputopo.reports.views.inspect_head import head
    from tests.draw import hostile

    node = hostile.node()
    file = tmp_path / "hostile.html"
    picture = Picture(node, tuple(gpu.id for gpu in node.gpus[:2]))
    file.write_text(render("html", "gputopo inspect", [Shown(hostile.NAME, head(node, verbose=True), picture)]))
    opened = Opened(chromium, file)
    alerts: list[str] = []
    opened.page.on("dialog", lambda dialog: alerts.append(dialog.message))
    press(opened.page, 2)
    assert alerts == []
    assert opened.page.locator("script").count() == 2  # the data and ours
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    opened.close()
