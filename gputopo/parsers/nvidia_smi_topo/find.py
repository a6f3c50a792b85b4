"""Where the matrices of a text are: header, rows, and the lines behind them that can hold a legend.

>>> text = "$ nvidia-smi topo -m\\n\\tGPU0\\tGPU1\\nGPU0\\t X \\tPHB\\nGPU1\\tPHB\\t X \\n"
>>> [(block.header.line, [row.label for row in block.rows]) for block in find_blocks(Text(text)).blocks]
[(2, ['GPU0', 'GPU1'])]
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gputopo.parsers.limits import DEVICES_MOST, LINE_MOST, at_most_nodes, lines_of
from gputopo.parsers.nvidia_smi_topo.cells import (
    LETTERS,
    P2PRow,
    PrintedRow,
    begins_a_letter,
    is_affinity,
    split_row,
)
from gputopo.parsers.nvidia_smi_topo.header import Header, read_continuation, read_header
from gputopo.parsers.unreadable import Unreadable

# Colour codes, also where ESC was lost or spelled out. A bare `[m` is none: `[mlx5_0]` begins with it.
_COLOUR = re.compile(
    r"(?:\x1b|\^\[|\\x1b|\\e|\\033|\\u001[bB]|#033|␛|\ufffd)\[[0-9;?]*[A-Za-z]"
    r"|\[\d[\d;]*m(?:\[K)?|\[m\[K|\x1b\(B"
)
_COLOUR_SIGNS = ("\x1b", "[0m", "[4m", "[m", "[01;")
_ODD_SIGNS = {0xA0: " ", 0x2007: " ", 0x202F: " ", 0x2502: "|", 0x2503: "|", 0x2551: "|", 0xFEFF: None, 0x200B: None}
LEGEND_SYMBOLS = frozenset(("X", "SYS", "NODE", "PHB", "PXB", "PIX", "SOC", "NV#"))
_ROWS_MOST = DEVICES_MOST
_ALONE_MOST = 1_000  # headers without a row: one is enough to say where the matrix should be
_TIME = re.compile(r"[\[(]?\d[\d:.,/\-+TZ]*[\])]?:?\Z")


class Text:
    """The lines of a text without colour codes and carriage returns; line numbers are kept.

    `open_end`: the number of a last line without line end, else 0; `unterminated`: the same if the
    line ends with a word, which may then be cut.
    """

    __slots__ = ("lines", "open_end", "unterminated")

    def __init__(self, text: str) -> None:
        if "\r" in text:
            text = re.sub("\r+\n", "\n", text)
            text = text.replace("\r", " " if "\n" in text else "\n")
        if any(sign in text for sign in _COLOUR_SIGNS):
            text = _COLOUR.sub("", text)
        if not text.isascii():
            text = text.translate(_ODD_SIGNS)
        self.lines = lines_of(text)
        last = self.lines[-1]
        self.open_end = len(self.lines) if last else 0
        self.unterminated = self.open_end if last and not last[-1].isspace() else 0


class Block:
    """One matrix: the header if there is one, its rows, and the lines behind it."""

    __slots__ = ("closed", "header", "labels", "lines_behind", "rows", "words_before")

    def __init__(self, header: Header | None, words_before: tuple[str, ...]) -> None:
        self.header = header
        self.rows: list[PrintedRow] = []
        self.labels: set[str] = set()
        self.words_before = words_before
        self.closed = False  # the legend has begun
        self.lines_behind = (0, 0)  # line numbers, from and up to

    @property
    def line(self) -> int:
        return self.header.line if self.header else self.rows[0].line


class Found(NamedTuple):
    """`alone`: headers without a row; `other_rows`: rows of `topo -p2p`."""

    blocks: list[Block]
    alone: list[Header]
    other_rows: int


class _Finder:
    def __init__(self, text: Text) -> None:
        self.lines = text.lines
        self.blocks: list[Block] = []
        self.alone: list[Header] = []
        self.other_rows = 0
        self.headers: dict[tuple[str, ...], Header] = {}
        self.open: dict[tuple[str, ...], Block] = {}
        self.last_row: PrintedRow | None = None
        self.last_block: Block | None = None  # of that row
        self.last_line = 0  # the last line of that row

    def header(self, header: Header) -> None:
        before = _words_before(header.text, header.text.find(header.labels[0]))
        self.drop_header(before)
        self.headers[before] = header
        at_most_nodes(self.headers, header.line)
        block = self.open.get(before)
        if block and (block.closed or not block.header or block.header.labels != header.labels):
            self.close(before, header.line)

    def drop_header(self, before: tuple[str, ...]) -> None:
        unused = self.headers.pop(before, None)
        if unused and len(self.alone) < _ALONE_MOST:
            self.alone.append(unused)

    def close(self, before: tuple[str, ...], line: int) -> None:
        block = self.open.pop(before, None)
        if block:
            block.lines_behind = (block.rows[-1].line + 1, line)

    def row(self, row: PrintedRow) -> None:
        before: tuple[str, ...] = ()
        if row.words_before > 1:
            before = _words_before(row.text, row.text.find(row.label))
        block = self.open.get(before)
        header = self.headers.get(before) or self.captioned_header(row, block)
        known = header.labels if header else block.labels if block else ()
        if row.label[:3] not in ("GPU", "NIC") and row.label not in known and not (known and len(row.cells) > 1):
            return
        if block is None or row.label in block.labels or block.closed:
            self.close(before, row.line)
            block = self.open[before] = Block(header, before)
            self.headers.pop(before, None)
            self.blocks.append(block)
            at_most_nodes(self.blocks, row.line)
        if len(block.rows) == _ROWS_MOST:
            raise Unreadable(f"a matrix of more than {_ROWS_MOST} rows", row.line)
        block.rows.append(row)
        block.labels.add(row.label)
        self.last_row, self.last_line, self.last_block = row, row.line, block

    def captioned_header(self, row: PrintedRow, block: Block | None) -> Header | None:
        """A header that shares its line with other words: `NVIDIA Topology: GPU0 GPU1`."""
        if block or len(self.headers) != 1:
            return None
        before, header = next(iter(self.headers.items()))
        if row.line - header.last_line > 2:
            return None
        del self.headers[before]
        return header

    def p2p(self, line: int) -> None:
        self.other_rows += 1
        self.headers.clear()
        for before in list(self.open):
            self.close(before, line)

    def line(self, text: str, line: int, words: list[str]) -> None:
        if "=" in words:
            self.legend(words)
            return
        row = split_row(text, line)
        if isinstance(row, PrintedRow):
            self.row(row)
        elif isinstance(row, P2PRow):
            self.p2p(line)
        elif not self.continued(text, line):
            self.maybe_header(text, line)

    def continued(self, text: str, line: int) -> bool:
        """Whether the line is the rest of the row above, wrapped at a terminal's width.

        Joined without a blank, since the break can be within a letter (`NO` `DE`).
        """
        row, block = self.last_row, self.last_block
        if row is None or block is None or line != self.last_line + 1 or len(row.text) > LINE_MOST:
            return False
        if block.header is None or block.rows[-1] is not row or self.open.get(block.words_before) is not block:
            return False
        longer = split_row(row.text + text, row.line)
        if isinstance(longer, PrintedRow) and _goes_on(row, longer, block.header):
            block.rows[-1] = self.last_row = longer
            self.last_line = line
            return True
        return False

    def legend(self, words: list[str]) -> None:
        if words[words.index("=") - 1] in LEGEND_SYMBOLS:
            for block in self.open.values():
                if all(word in words for word in block.words_before):
                    block.closed = True

    def maybe_header(self, text: str, line: int) -> bool:
        for before, header in self.headers.items():
            if line - header.last_line <= 2:
                longer = read_continuation(text, line, header)
                if longer:
                    self.headers[before] = longer
                    return True
        found = read_header(text, line) if "GPU" in text else None
        if found and found.labels:
            self.header(found)
            return True
        return False


def _goes_on(row: PrintedRow, longer: PrintedRow, header: Header) -> bool:
    """Whether a row joined with the line below it is more of the row that the header announces."""
    size, heads = len(header.labels), header.heads or 0
    if len(row.cells) < size:
        cut = not row.rest or (len(row.rest) == 1 and begins_a_letter(row.foreign or "?"))
        return cut and len(row.cells) < len(longer.cells) <= size
    # A whole row has gone on if the header did: `0,3-9,11` and below it `-17`.
    wants_more = len(row.rest) < heads or (header.damage != "" and len(row.rest) == heads)
    return (
        row.label.startswith("GPU")
        and wants_more
        and len(longer.rest) <= heads
        and all(is_affinity(word) for word in longer.rest)
    )


def find_blocks(text: Text) -> Found:
    """All matrices of a text, in order, and what looked like one."""
    finder = _Finder(text)
    for line, content in enumerate(text.lines, 1):
        words = content.split()
        if len(words) < 2:
            if words and not (line == finder.last_line + 1 and finder.continued(content, line)):
                finder.maybe_header(content, line)
            continue
        if words[1] in LETTERS or "GPU" in content or not LETTERS.isdisjoint(words):
            finder.line(content, line, words)
        elif line == finder.last_line + 1:
            finder.continued(content, line)
        elif finder.headers:
            finder.maybe_header(content, line)
    for before in list(finder.open):
        finder.close(before, len(text.lines) + 1)
    for before in list(finder.headers):
        finder.drop_header(before)
    return Found(finder.blocks, finder.alone, finder.other_rows)


def _words_before(text: str, start: int) -> tuple[str, ...]:
    """The words a log puts before every line of one output: a host, a rank; times left out."""
    before = text[:start].strip()
    if not before:
        return ()
    return tuple(word for word in before.split() if not _TIME.match(word) and word.strip(">|#*`-"))
