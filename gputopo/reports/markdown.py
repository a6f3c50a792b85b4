r"""Blocks → Markdown (GitHub's), for tickets and merge requests.

Foreign text stays text: what Markdown or HTML would obey is escaped, and `@name` does not call anybody.

    >>> print(escape("<b> [x](y) *a* mlx5_0 _b_ @ops #12 a|b `c`"))
    \<b\> \[x\](y) \*a\* mlx5_0 \_b\_ @<!-- -->ops \#12 a\|b \`c\`
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gputopo.reports.blocks import Block, Cell, Findings, KeyValue, Listing, Matrix, Notes, Row, Table, Text
from gputopo.reports.sanitise import clean
from gputopo.reports.sections import Entry, grid, items, sections

_SPECIAL = re.compile(r"[\\`*\[\]<>|~#$]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|&(?=#?\w+;)")
_CALLS = re.compile(r"@(?=[0-9A-Za-z_-])")
_BEGINS = re.compile(r"^(\d+(?=[.)])|(?=[-+=]))")  # a list in a list, a line under a heading
_STRONG = ("strong", "error", "warning")


def render(blocks: Iterable[Block]) -> str:
    lines: list[str] = []
    for number, section in enumerate(sections(blocks)):
        for entry in section:
            if lines and not entry.title:
                lines.append("")
            lines += _entry(entry, first=number == 0)
    return "\n".join(lines).strip("\n") + "\n"


def escape(text: str) -> str:
    """For the inside of a line; what begins it is seen to by _said."""
    return _CALLS.sub("@<!-- -->", _SPECIAL.sub(lambda found: "\\" + found.group(), clean(text)))


def _entry(entry: Entry, *, first: bool) -> Iterator[str]:
    if entry.title and entry.role != "dim":
        yield from ("", f"{'##' if first else '###'} {escape(entry.title)}", "")
    elif entry.title:
        yield from ("", f"*{escape(entry.title)}*", "")
    before: type[Block] | None = None
    for block in entry.blocks:
        if before is not None and not (before is type(block) is KeyValue):
            yield ""
        before = type(block)
        yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, KeyValue):
        key = f"**{escape(block.key)}** " if block.key else ""
        said = _parts(block.parts)
        if key or said:
            yield f"- {key}{said}"
    elif isinstance(block, Text):
        yield _said(block.text)
    elif isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Listing):
        for item in items(block):
            first, *more = map(_parts, item.lines)
            yield f"- {' '.join(part for part in (*map(_said, item.labels), first) if part)}"
            yield from (f"  - {said}" for said in more)
    elif isinstance(block, Matrix):
        rows = [[f"**{escape(label)}**", *map(_said, cells)] for label, cells in block.rows]
        yield from _pipes(["", *map(escape, block.columns)], rows)
    elif isinstance(block, Findings):
        yield from _findings(block)
    elif isinstance(block, Notes):
        for note in block.items:
            settle = f" *settle it:* {_code(note.settle)}" if note.settle else ""
            yield f"- {_said(note.text)}{settle}"


def _table(table: Table) -> Iterator[str]:
    said = _parts(table.parts)
    if said:
        yield from (said, "")
    made = grid(table)
    if not made.columns:
        return
    rows = [
        [_said(cell) for cell in row.cells]
        if isinstance(row, Row)
        else [f"**{_parts(row.parts)}**", *[""] * (made.columns - 1)]
        for row in made.rows
    ]
    yield from _pipes([_said(cell) for cell in made.head] or [""] * made.columns, rows)


def _pipes(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _findings(block: Findings) -> Iterator[str]:
    for item in block.items:
        first, *more = item.messages or ((),)
        yield f"- **{escape(item.severity)}** {_code(item.code)} {_said(first)}"
        yield from (f"  - {_said(message)}" for message in more)
        for label, text in item.details:
            yield f"  - {f'*{escape(label)}:* ' if label else ''}{_said(text)}"
    for text in block.not_checked:
        yield f"- *not checked:* {_said(text)}"


def _parts(parts: Sequence[Cell]) -> str:
    return " · ".join(_said(part) for part in parts if part)


def _said(cell: Cell) -> str:
    """Emphasis only where it is closed again on its own words: not around blanks."""
    made = []
    for text, role in cell:
        inner = text.strip(" ")
        word = escape(inner)
        if role in _STRONG and word:
            word = f"**{word}**"
        made.append(text[: len(text) - len(text.lstrip(" "))] + word + (text[len(text.rstrip(" ")) :] if inner else ""))
    return _BEGINS.sub(r"\1\\", " ".join("".join(made).split()))


def _code(text: str) -> str:
    """A code span; a backtick or a pipe in it would end it, or the cell."""
    cleaned = clean(text)
    return escape(cleaned) if "`" in cleaned or "|" in cleaned else f"`{cleaned}`"
