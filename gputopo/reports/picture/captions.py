"""Words around the rooms: the title above; below, what was asked, pods, the legend of what occurs, notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gputopo.reports.picture.arrange import chip_width
from gputopo.reports.picture.glyphs import fit, text_width, wrap
from gputopo.reports.picture.parts import LEVEL_ORDER, Picture, boxes, cards
from gputopo.reports.picture.scene import Group, Path, Rect, Shape, Text, line
from gputopo.reports.picture.shapes import chip
from gputopo.reports.picture.sizes import BADGE, LINE, MARGIN, NORMAL, SMALL, TITLE

POD_COLOURS = 7
_MEANING = {
    "PIX": "one switch at most", "PXB": "several switches, one root", "PHB": "through a root complex",
    "NODE": "between roots of one NUMA node", "SYS": "between NUMA nodes", "?": "not decided",
}  # fmt: skip
_RULE = "Two devices meet in the smallest box around both; its letters are their level, as in nvidia-smi topo -m."


class Written(NamedTuple):
    groups: tuple[Group, ...]
    bottom: float


def head(picture: Picture, width: float) -> Written:
    room = width - 2 * MARGIN
    shapes: list[Shape] = [Text(MARGIN, MARGIN + 16, fit(picture.title, room, TITLE, True), TITLE, "text", True)]
    y = MARGIN + 34
    for text in wrap([picture.subtitle], NORMAL, lambda at: room):
        shapes.append(Text(MARGIN, y, text, NORMAL, "muted"))
        y += LINE + 2
    return Written((Group("words", (), "", tuple(shapes)),), y - 2)


def foot(picture: Picture, top: float, width: float) -> Written:
    groups: list[Group] = []
    y = top
    for part in (_asked, _holders, _legend, _notes):
        written = part(picture, y, width - 2 * MARGIN)
        groups += written.groups
        y = written.bottom
    return Written(tuple(groups), y)


def _asked(picture: Picture, y: float, room: float) -> Written:
    shapes: list[Shape] = []
    for one in picture.asked:
        shapes.append(Rect(MARGIN, y - 10.5, BADGE, BADGE, f"set-{one.letter.lower()}", 2))
        shapes.append(Text(MARGIN + BADGE / 2, y, one.letter, SMALL, "on-badge", True, "middle"))
        said = [one.lines[0].partition("  ")[2], *one.lines[1:]]
        y = _lines(shapes, said, MARGIN + BADGE + 6, y, room - BADGE - 6, NORMAL, "text")
    if picture.verdict:
        y = _lines(shapes, [picture.verdict], MARGIN + BADGE + 6, y, room - BADGE - 6, NORMAL, "text", True)
    return Written((Group("words", (), "", tuple(shapes)),), y + (6 if shapes else 0))


def _holders(picture: Picture, y: float, room: float) -> Written:
    shapes: list[Shape] = []
    for one in picture.holders:
        text = str(one.number)
        wide = max(BADGE, text_width(text, SMALL, bold=True) + 6)
        shapes.append(Rect(MARGIN, y - 10.5, wide, BADGE, pod_role(one.number), 7))
        shapes.append(Text(MARGIN + wide / 2, y, text, SMALL, "on-badge", True, "middle"))
        y = _lines(shapes, [one.text], MARGIN + wide + 6, y, room - wide - 6, NORMAL, "text")
    return Written((Group("words", (), "", tuple(shapes)),), y + (6 if shapes else 0))


def _legend(picture: Picture, y: float, room: float) -> Written:
    """Only what occurs, one item after the other."""
    shapes: list[Shape] = []
    x = MARGIN
    for wide, drawn, text in _items(picture):
        taken = wide + 5 + text_width(text, SMALL)
        if x > MARGIN and x + taken > MARGIN + room:
            x, y = MARGIN, y + LINE + 6
        shapes += [_moved(shape, x, y - 9) for shape in drawn]
        shapes.append(Text(x + wide + 5, y + 1.5, text, SMALL, "muted"))
        x += taken + 16
    y += LINE + 6
    if any(box.levels for box in boxes(picture.rooms)):
        y = _lines(shapes, [_RULE], MARGIN, y, room, SMALL, "muted")
    return Written((Group("words", (), "", tuple(shapes)),), y)


def _items(picture: Picture) -> list[tuple[float, list[Shape], str]]:
    between = picture.between.levels if picture.between is not None else ()
    every = {level for box in boxes(picture.rooms) for level in box.levels} | set(between)
    items: list[tuple[float, list[Shape], str]] = [
        (chip_width(level), chip(level, 0, 0), _MEANING[level]) for level in LEVEL_ORDER if level in every
    ]
    kinds = {card.kind for card in cards(picture.rooms)}
    for kind, text in (("gpu", "GPU"), ("nic", "NIC"), ("nvme", "NVMe drive")):
        if kind in kinds:
            items.append((18, [Rect(0, 2, 18, 11, kind, 3)], text))
    if any(one.kind == "nvlink" for one in picture.bundles):
        items.append((24, [_stroke("nvlink", 3)], "NVLinks, as wide as they are many"))
    if any(one.kind == "xgmi" for one in picture.bundles):
        items.append((24, [_stroke("xgmi", 3)], "xGMI links"))
    if any(one.kind == "switch" for one in picture.fabrics):
        items.append((24, [Rect(0, 2, 24, 11, "fabric", 3)], "NVSwitch fabric"))
    if any(one.kind == "c2c" for one in picture.to_cpu):
        items.append((24, [_stroke("c2c", 4)], "C2C to the CPU"))
    if any(one.kind == "nvlink" for one in picture.to_cpu):
        items.append((24, [_stroke("nvlink", 3)], "NVLink to the CPU"))
    dashed = any(not box.seen for box in boxes(picture.rooms))
    dashed = dashed or any(not one.seen for one in picture.bundles) or any(not one.seen for one in picture.fabrics)
    if dashed or (picture.between is not None and not picture.between.seen):
        items.append((24, [Rect(0, 2, 24, 11, "box-level", 3, True)], "dashed: inferred, or not known"))
    return items


def _notes(picture: Picture, y: float, room: float) -> Written:
    shapes: list[Shape] = []
    for note in picture.notes:
        shapes.append(Text(MARGIN, y, "-", SMALL, "muted"))
        y = _lines(shapes, [note], MARGIN + 9, y, room - 9, SMALL, "muted")
    return Written((Group("words", (), "", tuple(shapes)),), y)


def _lines(
    shapes: list[Shape], parts: Sequence[str], x: float, y: float, room: float, size: float, role: str,
    bold: bool = False,
) -> float:  # fmt: skip
    for text in wrap(parts, size, lambda at: room, bold):
        shapes.append(Text(x, y, text, size, role, bold))
        y += LINE + (2 if size > SMALL else 0)
    return y


def _stroke(role: str, width: float) -> Path:
    return Path(line((0, 7.5), (24, 7.5)), role, width)


def _moved(shape: Shape, x: float, y: float) -> Shape:
    if isinstance(shape, Path):
        moved = tuple((op, *(float(one) + (y if at % 2 else x) for at, one in enumerate(rest)))
                      for op, *rest in shape.ops)  # fmt: skip
        return shape._replace(ops=moved)
    return shape._replace(x=shape.x + x, y=shape.y + y)


def pod_role(number: int) -> str:
    return f"pod-{(number - 1) % POD_COLOURS + 1}"
