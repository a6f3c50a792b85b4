"""One page, whole: style, script and pictures are in it, and its policy forbids everything else.

The policy names what may run by its hash (https://www.w3.org/TR/CSP3/#match-element-to-source-list), so that nothing
that came in by a name could, even if it got through the escaping.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gputopo.reports.blocks import Block
from gputopo.reports.html.from_blocks import card, scrolled
from gputopo.reports.html.markup import Markup, element, join
from gputopo.reports.sections import sections
from gputopo.reports.views.words import cut

if TYPE_CHECKING:
    from gputopo.reports.picture.scene import Scene

_STYLE = re.compile("<style>(.*?)</style>", re.DOTALL)
_LONGEST_TITLE = 120


class Drawn(NamedTuple):
    """The picture of a node, and what the page answers about its pairs and sets (explorer.py)."""

    scene: Scene
    answers: dict[str, Any]


class Report(NamedTuple):
    """Of one node. `title`: its name."""

    title: str
    blocks: tuple[Block, ...]
    drawn: Drawn | None = None


def render(title: str, reports: Sequence[Report], markdown: str) -> str:
    """title: what was asked; markdown: the same reports, for the clipboard."""
    articles = [_article(report, number, several=len(reports) > 1) for number, report in enumerate(reports)]
    data = {"reports": [one.drawn.answers if one.drawn else None for one in reports], "markdown": markdown}
    names = ", ".join(dict.fromkeys(cut(report.title, 40) for report in reports[:3]))
    heading = cut(f"{title} · {names}", _LONGEST_TITLE)
    body = join(
        element("a", "Skip to the report", href="#report", class_="skip"), _bar(title),
        element("main", *articles, id="report", tabindex="-1"),
        element("p", "", id="said", class_="said", role="status"),
    )  # fmt: skip
    style, script = _file("page.css"), _file("page.js")
    styles = [style, *_STYLE.findall(body)]
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hashes(styles)}; script-src {_hashes([script])}; "
        "base-uri 'none'; form-action 'none'"
    )
    return "\n".join([
        "<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        '<meta name="color-scheme" content="light dark">', '<link rel="icon" href="data:,">',
        element("title", heading), f"<style>{style}</style>", "</head>", "<body>", body,
        f'<script type="application/json" id="data">{_json(data)}</script>', f"<script>{script}</script>",
        "</body>", "</html>", "",
    ])  # fmt: skip


def _bar(title: str) -> Markup:
    """Only the script makes these work: without it they are not shown."""
    themes = [
        element("button", word, type="button", data_theme_to=word.lower(), aria_pressed=str(word == "Auto").lower())
        for word in ("Auto", "Light", "Dark")
    ]
    tools = element(
        "div", element("button", "Copy as Markdown", type="button", id="copy"),
        element("button", "Print", type="button", id="print"),
        element("div", *themes, role="group", aria_label="Theme", class_="themes"), class_="tools", hidden=True,
    )  # fmt: skip
    name = element("p", element("b", "gputopo"), " ", title.removeprefix("gputopo "))
    return element("header", name, tools, class_="bar")


def _article(report: Report, number: int, *, several: bool) -> Markup:
    id = f"node-{number + 1}"
    made = [card(section, f"{id}-{at}", report.title) for at, section in enumerate(sections(report.blocks))]
    if report.drawn is not None:
        made.insert(min(2, len(made)), _figure(report.drawn, cut(report.title, _LONGEST_TITLE), id, number))
    title = element("h1", cut(report.title, _LONGEST_TITLE), id=f"{id}-name")
    return element("article", title, *made, class_="report", aria_labelledby=f"{id}-name")


def _figure(drawn: Drawn, name: str, id: str, number: int) -> Markup:
    from gputopo.reports.picture import svg

    picture = Markup(svg.render(drawn.scene, prefix=f"{id}-picture", alone=False))
    title = element("h2", "PICTURE", id=f"{id}-figure")
    ask = element("div", class_="ask", hidden=True, data_report=str(number))
    figure = element("div", scrolled(picture, f"Picture of {name}"), class_="picture")
    return element("section", title, element("div", figure, ask, class_="two"), class_="card figure",
                   aria_labelledby=f"{id}-figure {id}-name", data_picture=f"{id}-picture")  # fmt: skip


def _hashes(texts: Iterable[str]) -> str:
    digests = dict.fromkeys(b64encode(sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def _json(data: dict[str, Any]) -> str:
    """Nothing in it ends the element, begins a comment or is a line end to a script; it is ASCII."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8").strip("\n")
