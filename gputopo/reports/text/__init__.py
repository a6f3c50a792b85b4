"""Blocks → text of 80 to 200 columns, with or without colour. Drawn by hand: rich would double start-up.

    >>> from gputopo.reports.blocks import Blank, KeyValue, cell
    >>> from gputopo.reports.style import Style
    >>> print(render([KeyValue("FOUND", (cell("1 error", "error"), cell("1 info"))), Blank()], Style()), end="")
    FOUND     1 error   1 info
"""

from __future__ import annotations

from collections.abc import Iterable

from gputopo.reports.blocks import (
    Blank,
    Block,
    Cell,
    Findings,
    KeyValue,
    Listing,
    Matrix,
    Notes,
    Span,
    Table,
    Text,
    cell,
)
from gputopo.reports.style import SGR, Style
from gputopo.reports.text.flow import labelled, paragraph, tidy
from gputopo.reports.text.listing import listing_lines
from gputopo.reports.text.matrix import matrix_lines
from gputopo.reports.text.table import table_lines

TITLE = 10  # columns of a section's title
KEY = 9  # columns of a key beside it


def render(blocks: Iterable[Block], style: Style) -> str:
    """The report, each line ended. Foreign text is made safe here, wherever it came from."""
    lines: list[Cell] = []
    for block in blocks:
        if isinstance(block, Blank):
            if lines and lines[-1]:
                lines.append(())
        else:
            lines += [line for line in _block(block, style) if _plain(line)]
    while lines and not lines[-1]:
        lines.pop()
    paint = _colour if style.colour else _plain
    return "".join(paint(line) + "\n" for line in lines)


def _block(block: Block, style: Style) -> list[Cell]:
    if isinstance(block, KeyValue):
        return _key_value(block, style)
    if isinstance(block, Table):
        title = (tidy(cell(block.title, "strong"), style), TITLE) if block.title else None
        return table_lines(block, title, style)
    if isinstance(block, Listing):
        return listing_lines(block, style)
    if isinstance(block, Matrix):
        return matrix_lines(block, style)
    if isinstance(block, Findings):
        return _findings(block, style)
    if isinstance(block, Notes):
        return _notes(block, style)
    if isinstance(block, Text):
        return labelled([], [tidy(block.text, style)], block.indent, style)
    return []


def _key_value(block: KeyValue, style: Style) -> list[Cell]:
    labels = [(tidy(cell(block.title, block.role or "strong"), style), TITLE)]
    if block.key:
        labels.append((tidy(cell(block.key), style), KEY))
    parts = [tidy(part, style) for part in block.parts if part]
    return labelled(labels, parts, TITLE + (KEY if block.key else 0), style)


def _findings(block: Findings, style: Style) -> list[Cell]:
    severities = max((len(item.severity) for item in block.items), default=5)
    codes = max((len(item.code) for item in block.items), default=5)
    start = max(severities, 5) + 1 + max(codes, 5) + 2
    lines: list[Cell] = []
    for item in block.items:
        label: Cell = (Span(f"{item.severity:<{max(severities, 5)}}", item.severity), Span(f" {item.code}"))
        for message in item.messages:
            lines += labelled([(tidy(label, style), start)], [tidy(message, style)], start, style)
            label = ()
        for name, text in item.details:
            head = cell(f"  {name}", "dim") if name else ()
            lines += labelled([(head, start)], [tidy(text, style)], start, style)
    if block.not_checked:
        head = cell("not checked", "dim")
        lines += labelled([(head, start)], [tidy(text, style) for text in block.not_checked], start, style)
    return lines


def _notes(block: Notes, style: Style) -> list[Cell]:
    lines: list[Cell] = []
    title = cell(block.title, "strong")
    for note in block.items:
        settle = (Span("settle it: ", "dim"), Span(note.settle)) if note.settle else ()
        text = [*paragraph(tidy(note.text, style)), *paragraph(tidy(settle, style))]
        lines += labelled([(title, TITLE)], text, TITLE, style)
        title = ()
    return lines


def _plain(line: Cell) -> str:
    return "".join([span.text for span in line]).rstrip(" ")


def _colour(line: Cell) -> str:
    made: list[str] = []
    for text, role in reversed(line):
        text = text if made else text.rstrip(" ")
        code = SGR.get(role, "")
        if text:
            made.append(f"\x1b[{code}m{text}\x1b[0m" if code and text.strip(" ") else text)
    return "".join(reversed(made))
