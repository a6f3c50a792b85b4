"""A scene as SVG, on its own or inside a page.

Inside a page nothing of it reaches beyond: every id begins with the given prefix, every rule of the style sheet with
the class of the picture. Colours are attributes (light ground), so that a program without style sheets shows it right;
the style sheet only says what changes on dark ground, by the reader's setting or by `data-theme` of a page.

    >>> escape('<a b="1">&\\x1b[2J\\u202e')
    '&lt;a b=&quot;1&quot;&gt;&amp;\\\\x1b[2J\\\\u202e'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.reports.picture.palette import DARK, LIGHT, Look
from gputopo.reports.picture.scene import Group, Rect, Scene, Shape, Text
from gputopo.reports.sanitise import clean

FONTS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
_DASHED = "5 3"
THEMES = ("auto", "light", "dark")


def escape(text: str) -> str:
    """For text and attributes alike; what an XML parser refuses or a reader is misled by is shown as an escape."""
    return "".join(_ESCAPES.get(one, one) for one in clean(text))


def render(scene: Scene, *, prefix: str = "gputopo", theme: str = "auto", alone: bool = True) -> str:
    """prefix: of every id and class (letters, digits, `-`); theme: of THEMES; alone: a file of its own."""
    looks = DARK if theme == "dark" else LIGHT
    size = f'viewBox="0 0 {_number(scene.width)} {_number(scene.height)}"'
    room = f' width="{_number(scene.width)}" height="{_number(scene.height)}"' if alone else ""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>'] if alone else []
    lines += [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{prefix}" {size}{room} role="img" '
        f'aria-labelledby="{prefix}-title {prefix}-summary" font-family="{FONTS}">',
        f'<title id="{prefix}-title">{escape(scene.title)}</title>',
        f'<desc id="{prefix}-summary">{escape(scene.summary)}</desc>',
    ]
    if theme == "auto":
        lines.append(f"<style>{style_sheet(prefix, sorted(_roles(scene)))}</style>")
    lines.append(f'<rect{_paint("page", looks, prefix)} width="100%" height="100%"/>')
    for group in scene.groups:
        lines += _group(group, looks, prefix)
    return "\n".join([*lines, "</svg>"]) + "\n"


def style_sheet(prefix: str, roles: list[str]) -> str:
    """What changes on dark ground; a page may force either with `data-theme` on its root."""
    dark = [
        (role, f"fill:{DARK[role].fill};stroke:{DARK[role].stroke}") for role in ["page", *roles]
        if DARK[role] != LIGHT[role]
    ]  # fmt: skip
    by_reader = "".join(f":root:not([data-theme=light]) .{prefix} .{prefix}-{role},"
                        f"svg.{prefix}:root .{prefix}-{role}{{{rule}}}" for role, rule in dark)  # fmt: skip
    by_page = "".join(f":root[data-theme=dark] .{prefix} .{prefix}-{role}{{{rule}}}" for role, rule in dark)
    return f"@media (prefers-color-scheme:dark){{{by_reader}}}{by_page}"


def _roles(scene: Scene) -> set[str]:
    return {shape.role for shape in scene.shapes()}


def _group(group: Group, looks: dict[str, Look], prefix: str) -> Iterator[str]:
    if not group.shapes:
        return
    ids = f' data-ids="{escape(" ".join(group.ids))}"' if group.ids else ""
    yield f'<g class="{prefix}-is-{group.kind}"{ids}>'  # no role's name: its stroke would be handed down
    if group.about:
        yield f"<title>{escape(group.about)}</title>"
    for shape in group.shapes:
        yield _shape(shape, looks, prefix)
    yield "</g>"


def _shape(shape: Shape, looks: dict[str, Look], prefix: str) -> str:
    paint = _paint(shape.role, looks, prefix)
    if isinstance(shape, Text):
        weight = ' font-weight="bold"' if shape.bold else ""
        anchor = f' text-anchor="{shape.anchor}"' if shape.anchor != "start" else ""
        place = f' x="{_number(shape.x)}" y="{_number(shape.y)}" font-size="{_number(shape.size)}"'
        return f"<text{paint}{place}{weight}{anchor}>{escape(shape.text)}</text>"
    if isinstance(shape, Rect):
        look = looks[shape.role]
        stroke = f' stroke-width="{_number(look.width)}"' if look.stroke != "none" else ""
        dash = f' stroke-dasharray="{_DASHED}"' if shape.dashed else ""
        return (
            f'<rect{paint} x="{_number(shape.x)}" y="{_number(shape.y)}" width="{_number(shape.width)}" '
            f'height="{_number(shape.height)}" rx="{_number(shape.radius)}"{stroke}{dash}/>'
        )
    drawn = " ".join(f"{op}{' '.join(_number(float(one)) for one in rest)}" for op, *rest in shape.ops)
    dash = f' stroke-dasharray="{shape.dash}"' if shape.dash else ""
    return f'<path{paint} d="{drawn}" stroke-width="{_number(shape.width)}"{dash}/>'


def _paint(role: str, looks: dict[str, Look], prefix: str) -> str:
    look = looks[role]
    stroke = f' stroke="{look.stroke}"' if look.stroke != "none" else ""
    return f' class="{prefix}-{role}" fill="{look.fill}"{stroke}'


def _number(value: float) -> str:
    return f"{round(value, 1):g}"
