"""Parts → scene: every box, card, wire and word at its place."""

from __future__ import annotations

from gputopo.reports.picture.arrange import Arranger, Frame, Size, Spot
from gputopo.reports.picture.captions import foot, head, pod_role
from gputopo.reports.picture.parts import Picture
from gputopo.reports.picture.route import above, below, to_cpu
from gputopo.reports.picture.scene import Group, Scene
from gputopo.reports.picture.shapes import badges_of, card_group, frame_group
from gputopo.reports.picture.sizes import MARGIN, NARROWEST, ROOM_GAP

_BETWEEN = 22.0 + 16.0  # the bar between rooms, and the lines below it
_WIDE = 1400.0  # from here on what has no GPU is put above what has


def layout(picture: Picture) -> Scene:
    arranger, sizes, wide = _arranged(picture, 0)
    for narrow in (1, 2):
        if wide > _WIDE:
            arranger, sizes, wide = _arranged(picture, narrow)
    width = max(wide + 2 * MARGIN, NARROWEST)
    title = head(picture, width)
    bar = title.bottom + 6
    top = bar + (_BETWEEN if picture.between is not None else 4)
    tall = max((size.height for size in sizes), default=0.0)
    frames: list[Frame] = []
    spots: list[Spot] = []
    x = (width - wide) / 2
    for size in sizes:
        more = arranger.place(size, x, top, tall)
        frames += more[0]
        spots += more[1]
        x += size.width + ROOM_GAP
    left, right = MARGIN, width - MARGIN
    wired = below(picture, spots, top + tall, left, right)
    words = foot(picture, wired.bottom + 26, width)
    groups = (
        *title.groups,
        *above(picture, frames, bar, left, right),
        *(frame_group(frame) for frame in frames),
        *to_cpu(picture.to_cpu, frames, spots),
        *wired.groups,
        *_cards(picture, spots),
        *words.groups,
    )
    return Scene(round(width), round(words.bottom + MARGIN - 8), picture.title, picture.summary, groups)


def _arranged(picture: Picture, narrow: int) -> tuple[Arranger, list[Size], float]:
    arranger = Arranger(picture, narrow=narrow)
    sizes = [arranger.size(room) for room in picture.rooms]
    return arranger, sizes, sum(size.width for size in sizes) + ROOM_GAP * max(0, len(sizes) - 1)


def _cards(picture: Picture, spots: list[Spot]) -> list[Group]:
    marks: dict[str, list[tuple[str, str]]] = {}
    for one in picture.asked:
        for id in one.gpus:
            marks.setdefault(id, []).append((one.letter, f"set-{one.letter.lower()}"))
    for holder in picture.holders:
        for id in holder.devices:
            marks.setdefault(id, []).append((str(holder.number), pod_role(holder.number)))
    made = []
    for spot in spots:
        badges = badges_of(marks, spot.card.ids)
        made.append(card_group(spot, badges, _role(picture, spot, [role for _, role in badges])))
    return made


def _role(picture: Picture, spot: Spot, badges: list[str]) -> str:
    """A set is a strong frame, a pod a tint; what is in none recedes where something was asked."""
    kind = spot.card.kind
    for role in badges:
        if role.startswith("set-"):
            return f"{kind}-{role}"
    if badges:
        return f"{kind}-{badges[0]}"
    return f"{kind}-other" if picture.asked or picture.holders else kind
