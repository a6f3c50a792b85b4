"""What `gputopo check` is given, sorted out: nodes with their findings, kubelet configurations, what is unreadable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gputopo.commands.inspect import open_pieces
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.checks.result import Mismatch
    from gputopo.evidence.piece import Piece
    from gputopo.inspection import Inspection
    from gputopo.records import GpuRecord, NicRecord
    from gputopo.topology.node import Gpu, Nic, NodeTopology

_LOOKED_AT = 64 << 20  # bytes of a text that may be a manifest
_LINED = ("pairs", "nearestNics", "numaNodes", "nvlinks", "packages")  # what a row of a matrix says
_JOINED = 16  # sources that may be one node together; more are a collection


class How(NamedTuple):
    as_format: str | None
    assumed: Mapping[str, str]
    select: tuple[str, ...]
    merge: bool
    each: bool
    timeout: float
    quiet: bool


class Read(NamedTuple):
    """One node with the pieces it comes from."""

    inspection: Inspection
    pieces: tuple[Piece, ...]
    kubelet: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """Of its sources, in the order they were given."""
        own = dict.fromkeys(source.name for source in self.inspection.node.sources)
        return " + ".join(dict.fromkeys(piece.name for piece in self.pieces if piece.name in own)) or " + ".join(own)


class Failed(NamedTuple):
    name: str
    error: GputopoError


def read(specs: Sequence[str], how: How) -> list[Read | Failed]:
    """In the order of the sources. One that cannot be read stops nothing."""
    found: list[Read | Failed] = []
    configs: list[tuple[str, Mapping[str, Any]]] = []
    for spec in dict.fromkeys(specs):
        try:
            pieces, own = _sorted(open_pieces([spec], how.timeout, how.quiet))
            configs += own
            found += _inspected(pieces, how) if pieces else []
        except (GputopoError, RecursionError, OSError) as error:
            found.append(Failed(spec, _as_ours(error)))
    return _with_kubelet(_joined(found, how), configs)


def live(inspection: Inspection) -> Read:
    return Read(inspection, ())


def _as_ours(error: Exception) -> GputopoError:
    if isinstance(error, GputopoError):
        return error
    from gputopo.commands.failure import in_words

    return GputopoError(in_words(error))


def _inspected(pieces: Sequence[Piece], how: How, merge: bool = False) -> list[Read | Failed]:
    from gputopo.inspection import inspect

    inspections = inspect(
        pieces, as_format=how.as_format, merge=merge, each=how.each and not merge, assume=how.assumed, select=how.select
    )
    return [Read(one, tuple(pieces), _of_kubelet(pieces) if len(inspections) == 1 else None) for one in inspections]


def _joined(found: list[Read | Failed], how: How) -> list[Read | Failed]:
    """Sources of different formats are one node together where they fit, as with `inspect`. With a format that comes
    twice they are a collection, unless all of them are one node."""
    good = [one for one in found if isinstance(one, Read)]
    formats = [frozenset(source.format for source in one.inspection.node.sources) for one in good]
    if len(good) < 2 or how.each or (not how.merge and (len(set(formats)) < 2 or len(good) > _JOINED)):
        return found
    pieces = tuple(dict.fromkeys(piece for one in good for piece in one.pieces))
    if how.merge or sum(map(len, formats)) == len(frozenset().union(*formats)):
        together = _inspected(pieces, how, merge=how.merge)
    else:
        try:
            together = _inspected(pieces, how)
        except GputopoError:
            return found
        if len(together) != 1:
            return found
    return [*together, *(one for one in found if isinstance(one, Failed))]


def _sorted(pieces: Sequence[Piece]) -> tuple[list[Piece], list[tuple[str, Mapping[str, Any]]]]:
    """Evidence, and kubelet configurations. Raises GputopoError for a manifest."""
    from gputopo.parsers import kube_objects, kubelet_config
    from gputopo.parsers.recognise import recognise
    from gputopo.parsers.unreadable import Unreadable

    evidence: list[Piece] = []
    configs: list[tuple[str, Mapping[str, Any]]] = []
    for piece in pieces:
        data = piece.data or b""
        text = data.decode("utf-8", "replace") if len(data) <= _LOOKED_AT else ""
        if kubelet_config.sniff(text):
            try:
                configs.append((piece.name, kubelet_config.parse(text)))
            except Unreadable as error:
                raise GputopoError(error.what, piece.name, error.hint) from error
        elif kube_objects.looks_like(text) and not recognise(text):
            raise GputopoError(
                "this is a manifest, not evidence of a node: use lint", piece.name, f"gputopo lint {piece.name}"
            )
        else:
            evidence.append(piece)
    return evidence, configs


def _of_kubelet(pieces: Sequence[Piece]) -> Mapping[str, Any] | None:
    """The kubelet's configuration of a captured root or a bundle."""
    from gputopo.evidence.fleet import of_kubelet
    from gputopo.parsers import kubelet_config
    from gputopo.parsers.unreadable import Unreadable

    for piece in of_kubelet(pieces):
        text = (piece.data or b"").decode("utf-8", "replace")
        if kubelet_config.sniff(text):
            try:
                return kubelet_config.parse(text)
            except Unreadable:
                return None
    return None


def _with_kubelet(
    found: list[Read | Failed], configs: Sequence[tuple[str, Mapping[str, Any]]]
) -> list[Read | Failed]:  # fmt: skip
    if not configs:
        return found
    nodes = [one for one in found if isinstance(one, Read)]
    if len(configs) > 1 or len(nodes) != 1:
        from gputopo.rules.wording import counted

        names = ", ".join(dict.fromkeys(name for name, _ in configs))
        what = f"{counted(len(configs), 'configuration')} of kubelets and {counted(len(nodes), 'node')}"
        raise GputopoError(f"{what}: whose is it?", names, "give one node and its kubelet's configuration")
    return [one._replace(kubelet=configs[0][1]) if isinstance(one, Read) else one for one in found]


class Lines:
    """Where in its text a device stands; read again, since a node keeps values and not places."""

    def __init__(self, node: NodeTopology, pieces: Sequence[Piece]) -> None:
        self.rows: dict[str, tuple[str, int]] = {}
        self.devices: dict[str, tuple[str, int]] = {}
        devices: tuple[Gpu | Nic, ...] = (*node.gpus, *(node.nics or ()))
        ids = {
            name: device.id
            for device in devices
            for name in (*device.aliases, device.pci, getattr(device, "uuid", None), device.id)
            if name
        }
        where = {(source.name, source.format, source.where) for source in node.sources}
        for piece in pieces:
            if piece.data is not None:
                self._read(piece, ids, where)

    def _read(self, piece: Piece, ids: Mapping[str, str], where: set[tuple[str, str, str]]) -> None:
        from gputopo.parsers.recognise import is_document, parse

        if is_document((piece.data or b"").decode("utf-8", "replace")):
            return
        for records in parse(piece):
            place = piece.where or (f"line {records.line}" if records.line > 1 else "")
            if (piece.name, records.format, place) not in where:
                continue
            for row in records.matrix.rows if records.matrix else ():
                if row.label in ids and row.line is not None:
                    self.rows.setdefault(ids[row.label], (piece.name, row.line))
            devices: tuple[GpuRecord | NicRecord, ...] = (*(records.gpus or ()), *(records.nics or ()))
            for device in devices:
                id = next((ids[name] for name in _names(device) if name in ids), None)
                if id is not None and device.line is not None:
                    self.devices.setdefault(id, (piece.name, device.line))

    def of(self, one: Mismatch) -> Mismatch:
        """The mismatch with its place. A source's id becomes the name of its file."""
        from_rows = one.field.startswith(_LINED) or one.field.rpartition("].")[2].startswith(_LINED)
        tables = (self.rows, self.devices) if from_rows else (self.devices, self.rows)
        for table in tables:
            for id in one.subjects:
                if id in table and one.line is None:
                    return one._replace(source=table[id][0], line=table[id][1])
        return one


def _names(device: GpuRecord | NicRecord) -> list[str]:
    return [device.label, *(key.value for key in device.keys)]
