"""Pieces → who holds what on which node → an audit: the order for `gputopo pods`, as inspection.py for a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gputopo.errors import GputopoError
from gputopo.evidence.piece import Piece
from gputopo.holdings import HoldingRecords
from gputopo.pods.join import join
from gputopo.pods.spoken import Spoken
from gputopo.rules.pods.audit import Audit
from gputopo.rules.pods.repair import plan
from gputopo.topology.node import NodeTopology, Source


def audits(
    pieces: Sequence[Piece], assume: Mapping[str, str] | None = None, live: NodeTopology | None = None
) -> tuple[Audit, ...]:
    """One for each node. Raises GputopoError: nothing says who holds what, or it is not clear on which node."""
    spoken, evidence = _read(pieces)
    if not any(_says_who(one.records) for one in spoken):
        names = ", ".join(dict.fromkeys(piece.name for piece in pieces))
        raise GputopoError(
            "nothing in it says who holds what", names,
            "give the kubelet's kubelet_internal_checkpoint, or what its podresources socket answers",
        )  # fmt: skip
    nodes = (live,) if live is not None else _nodes(evidence, assume)
    return tuple(Audit(join(node, own, name), plan) for node, own, name in _by_node(nodes, spoken))


def _read(pieces: Sequence[Piece]) -> tuple[list[Spoken], list[Piece]]:
    """What says who holds what, and what else there is: evidence of the nodes."""
    from gputopo.parsers import recognise_holdings
    from gputopo.parsers.unreadable import Unreadable

    spoken: list[Spoken] = []
    evidence: list[Piece] = []
    taken: dict[str, int] = {}
    for piece in pieces:
        if piece.data is None or not recognise_holdings.recognise(piece.data):
            evidence.append(piece)
            continue
        try:
            records = recognise_holdings.parse(piece.data)
        except Unreadable as error:
            places = (piece.name, piece.where, f"line {error.line}" if error.line else "")
            raise GputopoError(error.what, ", ".join(one for one in places if one), error.hint) from error
        for one in records:
            taken[one.format] = taken.get(one.format, 0) + 1
            id = one.format if taken[one.format] == 1 else f"{one.format}-{taken[one.format]}"
            spoken.append(Spoken(Source(id, piece.name, one.format, piece.where, piece.whole), one))
    return spoken, evidence


def _says_who(records: HoldingRecords) -> bool:
    """Not what only tells what names of devices mean."""
    return records._replace(names=(), gaps=(), observations=()) != HoldingRecords(records.format, records.node)


def _nodes(evidence: Sequence[Piece], assume: Mapping[str, str] | None) -> tuple[NodeTopology, ...]:
    if not evidence:
        return ()
    from gputopo.inspection import nodes

    return nodes(evidence, assume=assume)


def _by_node(
    nodes: Sequence[NodeTopology], spoken: Sequence[Spoken]
) -> list[tuple[NodeTopology, list[Spoken], str | None]]:  # fmt: skip
    """Holdings join the node of their name; what names no node joins the only one there is."""
    named = list(dict.fromkeys(one.records.node for one in spoken if one.records.node))
    if len(named) <= 1 and len(nodes) <= 1:
        return [(nodes[0] if nodes else NodeTopology(), list(spoken), named[0] if named else None)]
    if any(not one.records.node for one in spoken):
        raise GputopoError(
            f"which of {max(len(named), len(nodes))} nodes these files are of is not said",
            ", ".join(dict.fromkeys(one.source.name for one in spoken if not one.records.node)),
            "give the files of one node at a time",
        )  # fmt: skip
    by_name = {node.name: node for node in nodes if node.name}
    if any(not node.name for node in nodes):
        raise GputopoError(
            f"which of the nodes {', '.join(named[:3])}{' …' if len(named) > 3 else ''} the evidence is of is not said",
            ", ".join(dict.fromkeys(source.name for node in nodes if not node.name for source in node.sources)),
            "give what one node holds, or evidence that has the node's name: gputopo collect",
        )  # fmt: skip
    return [
        (by_name.get(name, NodeTopology(name=name)), [one for one in spoken if one.records.node == name], name)
        for name in named
    ]
