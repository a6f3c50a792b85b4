"""Blocks → CSV (RFC 4180), for spreadsheets: one table, every line with the name of its section.

    >>> from gputopo.reports.blocks import KeyValue, Matrix, cell
    >>> print(render([[KeyValue("PAIRS", (cell("1 NV4"),), "GPU-GPU"),
    ...     Matrix(("GPU0", "GPU1"), (("GPU0", (cell("X"), cell("NV4"))),))]]), end="")
    report,section,kind,1,2,3
    1,PAIRS,line,GPU-GPU,1 NV4,
    1,PAIRS,head,,GPU0,GPU1
    1,PAIRS,row,GPU0,X,NV4

A program that calculates takes a cell that begins with =, +, - or @ for a formula
(https://owasp.org/www-community/attacks/CSV_Injection): it gets an apostrophe before it.

    >>> print(_harmless('=cmd|"/c calc"!A1'), _harmless(" @SUM(1)"), _harmless("-"), _harmless("- 3 more"))
    '=cmd|"/c calc"!A1 ' @SUM(1) - '- 3 more
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gputopo.reports.blocks import Block, Cell, Findings, KeyValue, Listing, Matrix, Notes, Row, Table, Text
from gputopo.reports.sanitise import clean
from gputopo.reports.sections import grid, items, sections

_FORMULA = "=+-@＝＋－＠"
Line = tuple[str, list[str]]  # kind, cells


def render(reports: Iterable[Iterable[Block]]) -> str:
    """`report` counts them: a node each."""
    lines = [
        [str(number), entry.title, kind, *cells]
        for number, blocks in enumerate(reports, 1)
        for section in sections(blocks)
        for entry in section
        for block in entry.blocks
        for kind, cells in _lines(block)
        if any(cells)
    ]
    wide = max((len(line) for line in lines), default=4)
    head = ["report", "section", "kind", *(str(number) for number in range(1, wide - 2))]
    return "".join(",".join(map(_quoted, [*line, *[""] * (wide - len(line))])) + "\r\n" for line in [head, *lines])


def _lines(block: Block) -> Iterator[Line]:
    if isinstance(block, KeyValue):
        yield "line", [block.key, *map(_text, block.parts)] if block.key else [_text(part) for part in block.parts]
    elif isinstance(block, Text):
        yield "line", [_text(block.text)]
    elif isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Listing):
        for item in items(block):
            for parts in item.lines:
                yield "row", [*map(_text, item.labels), *map(_text, parts)]
    elif isinstance(block, Matrix):
        yield "head", ["", *block.columns]
        for label, cells in block.rows:
            yield "row", [label, *map(_text, cells)]
    elif isinstance(block, Findings):
        yield from _findings(block)
    elif isinstance(block, Notes):
        for note in block.items:
            yield "note", [_text(note.text), note.settle]


def _table(table: Table) -> Iterator[Line]:
    yield "line", [_text(part) for part in table.parts]
    made = grid(table)
    if made.head:
        yield "head", [_text(cell) for cell in made.head]
    for row in made.rows:
        if isinstance(row, Row):
            yield "row", [_text(cell) for cell in row.cells]
        else:
            yield "group", [_text(part) for part in row.parts]


def _findings(block: Findings) -> Iterator[Line]:
    for item in block.items:
        for message in item.messages:
            yield "finding", [item.severity, item.code, _text(message)]
        for label, text in item.details:
            yield "detail", [label, item.code, _text(text)]
    for text in block.not_checked:
        yield "not checked", [_text(text)]


def _text(cell: Cell | Sequence[tuple[str, str]]) -> str:
    return "".join(span[0] for span in cell)


def _quoted(text: str) -> str:
    made = _harmless(clean(text))
    return '"' + made.replace('"', '""') + '"' if any(one in made for one in '",') else made


def _harmless(text: str) -> str:
    begins = text.lstrip()
    return f"'{text}" if begins[:1] and begins[0] in _FORMULA and begins != "-" else text
