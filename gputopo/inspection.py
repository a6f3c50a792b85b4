"""The one file that knows the whole order: pieces → records → nodes → rules.

Used by the command line and by the Python API (`gputopo.load`, `load_node`, `document`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gputopo.errors import GputopoError
from gputopo.evidence.piece import Piece
from gputopo.rules.finding import Finding, NotChecked
from gputopo.topology.ledger import Spoken
from gputopo.topology.node import NodeTopology, NoteUnknown, Observed, Source

if TYPE_CHECKING:
    from gputopo.evidence.live.node import Reading


class Inspection(NamedTuple):
    """One node and what the rules say of it."""

    node: NodeTopology
    findings: tuple[Finding, ...]
    not_checked: tuple[NotChecked, ...]


def nodes(
    pieces: Sequence[Piece], *, as_format: str | None = None, merge: bool = False, each: bool = False,
    assume: Mapping[str, str] | None = None,
) -> tuple[NodeTopology, ...]:  # fmt: skip
    """The nodes these pieces speak of. Raises GputopoError: unreadable, or not one node."""
    bundles = () if as_format is not None or merge else _bundles(pieces)
    if bundles:
        return tuple(live_node(reading, assume) for reading in bundles)
    return _joined(pieces, as_format, merge=merge, each=each, assume=assume)


def _joined(
    pieces: Sequence[Piece], as_format: str | None, *, merge: bool, each: bool, assume: Mapping[str, str] | None
) -> tuple[NodeTopology, ...]:  # fmt: skip
    saved, spoken, places = _read(pieces, as_format)
    if saved and spoken:
        raise GputopoError(
            "a gputopo document and other evidence cannot be merged yet",
            ", ".join(piece.name for piece in pieces),
            "inspect them one by one",
        )
    if saved:
        return saved
    from gputopo.topology.build import NotOneNode, build
    from gputopo.topology.group import group

    found = []
    for part in group(spoken, places, merge, each):
        try:
            found.append(build(_with_ids(part), assume, forced=merge))
        except NotOneNode as error:
            names = list(dict.fromkeys(error.sources)) or [one.source.name for one in part]
            raise GputopoError(
                f"these sources are not one node: {error.why}", " + ".join(names),
                f"gputopo diff {' '.join(names[:2])}  (--each: one by one; --merge: take them for one anyway)",
            ) from error  # fmt: skip
    return tuple(found)


def inspect(
    pieces: Sequence[Piece], *, as_format: str | None = None, merge: bool = False, each: bool = False,
    assume: Mapping[str, str] | None = None, select: Sequence[str] = (), ignore: Sequence[str] = (),
) -> tuple[Inspection, ...]:  # fmt: skip
    """Nodes with their findings."""
    from gputopo.rules.run import run

    return tuple(
        Inspection(node, *run(node, select=select, ignore=ignore))
        for node in nodes(pieces, as_format=as_format, merge=merge, each=each, assume=assume)
    )


def inspect_reading(
    reading: Reading, *, assume: Mapping[str, str] | None = None, select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Inspection:  # fmt: skip
    """This node, read live, with its findings."""
    from gputopo.rules.run import run

    node = live_node(reading, assume)
    return Inspection(node, *run(node, select=select, ignore=ignore))


def live_node(reading: Reading, assume: Mapping[str, str] | None = None) -> NodeTopology:
    """One machine, whatever its parts say of each other: what contradicts is a conflict, not another node."""
    [node] = _joined(reading.pieces, None, merge=True, each=False, assume=assume)
    reading.tree.close()
    return _noted(node, reading)


def _bundles(pieces: Sequence[Piece]) -> tuple[Reading, ...]:
    """What `gputopo collect` read, where the sources are its bundles and nothing else."""
    if all(piece.tree is None for piece in pieces):
        return ()
    from gputopo.evidence.bundle_read import BundleRoot

    if not any(isinstance(piece.tree, BundleRoot) for piece in pieces):
        return ()
    from gputopo.evidence.bundle_live import readings

    return readings(pieces)


def _noted(node: NodeTopology, reading: Reading) -> NodeTopology:
    """The node with what its reader knows beside the sources: why the driver is silent, what a file waits for."""
    sysfs = node.sources[0].id
    observed, unknown = list(node.observations), list(node.unknown)
    trouble = reading.answer.trouble if reading.answer is not None else None
    if trouble is not None:
        silent = next((source.id for source in node.sources[1:] if not source.whole), sysfs)
        observed.append(Observed(f"driver-{trouble.kind}", (), trouble.text, silent, None))
        unknown = [note for note in unknown if not note.reason.startswith("nvmlDeviceGetCount")]
        unknown.append(NoteUnknown(("node",), "nvlinks", trouble.text, "gputopo once nvidia-smi answers"))
    for waits_for, place in reading.tree.stuck.items():
        text = f"/{place} did not come in time; what else waits for {waits_for} was left out"
        observed.append(Observed("file-did-not-come", (), text, sysfs, None))
    special = reading.around.special()
    placeless = tuple(gpu.id for gpu in node.gpus if gpu.parent is None)
    if special:
        observed.append(Observed("gpu-not-on-pci", placeless, special, sysfs, None))
    if special and placeless:
        unknown.append(NoteUnknown(placeless, "parent", special, ""))
    return node._replace(observations=tuple(observed), unknown=tuple(unknown))


def _read(
    pieces: Sequence[Piece], as_format: str | None
) -> tuple[tuple[NodeTopology, ...], list[Spoken], list[int]]:  # fmt: skip
    from gputopo.parsers.recognise import parse

    saved: list[NodeTopology] = []
    spoken: list[Spoken] = []
    places: list[int] = []
    for place, piece in enumerate(pieces):
        if piece.data is not None and _is_document(piece, as_format):
            saved += _documents(piece)
            continue
        for records in parse(piece, as_format):
            where = piece.where or (f"line {records.line}" if records.line > 1 else "")
            source = Source("", piece.name, records.format, where, records.whole and piece.whole)
            spoken.append(Spoken(source, records))
            places.append(place)
    return tuple(saved), spoken, places


def _place(piece: Piece) -> str:
    return f"{piece.name}: {piece.where}" if piece.where else piece.name


def _is_document(piece: Piece, as_format: str | None) -> bool:
    from gputopo.parsers.recognise import is_document

    if as_format is not None:
        return as_format == "gputopo-json"
    data = piece.data or b""
    return data.lstrip()[:1] == b"{" and is_document(data.decode("utf-8", "replace"))


def _documents(piece: Piece) -> Sequence[NodeTopology]:
    from gputopo.documents.load import loads

    return loads((piece.data or b"").decode("utf-8", "replace"), _place(piece))


def _with_ids(part: Sequence[Spoken]) -> list[Spoken]:
    """Give each source an id that says what it is: its format, numbered from the second on."""
    from gputopo.topology.join import sort_sources

    taken: dict[str, int] = {}
    named = []
    for one in sort_sources(part):
        count = taken[one.source.format] = taken.get(one.source.format, 0) + 1
        id = one.source.format if count == 1 else f"{one.source.format}-{count}"
        named.append(one._replace(source=one.source._replace(id=id)))
    return named


__all__ = ["Inspection", "inspect", "nodes"]
