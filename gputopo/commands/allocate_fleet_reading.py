"""The saved nodes of `--fleet`, one after another: each with what lies beside it, or the reason why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gputopo.commands.allocate_reading import Reading
from gputopo.errors import GputopoError
from gputopo.fleet.admission import Unreadable

if TYPE_CHECKING:
    from gputopo.commands.allocate_sources import Sorted
    from gputopo.commands.progress import Progress
    from gputopo.evidence.fleet import Unit
    from gputopo.evidence.piece import Piece
    from gputopo.topology.node import NodeTopology

_NO_GPUS = "no GPUs in this evidence"
_TABLES = "several nodes and one kubelet's state beside them: whose is it?"


class Saved(NamedTuple):
    """`reading`: as of one node, with what is common to all. `node` None: only slices say what `name` has."""

    source: str
    node: NodeTopology | None
    reading: Reading
    name: str | None = None


Wanted = Callable[["Sorted"], "tuple[str, ...]"]


class How(NamedTuple):
    timeout: float
    as_format: str | None = None
    assume: dict[str, str] = {}  # noqa: RUF012  (never mutated)


def found(
    paths: Sequence[str], common: Reading, how: How, progress: Progress, wanted: Wanted
) -> Iterator[Saved | Unreadable]:
    """`wanted`: the nodes that a source without a topology speaks of all the same."""
    from gputopo.evidence.fleet import Failed, Ways, units
    from gputopo.evidence.fleet_plan import plan
    from gputopo.parsers.recognise import why_unreadable

    warnings: list[str] = []
    ways = Ways(how.timeout, warnings.append, why_unreadable)
    every = plan(paths)
    progress.total = len(every)
    for later in every:
        for number, one in enumerate(units(later, ways)):
            progress.step()
            if number:
                progress.total = None  # an archive: how many are in it shows at its end
            if isinstance(one, Failed):
                yield failed(one.name, one.error)
            else:
                yield from _of_unit(one, common, how, wanted)
            yield from skipped(warnings)


def skipped(warnings: list[str]) -> Iterator[Unreadable]:
    """Members of a unit that were left out. Notes on what was read all the same are no matter here."""
    for text in warnings:
        what, skipped, rest = text.partition("skipped ")
        source, colon, reason = rest.rpartition(": ")
        if skipped and not what and colon:
            yield Unreadable(source, reason)
    warnings.clear()


def failed(source: str, error: Exception) -> Unreadable:
    """Whatever went wrong is of this source alone."""
    from gputopo.commands.failure import in_words
    from gputopo.terms.kube_object import WrongShape

    if isinstance(error, WrongShape):
        return Unreadable(source, str(error))
    if isinstance(error, GputopoError) and error.where in ("", source):
        return Unreadable(source, error.what)
    return Unreadable(source, "nested too deeply" if isinstance(error, RecursionError) else in_words(error))


def _of_unit(unit: Unit, common: Reading, how: How, wanted: Wanted) -> Iterator[Saved | Unreadable]:
    from gputopo.commands.deadline import TimeIsUp, deadline
    from gputopo.evidence.fleet import opened

    made: list[Saved | Unreadable] = []
    try:
        with deadline(how.timeout):
            groups, lost = opened(unit)
            made += [failed(one.name, one.error) for one in lost]
            for pieces in groups:
                made += _of_pieces(unit.name, pieces, common, how, wanted)
    except TimeIsUp:
        made.append(Unreadable(unit.name, f"was not read within --timeout {how.timeout:g} s"))
    yield from made


def _of_pieces(
    name: str, pieces: Sequence[Piece], common: Reading, how: How, wanted: Wanted
) -> list[Saved | Unreadable]:
    from gputopo.commands.allocate_sources import Sorted, sort_out
    from gputopo.evidence.fleet import of_kubelet

    place = place_of(name, pieces)
    try:
        every = (*pieces, *of_kubelet(pieces))
        beside = sort_out(every) if how.as_format is None else Sorted(tuple(pieces))
        nodes, lost = nodes_of(beside.node, how)
        if not nodes and (names := wanted(beside)):
            reading = _reading(common, None, beside)
            return [*(Saved(place, None, reading, name or None) for name in names), *lost]
        if not any(node.gpus for node in nodes):
            return lost or [Unreadable(place, nothing(beside))]
        if len(nodes) > 1 and beside.states:
            return [Unreadable(place, _TABLES), *lost]
        saved = [
            Saved(numbered(place, node, nodes), node, _reading(common, node, beside)) for node in nodes if node.gpus
        ]
        return [*saved, *lost]
    except Exception as error:
        return [failed(place, error)]


def nothing(beside: Sorted) -> str:
    if beside.node:
        return _NO_GPUS
    return "no node in it: configurations, state or objects only" if any(beside[1:]) else _NO_GPUS


def nodes_of(pieces: Sequence[Piece], how: How) -> tuple[tuple[NodeTopology, ...], list[Saved | Unreadable]]:
    """Of all together; where that fails, without the pieces that cannot be read alone."""
    from gputopo.inspection import nodes

    if not pieces:
        return (), []
    try:
        return nodes(pieces, as_format=how.as_format, assume=how.assume), []
    except GputopoError as error:
        if len(pieces) < 2:
            raise GputopoError(_shorter(pieces[0], error, how), error.where, error.hint) from error
    lost: list[Saved | Unreadable] = []
    good: list[Piece] = []
    for piece in pieces:
        try:
            nodes([piece], as_format=how.as_format, assume=how.assume)
            good.append(piece)
        except GputopoError as error:
            lost.append(Unreadable(place_of(piece.name, [piece]), _shorter(piece, error, how)))
    if not good or not lost:
        return nodes(pieces, as_format=how.as_format, assume=how.assume), []  # it is their sum that does not fit
    return nodes(good, as_format=how.as_format, assume=how.assume), lost


def _shorter(piece: Piece, error: GputopoError, how: How) -> str:
    """Without the list of all that was looked for."""
    from gputopo.parsers.recognise import why_unreadable

    if piece.data is None or how.as_format is not None:
        return error.what
    return why_unreadable(piece.data.decode("utf-8", "replace")) or error.what


def place_of(name: str, pieces: Sequence[Piece]) -> str:
    """Where in a unit: a member's path, where the pieces are of one."""
    if len({piece.name for piece in pieces}) == 1 and pieces[0].tree is not None:
        name = pieces[0].name
    places = {piece.where for piece in pieces if piece.where and piece.name == name}
    if len(pieces) == 1 and len(places) == 1:
        return f"{name}: {places.pop()}"
    folders = {place.rpartition("/")[0] for place in places}
    return f"{name}: {folders.pop()}" if len(folders) == 1 and folders != {""} else name


def numbered(place: str, node: NodeTopology, nodes: Sequence[NodeTopology]) -> str:
    """Of several nodes in one text, which: by the line where it begins."""
    if len(nodes) == 1 or not node.sources:
        return place
    where = node.sources[0].where
    name = node.sources[0].name
    shown = place if name in ("", place) else name
    return f"{shown}: {where}" if where and where not in shown else shown


def _reading(common: Reading, node: NodeTopology | None, beside: Sorted) -> Reading:
    """What lies beside a node comes before what is common to all."""
    shared = common.beside
    merged = shared._replace(
        plugin_configs=beside.plugin_configs or shared.plugin_configs,
        kubelet_configs=beside.kubelet_configs or shared.kubelet_configs,
        states=beside.states,
        objects=(*beside.objects, *shared.objects),
    )
    own = beside.of("Node")
    objects = common.objects._replace(nodes=own or common.objects.nodes)
    return common._replace(nodes=(node,) if node is not None else (), beside=merged, objects=objects)


__all__ = ["How", "Saved", "failed", "found", "nodes_of", "nothing", "numbered", "place_of", "skipped"]
