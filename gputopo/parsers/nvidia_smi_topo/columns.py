"""Which column is which: the header against the rows, whose X stands in their own column.

A header can be glued, cut, shifted or missing; rows are authoritative. A row that cannot be placed
for certain gives no cell.

    >>> rows = [PrintedRow("GPU0", 1, "", ["X", "NV4"], []), PrintedRow("GPU1", 2, "", ["NV4", "X"], [])]
    >>> settle_columns(None, rows)
    (['GPU0', 'GPU1'], 'the header is missing')
    >>> place_row(rows[1], ["GPU0", "GPU1"], last=False)
    Placed(cells={'GPU0': 'NV4', 'GPU1': 'X'}, problem='', cut=False)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from gputopo.parsers.nvidia_smi_topo.cells import PrintedRow, begins_a_letter

Columns = list[str | None]
CUT = "cut"


class Placed(NamedTuple):
    """`problem`: why cells are not given; `cut`: the row ends early."""

    cells: dict[str, str]
    problem: str
    cut: bool


def settle_columns(labels: Sequence[str] | None, rows: Sequence[PrintedRow]) -> tuple[Columns, str]:
    """The label of each column (`None` = not to be known), and what was wrong with the header."""
    if labels and _agree(labels, rows):
        return _renamed(labels, rows)
    own = _own_columns(rows)
    if own is None:
        return list(labels or ()), "" if labels else "the header is missing"
    if labels is None:
        return own, "the header is missing"
    rest = [label for label in labels if label not in own]
    # Two device names that ran together are one label here, so a name is no label for sure.
    if own.count(None) == len(rest) and all(label[:3] in ("GPU", "NIC") for label in rest):
        left = iter(rest)
        own = [next(left) if label is None else label for label in own]
    return own, "the header does not fit the rows"


def _renamed(labels: Sequence[str], rows: Sequence[PrintedRow]) -> tuple[Columns, str]:
    """The header's labels, but a row's where its X stands below a label that no row has."""
    columns: Columns = list(labels)
    printed = {row.label for row in rows}
    trouble = ""
    for row in rows:
        if row.label not in columns and row.cells.count("X") == 1 and len(row.cells) == len(columns):
            at = row.cells.index("X")
            if columns[at] not in printed:
                trouble = CUT if row.label.startswith(columns[at] or "?") else "the header does not fit the rows"
                columns[at] = row.label
    return columns, trouble


def _agree(labels: Sequence[str], rows: Sequence[PrintedRow]) -> bool:
    """Whether most rows have their X where the header has their label."""
    place = {label: at for at, label in enumerate(labels)}
    size = len(labels)
    good = bad = 0
    for row in rows:
        cells = row.cells
        at = place.get(row.label)
        if at is None:
            fits = "X" not in cells
        elif len(cells) == size:
            fits = cells[at] == "X"
        else:
            fits = len(cells) < size and not row.rest and (len(cells) <= at or cells[at] == "X")
        good += fits
        bad += not fits
    return good > bad


def _own_columns(rows: Sequence[PrintedRow]) -> Columns | None:
    """Columns by the rows alone; `None` where they do not agree with each other."""
    whole = [row for row in rows if row.cells.count("X") == 1 and not row.foreign]
    if not whole:
        return None
    sizes = Counter(len(row.cells) for row in whole)
    size = max(sizes, key=lambda n: (sizes[n], n))
    own: Columns = [None] * size
    for row in whole:
        if len(row.cells) != size:
            continue
        at = row.cells.index("X")
        if own[at] is not None or row.label in own:
            return None
        own[at] = row.label
    _fill_gpus(own)
    return own


def _fill_gpus(own: Columns) -> None:
    """GPUs are printed first and in order, so a column left of a known GPU is told by its place."""
    gpus = [(at, label) for at, label in enumerate(own) if label and label.startswith("GPU")]
    if gpus and all(label == f"GPU{at}" for at, label in gpus):
        for at in range(gpus[-1][0]):
            own[at] = f"GPU{at}"


def place_row(row: PrintedRow, columns: Columns, last: bool) -> Placed:
    """The cells of a row by column. `last`: nothing stands behind it in the text."""
    cells, size = row.cells, len(columns)
    at = columns.index(row.label) if row.label in columns else None
    own = cells.index("X") if "X" in cells else None
    if row.foreign and not (last and len(cells) < size and begins_a_letter(row.foreign)):
        return Placed({}, f"'{row.foreign}' is no known letter", False)
    if cells.count("X") > 1 or (own is not None and own != at):
        return Placed({}, "its X is not in its own column", False)
    if at is not None and at < len(cells) and own != at:
        return Placed({}, "its own column holds no X", False)
    if len(cells) == size:
        return Placed(_named(columns, cells), "", False)
    if row.joined and len(cells) == size - 1:
        return Placed(_named(columns, cells), "its last letter ran into the CPU cell", True)
    if len(cells) > size or (row.rest and not row.foreign):
        return Placed({}, f"it has {len(cells)} cells for {size} columns", False)
    if not last and own is not None:
        cells = cells[: own + 1]  # a cell may have gone between X and the end as well as behind it
    return Placed(_named(columns, cells), "", True)


def _named(columns: Columns, cells: Sequence[str]) -> dict[str, str]:
    if None in columns:
        return {label: cell for label, cell in zip(columns, cells) if label is not None}
    return dict(zip(columns, cells))  # type: ignore[arg-type]
