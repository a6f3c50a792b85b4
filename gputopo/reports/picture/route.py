"""Wires with places: NVLinks as arcs below the rooms, fabrics as bars below those, the weakest pair as a bracket.

Arcs: the more GPUs lie between two ends, the deeper; arcs of one depth are at least a card apart, so that the counts
on them never meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gputopo.reports.picture.arrange import Frame, Spot, chip_width
from gputopo.reports.picture.glyphs import text_width
from gputopo.reports.picture.parts import Asked, Between, Bundle, Fabric, Picture, ToCpu
from gputopo.reports.picture.scene import Group, Path, Rect, Shape, Text, line
from gputopo.reports.picture.shapes import DASHES, chip
from gputopo.reports.picture.shown_as import number
from gputopo.reports.picture.sizes import CPU_BAR, NORMAL, PAD, SMALL

_BAR, _STEP, _TRACK = 22.0, 17.0, 22.0
_INFERRED = "4 3"


class Wired(NamedTuple):
    groups: tuple[Group, ...]
    bottom: float


class _Port(NamedTuple):
    x: float
    y: float


def below(picture: Picture, spots: Sequence[Spot], top: float, left: float, right: float) -> Wired:
    """Everything below the rooms; `top` is their lower edge, left and right those of all rooms."""
    gpus = {id: spot for spot in spots if spot.card.kind == "gpu" for id in spot.card.ids}
    order = sorted(gpus, key=lambda id: gpus[id].x)
    brackets, y = _brackets(picture.asked, gpus, top, left, right)
    arcs, y = _arcs(picture.bundles, gpus, order, top, y)
    bars, y = _bars(picture.fabrics, gpus, y, left, right)
    return Wired((*bars, *arcs, *brackets), y)


def _brackets(
    asked: Sequence[Asked], gpus: dict[str, Spot], top: float, left: float, right: float
) -> tuple[list[Group], float]:  # fmt: skip
    made, pills = [], []
    y = top
    for place, one in enumerate(asked):
        if one.weakest is None or any(id not in gpus for id in one.weakest):
            continue
        y += _TRACK
        shift = -12.0 if place == 0 else 12.0
        a, b = sorted((_port(gpus[id], shift) for id in one.weakest), key=lambda port: port.x)
        role, dash = _level_look(one.level)
        text = f"{one.letter}: weakest pair {one.weakest[0]}-{one.weakest[1]} {one.level}"
        made.append(Group("mark", one.weakest, text, (Path(line(a, (a.x, y), (b.x, y), b), role, 3, dash),)))
        pills.append(Group("words", (), "", tuple(_pill((a.x + b.x) / 2, y, text, "mark-pill", left, right))))
    return [*made, *pills], y + (8 if y > top else 0)  # no line over a word


def _arcs(
    bundles: Sequence[Bundle], gpus: dict[str, Spot], order: Sequence[str], top: float, start: float
) -> tuple[list[Group], float]:  # fmt: skip
    drawn = [one for one in bundles if one.a in gpus and one.b in gpus]
    if not drawn:
        return [], start
    place = {id: at for at, id in enumerate(order)}
    spans = sorted({abs(place[one.a] - place[one.b]) for one in drawn})
    ports = _ports(drawn, gpus, place)
    made: list[Group] = []
    counts: list[Shape] = []
    narrowest = min((one.width / most for one, most in _crowded(drawn, gpus)), default=99.0)
    for at, one in enumerate(drawn):
        a, b = sorted((ports[at, one.a], ports[at, one.b]), key=lambda port: port.x)
        depth = start + 16 + _STEP * spans.index(abs(place[one.a] - place[one.b]))
        control = top + (depth - top) / 0.75
        ops = (*line(a, (a.x, top)), ("C", a.x, control, b.x, control, b.x, top), ("L", b.x, b.y))
        count = number(one.times)
        word = f"{count} xGMI links" if one.kind == "xgmi" else f"{count} NVLinks"
        width = min(_thick(one.times), round(narrowest * 0.5, 1))
        path = Path(ops, one.kind, width, "" if one.seen else _INFERRED)
        made.append(Group("link", (one.a, one.b), f"{one.a}-{one.b}: {word}", (path,)))
        counts += _count((a.x + b.x) / 2, depth, count)
    made.append(Group("counts", (), "", tuple(counts)))  # above every arc
    return made, start + 16 + _STEP * len(spans) + 2


def _crowded(drawn: Sequence[Bundle], gpus: dict[str, Spot]) -> list[tuple[Spot, int]]:
    """GPUs with the number of bundles they have."""
    ends = [id for one in drawn for id in (one.a, one.b)]
    return [(gpus[id], ends.count(id)) for id in dict.fromkeys(ends)]


def _ports(
    drawn: Sequence[Bundle], gpus: dict[str, Spot], place: dict[str, int]
) -> dict[tuple[int, str], _Port]:  # fmt: skip
    """Where each bundle leaves its GPU: near ends outside, far ends inside, so that arcs of one GPU do not cross."""
    ends: dict[str, list[tuple[int, int]]] = {}
    for at, one in enumerate(drawn):
        ends.setdefault(one.a, []).append((place[one.b] - place[one.a], at))
        ends.setdefault(one.b, []).append((place[one.a] - place[one.b], at))
    found = {}
    for id, mine in ends.items():
        ordered = [*sorted((one for one in mine if one[0] < 0), reverse=True),
                   *sorted((one for one in mine if one[0] > 0), reverse=True)]  # fmt: skip
        spot = gpus[id]
        step = min(11.0, (spot.width - 14) / max(1, len(ordered) - 1))
        for order, (_, at) in enumerate(ordered):
            found[at, id] = _port(spot, (order - (len(ordered) - 1) / 2) * step)
    return found


def _bars(
    fabrics: Sequence[Fabric], gpus: dict[str, Spot], start: float, left: float, right: float
) -> tuple[list[Group], float]:  # fmt: skip
    made = []
    taken: list[list[tuple[float, float]]] = []  # of each row of bars, what is taken from left to right
    top = start + 24
    for fabric in fabrics:
        links = [(id, count) for id, count in fabric.links if id in gpus]
        if not links:
            continue
        middle = [_port(gpus[id], 0).x for id, _ in links]
        wide = text_width(fabric.title, NORMAL, bold=True) + 20
        low, high = min(middle) - 24, max(middle) + 24
        low, high = _widened(low, high, wide, left, right)
        free = (at for at, some in enumerate(taken) if all(high + 6 < a or b + 6 < low for a, b in some))
        row = next(free, len(taken))
        taken[row : row + 1] = [[*(taken[row] if row < len(taken) else []), (low, high)]]
        y = top + row * (_BAR + 22)
        uneven = len({count for _, count in links}) > 1
        for id, count in links:
            port = _port(gpus[id], 0)
            text = f"{id}: {number(count)} links into {fabric.title.partition(':')[0]}"
            dash = "" if fabric.seen else _INFERRED
            shapes: list[Shape] = [Path(line(port, (port.x, y)), "nvlink", _thick(count), dash)]
            if uneven:
                shapes += _count(port.x, y - 9, number(count))
            made.append(Group("link", (id, fabric.kind), text, tuple(shapes)))
        bar: list[Shape] = [Rect(low, y, high - low, _BAR, "fabric", 5, not fabric.seen)]
        bar.append(Text((low + high) / 2, y + 14.8, fabric.title, NORMAL, "on-fabric", True, "middle"))
        about = f"{fabric.title}: {', '.join(id for id, _ in links)}"
        made.append(Group("fabric", (*fabric.switches, *(id for id, _ in links)), about, tuple(bar)))
    return made, (top + len(taken) * (_BAR + 22) - 22 if taken else start)


def above(picture: Picture, frames: Sequence[Frame], y: float, left: float, right: float) -> list[Group]:
    """The bar between the rooms, with a line to each."""
    between = picture.between
    if between is None:
        return []
    rooms = [frame for frame in frames if frame.box.id in between.rooms and frame.box in picture.rooms]
    crossing = [one.letter for one in picture.asked if len(one.rooms) > 1]
    crossed = {room for one in picture.asked if len(one.rooms) > 1 for room in one.rooms}
    role, dash = _level_look(between.levels[0]) if len(between.levels) == 1 else ("line-plain", "")
    made = []
    for frame in rooms:
        x = frame.x + frame.width / 2
        hot = frame.box.id in crossed
        pattern = dash if between.seen and frame.box.seen else _INFERRED
        shape = Path(line((x, y + _BAR), (x, frame.y)), role, 6 if hot else 3, pattern)
        made.append(Group("link", (frame.box.id, "between"), f"{frame.box.title}: {between.title}", (shape,)))
    made.append(_between_bar(between, crossing, y, left, right, rooms))
    return made


def _between_bar(
    between: Between, crossing: Sequence[str], y: float, left: float, right: float, rooms: Sequence[Frame]
) -> Group:  # fmt: skip
    text = between.title + (f" · crossed by {' and '.join(crossing)}" if crossing else "")
    chips = sum(chip_width(level) + 4 for level in between.levels)
    wide = text_width(text, NORMAL, bold=True)
    middles = [frame.x + frame.width / 2 for frame in rooms]
    low, high = _widened(min(middles) - 30, max(middles) + 30, wide + chips + 24, left, right)
    role = "between-crossed" if crossing else "between"
    shapes: list[Shape] = [Rect(low, y, high - low, _BAR, role, 5, not between.seen)]
    x = (low + high) / 2 - (wide + chips) / 2
    shapes.append(Text(x, y + 14.8, text, NORMAL, "text", True))
    x += wide + 6
    for level in between.levels:
        shapes += chip(level, x, y + 3.5)
        x += chip_width(level) + 4
    return Group("between", tuple(between.rooms), text, tuple(shapes))


def to_cpu(wanted: Sequence[ToCpu], frames: Sequence[Frame], spots: Sequence[Spot]) -> list[Group]:
    """A bar in the head of a NUMA node for its CPUs, and a line from each GPU up to it, behind what stands between."""
    lines, bars = [], {}
    for one in wanted:
        spot = next((spot for spot in spots if one.gpu in spot.card.ids), None)
        room = None if spot is None else _around(frames, spot)
        if spot is None or room is None:
            continue
        x = spot.x + spot.width - 12 - (10 if one.kind == "nvlink" else 0)
        word = "C2C" if one.kind == "c2c" else "NVLink"
        text = f"{one.gpu} to the CPU: {'' if one.times is None else f'{one.times} '}{word} links"
        top = room.y + room.head - CPU_BAR + 4
        lines.append(Group("link", (one.gpu, "cpu"), text, (Path(line((x, spot.y), (x, top)), one.kind, 4),)))
        bar = Rect(room.x + PAD, top - 4, room.width - 2 * PAD, 5, "cpu", 2)
        bars[room.box.id] = Group("cpu", (room.box.id,), f"CPUs of {room.box.title}", (bar,))
    return [*lines, *bars.values()]


def _around(frames: Sequence[Frame], spot: Spot) -> Frame | None:
    """The NUMA node (or place unknown) that a card stands in."""
    found = [
        frame for frame in frames
        if frame.box.kind in ("numa", "unknown") and frame.x <= spot.x and spot.x + spot.width <= frame.x + frame.width
    ]  # fmt: skip
    return found[-1] if found else None


def _count(x: float, y: float, text: str) -> list[Shape]:
    """A number on a line, on its own ground."""
    width = text_width(text, SMALL, bold=True) + 4
    return [
        Rect(x - width / 2, y - 6, width, 12, "wire-ground", 3),
        Text(x, y + 3.6, text, SMALL, "on-wire", True, "middle"),
    ]


def _pill(x: float, y: float, text: str, role: str, left: float, right: float) -> list[Shape]:
    width = text_width(text, SMALL, bold=True) + 14
    x = max(left + width / 2, min(right - width / 2, x))
    return [
        Rect(x - width / 2, y - 8.5, width, 17, role, 8),
        Text(x, y + 3.6, text, SMALL, "on-pill", True, "middle"),
    ]


def _level_look(level: str) -> tuple[str, str]:
    if level in DASHES and level != "?":
        return f"line-{level.lower()}", DASHES[level]
    return ("nvlink", "") if level.startswith("NV") else ("line-open", DASHES["?"])


def _port(spot: Spot, shift: float) -> _Port:
    return _Port(round(spot.x + spot.width / 2 + shift, 1), spot.y + spot.height)


def _widened(low: float, high: float, wide: float, left: float, right: float) -> tuple[float, float]:
    """At least this wide, within the picture where that is possible."""
    if high - low < wide:
        low, high = (low + high - wide) / 2, (low + high + wide) / 2
    if low < left:
        low, high = left, max(high, left + wide)
    if high > right:
        low, high = max(left, min(low, right - wide)), right
    return low, high


def _thick(count: int | None) -> float:
    """A line's width: it grows with the number of links."""
    return 1.5 if count is None else min(8.0, round(1.2 + 0.38 * count, 2))
