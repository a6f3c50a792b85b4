"""Boxes in boxes, cards in rows: sizes from the inside out, places from the outside in.

GPUs stand at the bottom of every box, so that NVLinks run below all rooms; what has GPUs stands side by side, what
has none is piled up to its right.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from typing import NamedTuple

from gputopo.reports.picture.glyphs import text_width, words, wrap
from gputopo.reports.picture.parts import Box, Card, Picture, cards
from gputopo.reports.picture.sizes import (
    BADGE,
    CARD_LEAST,
    CARD_MOST,
    CARD_PAD,
    CHIP,
    CPU_BAR,
    GAP,
    LINE,
    NAME,
    NORMAL,
    PAD,
    SMALL,
)

_ROWS = 4  # of cards above a GPU
_WITH_CPUS = ("numa", "unknown")
_PCI = ("hostBridge", "switch", "bridge", "level")
_SIDE_BY_SIDE = (("package", *_WITH_CPUS, *_PCI), ("package", *_WITH_CPUS), ("package",))  # for each `narrow`


class Spot(NamedTuple):
    """A card and its place."""

    card: Card
    x: float
    y: float
    width: float
    height: float


class Frame(NamedTuple):
    """A box, its place, and the lines of its head below the title."""

    box: Box
    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    head: float  # height of the head


class Size(NamedTuple):
    """`kind`: card, loose (cards without a frame), box."""

    kind: str
    part: Box | Card | None
    width: float
    height: float
    columns: tuple[Size, ...] = ()  # with GPUs, side by side
    piles: tuple[tuple[Size, ...], ...] = ()  # without, on top of each other, to their right
    tops: tuple[tuple[Size, ...], ...] = ()  # without, in rows above them
    rows: tuple[tuple[Size, ...], ...] = ()  # of cards
    lines: tuple[str, ...] = ()
    head: float = 0


class Arranger:
    """Sizes and places for one picture: all cards have one width, and one height a kind."""

    def __init__(self, picture: Picture, *, narrow: int = 0) -> None:
        """narrow: what has no GPU stands above what has, 1: within a switch or root complex, 2: in a NUMA node too."""
        self._narrow = narrow
        self._cpu_bar = CPU_BAR if picture.to_cpu else 0.0
        every = list(cards(picture.rooms))
        marked = {id for one in picture.asked for id in one.gpus}
        marked |= {id for one in picture.holders for id in one.devices}
        widest = max((_card_width(card) for card in every), default=CARD_LEAST)
        self.card_width = min(max(widest, CARD_LEAST), CARD_MOST)
        self.heights = {
            kind: _card_height([card for card in every if card.kind == kind], marked) for kind in ("gpu", "nic", "nvme")
        }

    def size(self, part: Box | Card) -> Size:
        if isinstance(part, Card):
            return Size("card", part, self.card_width, self.heights[part.kind])
        columns, rest = self._columns(part.inside)
        inner = _across([one.width for one in columns])
        tops: tuple[tuple[Size, ...], ...] = ()
        piles: tuple[tuple[Size, ...], ...] = ()
        if columns and part.kind not in _SIDE_BY_SIDE[self._narrow]:
            tops = _tops(rest, inner)
            inner = max([inner, *(_across([one.width for one in row]) for row in tops)])
        else:
            piles = _piles(rest, max((one.height for one in columns), default=0.0))
            inner = _across([one.width for one in columns] + [max(one.width for one in pile) for pile in piles])
        width = ceil(max(inner, _head_width(part)) + 2 * PAD)
        lines = tuple(wrap(part.details, SMALL, lambda line: width - 2 * PAD))
        head = _head_height(part, len(lines)) + (self._cpu_bar if part.kind in _WITH_CPUS else 0)
        tallest = max([one.height for one in columns] + [_down(pile) for pile in piles], default=-PAD)
        tallest += sum(max(one.height for one in row) + GAP for row in tops)
        return Size("box", part, width, head + tallest + PAD, columns, piles, tops, (), lines, head)

    def place(self, size: Size, x: float, y: float, height: float) -> tuple[list[Frame], list[Spot]]:
        """Everything in it at its place, the whole stretched to this height."""
        if isinstance(size.part, Card):
            return [], [Spot(size.part, x, y, size.width, size.height)]
        frames: list[Frame] = []
        spots: list[Spot] = []
        if size.part is None:
            spots += _rows(size, x, y, height)
            return frames, spots
        frames.append(Frame(size.part, x, y, size.width, height, size.lines, size.head))
        left, top, room = x + PAD, y + size.head, height - size.head - PAD
        for row in size.tops:
            for one in row:
                more = self.place(one, left, top, one.height)
                frames += more[0]
                spots += more[1]
                left += one.width + GAP
            down = max(one.height for one in row) + GAP
            left, top, room = x + PAD, top + down, room - down
        for column in size.columns:
            more = self.place(column, left, top, room)
            frames += more[0]
            spots += more[1]
            left += column.width + GAP
        for pile in size.piles:
            down = top
            for one in pile:
                more = self.place(one, left, down, one.height)
                frames += more[0]
                spots += more[1]
                down += one.height + GAP
            left += max(one.width for one in pile) + GAP
        return frames, spots

    def _columns(self, parts: Sequence[Box | Card]) -> tuple[tuple[Size, ...], list[Size]]:
        """What has GPUs, and what has none."""
        own = [part for part in parts if isinstance(part, Card)]
        inner = [part for part in parts if isinstance(part, Box)]
        with_gpus = [self.size(box) for box in inner if _has_gpus(box)]
        without = [self.size(box) for box in inner if not _has_gpus(box)]
        if any(card.kind == "gpu" for card in own):
            with_gpus.append(self._loose(own, 0))
        elif own:
            without.append(self._loose(own, max((one.height for one in with_gpus), default=0.0)))
        return tuple(with_gpus), without

    def _loose(self, own: Sequence[Card], tallest: float) -> Size:
        """Cards in rows: GPUs below, all others above. `tallest`: what stands beside it."""
        gpus = [self.size(card) for card in own if card.kind == "gpu"]
        others = [self.size(card) for card in own if card.kind != "gpu"]
        most = max((one.height for one in others), default=1.0)
        if gpus:
            across = max(len(gpus), ceil(len(others) / _ROWS))
        elif tallest:
            across = ceil(len(others) / max(1, int((tallest + GAP) // (most + GAP))))
        else:
            across = ceil(sqrt(len(others) * 1.5))
        rows = [tuple(others[at : at + across]) for at in range(0, len(others), across)]
        rows += [tuple(gpus)] if gpus else []
        width = max(_across([one.width for one in row]) for row in rows)
        height = sum(max(one.height for one in row) for row in rows) + GAP * (len(rows) - 1)
        return Size("loose", None, width, height, rows=tuple(rows))


def _rows(size: Size, x: float, y: float, height: float) -> list[Spot]:
    spots = []
    top = y
    for at, row in enumerate(size.rows):
        tallest = max(one.height for one in row)
        gpus = isinstance(row[0].part, Card) and row[0].part.kind == "gpu"
        if at == len(size.rows) - 1 and gpus:
            top = y + height - tallest
        left = x
        for one in row:
            if isinstance(one.part, Card):
                spots.append(Spot(one.part, left, top, one.width, one.height))
            left += one.width + GAP
        top += tallest + GAP
    return spots


def _piles(sizes: Sequence[Size], tallest: float) -> tuple[tuple[Size, ...], ...]:
    """Boxes without GPUs on top of each other, as high as what stands beside them; alone about square."""
    if not sizes:
        return ()
    highest = max(one.height for one in sizes)
    total = sum(one.height + GAP for one in sizes)
    limit = max(tallest, highest) if tallest else max(highest, total / ceil(sqrt(len(sizes))))
    piles: list[list[Size]] = [[]]
    for one in sizes:
        if piles[-1] and _down(piles[-1]) + GAP + one.height > limit:
            piles.append([])
        piles[-1].append(one)
    return tuple(tuple(pile) for pile in piles)


def _tops(sizes: Sequence[Size], across: float) -> tuple[tuple[Size, ...], ...]:
    """Rows of boxes, as wide as what stands below, or as the widest of them."""
    limit = max([across, *(one.width for one in sizes)])
    rows: list[list[Size]] = []
    for one in sizes:
        if rows and _across([*(other.width for other in rows[-1]), one.width]) <= limit:
            rows[-1].append(one)
        else:
            rows.append([one])
    return tuple(tuple(row) for row in rows)


def _has_gpus(box: Box) -> bool:
    return any(card.kind == "gpu" for card in cards((box,)))


def _across(widths: Sequence[float]) -> float:
    return sum(widths) + GAP * max(0, len(widths) - 1)


def _down(pile: Sequence[Size]) -> float:
    return sum(one.height for one in pile) + GAP * (len(pile) - 1)


def chip_width(level: str) -> float:
    return text_width(level, SMALL, bold=True) + 8


def title_size(box: Box) -> float:
    return NAME if box.kind in ("package", "unknown") else NORMAL if box.kind in ("numa", "idle") else SMALL


def _head_width(box: Box) -> float:
    """Of the title with its chips; below it a line has to take the longest word, and most details whole."""
    chips = sum(chip_width(level) + 3 for level in box.levels)
    title = text_width(box.title, title_size(box), box.kind in ("package", "unknown", "numa", "idle"))
    longest = max((text_width(word.rstrip(), SMALL) for part in box.details for word in words(part)), default=0.0)
    whole = max((text_width(part, SMALL) for part in box.details), default=0.0)
    return max(title + (6 if title and chips else 0) + chips, min(longest, 180.0), min(whole, 165.0))


def _head_height(box: Box, lines: int) -> float:
    first = CHIP + 8 if box.title or box.levels else 6.0
    return first + lines * LINE + (2 if lines else 0)


def _card_width(card: Card) -> float:
    name, *rest = card.lines
    return max([text_width(name, NAME, bold=True), *(text_width(one, SMALL) for one in rest)]) + 2 * CARD_PAD


def _card_height(alike: Sequence[Card], marked: set[str]) -> float:
    lines = max((len(card.lines) for card in alike), default=1)
    badges = BADGE + 3 if any(id in marked for card in alike for id in card.ids) else 0
    return CARD_PAD + LINE + (lines - 1) * LINE + badges + 4
