"""A picture for a terminal: boxes as a tree, a line for each device, NVLinks as rails on the right.

A rail runs down from one end to the other; where it ends at a GPU its number of links stands. A fabric is one rail
for all its GPUs. Rails that do not fit into the columns are told in words.

    >>> card = Card("gpu", ("GPU0",), ("GPU0", "0f:00.0"), "")
    >>> other = Card("gpu", ("GPU1",), ("GPU1", "2d:00.0"), "")
    >>> room = Box("numa", "NUMA0", "NUMA 0", ("CPUs 0-7",), (card, other), levels=("NODE",))
    >>> picture = Picture("a", "2 GPUs", (room,), bundles=(Bundle("GPU0", "GPU1", "nvlink", 4, True),))
    >>> print(render(picture, Style(80)), end="")
    a   2 GPUs
    <BLANKLINE>
    NUMA 0  CPUs 0-7  [NODE]
    ├─ GPU0  0f:00.0 ──4
    └─ GPU1  2d:00.0 ──4
    <BLANKLINE>
    [NODE]  level of the pairs that meet here and in nothing smaller, as in
            nvidia-smi topo -m
    4 ─ 4   NVLinks between two GPUs
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gputopo.reports.picture.parts import Box, Bundle, Card, Fabric, Picture, boxes
from gputopo.reports.picture.shown_as import link_label, number
from gputopo.reports.sanitise import clean, width
from gputopo.reports.style import SGR, Style
from gputopo.rules.wording import names

_ASCII = str.maketrans("├└│─┆║┼╫·…", "|`|-:H+++.")
_RAIL = 3  # columns of a rail
_LEAST = 40  # columns that the tree keeps
Spans = tuple[tuple[str, str], ...]  # (text, role of the style)


class _Row(NamedTuple):
    spans: Spans
    ids: tuple[str, ...] = ()


class _Rail(NamedTuple):
    ends: tuple[tuple[int, str], ...]  # (row, what stands there), from above
    stroke: str
    column: int = 0


def render(picture: Picture, style: Style) -> str:
    """Lines of at most `style.columns`, each ended; colours and more than ASCII as the style says."""
    rows = [row for room in picture.rooms for row in _tree(room, picture)]
    rails, left_out = _rails(picture, rows, style.columns)
    lines = [_paint(((picture.title, "strong"), (f"   {picture.subtitle}", "")), style, style.columns), ""]
    room = style.columns - 1 - _RAIL * (max((rail.column for rail in rails), default=-1) + 1)
    first = min((rail.ends[0][0] for rail in rails), default=0)
    last = max((rail.ends[-1][0] for rail in rails), default=0)
    widest = max((min(_width(row, style), room) for row in rows[first : last + 1]), default=0)
    for at, row in enumerate(rows):
        text = _paint(row.spans, style, room)
        tail = _tail(at, rails)
        if tail.strip():
            left = widest + 1 - min(_width(row, style), room)
            ends = any(at == end for rail in rails for end, _ in rail.ends)
            fill = " " + ("─" if ends else " ") * (left - 1)
            text += _coloured(_plain(fill + tail.rstrip(), style), "NV", style)
        lines.append(text.rstrip())
    lines += _words(picture, rails, left_out, style)
    return "\n".join(lines) + "\n"


def _tree(room: Box, picture: Picture) -> list[_Row]:
    marks: dict[str, list[str]] = {}
    for one in picture.asked:
        for id in one.gpus:
            marks.setdefault(id, []).append(one.letter)
    for holder in picture.holders:
        for id in holder.devices:
            marks.setdefault(id, []).append(str(holder.number))
    rows: list[_Row] = []

    def walk(part: Box | Card, first: str, rest: str) -> None:
        if isinstance(part, Card):
            own = dict.fromkeys(mark for id in part.ids for mark in marks.get(id, ()))
            badges = "".join(f" <{mark}>" for mark in own)
            name, *more = part.lines
            spans = ((first, "dim"), (name, "strong"), ("".join(f"  {one}" for one in more), ""), (badges, "warning"))
            rows.append(_Row(spans, part.ids))
            return
        titles = [" ".join((part.title, *part.details[:1])) if part.bridges else part.title]
        details = () if part.bridges else part.details
        while not part.levels and len(part.inside) == 1 and isinstance(part.inside[0], Box) and part.bridges:
            part = part.inside[0]
            titles.append(" ".join((part.title, *part.details)))
        head: list[tuple[str, str]] = [(first, "dim"), (" / ".join(titles), "" if part.bridges else "strong")]
        head.append(("".join(f"  {one}" for one in details), ""))
        gap = "  " if any(titles) else ""
        for level in part.levels:
            head += [(gap, ""), (f"[{level}]", level if level != "?" else "")]
            gap = " "
        rows.append(_Row(tuple(head)))
        for at, one in enumerate(part.inside):
            last = at == len(part.inside) - 1
            walk(one, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))

    walk(room, "", "")
    return rows


def _rails(picture: Picture, rows: Sequence[_Row], columns: int) -> tuple[list[_Rail], bool]:
    """Rails with their columns, short ones to the left; nothing, and True, where they do not fit."""
    place = {id: at for at, row in enumerate(rows) for id in row.ids}
    wanted = []
    for bundle in picture.bundles:
        if bundle.a in place and bundle.b in place:
            rows_of = sorted((place[bundle.a], place[bundle.b]))
            wanted.append(_Rail(tuple((end, number(bundle.times)) for end in rows_of), "│" if bundle.seen else "┆"))
    wanted.sort(key=lambda rail: (rail.ends[-1][0] - rail.ends[0][0], rail.ends))
    for fabric in picture.fabrics:
        told = tuple(sorted((place[id], number(count)) for id, count in fabric.links if id in place))
        if told:
            wanted.append(_Rail(told, "║" if fabric.seen else "┆"))
    lanes: list[list[_Rail]] = [[] for _ in range((columns - _LEAST) // _RAIL)]
    for rail in wanted:
        free = (at for at, lane in enumerate(lanes) if not any(_meet(rail, other) for other in lane))
        column = next(free, None)
        if column is None:
            return [], True
        lanes[column].append(rail._replace(column=column))
    return [rail for lane in lanes for rail in lane], False


def _meet(one: _Rail, other: _Rail) -> bool:
    return one.ends[0][0] <= other.ends[-1][0] and other.ends[0][0] <= one.ends[-1][0]


def _tail(row: int, rails: Sequence[_Rail]) -> str:
    """What stands right of the tree in one row."""
    if not rails:
        return ""
    ends = {rail.column: text for rail in rails for at, text in rail.ends if at == row}
    passing = {rail.column: rail.stroke for rail in rails if rail.ends[0][0] < row < rail.ends[-1][0]}
    farthest = max(ends, default=-1)
    made = ""
    for column in range(max(rail.column for rail in rails) + 1):
        before = "─" if column <= farthest else " "
        if column in ends:
            made += f"{ends[column]:{before}>{_RAIL}}"
        else:
            cross = {"│": "┼", "┆": "┼", "║": "╫", "": "─"}
            stroke = passing.get(column, "")
            made += before * (_RAIL - 1) + (cross[stroke] if column < farthest else stroke or " ")
    return made


def _words(picture: Picture, rails: Sequence[_Rail], left_out: bool, style: Style) -> list[str]:
    lines: list[str] = [""]
    between = picture.between
    if between is not None:
        letters = " ".join(f"[{level}]" for level in between.levels)
        crossed = [one.letter for one in picture.asked if len(one.rooms) > 1]
        told = f"  crossed by {' and '.join(crossed)}" if crossed else ""
        lines += _wrapped(f"{between.title}  {letters}{told}", "", style)
    for one in picture.asked:
        lines += _wrapped(", ".join((one.lines[0].partition("  ")[2], *one.lines[1:])), f"<{one.letter}> ", style)
    lines += _wrapped(picture.verdict, "    ", style) if picture.verdict else []
    for holder in picture.holders:
        lines += _wrapped(holder.text, f"<{holder.number}> ", style)
    if any(box.levels for box in boxes(picture.rooms)):
        sample = next(box.levels[0] for box in boxes(picture.rooms) if box.levels)
        lines += _wrapped("level of the pairs that meet here and in nothing smaller, as in nvidia-smi topo -m",
                          f"[{sample}]".ljust(8), style)  # fmt: skip
    lines += _of_links(picture.bundles, picture.fabrics, left_out, style)
    for note in picture.notes:
        lines += _wrapped(note, "- ", style)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _of_links(bundles: Sequence[Bundle], fabrics: Sequence[Fabric], left_out: bool, style: Style) -> list[str]:
    lines: list[str] = []
    for fabric in fabrics:
        rail = "║" if fabric.seen else "┆"
        lines += _wrapped(f"{fabric.title} ({names([id for id, _ in fabric.links])})", f"{rail} ", style)
    if bundles and not left_out:
        count = number(bundles[0].times)
        word = "xGMI links" if bundles[0].kind == "xgmi" else "NVLinks"
        lines += _wrapped(f"{word} between two GPUs", f"{count} ─ {count}".ljust(8), style)
    if bundles and left_out:
        alike: dict[str, list[str]] = {}
        for one in bundles:
            alike.setdefault(link_label(one), []).append(f"{one.a}-{one.b}")
        for word, some in alike.items():
            lines += _wrapped(" ".join(some), f"{word}: ", style)
    return lines


def _wrapped(text: str, head: str, style: Style) -> list[str]:
    """Words in lines, the further ones below the first word."""
    room = style.columns - len(head)
    lines = [""]
    for word in _plain(clean(text), style).split(" "):
        while width(word) > room:
            start = _start(word, room)
            lines.append(start)
            word = word[len(start) :]
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if width(longer) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    kept = [line for line in lines if line]
    made = [(head if at == 0 else " " * len(head)) + line for at, line in enumerate(kept)]
    return [_plain(line, style) for line in made]


def _start(text: str, room: int) -> str:
    """As much of the text as takes this many columns, at least a character."""
    end = 1
    while end < len(text) and width(text[: end + 1]) <= room:
        end += 1
    return text[:end]


def _paint(spans: Spans, style: Style, room: int) -> str:
    """One line, cut with an ellipsis where it takes more columns."""
    made, left = "", room
    total = sum(width(_plain(clean(text), style)) for text, _ in spans)
    for text, role in spans:
        safe = _plain(clean(text), style)
        if total > room:
            kept = _start(safe, left - 1) if safe else ""
            kept = kept if width(kept) < left else ""
            if len(kept) < len(safe):
                return made + _coloured(kept, role, style) + _plain("…", style)
        left -= width(safe)
        made += _coloured(safe, role, style)
    return made


def _width(row: _Row, style: Style) -> int:
    return sum(width(_plain(clean(text), style)) for text, _ in row.spans)


def _plain(text: str, style: Style) -> str:
    if style.unicode:
        return text
    return clean(text.translate(_ASCII), ascii_only=True)


def _coloured(text: str, role: str, style: Style) -> str:
    code = SGR.get(role, "") if style.colour else ""
    return f"\x1b[{code}m{text}\x1b[0m" if code and text.strip() else text
