"""The cells behind the matrix: CPU Affinity, NUMA Affinity, GPU NUMA ID.

The driver prints `cpu`, then TAB `numa` (two tabs before N/A), then two tabs and `gpu numa id`.
So the first field is CPU (it may be empty), the last is GPU NUMA ID, NUMA stands between:

    >>> read_fields(["0-63", "0", "", "N/A"], 3)[:3]
    ('0-63', '0', 'N/A')
    >>> read_fields(["", "1", "", "N/A"], 3)[:3]                   # no CPU near the GPU
    ('', '1', 'N/A')
    >>> read_fields(["0-11", "", "N/A", "", "N/A"], 3)[:3]
    ('0-11', 'N/A', 'N/A')
    >>> read_fields(["0-630", "", "N/A"], 3).doubt                 # a lost tab: 0-63 and 0, or 0-630?
    "the cells '0-630 N/A' can be read in more than one way"

Where blanks replaced the tabs, each possible reading is printed again in the driver's way; one that
gives the line back to the byte is certain, if it is the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from gputopo.parsers.nvidia_smi_topo.cells import PrintedRow, is_affinity


class Tail(NamedTuple):
    """Cell texts: `""` is an empty cell, `None` one that is not there or not certain (see `doubt`)."""

    cpu: str | None = None
    numa: str | None = None
    memory: str | None = None
    doubt: str = ""
    cut: bool = False

    @classmethod
    def of(cls, cells: Sequence[str | None], doubt: str = "", cut: bool = False) -> Tail:
        """From up to three cells; those that are not given are not there."""
        cpu, numa, memory = [*cells, None, None, None][:3]
        return cls(cpu, numa, memory, doubt, cut)


def read_tail(row: PrintedRow, heads: int) -> Tail:
    """The cells of a row under `heads` headings (1 to 3)."""
    words = row.rest
    if row.joined:
        return Tail(doubt="the CPU cell ran into the letter before it")
    fits = len(words) == heads and row.table is None and _fits(words, heads)
    if fits and heads == 3:
        return Tail.of(words)  # with fewer headings one may have been cut off the header
    if row.table is not None:
        return _read_table(row.table, heads)
    if len(words) > heads and _fits(words[:heads], heads) and not is_affinity(words[heads]):
        return Tail.of(words[:heads])  # a remark behind the row
    behind = text_behind(row)
    if "\t" in row.text[row.text.find(row.label) :]:
        fields = behind.split("\t")
        if not fields[0].strip(" "):
            del fields[0]
        return read_fields([field.strip() for field in fields], heads)
    return _read_by_place(row, behind, heads) or (Tail.of(words) if fits else _doubtful(words))


def text_behind(row: PrintedRow) -> str:
    """What stands behind the last letter, with its tabs and blanks."""
    head = row.text.rsplit(None, len(row.rest))[0] if row.rest else row.text.rstrip()
    return row.text[len(head) :]


def _fits(words: list[str], heads: int) -> bool:
    """Whether the words can be the cells in order. A damaged CPU text fits: it is judged later."""
    if words[0] == "N/A":
        return False  # never printed for CPUs: a cell is empty
    return heads < 2 or (is_affinity(words[1]) and (heads < 3 or words[2] == "N/A" or words[2].isdigit()))


def _doubtful(words: list[str]) -> Tail:
    text = " ".join(words)
    return Tail(doubt=f"the cells '{text}' can be read in more than one way")


def _cut(*cells: str | None) -> Tail:
    return Tail.of(cells, "the row ends before its last cell", cut=True)


def _read_table(fields: list[str], heads: int) -> Tail:
    if any(fields[heads:]):
        return _doubtful([field for field in fields if field])
    if len(fields) >= heads:
        return Tail.of(fields[:heads])
    return _cut(*fields[:-1])


def read_fields(fields: list[str], heads: int) -> Tail:
    """The cells of a row whose tabs are still there."""
    words = [field for field in fields if field]
    if heads == 1:
        if len(words) > 1:
            return _doubtful(words)
        if words and not fields[0]:
            return _doubtful(words)
        return Tail(words[0] if words else "") if fields else _cut()
    if heads == 2:
        return _read_two(fields, words)
    size = len(fields)
    last = fields[-1] if fields else ""
    if size == 4 and fields[2] in ("", "N/A") and last:
        return Tail(fields[0], fields[1] or fields[2], last) if not (fields[1] and fields[2]) else _doubtful(words)
    if size == 5 and last and fields[2] == "N/A" and not fields[1] and not fields[3]:
        return Tail(fields[0], "N/A", last)
    if size == 3 and last and not fields[0]:  # one of two tabs is lost, which is the same for all readings
        return Tail("", fields[1], last)
    if size == 3 and len(words) == 2 and last:
        return _doubtful(words)
    if len(words) < 3 and fields[:1] and fields[0] and size > 1:
        numa = fields[1] if fields[1] and size > 2 else None
        return _cut(fields[0], numa)
    return _cut() if len(words) < 2 else _doubtful(words)


def _read_two(fields: list[str], words: list[str]) -> Tail:
    if len(words) > 2 or (len(fields) > 1 and len(words) == 2 and not fields[0]):
        return _doubtful(words)
    if len(fields) < 2:
        return _cut()
    if fields[0] and len(words) == 1:
        return Tail(fields[0], "")
    return Tail(fields[0], "".join(fields[1:]))


# Ways to write a line with tabs as blanks, the usual one first. One or two blanks for a tab are not
# among them: that can also be a text whose runs of blanks were squeezed.
_WAYS: tuple[Callable[[str], str], ...] = (
    lambda raw: raw.expandtabs(8),
    lambda raw: raw.replace("\t", "    "),
    lambda raw: raw.expandtabs(4),
    lambda raw: raw.replace("\t", " " * 8),
)


def _read_by_place(row: PrintedRow, behind: str, heads: int) -> Tail | None:
    """Print every reading of the words again, and take the one that gives back the line.

    `None`: no reading gives it back, so the line was typeset anew and place proves nothing.
    """
    if not row.rest:
        return _cut()
    if len(row.rest) > heads:
        return _doubtful(row.rest)
    head = row.text[: len(row.text) - len(behind)]
    lead = head[: head.find(row.label)]
    matrix = row.label + "".join("\t X " if cell == "X" else f"\t{cell}" for cell in row.cells)
    befores = {lead, ""}  # tabs may have been expanded before something was put in front
    for way in _WAYS:
        found = set()
        for before in befores:
            skipped = len(lead) - len(before)
            if way(before + matrix).rstrip() != head[skipped:].rstrip():
                continue
            line = row.text[skipped:].rstrip()
            for tail, printed in _readings(row.rest, heads):
                if way(f"{before}{matrix}\t{printed}").rstrip() == line:
                    found.add(tail)
        if found:
            return found.pop() if len(found) == 1 else _doubtful(row.rest)
    return None


def _readings(words: list[str], heads: int) -> Iterator[tuple[Tail, str]]:
    """Every way to give the words to the cells in order, with what the driver would print.

    First whole rows (also with more columns than headings, since one may have been cut off the
    header), then those that end early, of which the last cell is not read.
    """
    for size in range(3, 0, -1):
        for places in combinations(range(size), len(words)):
            cells = [""] * size
            for place, word in zip(places, words):
                cells[place] = word
            if cells[0] == "N/A" or (size == 3 and not (cells[2] == "N/A" or cells[2].isdigit())):
                continue
            if size == heads or (size > heads and cells[-1]):
                yield Tail.of(cells), _print(cells)
            elif size < heads and cells[-1] and not (size == 2 and cells[0] and cells[1] == "N/A"):
                # `0-630 N/A` under three headings can be 0-63 and 0 with a lost tab
                yield _cut(*cells[:-1], None), _print(cells)


def _print(cells: list[str]) -> str:
    """The driver's own spelling of one to three cells."""
    text = cells[0]
    if len(cells) > 1:
        text += "\t\tN/A" if cells[1] == "N/A" else f"\t{cells[1]}"
    if len(cells) > 2:
        text += f"\t\t{cells[2]}"
    return text


def read_tails_without_heading(rows: Sequence[PrintedRow]) -> tuple[int, list[Tail]]:
    """The tails of GPU rows of which no heading tells the columns: how many there are, and the cells.

    Every number of columns is tried; the one under which most rows can be read is taken, and where
    two do equally well, only the cells that are the same in both.
    """
    if not any(row.rest for row in rows):
        return 0, [Tail() for _ in rows]
    tries = [(heads, [_read_strictly(row, heads) for row in rows]) for heads in (3, 2, 1)]
    good = [sum(not tail.doubt for tail in tails) for _, tails in tries]
    best = max(good)
    chosen = [attempt for attempt, count in zip(tries, good) if count == best]
    heads = next((heads for (heads, _), count in zip(tries, good) if count), 1)
    tails = chosen[0][1]
    for _, others in chosen[1:]:
        tails = [_common(mine, theirs) for mine, theirs in zip(tails, others)]
    return heads, tails


def _read_strictly(row: PrintedRow, heads: int) -> Tail:
    """As `read_tail`, but three blank-separated words only are taken without proof by place."""
    if row.table is None and not row.joined and row.rest and (len(row.rest) < 3 or heads < 3):
        behind = text_behind(row)
        if "\t" not in row.text[row.text.find(row.label) :]:
            return _read_by_place(row, behind, heads) or _doubtful(row.rest)
    return read_tail(row, heads)


def _common(mine: Tail, theirs: Tail) -> Tail:
    if mine == theirs:
        return mine
    cells = [a if a == b else None for a, b in zip(mine[:3], theirs[:3])]
    return Tail.of(cells, "without a heading the cells can be read in more than one way")


def without_last_cell(tail: Tail) -> Tail:
    """Of a row in a text whose lines are all cut: its last cell is not read."""
    cells = [cell for cell in tail[:3] if cell is not None]
    return Tail.of([*cells[:-1], None], "all lines of the text are cut", cut=True) if cells else tail
