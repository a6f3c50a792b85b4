"""What `gputopo lint` is given, sorted out by looking at it: what is to be checked, and evidence of the node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gputopo.commands.inspect import open_pieces
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.evidence.piece import Piece
    from gputopo.terms.manifest import Manifest
    from gputopo.topology.node import NodeTopology

_TIMEOUT = 10.0


class Reading(NamedTuple):
    files: tuple[tuple[str, tuple[Manifest, ...]], ...]  # of each that holds something to check
    node: NodeTopology | None

    @property
    def manifests(self) -> tuple[Manifest, ...]:
        return tuple(one for _, found in self.files for one in found)


def read(files: Sequence[str], quiet: bool) -> Reading:
    """Raises GputopoError: nothing to check, not readable, evidence of several nodes."""
    checked: list[tuple[str, tuple[Manifest, ...]]] = []
    evidence: list[Piece] = []
    for file in files:
        found: list[Manifest] = []
        for piece in open_pieces([file], _TIMEOUT, quiet):
            manifests, is_evidence = _of_piece(piece)
            found += manifests
            evidence += [piece] if is_evidence else []
        if found:
            checked.append((file, tuple(found)))
    if not checked:
        raise GputopoError(
            "nothing to check: this is evidence of a node", ", ".join(files),
            f"gputopo inspect {' '.join(files)}, or give the configuration beside it",
        )  # fmt: skip
    return Reading(tuple(checked), _node(evidence) if evidence else None)


def _node(evidence: Sequence[Piece]) -> NodeTopology:
    from gputopo.inspection import nodes

    found = nodes(evidence)
    if len(found) != 1:
        names = ", ".join(dict.fromkeys(piece.name for piece in evidence))
        raise GputopoError(f"evidence of {len(found)} nodes: lint compares with one", names, "give that of one node")
    return found[0]


def _of_piece(piece: Piece) -> tuple[tuple[Manifest, ...], bool]:
    """What is to be checked in it, and whether it is evidence of the node."""
    if piece.tree is not None:
        return (), True
    from gputopo.parsers import gres_conf, kube_objects, manifests, nccl_xml
    from gputopo.parsers.nccl_xml import placed
    from gputopo.parsers.recognise import recognise, why_unreadable

    text = (piece.data or b"").decode("utf-8", "replace")
    if kube_objects.looks_like(text):
        inside = _taken(piece, lambda: gres_conf.read(text, embedded=True)) if gres_conf.sniff(text) else ()
        return (*_taken(piece, lambda: manifests.read(text)), *inside), False
    if nccl_xml.sniff(text):
        return _taken(piece, lambda: placed.read(text)), False
    if gres_conf.sniff(text):
        return _taken(piece, lambda: gres_conf.read(text)), bool(recognise(text)) and not why_unreadable(text)
    if recognise(text):
        return (), True
    return _taken(piece, lambda: manifests.read(text)), False


def _taken(piece: Piece, parse: Callable[[], tuple[Manifest, ...]]) -> tuple[Manifest, ...]:
    from gputopo.parsers.unreadable import Unreadable

    try:
        return parse()
    except Unreadable as error:
        where = f"{piece.name}:{error.line}" if error.line is not None else piece.name
        raise GputopoError(error.what, where, error.hint) from error
