"""The SVG is well formed, the same every time, harmless, and reaches beyond itself in nothing."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from gputopo.reports.picture.compose import compose
from gputopo.reports.picture.layout import layout
from gputopo.reports.picture.palette import DARK, LEVELS, LIGHT
from gputopo.reports.picture.svg import render
from tests.draw import hostile
from tests.draw.made import machine, node_of
from tests.draw.test_geometry import unreadable

SVG = "{http://www.w3.org/2000/svg}"
# What this renderer writes; anything else would be somebody's name that got out of its text.
ELEMENTS = {"svg", "title", "desc", "style", "g", "rect", "text", "path"}


def drawn(**more: object) -> str:
    node = machine(links="cables")
    return render(layout(compose(node, highlight=("GPU0", "GPU5"), against=("GPU0", "GPU1"))), **more)  # type: ignore[arg-type]


def contrast(one: str, other: str) -> float:
    """Of WCAG 2.2: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_it_is_the_same_every_time() -> None:
    assert drawn() == drawn()


def test_a_screen_reader_is_told_what_is_to_be_seen() -> None:
    root = ElementTree.fromstring(drawn())
    title, summary = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert summary is not None
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{title.get('id')} {summary.get('id')}"
    assert title.text == "drawn"
    assert summary.text is not None
    assert summary.text.startswith("socket 0: GPU0-GPU3")
    assert "NV2: GPU0-GPU1, GPU2-GPU3, GPU4-GPU5 and GPU6-GPU7." in summary.text


def test_inside_a_page_it_keeps_to_itself() -> None:
    text = drawn(prefix="report-2", alone=False)
    assert text.startswith("<svg ")
    root = ElementTree.fromstring(text)
    names = {one.get("id") for one in root.iter()} - {None}
    assert names == {"report-2-title", "report-2-summary"}
    classes = {one.get("class", "") for one in root.iter()} - {""}
    assert all(one == "report-2" or one.startswith("report-2-") for one in classes)
    style = root.findtext(f"{SVG}style") or ""
    rules = re.findall(r"([^{}]+)\{[^{}]*\}", re.sub(r"@media[^{]*\{", "", style))
    assert rules
    assert all(".report-2" in selector for rule in rules for selector in rule.split(","))


def test_nothing_is_fetched_and_nothing_runs() -> None:
    for text in (drawn(), render(layout(compose(hostile.node())))):
        root = ElementTree.fromstring(text)
        assert {one.tag.removeprefix(SVG) for one in root.iter()} <= ELEMENTS
        attributes = {name for one in root.iter() for name in one.attrib}
        assert not [name for name in attributes if name.startswith("on") or "href" in name]
        assert "url(" not in text


def test_hostile_names_are_shown_and_cut() -> None:
    node = hostile.node()
    scene = layout(compose(node))
    assert unreadable(scene) == []
    text = render(scene)
    assert text.isprintable() or set(filter(lambda one: not one.isprintable(), text)) == {"\n"}
    words = [one.text or "" for one in ElementTree.fromstring(text).iter(f"{SVG}text")]
    assert any(word.startswith("</text></title><script>alert(1)") for word in words)  # as it was chosen
    assert any(word.endswith("…") for word in words)
    assert max(map(len, words)) < 200
    assert scene.width < 1500


@pytest.mark.parametrize("looks", [LIGHT, DARK], ids=["light", "dark"])
def test_words_stand_out_from_their_ground(looks: dict[str, object]) -> None:
    """WCAG 2.2, level AA: 4.5 to 1; for lines that mean something 3 to 1."""
    fill = {role: look.fill for role, look in looks.items()}  # type: ignore[attr-defined]
    stroke = {role: look.stroke for role, look in looks.items()}  # type: ignore[attr-defined]
    grounds = [role for role in looks if role.startswith(("box-", "gpu", "nic", "nvme")) or role in ("page", "fabric")]
    for ground in [*grounds, "between", "between-crossed", "mark-pill"]:
        assert contrast(fill["text"], fill[ground]) >= 4.5, ground
    for ground in grounds:
        words = "muted" if ground.startswith("box-") or ground == "page" else "card-muted"
        assert contrast(fill[words], fill[ground]) >= 4.5, ground
    for level in LEVELS:
        assert contrast(fill["on-level"], fill[f"level-{level}"]) >= 4.5, level
    for role in looks:
        if role.startswith(("set-", "pod-", "badge")):
            assert contrast(fill["on-badge"], fill[role]) >= 4.5, role
    for wire in ("nvlink", "xgmi", "c2c", "line-sys", "line-node", "line-pix"):
        assert contrast(stroke[wire], fill["page"]) >= 3, wire


def test_levels_are_told_apart_without_colour() -> None:
    from gputopo.reports.picture.shapes import DASHES

    assert len(set(DASHES.values())) == len(DASHES)
    assert set(DASHES) == {"PIX", "PXB", "PHB", "NODE", "SYS", "?"}


def test_no_colour_is_handed_down() -> None:
    """A shape without a stroke would take that of its group."""
    for scene in (layout(compose(machine(links="fabric"))), layout(compose(machine(links="cables")))):
        text = render(scene)
        groups = set(re.findall(r'<g class="gputopo-([^"]+)"', text))
        assert groups
        assert groups & {*LIGHT, *DARK} == set()
        assert not re.search(r"<g [^>]*(?:fill|stroke)", text)


def test_dark_ground_by_the_reader_or_by_the_page() -> None:
    text = drawn()
    assert f'class="gputopo-page" fill="{LIGHT["page"].fill}"' in text  # without a style sheet: light
    assert "@media (prefers-color-scheme:dark)" in text
    assert f"fill:{DARK['page'].fill}" in text
    assert ":root[data-theme=dark] .gputopo .gputopo-page" in text
    dark = drawn(theme="dark")
    assert "<style>" not in dark
    assert f'fill="{DARK["page"].fill}"' in dark


def test_a_redrawn_sample_says_what_was_asked() -> None:
    node = node_of("sample:pcie-2s-8gpu")
    ids = [gpu.id for gpu in node.gpus]
    text = render(layout(compose(node, highlight=(*ids[:2], *ids[4:6]), against=tuple(ids[:4]))))
    words = [one.text for one in ElementTree.fromstring(text).iter(f"{SVG}text")]
    assert "A: weakest pair GPU0-GPU4 SYS" in words
    assert "B: weakest pair GPU0-GPU2 PXB" in words
    assert "between sockets · crossed by A" in words
    assert "B is better" in words
