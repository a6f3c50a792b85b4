"""`map` of a fleet: some of the saved things → a part of the fleet. Runs in this process, in a pool's, or on Dask.

One bad file costs itself alone: whatever goes wrong with it is the reason for which it is listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gputopo.commands.allocate_fleet_reading import How, failed, nodes_of, numbered, place_of, skipped
from gputopo.commands.deadline import TimeIsUp, deadline
from gputopo.evidence.fleet_plan import Later
from gputopo.fleet.part import Held, Keys, Lost, Node, Part

if TYPE_CHECKING:
    from gputopo.evidence.fleet import Unit
    from gputopo.evidence.piece import Piece
    from gputopo.fleet.features import Features
    from gputopo.topology.node import NodeTopology

_NO_GPUS = "no GPUs in this evidence"
_LISTS_GPUS = {"sysfs-root", "nvml-recording", "hwloc-xml"}  # without a GPU in them, the node has none


class Task(NamedTuple):
    """`at`: its place in the order of reading."""

    at: int
    later: Later


class Asked(NamedTuple):
    """What every task is read with."""

    how: How
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


def map_tasks(asked: Asked, tasks: Sequence[Task]) -> Part:
    """A pure function of its arguments and of the files they name; never raises for a file's sake."""
    nodes: dict[Features, list[Node]] = {}
    lost: list[Lost] = []
    for task in tasks:
        for number, one in enumerate(_of_task(asked, task)):
            if isinstance(one, Lost):
                lost.append(one._replace(at=(task.at, number)))
            else:
                nodes.setdefault(one[0], []).append(one[1]._replace(at=(task.at, number)))
    return Part({features: tuple(own) for features, own in nodes.items()}, tuple(lost))


def _of_task(asked: Asked, task: Task) -> Iterator[tuple[Features, Node] | Lost]:
    from gputopo.evidence.fleet import Failed, Ways, units
    from gputopo.parsers.recognise import why_unreadable

    warnings: list[str] = []
    how = asked.how
    later = units(task.later, Ways(how.timeout, warnings.append, why_unreadable))
    while True:
        try:
            with deadline(how.timeout):
                one = next(later, None)
                made = [_lost(one.name, one.error)] if isinstance(one, Failed) else [] if one is None else [
                    *_of_unit(asked, one)
                ]  # fmt: skip
        except TimeIsUp:
            yield Lost((0, 0), task.later.path, f"was not read within --timeout {how.timeout:g} s")
            return
        except Exception as error:
            yield _lost(task.later.path, error)
            return
        if one is None:
            return
        yield from made
        yield from (Lost((0, 0), gone.source, gone.reason) for gone in skipped(warnings))


def _of_unit(asked: Asked, unit: Unit) -> Iterator[tuple[Features, Node] | Lost]:
    from gputopo.evidence.fleet import opened

    groups, lost = opened(unit)
    yield from (_lost(one.name, one.error) for one in lost)
    for pieces in groups:
        place = place_of(unit.name, pieces)
        try:
            yield from _of_pieces(asked, place, pieces)
        except Exception as error:
            yield _lost(place, error)


def _of_pieces(asked: Asked, place: str, pieces: Sequence[Piece]) -> list[tuple[Features, Node] | Lost]:
    from gputopo.commands.allocate_sources import Sorted, sort_out
    from gputopo.evidence.fleet import of_kubelet
    from gputopo.parsers import recognise_holdings

    every = (*pieces, *of_kubelet(pieces))
    holdings = [one for one in every if one.data and recognise_holdings.recognise(one.data, one.where)]
    taken = set(map(id, holdings))
    rest = [one for one in every if id(one) not in taken]
    beside = sort_out(rest) if asked.how.as_format is None else Sorted(tuple(rest))
    nodes, lost = nodes_of(beside.node, asked.how)
    made: list[tuple[Features, Node] | Lost] = [Lost((0, 0), one.source, one.reason) for one in lost
                                               if not hasattr(one, "node")]  # fmt: skip
    known = [node for node in nodes if node.gpus or _has_none(node)]
    if not known:
        return made or [Lost((0, 0), place, _nothing(bool(beside.node), bool(holdings) or any(beside[1:])))]
    told = _held(holdings, known, made, place)
    for node in known:
        made.append(_seen(asked, numbered(place, node, nodes), node, told.get(id(node))))
    return made


def _nothing(evidence: bool, beside: bool) -> str:
    return "no node in it: configurations, state or objects only" if beside and not evidence else _NO_GPUS


def _has_none(node: NodeTopology) -> bool:
    product = node.system.product if node.system is not None else None
    return bool(product) and any(source.format in _LISTS_GPUS for source in node.sources)


class _Told(NamedTuple):
    held: Held | None
    findings: tuple[tuple[str, str], ...]


def _held(
    holdings: Sequence[Piece], nodes: Sequence[NodeTopology], made: list[tuple[Features, Node] | Lost], place: str
) -> dict[int, _Told]:
    """By the identity of the node. Holdings that cannot be read or joined cost themselves, not the node."""
    if not holdings:
        return {}
    from gputopo.fleet.holding import held
    from gputopo.inspection_pods import audits_of
    from gputopo.rules.pods.run import run

    try:
        audits = audits_of(holdings, nodes)
        return {
            id(node): _Told(held(own), tuple((one.rule, one.severity) for audit in own for one in run(audit)))
            for node in nodes if (own := [audit for audit in audits if audit.node is node])
        }  # fmt: skip
    except Exception as error:
        made.append(_lost(f"{place}: who holds what", error))
        return {}


def _seen(asked: Asked, source: str, node: NodeTopology, told: _Told | None) -> tuple[Features, Node]:
    from gputopo.fleet.features import features
    from gputopo.rules.run import run

    found = [(one.rule, one.severity) for one in run(node)[0]]
    if told is not None:
        found += told.findings
    wanted, unwanted = set(asked.select), set(asked.ignore)
    codes = sorted({one for one in found if (not wanted or one[0] in wanted) and one[0] not in unwanted})
    held = told.held if told is not None else None
    return features(node), Node((0, 0), source, node.name, _keys(node), tuple(codes), held)


def _keys(node: NodeTopology) -> Keys:
    from hashlib import sha256

    uuids = sorted(gpu.uuid for gpu in node.gpus if gpu.uuid)
    gpus = sha256(" ".join(uuids).encode()).hexdigest()[:32] if uuids else None
    return Keys(gpus, node.boot_id, node.name)


def _lost(source: str, error: Exception) -> Lost:
    return Lost((0, 0), source, failed(source, error).reason)
