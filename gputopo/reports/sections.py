"""Blocks in groups, for renderers that have headings and tables of their own.

A text report says by empty lines and titles what belongs together; here it is a structure: sections between empty
lines, in each of them entries, which begin where a block has a title.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gputopo.reports.blocks import Blank, Block, Cell, KeyValue, Listing, Notes, Row, Table, Title


class Entry(NamedTuple):
    """`role`: of the title; `dim` is small print."""

    title: str
    role: str
    blocks: tuple[Block, ...]


Section = tuple[Entry, ...]


def sections(blocks: Iterable[Block]) -> tuple[Section, ...]:
    """No section and no entry is empty.

    >>> from gputopo.reports.blocks import cell
    >>> made = sections([KeyValue("FOUND", (cell("1 info"),)), KeyValue("", (cell("more"),)), Blank(), Blank()])
    >>> [(entry.title, len(entry.blocks)) for section in made for entry in section]
    [('FOUND', 2)]
    """
    made: list[list[Entry]] = [[]]
    for block in blocks:
        if isinstance(block, Blank):
            if made[-1]:
                made.append([])
            continue
        title = block.title if isinstance(block, (KeyValue, Table, Notes)) else ""
        role = block.role if isinstance(block, KeyValue) else ""
        if title or not made[-1]:
            made[-1].append(Entry(title.strip(), role, (block,)))
        else:
            last = made[-1][-1]
            made[-1][-1] = last._replace(blocks=(*last.blocks, block))
    return tuple(tuple(section) for section in made if section)


class Grid(NamedTuple):
    """A table without the columns that are empty in every row.

    `head`: the names of its columns, where it has some; `by`: as in Table.
    """

    head: tuple[Cell, ...]
    rows: tuple[Row | Title, ...]
    columns: int
    by: int | None = None


def grid(table: Table) -> Grid:
    rows = [row for row in table.rows if isinstance(row, Row)]
    shown = [at for at in range(len(table.columns)) if any(at < len(row.cells) and row.cells[at] for row in rows)]
    made = tuple(
        row._replace(cells=tuple(row.cells[at] if at < len(row.cells) else () for at in shown))
        if isinstance(row, Row)
        else row
        for row in table.rows
    )
    head = made[0] if made and isinstance(made[0], Row) and _names_columns(made[0].cells) and len(made) > 1 else None
    by = shown.index(table.by) if table.by in shown else None
    return Grid(head.cells if head else (), made[1:] if head else made, len(shown), by)


class Item(NamedTuple):
    """`lines`: of parts."""

    labels: tuple[Cell, ...]
    lines: tuple[tuple[Cell, ...], ...]


def items(listing: Listing) -> tuple[Item, ...]:
    """A listing with all that is said of one thing together.

    >>> from gputopo.reports.blocks import Listed, cell
    >>> rows = Listed((cell("a17"), cell("FAIL")), ((cell("x8"),))), Listed(((), ()), ((cell("x4"),)))
    >>> [(item.labels[0][0].text, len(item.lines)) for item in items(Listing(rows))]
    [('a17', 2)]
    """
    made: list[Item] = []
    for row in listing.rows:
        if made and not any(row.labels):
            made[-1] = made[-1]._replace(lines=(*made[-1].lines, row.parts))
        else:
            made.append(Item(row.labels, (row.parts,)))
    return tuple(made)


def _names_columns(cells: Sequence[Cell]) -> bool:
    return len(cells) > 1 and all(cell and all(span.role == "dim" for span in cell) for cell in cells)
