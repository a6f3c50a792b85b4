"""The matrix of letters, right-aligned; groups of columns under one another where it is too wide."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.reports.blocks import SELF, UNDECIDED, Cell, Matrix, Span
from gputopo.reports.sanitise import clean, width
from gputopo.reports.style import Style
from gputopo.reports.text.flow import cell_width, tidy

_LONGEST_LABEL = 16


def matrix_lines(matrix: Matrix, style: Style) -> list[Cell]:
    columns = [_label(name, style) for name in matrix.columns]
    rows = [(_label(name, style), [tidy(cell, style) for cell in cells]) for name, cells in matrix.rows]
    labels = max((width(label) for label, _ in rows), default=0) + 2
    widths = [
        max([width(name), *[cell_width(cells[place]) for _, cells in rows]])
        for place, name in enumerate(columns)
    ]
    lines: list[Cell] = []
    for first, last in _groups(widths, style.columns - labels):
        lines.append(
            (Span(" " * labels), *[Span(_right(columns[at], widths[at])) for at in range(first, last)])
        )
        undecided: list[str] = []
        for label, cells in rows:
            if _is_undecided(cells[first:last]):
                undecided.append(label)
                continue
            lines += _undecided(undecided, labels)
            undecided = []
            line = [Span(label + " " * (labels - width(label)))]
            for at in range(first, last):
                line.append(Span(" " * (1 + widths[at] - cell_width(cells[at]))))
                line += cells[at]
            lines.append(tuple(line))
        lines += _undecided(undecided, labels)
    return lines


def _is_undecided(cells: Sequence[Cell]) -> bool:
    texts = {cell[0].text if cell else "" for cell in cells}
    return UNDECIDED in texts and texts <= {UNDECIDED, SELF}


def _undecided(names: Sequence[str], labels: int) -> list[Cell]:
    """Rows of nothing but `?` in one line."""
    if not names:
        return []
    text = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    gap = " " * max(labels - width(text), 2)
    return [(Span(f"{text}{gap}"), Span("not known" if len(names) == 1 else "none known", "dim"))]


def _label(name: str, style: Style) -> str:
    name = clean(name, ascii_only=not style.unicode)
    return name if len(name) <= _LONGEST_LABEL else name[: _LONGEST_LABEL - 3] + "..."


def _right(text: str, columns: int) -> str:
    return " " * (1 + columns - width(text)) + text


def _groups(widths: Sequence[int], room: int) -> list[tuple[int, int]]:
    """As few groups as fit, of about the same number of columns: (first, after the last)."""
    fewest = max(_greedy(widths, room, len(widths)), 1)
    for most in range(-(-len(widths) // fewest), len(widths) + 1):
        if _greedy(widths, room, most) == fewest:
            return _cut(widths, room, most)
    return _cut(widths, room, len(widths))


def _greedy(widths: Sequence[int], room: int, most: int) -> int:
    return len(_cut(widths, room, most))


def _cut(widths: Sequence[int], room: int, most: int) -> list[tuple[int, int]]:
    groups: list[tuple[int, int]] = []
    first, taken = 0, 0
    for at, wide in enumerate(widths):
        if at > first and (taken + wide + 1 > room or at - first >= most):
            groups.append((first, at))
            first, taken = at, 0
        taken += wide + 1
    return [*groups, (first, len(widths))] if widths else groups
