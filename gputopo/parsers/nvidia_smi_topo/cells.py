"""One printed line of the matrix, split into label, letters and what stands behind them.

Letters are taken by vocabulary, not by place: a terminal that wraps a long line can lose the tab
between two cells (`PXBNODE`), a log adds words before the label, mail adds `> `, markdown adds bars.

    >>> row = split_row("NIC0\\tPIX\\tSYSSYS\\t X \\t\\t\\t\\t", 7)
    >>> row.label, row.cells, row.glued
    ('NIC0', ['PIX', 'SYS', 'SYS', 'X'], True)
    >>> split_row("12:00:01 node-a: GPU1    NV4      X      0-31", 1).rest
    ['0-31']
    >>> split_row(" GPU0\\tX\\tCNS\\t", 2) is P2P            # a row of `topo -p2p`
    True
    >>> split_row("  NODE = Connection traversing PCIe", 3) is None
    True
"""

from __future__ import annotations

import re
from typing import Final

# Every token seen or documented. `Unknown` is what 418 prints where NVML has no answer.
LETTERS: Final = frozenset(("X", "SYS", "NODE", "PHB", "PXB", "PIX", "SOC", "Unknown")) | {
    f"NV{n}" for n in range(1, 100)
}
P2P_LETTERS: Final = frozenset(("OK", "CNS", "GNS", "TNS", "NS", "DR", "U"))

_RUN = r"(?:X|SYS|NODE|PHB|PXB|PIX|SOC|NV\d{1,2}|Unknown)"
_GLUED = re.compile(rf"{_RUN}+")
_LETTER = re.compile(_RUN)
# The second half of a GPUn, NICn or NVn that a wrapped line broke in two is no device name.
_LABEL = re.compile(r"(?:GPU|NIC)\d{1,4}\Z|(?!GPU|NIC|(?:PU|U|IC|C|V)\d{1,4}\Z)[a-zA-Z][\w.\-]{0,60}\d[\w.\-]{0,30}\Z")
_LABEL_AND_CELL = re.compile(rf"(.*\d)({_RUN}+)\Z")


class P2PRow:
    """Marks a row of `topo -p2p`: the same labels, another vocabulary."""


P2P: Final = P2PRow()


class PrintedRow:
    """A row as printed. `rest` are the words after the letters, `joined` that the first of them ran
    into the last letter, `foreign` a word among the cells that is no letter."""

    __slots__ = ("cells", "foreign", "glued", "joined", "label", "line", "rest", "table", "text", "words_before")

    def __init__(self, label: str, line: int, text: str, cells: list[str], rest: list[str]) -> None:
        self.label = label
        self.line = line
        self.text = text
        self.cells = cells
        self.rest = rest
        self.words_before = 0  # words before the first letter, the label included
        self.glued = False
        self.joined = False
        self.foreign = ""
        self.table: list[str] | None = None  # fields behind the cells of a `|` table


def split_row(text: str, line: int) -> PrintedRow | P2PRow | None:
    """The row a line holds; `P2P`; or `None` where it is no row."""
    if "|" in text:
        bars = text.count("|")
        if bars > 2:
            return _split_table(text, line)
        text = text.replace("|", " ")
    words = text.split()
    if len(words) < 2:
        return None
    place = 1
    if words[1] not in LETTERS or not _LABEL.match(words[0]):
        place = _first_letter(words)
        if place == 0:
            return None
    if not P2P_LETTERS.isdisjoint(words) and LETTERS.intersection(words) <= {"X"}:
        return P2P
    label = words[place - 1]
    first: list[str] = []
    if not _LABEL.match(label):
        label = label.lstrip("*`>#+\"'([{-").rstrip("*`\"')]}")
    glued_to_label = _LABEL_AND_CELL.match(label)
    if glued_to_label:
        label = glued_to_label[1]
        first = _LETTER.findall(glued_to_label[2])
    if not _LABEL.match(label) or label in LETTERS:
        return None
    return _take_cells(PrintedRow(label, line, text, first, []), words, place)


def _first_letter(words: list[str]) -> int:
    """Where the letters begin, at least 1; 0 = nowhere near the start."""
    for place, word in enumerate(words[:16]):
        if word in LETTERS or (place and len(word) > 3 and _GLUED.fullmatch(word)):
            if place and words[place - 1] == "=":
                return 0
            return place
        if place and word in P2P_LETTERS and _LABEL.match(words[place - 1]):
            return place
    return 0


def _take_cells(row: PrintedRow, words: list[str], place: int) -> PrintedRow:
    row.words_before = place
    cells = row.cells
    row.glued = bool(cells)
    end = len(words)
    at = place
    while at < end:
        word = words[at]
        if word in LETTERS:
            cells.append(word)
            at += 1
            continue
        match = _GLUED.match(word)
        if match is None:
            break
        cells.extend(_LETTER.findall(match[0]))
        row.glued = True
        behind = word[match.end() :]
        at += 1
        if not behind:
            continue
        if behind[0].isalpha() and behind != "N/A":
            row.foreign = word
        else:
            row.joined = True
            if cells[-1].startswith("NV") and behind != "N/A":
                cells.pop()  # NV1 and 80-95, or NV18 and 0-95: nobody can tell
        row.rest = [behind, *words[at:]]
        return row
    if "\t" in row.text and _lost_tab_at_x(row.text):
        row.glued = True
    row.rest = words[at:]
    if row.rest and row.rest[0][0].isalpha() and row.rest[0] != "N/A":
        row.foreign = row.rest[0]
    return row


def _lost_tab_at_x(text: str) -> bool:
    """Whether, in a line with tabs, the padded ` X ` of the diagonal has lost the tab on one side."""
    at = text.find(" X ")
    return at > 0 and (text[at - 1] != "\t" or text[at + 3 : at + 4] not in ("", "\t"))


def _split_table(text: str, line: int) -> PrintedRow | P2PRow | None:
    """A row of a markdown or box-drawn table: cells between bars, so an empty one stays visible."""
    fields = [field.strip(" \t*`") for field in text.split("|")]
    if not fields[-1]:
        fields.pop()
    for place in range(1, len(fields)):
        if fields[place] in LETTERS and _LABEL.match(fields[place - 1]):
            break
        if fields[place] in P2P_LETTERS and _LABEL.match(fields[place - 1]):
            return P2P
    else:
        return split_row(text.replace("|", " "), line) if fields[0] else None
    if not P2P_LETTERS.isdisjoint(fields) and LETTERS.intersection(fields) <= {"X"}:
        return P2P
    row = PrintedRow(fields[place - 1], line, text, [], [])
    at = place
    while at < len(fields) and fields[at] in LETTERS:
        row.cells.append(fields[at])
        at += 1
    row.table = fields[at:]
    row.rest = [word for field in fields[at:] for word in field.split()]
    if row.rest and row.rest[0][0].isalpha() and row.rest[0] != "N/A":
        row.foreign = row.rest[0]
    return row


def begins_a_letter(word: str) -> bool:
    """Whether a word is the beginning of a letter, cut: `NOD`, `S`, `NV`."""
    return any(letter.startswith(word) for letter in LETTERS)


_AFFINITY = re.compile(r"N/A\Z|\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?)*\Z")


def is_affinity(word: str) -> bool:
    """Whether a word can be a cell behind the matrix: `0-31,64-95`, `1`, `N/A`."""
    return _AFFINITY.match(word) is not None
