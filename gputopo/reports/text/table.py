"""Tables: columns of one width over all groups; alike columns and folded rows where it is narrow."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.reports.blocks import Cell, Row, Span, Table, Title, cell
from gputopo.reports.style import Style
from gputopo.reports.text.flow import cell_width, flow, labelled, tidy

_GAP = 2  # blanks between columns
_FOLDED = 4  # further lines of a folded row start this much deeper


def table_lines(table: Table, title: tuple[Cell, int] | None, style: Style) -> list[Cell]:
    rows = [_tidy(row, style) for row in table.rows]
    widths = _widths(table, rows)
    shown = [place for place, wide in enumerate(widths) if wide]
    said: list[Cell] = []
    for place in reversed(shown):
        if _total(shown, widths) + table.indent <= style.columns:
            break
        if table.columns[place].alike:
            shown = [one for one in shown if one != place]
            said.insert(0, cell(table.columns[place].alike))
    lines = _title(table, title, said, style)
    groups = _fold(table, shown, widths, style.columns - table.indent)
    for row in rows:
        if isinstance(row, Title):
            lines += _group(row, style)
        else:
            lines += _row(row, groups, widths, table.indent, style)
    return lines


def _tidy(row: Row | Title, style: Style) -> Row | Title:
    if isinstance(row, Title):
        return Title(tuple([tidy(part, style) for part in row.parts if part]))
    return Row(tuple([tidy(part, style) for part in row.cells]))


def _widths(table: Table, rows: Sequence[Row | Title]) -> list[int]:
    widths = [0] * len(table.columns)
    for row in rows:
        if isinstance(row, Row):
            for place, part in enumerate(row.cells):
                widths[place] = max(widths[place], cell_width(part))
    return widths


def _total(shown: Sequence[int], widths: Sequence[int]) -> int:
    return sum(widths[place] for place in shown) + _GAP * (len(shown) - 1)


def _title(table: Table, title: tuple[Cell, int] | None, said: list[Cell], style: Style) -> list[Cell]:
    parts = [tidy(part, style) for part in (*table.parts, *said) if part]
    if title is None and not parts:
        return []
    return labelled([title] if title else [], parts, title[1] if title else 0, style)


def _group(row: Title, style: Style) -> list[Cell]:
    first, *rest = flow(row.parts, style.columns - 2, first=style.columns)
    return [first, *[(Span("  "), *line) for line in rest]]


def _fold(table: Table, shown: Sequence[int], widths: Sequence[int], room: int) -> list[list[int]]:
    """The columns of each line of a row: one line where it fits, else broken at a `fold`, else anywhere."""
    if _total(shown, widths) <= room:
        return [list(shown)]
    for place in shown[1:]:
        if table.columns[place].fold:
            groups = [[one for one in shown if one < place], [one for one in shown if one >= place]]
            if all(_total(group, widths) <= room - _FOLDED for group in groups):
                return groups
    groups = [[]]
    for place in shown:
        if groups[-1] and _total([*groups[-1], place], widths) > room - _FOLDED:
            groups.append([])
        groups[-1].append(place)
    return groups


def _row(
    row: Row, groups: Sequence[Sequence[int]], widths: Sequence[int], indent: int, style: Style
) -> list[Cell]:
    lines: list[Cell] = []
    for number, group in enumerate(groups):
        if not any(row.cells[place] for place in group):
            continue
        margin = indent + (_FOLDED if number and lines else 0)
        line: list[Span] = []
        for place in group:
            part = row.cells[place]
            line += [*part, Span(" " * (widths[place] - cell_width(part) + _GAP))]
        taken = cell_width(tuple(line)) - _GAP - widths[group[-1]] + cell_width(row.cells[group[-1]])
        if taken <= style.columns - margin:
            lines.append((Span(" " * margin), *line[:-1]))
        else:
            wrapped = flow([tuple(line[:-1])], style.columns - margin)
            lines += [(Span(" " * margin), *one) for one in wrapped]
    return lines
