"""Parts and words into lines: parts stay whole where they fit, words break, long words are cut."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.reports.blocks import Cell, Span
from gputopo.reports.sanitise import clean, width
from gputopo.reports.style import Style

GAP = 3  # blanks between two parts of a line
_GAP = Span(" " * GAP)


def tidy(cell: Cell, style: Style) -> Cell:
    """The cell with every text made safe."""
    ascii_only = not style.unicode
    for text, _ in cell:
        if not text.isprintable() or (ascii_only and not text.isascii()):
            return tuple([Span(clean(text, ascii_only=ascii_only), role) for text, role in cell])
    return cell


def cell_width(cell: Cell) -> int:
    return sum([width(span.text) for span in cell])


def paragraph(cell: Cell) -> tuple[Cell, ...]:
    """A list with the cell, or without it where it is empty."""
    return (cell,) if cell else ()


def labelled(
    labels: Sequence[tuple[Cell, int]], parts: Sequence[Cell], indent: int, style: Style
) -> list[Cell]:
    """Labels, each padded to its columns, then the parts; further lines start at `indent`."""
    head: list[Span] = []
    at = 0
    for label, columns in labels:
        taken = cell_width(label)
        head.extend(label)
        padding = columns - taken if taken < columns else 2
        head.append(Span(" " * padding))
        at += taken + padding
    if not labels:
        head.append(Span(" " * indent))
        at = indent
    if at > style.columns // 2:  # a name too long to stand beside anything
        lines: list[Cell] = flow([tuple(head)], style.columns)
        return lines + [(Span(" " * indent), *line) for line in flow(parts, style.columns - indent)]
    if not parts:
        return [tuple(head)]
    body = flow(parts, style.columns - indent, first=style.columns - at)
    margin = Span(" " * indent)
    return [(*head, *body[0]), *[(margin, *line) for line in body[1:]]]


def flow(parts: Sequence[Cell], columns: int, *, first: int | None = None) -> list[Cell]:
    """Lines of at most `columns` (the first: `first`); at least one line."""
    lines: list[Cell] = []
    line: list[Span] = []
    room = columns if first is None else first
    for part in parts:
        needed = cell_width(part)
        if line and GAP + needed <= room:
            line += [_GAP, *part]
            room -= GAP + needed
            continue
        if line:
            lines.append(tuple(line))
            line, room = [], columns
        if needed <= room:
            line, room = list(part), room - needed
            continue
        *full, last = _wrap(part, room, columns)
        lines += full
        line, room = list(last), columns - cell_width(last)
    lines.append(tuple(line))
    return lines


def _wrap(cell: Cell, first: int, columns: int) -> list[Cell]:
    """Break a cell between words; its first line has `first` columns."""
    lines: list[list[Span]] = [[]]
    room = first
    for word in _words(cell):
        needed = cell_width(word)
        if lines[-1] and needed + 1 <= room:
            lines[-1] += [Span(" "), *word]
            room -= needed + 1
            continue
        if lines[-1]:
            lines.append([])
            room = columns
        for piece in _pieces(word, needed, room, columns):
            if lines[-1]:
                lines.append([])
                room = columns
            lines[-1] += piece
            room -= cell_width(piece)
    return [tuple(line) for line in lines]


def _words(cell: Cell) -> list[Cell]:
    words: list[list[Span]] = [[]]
    for text, role in cell:
        for place, word in enumerate(text.split(" ")):
            if place and words[-1]:
                words.append([])
            if word:
                words[-1].append(Span(word, role))
    return [tuple(word) for word in words if word]


def _pieces(word: Cell, needed: int, room: int, columns: int) -> list[Cell]:
    """A word that is wider than a line, cut; others as they are."""
    if needed <= room:
        return [word]
    pieces: list[list[Span]] = [[]]
    for text, role in word:
        for character in text:
            taken = width(character)
            if taken > room:
                pieces.append([])
                room = columns
            room -= taken
            if pieces[-1] and pieces[-1][-1].role == role:
                pieces[-1][-1] = Span(pieces[-1][-1].text + character, role)
            else:
                pieces[-1].append(Span(character, role))
    return [tuple(piece) for piece in pieces if piece]
