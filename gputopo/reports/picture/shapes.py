"""Frames and cards as shapes: a box with its title and letter chips, a device with its lines and badges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gputopo.reports.picture.arrange import Frame, Spot, chip_width, title_size
from gputopo.reports.picture.glyphs import fit, text_width
from gputopo.reports.picture.scene import Group, Path, Rect, Shape, Text, line
from gputopo.reports.picture.sizes import BADGE, CARD_PAD, CHIP, LINE, NAME, PAD, SMALL

# A pattern for each level, so that it is told without colour: solid is near, the more broken the farther.
DASHES = {"PIX": "", "PXB": "9 2", "PHB": "6 2 2 2", "NODE": "2 2", "SYS": "5 5", "?": "1 3"}
_MOST_BADGES = 3


def chip(level: str, x: float, y: float) -> list[Shape]:
    """A level's letters on its colour, underlined with its pattern."""
    width = chip_width(level)
    return [
        Rect(x, y, width, CHIP, f"level-{_name(level)}", 3),
        Path(line((x + 3, y + CHIP - 2.5), (x + width - 3, y + CHIP - 2.5)), "level-mark", 1.4, DASHES.get(level, "")),
        Text(x + width / 2, y + 9.6, level, SMALL, "on-level", True, "middle"),
    ]


def frame_group(frame: Frame) -> Group:
    box = frame.box
    role = f"box-{box.kind}"
    if box.levels and box.kind in ("level", "switch", "bridge", "hostBridge") and len(box.levels) == 1:
        role = f"box-{_name(box.levels[0])}"
    shapes: list[Shape] = [Rect(frame.x, frame.y, frame.width, frame.height, role, 6, not box.seen)]
    right = frame.x + frame.width - PAD
    for level in reversed(box.levels):
        right -= chip_width(level)
        shapes += chip(level, right, frame.y + 5)
        right -= 3
    size, bold = title_size(box), box.kind in ("package", "unknown", "numa", "idle")
    if box.title:
        room = right - frame.x - PAD - (3 if box.levels else 0)
        shapes.append(Text(frame.x + PAD, frame.y + 16.5, fit(box.title, room, size, bold), size, "text", bold))
    top = frame.y + (CHIP + 8 if box.title or box.levels else 6)
    shapes += [Text(frame.x + PAD, top + at * LINE + 8, text, SMALL, "muted") for at, text in enumerate(frame.lines)]
    about = box.about or ", ".join((box.title, *box.details))
    return Group("box", (box.id, *box.bridges), about, tuple(shapes))


def card_group(spot: Spot, badges: Sequence[tuple[str, str]], role: str) -> Group:
    """badges: (text, role) of sets and pods this device is in."""
    card = spot.card
    shapes: list[Shape] = [Rect(spot.x, spot.y, spot.width, spot.height, role, 4)]
    room = spot.width - 2 * CARD_PAD + 1
    name, *rest = card.lines
    x, y = spot.x + CARD_PAD, spot.y + CARD_PAD + 9.5
    shapes.append(Text(x, y, fit(name, room, NAME, True), NAME, "card-text", True))
    for text in rest:
        y += LINE
        shapes.append(Text(x, y, fit(text, room, SMALL), SMALL, "card-muted"))
    left, top = spot.x + CARD_PAD, spot.y + spot.height - BADGE - 4
    more = len(badges) - _MOST_BADGES
    shown = [*badges[: _MOST_BADGES - 1], (f"+{more + 1}", "badge-more")] if more > 0 else badges
    for text, badge in shown:
        width = max(BADGE, text_width(text, SMALL, bold=True) + 6)
        shapes.append(Rect(left, top, width, BADGE, badge, 7 if badge.startswith("pod") else 2))
        shapes.append(Text(left + width / 2, top + 10.5, text, SMALL, "on-badge", True, "middle"))
        left += width + 3
    return Group("device", card.ids, card.about, tuple(shapes))


def badges_of(marks: Mapping[str, Sequence[tuple[str, str]]], ids: Sequence[str]) -> list[tuple[str, str]]:
    return list(dict.fromkeys(badge for id in ids for badge in marks.get(id, ())))


def _name(level: str) -> str:
    return "open" if level == "?" else level.lower()
