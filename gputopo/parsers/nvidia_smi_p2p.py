r"""`nvidia-smi topo -p2p r|w|n|a|p`: which GPUs can reach which others, peer to peer.

Rows begin with one blank and the `X` of the diagonal is not padded, unlike in `topo -m`:

    >>> node, = parse('''$ nvidia-smi topo -p2p r
    ...         GPU0    GPU1    GPU2
    ...  GPU0   X       OK      CNS
    ...  GPU1   OK      X       CNS
    ...  GPU2   CNS     CNS     X
    ...
    ... Legend:
    ...
    ...   X    = Self
    ...   OK   = Status Ok
    ...   CNS  = Chipset not supported
    ... ''')
    >>> node.command, [(pair.a, pair.b, pair.p2p) for pair in node.pairs][:2]
    ('topo -p2p r', [('GPU0', 'GPU1', {'read': 'OK'}), ('GPU0', 'GPU2', {'read': 'CNS'})])

The matrix itself does not say which capability was asked for: without its command line the kind is
`unstated`. So it is where several letters were typed (`-p2p rw`), since only one matrix comes out.
Found by running nvidia-smi 418.226, 470.256, 535.261 and 550.163; DR is in newer legends.
"""

from __future__ import annotations

import re
from collections import Counter

from gputopo.parsers.limits import at_most_nodes
from gputopo.parsers.pasted_text import clean_lines, words_before
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Gap, GpuRecord, Key, NodeRecords, Observation, PairRecord
from gputopo.terms.unknown import Unknown

FORMAT = "nvidia-smi-p2p"
KINDS = {"r": "read", "w": "write", "n": "nvlink", "a": "atomics", "p": "prop"}
_ASK = "nvidia-smi topo -p2p r, with its command line"

_TOKEN = r"(?:X|OK|CNS|GNS|TNS|NS|DR|U)"
_ROW = re.compile(rf"(?<![\w.])(GPU\d{{1,3}})[ \t|*`]+({_TOKEN}(?:[ \t|]*{_TOKEN}){{0,512}})(?![\w=])")
_OTHER_MATRIX = re.compile(r"[ \t|]*(?:SYS|NODE|PHB|PXB|PIX|SOC|NV\d|Unknown|N/A|\d)")  # `topo -m` goes on so
_LETTER = re.compile(_TOKEN)
_HEADER = re.compile(r"(?<![\w.])GPU\d{1,3}(?:[ \t|]+GPU\d{1,3}){0,256}[ \t|`]*\Z")
_LABEL = re.compile(r"GPU\d{1,3}")
_COMMAND = re.compile(r"(?:-p2p|--p2pstatus)[ \t=]+([rwnap]{1,5})\b")
_SNIFF = re.compile(r"GPU\d{1,3}[ \t|*`]+(?:X[ \t|]+(?:OK|[CGT]?NS|DR|U)\b|(?:(?:OK|[CGT]?NS|DR|U)[ \t|]+){1,256}X\b)")


class _Row:
    __slots__ = ("cells", "label", "line")

    def __init__(self, label: str, cells: list[str], line: int) -> None:
        self.label = label
        self.cells = cells
        self.line = line


class _Matrix:
    """One printed matrix: its rows, the labels of its header, the letters typed after `-p2p`."""

    __slots__ = ("before", "header", "line", "rows", "typed")

    def __init__(self, header: list[str], line: int, typed: str | None, before: tuple[str, ...]) -> None:
        self.header = header
        self.line = line
        self.typed = typed
        self.before = before
        self.rows: list[_Row] = []

    @property
    def kind(self) -> str:
        return KINDS.get(self.typed or "", "unstated")


def sniff(text: str) -> bool:
    """Whether a text holds a row of `topo -p2p`: its own place and a status beside it."""
    return "GPU" in text and _SNIFF.search(text) is not None


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One `NodeRecords` for each matrix, in order. Raises Unreadable."""
    matrices = [matrix for matrix in _find(clean_lines(text)) if _is_matrix(matrix)]
    if not matrices:
        raise Unreadable("no `nvidia-smi topo -p2p` matrix: looked for rows such as `GPU0  X  OK`", None, _ASK)
    alike: Counter[_Alike] = Counter()
    nodes: list[NodeRecords] = []
    for matrix in matrices:
        nodes.append(_build(matrix, _command(matrix, alike)))
    return tuple(nodes)


def _is_matrix(matrix: _Matrix) -> bool:
    """Whether this is more than a word that looks like a status: `GPU0 OK` in a health report."""
    cells = [cell for row in matrix.rows for cell in row.cells]
    return "X" in cells and any(cell != "X" for cell in cells)


def _find(lines: list[str]) -> list[_Matrix]:
    found: list[_Matrix] = []
    open_: dict[tuple[str, ...], _Matrix] = {}
    headers: dict[tuple[str, ...], tuple[list[str], int]] = {}
    typed: str | None = None
    for number, line in enumerate(lines, 1):
        if "p2p" in line:
            command = _COMMAND.search(line)
            if command:
                typed = command[1]
                open_.clear()
                continue
        if "GPU" not in line:
            continue
        match = _ROW.search(line)
        if match is None or _OTHER_MATRIX.match(line, match.end()):
            header = _HEADER.search(line)
            if header:
                before = words_before(line, header.start())
                at_most_nodes(headers, number)
                headers[before] = (_LABEL.findall(header[0]), number)
                open_.pop(before, None)
            continue
        before = words_before(line, match.start())
        matrix = open_.get(before)
        if matrix is None or any(row.label == match[1] for row in matrix.rows):
            labels, at = headers.pop(before, ([], number))
            matrix = open_[before] = _Matrix(labels, at, typed, before)
            typed = None
            found.append(matrix)
            at_most_nodes(found, number)
        matrix.rows.append(_Row(match[1], _LETTER.findall(match[2]), number))
    return found


_Alike = tuple[tuple[str, ...], frozenset[str]]


def _command(matrix: _Matrix, earlier: Counter[_Alike]) -> str:
    """`topo -p2p r`. Matrices of one text and of the same GPUs that do not say their kind are numbered.

    So that five of them, printed one after the other, are taken for one node and not for five.
    """
    if matrix.typed:
        return f"topo -p2p {matrix.typed}"
    key = matrix.before, frozenset(row.label for row in matrix.rows)
    alike = earlier[key]
    earlier[key] += 1
    return f"topo -p2p #{alike + 1}" if alike else "topo -p2p"


def _build(matrix: _Matrix, command: str) -> NodeRecords:
    columns = _columns(matrix)
    gaps: list[Gap] = []
    cells: dict[tuple[str, str], str] = {}
    for row in matrix.rows:
        problem = _place(row, columns, cells)
        if problem:
            gaps.append(Gap((row.label,), "row", problem, _ASK, row.line))
    labels = [label for label in columns if label is not None]
    printed = {row.label: row.line for row in matrix.rows}
    for label in labels:
        if label not in printed:
            gaps.append(Gap((label,), "row", "the row is not in the text", _ASK, matrix.line))
    whole = not gaps and None not in columns
    observations: list[Observation] = []
    pairs = _pairs(labels, cells, matrix, gaps, observations)
    if matrix.kind == "unstated":
        reason = "the text does not say which peer-to-peer capability this matrix is about"
        gaps.append(Gap((), "p2p", reason, _ASK, matrix.line))
    return NodeRecords(
        FORMAT,
        command,
        line=matrix.line,
        whole=whole,
        gpus=tuple(
            GpuRecord(label, (Key("index", label[3:]),), printed.get(label), nvml_index=int(label[3:]))
            for label in labels
        ),
        gpus_complete=whole,
        pairs=pairs,
        gaps=tuple(gaps),
        observations=tuple(observations),
    )


def _columns(matrix: _Matrix) -> list[str | None]:
    """Labels of the columns: the header's, or by where the `X` of each row stands."""
    if matrix.header and len(set(matrix.header)) == len(matrix.header):
        return list(matrix.header)
    size = max(max(len(row.cells) for row in matrix.rows), len(matrix.rows))
    columns: list[str | None] = [None] * size
    for row in matrix.rows:
        if "X" in row.cells:
            columns[row.cells.index("X")] = row.label
    return columns


def _place(row: _Row, columns: list[str | None], cells: dict[tuple[str, str], str]) -> str:
    """Put a row's cells under their columns; the reason where that is not certain, "" where it is."""
    if row.label not in columns:
        return f"{row.label} is no column of this matrix"
    own = columns.index(row.label)
    marks = [place for place, cell in enumerate(row.cells) if cell == "X"]
    if len(row.cells) > len(columns) or marks not in ([own], []) or (not marks and len(row.cells) > own):
        return f"the row has {len(row.cells)} cells and its X is not under {row.label}"
    for column, cell in zip(columns, row.cells):
        if column is not None:
            cells[row.label, column] = cell
    if len(row.cells) < len(columns):
        return f"the row has {len(row.cells)} of {len(columns)} cells"
    return ""


def _pairs(
    labels: list[str],
    cells: dict[tuple[str, str], str],
    matrix: _Matrix,
    gaps: list[Gap],
    observations: list[Observation],
) -> tuple[PairRecord, ...]:
    lines = {row.label: row.line for row in matrix.rows}
    pairs = []
    for place, a in enumerate(labels):
        for b in labels[place + 1 :]:
            there, back = cells.get((a, b)), cells.get((b, a))
            status = there or back
            line = lines.get(a) or lines.get(b)
            if status is None:
                continue
            if there and back and there != back:
                why = f"{a} to {b} is {there}, {b} to {a} is {back}"
                observations.append(Observation("p2p-not-symmetric", (a, b), why, line))
                gaps.append(Gap((a, b), "p2p", f"{matrix.kind}: {why}", _ASK, line))
                pairs.append(PairRecord(a, b, p2p=Unknown(why, _ASK), line=line))
            else:
                pairs.append(PairRecord(a, b, p2p={matrix.kind: status}, line=line))
    return tuple(pairs)
