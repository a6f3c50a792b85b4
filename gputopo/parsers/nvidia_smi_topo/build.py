"""From a found matrix to the records of its node."""

from __future__ import annotations

from collections.abc import Collection

from gputopo.parsers.nvidia_smi_topo.affinity import confirms
from gputopo.parsers.nvidia_smi_topo.cells import PrintedRow, is_affinity
from gputopo.parsers.nvidia_smi_topo.columns import Columns, Placed, place_row, settle_columns
from gputopo.parsers.nvidia_smi_topo.find import Block, Text
from gputopo.parsers.nvidia_smi_topo.gpus import Cells, gpu_records
from gputopo.parsers.nvidia_smi_topo.header import is_whole_name
from gputopo.parsers.nvidia_smi_topo.legend import Legend, echoed_command, is_whole_of_mp, read_legend
from gputopo.parsers.nvidia_smi_topo.tail import Tail, read_tail, read_tails_without_heading, without_last_cell
from gputopo.records import Gap, Key, MatrixRecord, NicRecord, NodeRecords, Observation, Row

FORMAT = "nvidia-smi-topo"
AGAIN = "nvidia-smi topo -m > FILE"


def build(block: Block, text: Text) -> NodeRecords | None:
    """The records of one matrix, or `None` where no row of a GPU can be placed."""
    header = block.header
    columns, trouble = settle_columns(header.labels if header else None, block.rows)
    if header and header.heads is None and not _last_label_is_whole(columns, block.labels):
        columns[-1], trouble = None, "cut"
    last_line = _last_line(text)
    placed = [place_row(row, columns, last=row.line == last_line) for row in block.rows]
    _doubt_end_letters(block.rows, placed)
    if not _holds_a_matrix(block, placed):
        return None
    heads, tails = _tails(block, placed)
    _doubt_the_end(block.rows, heads, tails, text)
    _doubt_last_letters(block.rows, placed, tails)
    labels = [label for label in columns if label is not None]
    labels += [row.label for row in block.rows if row.label not in labels]
    legend = _legend(block, text, labels)

    notes = _Notes(block, labels, placed, tails, trouble, None in columns)
    gpus = gpu_records(
        [Cells(label, *_row_of(label, block.rows, tails)) for label in labels if label.startswith("GPU")],
        heads,
        notes.gaps,
        notes.observations,
    )
    nics = _nics(labels, legend, block.rows)
    matrix = _matrix(block, [label for label in columns if label], placed, tails, legend, text)
    return NodeRecords(
        format=FORMAT,
        command=f"topo -{matrix.command}" if matrix.command else "",
        line=block.line,
        whole=notes.whole,
        gpus=gpus,
        gpus_complete=notes.whole,
        nics=nics or None,
        matrix=matrix,
        gaps=tuple(notes.gaps),
        observations=tuple(notes.observations),
    )


def _last_line(text: Text) -> int:
    """The number of the last line that says something."""
    for number in range(len(text.lines), 0, -1):
        if text.lines[number - 1].strip("` \t"):
            return number
    return 0


def _last_label_is_whole(columns: Columns, printed: Collection[str]) -> bool:
    """Whether the last label of a header without headings is a whole one: `mlx5_1` may be `mlx5_10`."""
    last = columns[-1]
    if last is None or last in printed or last[:3] in ("GPU", "NIC"):
        return True
    return is_whole_name(last, [label for label in columns if label])


def _holds_a_matrix(block: Block, placed: list[Placed]) -> bool:
    """A row of a GPU stands where it should, and the text is more than a lone diagonal (as of p2p)."""
    good = [row for row, place in zip(block.rows, placed) if "X" in place.cells.values()]
    if not any(row.label.startswith("GPU") for row in good):
        return False
    headed = block.header is not None and bool(block.header.heads)
    return headed or any(len(row.cells) > 1 or row.rest for row in good)


def _doubt_end_letters(rows: list[PrintedRow], placed: list[Placed]) -> None:
    """`NV1` at the end of a line can be NV18, cut: the mirrored cell decides."""
    for at, (row, place) in enumerate(zip(rows, placed)):
        if not row.rest and place.cells and _drop_unmirrored(row.label, place, rows, placed):
            placed[at] = place._replace(problem="its last letter may be cut", cut=True)


def _doubt_last_letters(rows: list[PrintedRow], placed: list[Placed], tails: list[Tail | None]) -> None:
    """Before a tail that is not clear `NV10` can be NV1 and CPU 0: the mirrored cell decides."""
    for at, (place, tail) in enumerate(zip(placed, tails)):
        if tail and tail.doubt and place.cells and _drop_unmirrored(rows[at].label, place, rows, placed):
            placed[at] = place._replace(problem="its last letter may have run into the CPU cell", cut=True)


def _drop_unmirrored(label: str, place: Placed, rows: list[PrintedRow], placed: list[Placed]) -> bool:
    """Takes away the last letter if it is NV# and the mirrored cell does not say the same."""
    column, letter = next(reversed(place.cells.items()))
    if not letter.startswith("NV"):
        return False
    if any(row.label == column and other.cells.get(label) == letter for row, other in zip(rows, placed)):
        return False
    del place.cells[column]
    return True


def _tails(block: Block, placed: list[Placed]) -> tuple[int, list[Tail | None]]:
    """How many affinity columns there are, and the tail of each row that has one."""
    readable = [
        row.label.startswith("GPU") and not place.cut and not place.problem for row, place in zip(block.rows, placed)
    ]
    rows = [row for row, reads in zip(block.rows, readable) if reads]
    header = block.header
    if header and header.heads and header.damage != "cut" and not _more_cells(rows, header.heads):
        heads, tails = header.heads, [read_tail(row, header.heads or 1) for row in rows]
    else:
        heads, tails = read_tails_without_heading(rows)
        if header:  # with its headings the ends of the rows can be gone as well
            tails = [without_last_cell(tail) for tail in tails]
    found = iter(tails)
    return heads, [next(found) if reads else None for reads in readable]


def _more_cells(rows: list[PrintedRow], heads: int) -> bool:
    """Whether most rows have more affinity cells than the header has headings."""
    more = sum(len(row.rest) > heads and all(map(is_affinity, row.rest)) for row in rows)
    return heads < 3 and more * 2 > len(rows)


def _doubt_the_end(rows: list[PrintedRow], heads: int, tails: list[Tail | None], text: Text) -> None:
    """A cell at the very end of a text without a last line end counts if other rows confirm it."""
    tail = tails[-1]
    if tail is None or tail.doubt or not heads or rows[-1].line != text.open_end:
        return
    cell = tail[:3][heads - 1]
    if cell == "N/A" or (cell and not text.unterminated):
        return
    others = [other for other in tails[:-1] if other and not other.doubt]
    if heads == 1:
        sure = confirms(tail.cpu or "", [other.cpu for other in others if other.cpu])
    else:
        sure = heads == 2 and any(other == tail for other in others)
    if not sure:
        kept = [cell if at < heads - 1 else None for at, cell in enumerate(tail[:3])]
        tails[-1] = Tail.of(kept, "the text ends within its last cell", cut=True)


def _row_of(label: str, rows: list[PrintedRow], tails: list[Tail | None]) -> tuple[PrintedRow | None, Tail | None]:
    for row, tail in zip(rows, tails):
        if row.label == label:
            return row, tail
    return None, None


def _legend(block: Block, text: Text, labels: list[str]) -> Legend:
    first, end = block.lines_behind
    before = block.words_before
    lines = [
        (number, line)
        for number, line in enumerate(text.lines[first - 1 : end - 1], first)
        if line and (not before or all(word in line for word in before))
    ]
    nics = [label for label in labels if label.startswith("NIC")]
    return read_legend(lines, nics, text.unterminated)


def _nics(labels: list[str], legend: Legend, rows: list[PrintedRow]) -> tuple[NicRecord, ...]:
    lines = {row.label: row.line for row in rows}
    nics = []
    for label in [*labels, *(label for label in legend.devices if label not in labels)]:
        if label.startswith("GPU"):
            continue
        numbered = label.startswith("NIC") and label[3:].isdigit()
        device = legend.devices.get(label) if numbered and label != legend.unsure else None
        if not numbered:
            device = label
        keys = (Key("name", device),) if device else ()
        nics.append(NicRecord(label, keys, lines.get(label), device=device))
    return tuple(nics)


def _matrix(
    block: Block,
    columns: list[str],
    placed: list[Placed],
    tails: list[Tail | None],
    legend: Legend,
    text: Text,
) -> MatrixRecord:
    ends_early = [bool(place.cut or place.problem or (tail and tail.cut)) for place, tail in zip(placed, tails)]
    rows = tuple(
        Row(row.label, place.cells, row.line, not early) for row, place, early in zip(block.rows, placed, ends_early)
    )
    letters = {cell for row in block.rows for cell in row.cells}
    old = "SOC" in letters or "SOC" in legend.symbols
    command = echoed_command(text.lines, block.line)
    if "NV#" in legend.symbols or any(letter.startswith("NV") for letter in letters):
        command = "m"
    elif command is None and old and legend.symbols:
        command = "m"  # a driver of that time knows no NVLink
    elif command is None and is_whole_of_mp(legend.symbols):
        command = "mp"
    return MatrixRecord(command, tuple(columns), rows, old)


class _Notes:
    """What is missing or odd, as gaps and observations."""

    def __init__(
        self,
        block: Block,
        labels: list[str],
        placed: list[Placed],
        tails: list[Tail | None],
        trouble: str,
        unnamed: bool,
    ) -> None:
        self.gaps: list[Gap] = []
        self.observations: list[Observation] = []
        self.whole = not unnamed
        self.header(block, trouble)
        for row, place, tail in zip(block.rows, placed, tails):
            if place.problem and not place.cut:
                self.row(row, "row-not-matching-header", f"the row cannot be placed: {place.problem}")
            elif place.cut or (tail is not None and tail.cut):
                why = place.problem or (tail.doubt if tail else "") or "the row ends early"
                self.row(row, "row-cut", f"the row is cut: {why}")
        self.glued([row for row in block.rows if row.glued or row.joined])
        self.missing([label for label in labels if label not in block.labels], block)

    def row(self, row: PrintedRow, kind: str, reason: str) -> None:
        self.whole = False
        self.gaps.append(Gap((row.label,), "row", reason, AGAIN, row.line))
        self.observations.append(Observation(kind, (row.label,), row.text.strip()[:120], row.line))

    def header(self, block: Block, trouble: str) -> None:
        header = block.header
        damage = trouble or (header.damage if header else "")
        if damage:
            self.whole = self.whole and damage != "cut"
            text = header.text.strip()[:120] if header else damage
            self.observations.append(Observation("header-damaged", (), text, block.line))

    def glued(self, rows: list[PrintedRow]) -> None:
        if rows:
            labels = tuple(row.label for row in rows)
            self.observations.append(Observation("cells-glued", labels, rows[0].text.strip()[:120], rows[0].line))

    def missing(self, labels: list[str], block: Block) -> None:
        if not labels:
            return
        self.whole = False
        line = block.rows[-1].line
        for label in labels:
            self.gaps.append(Gap((label,), "row", "the row is missing in the text", AGAIN, line))
        text = block.header.text.strip()[:120] if block.header else ""
        self.observations.append(Observation("row-missing", tuple(labels), text, block.line))
