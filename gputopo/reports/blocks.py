"""What a report is made of: blocks of spans. A view makes them, a renderer prints them.

A span's *role* says what it is, never how it looks: a path level (NV PIX PXB PHB NODE SYS), a
severity (error warning info), `strong`, `dim` or nothing. Texts may be foreign (names of devices,
lines of evidence): the renderer makes them safe, so a view passes them on as they are.
"""

# Annotations are evaluated here: as strings, typing compiles each of them at every start.
from typing import NamedTuple, Union

LEVEL_ROLES = ("NV", "PIX", "PXB", "PHB", "NODE", "SYS")
ROLES = frozenset({"", *LEVEL_ROLES, "error", "warning", "info", "strong", "dim"})


class Span(NamedTuple):
    text: str
    role: str = ""


Cell = tuple[Span, ...]
EMPTY: Cell = ()


def cell(text: str, role: str = "") -> Cell:
    """One span; an empty text is an empty cell.

    >>> cell("PIX", "PIX")
    (Span(text='PIX', role='PIX'),)
    """
    return (Span(text, role),) if text else EMPTY


def level_role(level: str | None) -> str:
    """The role of a printed level: every NV# is `NV`, SOC is SYS, what is no level has none.

    >>> level_role("NV18"), level_role("SOC"), level_role("X")
    ('NV', 'SYS', '')
    """
    if level is None:
        return ""
    if level.startswith("NV"):
        return "NV"
    if level == "SOC":
        return "SYS"
    return level if level in LEVEL_ROLES else ""


UNDECIDED, SELF = "?", "X"


def level_cell(level: str | None) -> Cell:
    """A level as a word with its role; undecided is `?`."""
    return cell(level or UNDECIDED, level_role(level))


class Blank(NamedTuple):
    """An empty line; never two of them, none at the start."""

    lines: int = 1


class Text(NamedTuple):
    """A paragraph."""

    text: Cell
    indent: int = 0


class KeyValue(NamedTuple):
    """`TITLE     KEY      part   part`: parts stay whole where the width allows it."""

    title: str  # of the section, "" on its further lines
    parts: tuple[Cell, ...]
    key: str = ""
    role: str = ""  # of the title


class Title(NamedTuple):
    """A line between the rows of a table: a group of them begins."""

    parts: tuple[Cell, ...]


class Column(NamedTuple):
    """How a column may give way where the width does not allow it.

    `alike`: its cells are all alike; this, said once above the table, stands for them.
    `fold`: a good place to go on in a second line.
    """

    alike: str = ""
    fold: bool = False


class Row(NamedTuple):
    """`share`: the part of the whole that it stands for, 0 to 1, which a page draws as a bar."""

    cells: tuple[Cell, ...]
    share: float | None = None


class Table(NamedTuple):
    """Columns of one width over all groups; empty columns are not printed.

    `by`: the column whose values, few of them, choose on a page which rows are shown.
    """

    title: str
    parts: tuple[Cell, ...]
    columns: tuple[Column, ...]
    rows: tuple[Union[Row, Title], ...]  # noqa: UP007
    indent: int = 2
    by: int | None = None


class Listed(NamedTuple):
    """`labels` in columns, then parts that go on under themselves."""

    labels: tuple[Cell, ...]
    parts: tuple[Cell, ...]


class Listing(NamedTuple):
    """Labels of one width over all rows, as far as they leave room for the parts.

    A row whose labels are empty goes on with the one before. `by`: as in Table, one of the labels.
    """

    rows: tuple[Listed, ...]
    by: int | None = None


class Matrix(NamedTuple):
    """Labels and right-aligned cells; split into groups of columns where it is too wide."""

    columns: tuple[str, ...]  # labels
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


class Found(NamedTuple):
    """One finding, or several that differ in the message only."""

    severity: str
    code: str
    messages: tuple[Cell, ...]
    details: tuple[tuple[str, Cell], ...]  # (label, text); label "" goes under the message


class Findings(NamedTuple):
    items: tuple[Found, ...]
    not_checked: tuple[Cell, ...] = ()


class Note(NamedTuple):
    text: Cell
    settle: str = ""


class Notes(NamedTuple):
    """Reasons, assumptions, conflicts: an entry each, with what would settle it."""

    title: str
    items: tuple[Note, ...]


Block = Union[Blank, Text, KeyValue, Table, Listing, Matrix, Findings, Notes]  # noqa: UP007
