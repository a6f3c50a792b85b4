"""Slurm's `gres.conf`, and the records that `slurmd -G` prints, with the place of every key and value.

    >>> [one] = read("AutoDetect=nvml  # all nodes\\nName=gpu \\\\\\n  file=/dev/nvidia[0-7]\\n")
    >>> one.kind, [[pair["key"] for pair in line["keys"]] for line in one.object.body["lines"]]
    ('gres.conf', [['AutoDetect'], ['Name', 'file']])
    >>> one.at(("lines", 1, "keys", 1, "value"))
    Place(line=3, column=8)
    >>> [one] = read("slurmd: Gres Name=gpu Type=h100 Count=1 Index=0 ID=7696487 File=/dev/nvidia0 Links=(null) Flags=")
    >>> one.kind, [(pair["key"], pair["value"]) for pair in one.object.body["lines"][0]["keys"]][-2:]
    ('slurmd -G', [('ID', '7696487'), ('File', '/dev/nvidia0')])

Read as SchedMD/slurm 284c3b9 reads it (src/common/parse_config.c): a `#` ends a line unless a backslash stands before
it, a backslash at the end joins the next line, values may stand in double quotes, what is no KEY=VALUE is left over.
In a text of other things (a log, a report, a slurm.conf) only the lines that are plainly gres.conf are taken, and
`embedded` says so: then what is missing may stand elsewhere.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.kube_object import KubeObject
from gputopo.terms.manifest import Manifest, SourceText
from gputopo.terms.placed import Span, node, plain

CONF, PRINTED = "gres.conf", "slurmd -G"
LARGEST = 1 << 20  # characters; a cluster's file has some hundred lines
MOST_LINES = 4096
MOST_PAIRS = 64  # of a line; Slurm knows 13 keys
_DETECTS = r"AutoDetect[ \t]*=[ \t]*\"?(?:full|nvml|nvidia|rsmi|oneapi|nrt|off)\b"
_KEYS = r"(?:AutoDetect|Count|CPUs|Cores|Files?|Flags|Links?|MultipleFiles|Type)[ \t]*[-*+/]?="
_RECORD = rf"Name[ \t]*=[ \t]*(?:\S+[ \t]+(?:\S+[ \t]+)*?{_KEYS}|(?:gpu|mps|shard|nic)[ \t]*(?:\\|#|\r?$|\w+[ \t]*=))"
_OF_DEVICES = r"[A-Za-z]+[ \t]*=[ \t]*\S+[ \t]+(?:\S+[ \t]+)*?(?:Multiple)?Files?[ \t]*=[ \t]*/dev/nvidia"
_OF_NODES = r"NodeName[ \t]*=[ \t]*\S+[ \t]+(?:\S+[ \t]+)*?(?:AutoDetect|Name)[ \t]*="
_SURE = re.compile(rf"^[ \t]*(?:{_DETECTS}|{_RECORD}|{_OF_NODES}|{_OF_DEVICES})", re.IGNORECASE | re.MULTILINE)
_SAID = re.compile(r"(?:^|[\s:\]])Gres (?=Name=\S+ Type=)", re.MULTILINE)
_LIKE = re.compile(r"\s*[A-Za-z0-9_.]+[ \t]*[-*+/]?=")
_INCLUDE = re.compile(r"include\s+(\S+)", re.IGNORECASE)
_BEFORE_COMMENT = re.compile(r"(?:\\.|[^\\#])*\\?")
_ESCAPE = re.compile(r"\\(.?)")
_PAIR = re.compile(r'\s*([A-Za-z0-9_.]+)\s*([-*+/]?)=\s*(?:"([^"]*)"|(\S+))(?=\s|\Z)')
_SAID_PAIR = re.compile(r"([A-Za-z]+)=(\S*)")
_OTHER = re.compile(  # slurm.conf's own
    r"\s*(?:GresTypes|PartitionName|ClusterName|SlurmctldHost|SelectType|SlurmdParameters)\s*="
    r"|\s*NodeName\s*=.*\s(?:Gres|RealMemory|State|Sockets|SocketsPerBoard|CoresPerSocket|ThreadsPerCore|Boards)\s*=",
    re.IGNORECASE,
)


class _Line(NamedTuple):
    """Lines joined by backslashes, without comments; `starts`: offsets in it → offsets in the file."""

    text: str
    starts: tuple[tuple[int, int], ...]

    def offset(self, at: int) -> int:
        inside, outside = self.starts[bisect_right(self.starts, (at, 1 << 62)) - 1]
        return outside + at - inside


def sniff(text: str) -> bool:
    head = text[:LARGEST]
    return _SURE.search(head) is not None or _SAID.search(head) is not None


def read(text: str, embedded: bool = False) -> tuple[Manifest, ...]:
    """The file, and what slurmd printed, where both are in the text. Raises Unreadable."""
    if len(text) > LARGEST:
        raise Unreadable(f"a gres.conf of {len(text)} characters: more than {LARGEST} are not read")
    source = SourceText(text)
    lines = list(_joined(text))
    written = [line for line in lines if line.text.strip() and not _SAID.search(line.text)]
    embedded = embedded or not _is_all(written)
    rows: list[Any] = []
    includes = False
    for line in written:
        if _INCLUDE.match(line.text) and not embedded:
            includes = True
        elif not embedded or _SURE.match(line.text):
            rows.append(_row(line))
        if len(rows) > MOST_LINES:
            raise Unreadable(f"more than {MOST_LINES} lines of {CONF}", source.place(line.offset(0)).line)
    said = [_said(line) for line in lines if _SAID.search(line.text)][:MOST_LINES]
    more = {"embedded": embedded, "includes": includes}
    found = [_manifest(CONF, rows, more, source)] if rows else []
    found += [_manifest(PRINTED, said, {}, source)] if said else []
    if not found:
        raise Unreadable("no record of a gres.conf")
    return tuple(found)


def _manifest(kind: str, rows: list[Any], more: dict[str, bool], source: SourceText) -> Manifest:
    first = rows[0][""].start
    line = source.place(first).line
    body = {"kind": kind, "lines": rows, **more}
    return Manifest(KubeObject(plain(body), f"line {line}"), source, node(body, source, first), line)


def _is_all(lines: list[_Line]) -> bool:
    """Whether a text is a gres.conf and nothing else: most lines are KEY=VALUE, none is slurm.conf's."""
    own = [line for line in lines if not _INCLUDE.match(line.text)]
    like = sum(1 for line in own if _LIKE.match(line.text))
    return like * 2 > len(own) and not any(_OTHER.match(line.text) for line in own)


def _joined(text: str) -> Iterator[_Line]:
    parts: list[str] = []
    starts: list[tuple[int, int]] = []
    length = at = 0
    for raw in text.split("\n"):
        kept = _without_comment(raw)
        goes_on = _continued(kept)
        part = kept[: kept.rindex("\\")] if goes_on else kept
        starts.append((length, at))
        parts.append(part)
        length += len(part)
        at += len(raw) + 1
        if not goes_on:
            yield _Line("".join(parts), tuple(starts))
            parts, starts, length = [], [], 0
    if parts:
        yield _Line("".join(parts), tuple(starts))


def _without_comment(line: str) -> str:
    if "#" not in line:
        return line
    kept = _BEFORE_COMMENT.match(line)
    return line if kept is None else kept[0]


def _continued(line: str) -> bool:
    """An odd number of backslashes at the end; blanks may follow them."""
    bare = line.rstrip()
    return (len(bare) - len(bare.rstrip("\\"))) % 2 == 1


def _row(line: _Line) -> dict[str, Any]:
    pairs: list[dict[str, Span | str]] = []
    at = 0
    while len(pairs) < MOST_PAIRS and (match := _PAIR.match(line.text, at)) is not None:
        value = 3 if match[3] is not None else 4
        pairs.append({"key": _span(line, match, 1), "operator": match[2], "value": _span(line, match, value)})
        at = match.end()
    rest = line.text[at:].rstrip()
    begin = at + len(rest) - len(rest.lstrip())
    row: dict[str, Any] = {"keys": list(pairs), "rest": _part(line, begin, at + len(rest)) if rest.strip() else None}
    first = len(line.text) - len(line.text.lstrip())
    return {"": Span("", line.offset(first), line.offset(first)), **row}


def _span(line: _Line, match: re.Match[str], group: int) -> Span:
    return _part(line, match.start(group), match.end(group))


def _part(line: _Line, start: int, end: int) -> Span:
    value = line.text[start:end]
    plain_value = _ESCAPE.sub(r"\1", value) if "\\" in value else value
    return Span(plain_value, line.offset(start), line.offset(max(end - 1, start)) + (end > start))


def _said(line: _Line) -> dict[str, Any]:
    """A line of `slurmd -G`; what is null in it is left out."""
    begin = _SAID.search(line.text)
    at = begin.end() if begin is not None else 0
    first = line.offset(at)
    found = [
        {"key": _span(line, match, 1), "operator": "", "value": _span(line, match, 2)}
        for match in islice(_SAID_PAIR.finditer(line.text, at), MOST_PAIRS)
        if match[2] not in ("", "(null)")
    ]
    return {"": Span("", first, first), "keys": found, "rest": None}
