"""Blocks → HTML: a card for each section, tables as tables, levels and severities as classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gputopo.reports.blocks import (
    LEVEL_ROLES,
    SELF,
    Block,
    Cell,
    Findings,
    Found,
    KeyValue,
    Listing,
    Matrix,
    Notes,
    Row,
    Table,
    Text,
    Title,
)
from gputopo.reports.html.markup import Markup, element, join
from gputopo.reports.sections import Entry, Section, grid, items

_SEVERITIES = ("error", "warning", "info")


def card(section: Section, prefix: str, name: str = "") -> Markup:
    """`prefix`: of the ids in it; `name`: the heading above, not to be said twice."""
    section = tuple(entry._replace(title="node") if entry.title == name else entry for entry in section)
    inner = [_entry(entry, f"{prefix}-{number}") for number, entry in enumerate(section)]
    named = {"aria_labelledby": f"{prefix}-0"} if section[0].title else {"aria_label": "details"}
    return element("section", *inner, class_="card", **named)


def cell_of(cell: Cell) -> Markup:
    return join(*(element("span", text, class_=_class(role)) if role else text for text, role in cell))


def _class(role: str) -> str:
    return f"level {role.lower()}" if role in LEVEL_ROLES else role


def _entry(entry: Entry, id: str) -> Markup:
    small = " small" if entry.role == "dim" else ""
    wide = " wide" if not entry.title or any(map(_is_wide, entry.blocks)) else ""
    title = element("h2", entry.title, id=id) if entry.title else Markup("")
    body = element("div", *(_block(block, entry.title or "details") for block in entry.blocks), class_="body")
    return element("div", title, body, class_=f"entry{small}{wide}")


def _is_wide(block: Block) -> bool:
    return isinstance(block, Matrix) or (isinstance(block, Table) and block.by is not None)


def _block(block: Block, name: str) -> Markup:
    if isinstance(block, KeyValue):
        key = element("b", block.key, class_="key") if block.key else Markup("")
        return element("p", key, *_parts(block.parts), class_="line")
    if isinstance(block, Text):
        return element("p", cell_of(block.text), class_="line")
    if isinstance(block, Table):
        return _table(block, name)
    if isinstance(block, Listing):
        return _listing(block, name)
    if isinstance(block, Matrix):
        return _matrix(block, name)
    if isinstance(block, Findings):
        return _findings(block)
    if isinstance(block, Notes):
        return element("ul", *map(_note, [(note.text, note.settle) for note in block.items]), class_="notes")
    return Markup("")


def _parts(parts: Sequence[Cell]) -> Iterator[Markup]:
    for number, part in enumerate([part for part in parts if part]):
        yield Markup(" " if number else "")
        yield element("span", cell_of(part), class_="part")


def _table(table: Table, name: str) -> Markup:
    made = grid(table)
    parts = element("p", *_parts(table.parts), class_="line") if any(table.parts) else Markup("")
    if not made.columns:
        return parts
    bars = any(isinstance(row, Row) and row.share is not None for row in made.rows)
    names = [element("th", cell_of(one), scope="col") for one in made.head]
    head = element("thead", element("tr", *names, *([element("td", class_="bars")] if bars else [])))
    rows = [
        element(
            "tr", *(element("td", cell_of(one)) for one in row.cells),
            *([element("td", _bar(row.share))] if bars else []),
            data_of=_words(row.cells[made.by]) if made.by is not None else "",
        )
        if isinstance(row, Row)
        else _group(row, made.columns + bars)
        for row in made.rows
    ]  # fmt: skip
    said = f"{name}: {_words(made.head[made.by])}" if made.by is not None and made.head else name
    whole = element("table", head if made.head else Markup(""), element("tbody", *rows), data_by=_by(made.by, said))
    return join(parts, scrolled(whole, f"{name}: table"))


def _listing(listing: Listing, name: str) -> Markup:
    rows = [
        element(
            "tr", *(element("td", cell_of(one)) for one in item.labels),
            element("td", *(element("p", *_parts(line), class_="line") for line in item.lines), class_="wrapped"),
            data_of=_words(item.labels[listing.by]) if listing.by is not None else "",
        )
        for item in items(listing)
    ]  # fmt: skip
    return scrolled(element("table", element("tbody", *rows), data_by=_by(listing.by, name)), f"{name}: list")


def _by(column: int | None, said: str) -> str:
    """What the script calls the buttons by which rows are shown; "": none."""
    return "" if column is None else said


def _words(cell: Cell) -> str:
    return "".join(span.text for span in cell)


def _bar(share: float | None) -> Markup:
    """Beside a number that says the same."""
    if share is None:
        return Markup("")
    wide = f"{max(1.0, 100 * min(share, 1.0)):.4g}"
    back = element("rect", width="100", height="8", rx="2", class_="all")
    return element("svg", back, element("rect", width=wide, height="8", rx="2"), class_="share", viewBox="0 0 100 8",
                   aria_hidden="true")  # fmt: skip


def _group(row: Title, columns: int) -> Markup:
    head = element("th", *_parts(row.parts), colspan=str(columns), scope="colgroup")
    return element("tr", head, class_="group")


def scrolled(inner: Markup, name: str) -> Markup:
    """What may be wider than the screen; the keyboard scrolls it too."""
    return element("div", inner, class_="scroll", tabindex="0", role="region", aria_label=name)


def _matrix(matrix: Matrix, name: str) -> Markup:
    """Levels at every crossing; the script of the page knows the pair by its two headings."""
    head = element("tr", element("td"), *(element("th", one, scope="col") for one in matrix.columns))
    rows = []
    for label, cells in matrix.rows:
        made = (element("td", *_letters(cell)) for cell in cells)
        rows.append(element("tr", element("th", label, scope="row"), *made))
    table = element("table", element("thead", head), element("tbody", *rows), class_="matrix")
    return scrolled(table, f"{name}: matrix of levels")


def _letters(cell: Cell) -> Iterator[Markup]:
    text = "".join(span.text for span in cell)
    yield element("span", "·", class_="self", aria_label="itself", role="img") if text == SELF else cell_of(cell)


def _findings(block: Findings) -> Markup:
    items = [_finding(item) for item in block.items]
    rest = [element("li", cell_of(text)) for text in block.not_checked]
    made = [element("div", *items, class_="findings")] if items else []
    if rest:
        made.append(element("details", element("summary", f"not checked ({len(rest)})"), element("ul", *rest)))
    return join(*made)


def _finding(item: Found) -> Markup:
    severity = item.severity if item.severity in _SEVERITIES else "info"
    head = element("p", element("span", item.severity, class_=f"badge {severity}"), " ", element("code", item.code))
    told = [element("p", cell_of(message), class_="message") for message in item.messages]
    details = [
        join(element("dt", label or " ", hidden=not label), element("dd", cell_of(text)))
        for label, text in item.details
    ]
    more = element("dl", *details) if any(label for label, _ in item.details) else join(
        *(element("p", cell_of(text), class_="detail") for _, text in item.details)
    )  # fmt: skip
    return element("article", head, *told, more, class_=f"finding {severity}", data_severity=severity)


def _note(note: tuple[Cell, str]) -> Markup:
    text, settle = note
    how = join(" ", element("span", "settle it: ", element("code", settle), class_="settle")) if settle else Markup("")
    return element("li", cell_of(text), how)
