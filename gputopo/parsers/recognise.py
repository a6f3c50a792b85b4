"""What is this text? Found by looking at it, never by its name.

A format is a row of `FORMATS`: words of which one must be in the text (a cheap test, so that only
parsers with a chance are loaded), and a module whose `sniff` decides. One text can hold several
formats (an environment report with `lscpu` and `nvidia-smi topo -m`); a JSON document of ours is
one thing whatever it quotes.

    >>> recognise('{"apiVersion": "gputopo/v1alpha1", "kind": "NodeTopology"}')
    ('gputopo-json',)
    >>> recognise("meeting at noon")
    ()
    >>> print(nearest_miss("node-a:1:1 [0] NCCL INFO Bootstrap"))
    this is an NCCL log: it does not say how a node is wired
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from gputopo.errors import GputopoError
from gputopo.parsers.formats import API_GROUP, FORMATS, MISSES, PODRESOURCES, PODS, READ_BESIDE, Format
from gputopo.parsers.limits import within_limits
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Gap, NodeRecords
from gputopo.terms.protobuf_bytes import TAGS as PROTOBUF

if TYPE_CHECKING:
    from gputopo.evidence.piece import Piece

NCCL_SIGNS = ("NCCL INFO", "NCCL WARN")
_NOT_YET = "this is {}, which this version does not read yet"
_BESIDE = "this is {}: it does not say how a node is wired"
_LOOKED_FOR = (
    "output of nvidia-smi (topo, nvlink, -q, -L), lscpu, lspci, numactl, ibdev2netdev, rocm-smi, amd-smi, "
    "NCCL and lstopo XML, our own JSON"
)
_ASK = "run `nvidia-smi topo -m` there and give its text, or a folder with its /sys"


def by_id(id: str) -> Format | None:
    return next((row for row in FORMATS if row.id == id), None)


def module_of(row: Format) -> ModuleType:
    """The parser's module, loaded now. Raises KeyError for a format read elsewhere."""
    if row.module is None:
        raise KeyError(row.id)
    return import_module("gputopo.parsers." + row.module)


def recognise(text: str) -> tuple[str, ...]:
    """Ids of every format found in one text, in table order; empty when none is."""
    if is_document(text):
        return ("gputopo-json",)
    return tuple(
        row.id
        for row in FORMATS
        if row.module and any(needle in text for needle in row.needles) and module_of(row).sniff(text)
    )


def is_document(text: str) -> bool:
    """A JSON document of ours: an object whose `apiVersion` says so."""
    return text.lstrip()[:1] == "{" and '"apiVersion"' in text and API_GROUP in text


def why_unreadable(text: str) -> str:
    """Why a text is no evidence, in a few words; "" when it can be read."""
    formats = recognise(text)
    if formats == ("gputopo-json",):
        return ""
    if not formats:
        return nearest_miss(text) or "of no known format"
    try:
        _parse_text(text)
    except Unreadable as error:
        return error.what
    return ""


def parse(piece: Piece, as_format: str | None = None) -> tuple[NodeRecords, ...]:
    """What every parser with a chance says of one piece. Raises GputopoError where none can read it.

    `as_format` forces one parser. A text is UTF-8 (evidence/open.py sees to it).
    """
    try:
        if piece.tree is not None:
            return within_limits(_parse_tree(piece, as_format))
        if piece.data is not None and (why := why_no_evidence(piece.data)) is not None:
            raise Unreadable(why, hint=PODS)
        text = (piece.data or b"").decode("utf-8", "replace")
        if as_format is not None:
            return within_limits(_forced(as_format).parse(text))
        return within_limits(_parse_text(text))
    except Unreadable as error:
        places = (piece.name, piece.where, f"line {error.line}" if error.line else "")
        raise GputopoError(error.what, ", ".join(place for place in places if place), error.hint) from error


def why_no_evidence(message: bytes) -> str | None:
    """What a protobuf message is that another verb reads; `None` for bytes of which nothing is known."""
    if message[:1] not in PROTOBUF:
        return None
    from gputopo.parsers.podresources.wire import sniff_bytes

    return _BESIDE.format(PODRESOURCES) if sniff_bytes(message) else None


def _parse_tree(piece: Piece, as_format: str | None) -> tuple[NodeRecords, ...]:
    if as_format not in (None, "sysfs-root"):
        raise Unreadable(f"a folder with sys/ is read as sysfs-root, not as {as_format}")
    from gputopo.parsers import sysfs_root

    assert piece.tree is not None
    return tuple(sysfs_root.parse(piece.tree))


def _forced(as_format: str) -> ModuleType:
    row = by_id(as_format)
    if row is None or row.module is None:
        raise Unreadable(f"no parser of that name: {as_format}", hint="gputopo formats")
    if not row.needles:
        raise Unreadable(f"{as_format} is a folder or an archive, not one text")
    return module_of(row)


def _parse_text(text: str) -> tuple[NodeRecords, ...]:
    """All formats of one text. One that fails beside others is a gap, alone it is the answer."""
    found: list[NodeRecords] = []
    # Their parts: an exception that its own frame keeps holds the text's lines, and the CLI runs without gc.
    failures: list[tuple[str, str, int | None, str]] = []
    formats = recognise(text)
    for id in formats:
        try:
            found.extend(_forced(id).parse(text))
        except Unreadable as error:
            failures.append((id, error.what, error.line, error.hint))
    if not found and not failures:
        found.extend(_job_alone(text))
    if not found:
        raise Unreadable(*failures[0][1:]) if failures else unrecognised(text)
    gaps = tuple(Gap((), "gpus", f"{id}: {what}", hint, line) for id, what, line, hint in failures)
    return (found[0]._replace(gaps=found[0].gaps + gaps), *found[1:])


def _job_alone(text: str) -> tuple[NodeRecords, ...]:
    """The GPUs that a job's log names, where nothing else of a node is in the text; it never contradicts evidence."""
    if not any(sign in text for sign in NCCL_SIGNS):
        return ()
    from gputopo.parsers.nccl_log.alone import parse

    return parse(text)


def unrecognised(text: str) -> Unreadable:
    """The error for a text in which nothing is found: what was looked for, and the nearest miss."""
    miss = _miss(text)
    if miss is None:
        return Unreadable(f"nothing known in this text; looked for {_LOOKED_FOR}", hint="gputopo formats")
    what, hint = miss
    return Unreadable(what, hint=hint or _ASK)


def nearest_miss(text: str) -> str | None:
    """What the text seems to be, as a sentence, or `None`."""
    miss = _miss(text)
    return miss[0] if miss else None


def _miss(text: str) -> tuple[str, str] | None:
    for words, what, hint in MISSES:
        if any(word in text for word in words):
            return (_BESIDE if hint in READ_BESIDE else _NOT_YET).format(what), hint
    return None
