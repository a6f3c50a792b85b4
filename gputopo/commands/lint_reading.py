"""What `gputopo lint` is given, sorted out by looking at it: what is to be checked, and evidence of the node."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
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
    data: Mapping[str, bytes]  # of each file that is one text of objects and nothing else: what edits can be made of

    @property
    def manifests(self) -> tuple[Manifest, ...]:
        return tuple(one for _, found in self.files for one in found)


class _Held(NamedTuple):
    """What of one piece is to be checked; whether objects are all it has, and whether it is evidence of the node."""

    manifests: tuple[Manifest, ...]
    all_objects: bool = False
    evidence: bool = False


def read(files: Sequence[str], quiet: bool) -> Reading:
    """Raises GputopoError: nothing to check, not readable, evidence of several nodes."""
    checked: list[tuple[str, tuple[Manifest, ...]]] = []
    evidence: list[Piece] = []
    data: dict[str, bytes] = {}
    for file in files:
        found: list[Manifest] = []
        pieces = open_pieces([file], _TIMEOUT, quiet)
        for piece in pieces:
            held = _held_by(piece)
            found += held.manifests
            if held.all_objects and len(pieces) == 1 and _is_as_it_stands(piece, file):
                data[file] = piece.data or b""
            evidence += [piece] if held.evidence else []
        if found:
            checked.append((file, tuple(found)))
    if not checked:
        raise GputopoError(
            "nothing to check: this is evidence of a node", ", ".join(files),
            f"gputopo inspect {' '.join(files)}, or give the configuration beside it",
        )  # fmt: skip
    return Reading(tuple(checked), _node(evidence) if evidence else None, data)


def _is_as_it_stands(piece: Piece, file: str) -> bool:
    """Whether the text is what the file's bytes say: no archive, and not compressed."""
    return not os.path.isfile(file) or os.stat(file).st_size == len(piece.data or b"")


def _node(evidence: Sequence[Piece]) -> NodeTopology:
    from gputopo.inspection import nodes

    found = nodes(evidence)
    if len(found) != 1:
        names = ", ".join(dict.fromkeys(piece.name for piece in evidence))
        raise GputopoError(f"evidence of {len(found)} nodes: lint compares with one", names, "give that of one node")
    return found[0]


def _held_by(piece: Piece) -> _Held:
    if piece.tree is not None:
        return _Held((), evidence=True)
    from gputopo.parsers import gres_conf, kube_objects, manifests, nccl_xml
    from gputopo.parsers.nccl_xml import placed
    from gputopo.parsers.recognise import recognise, why_unreadable

    text = (piece.data or b"").decode("utf-8-sig", "replace")
    if kube_objects.looks_like(text):
        inside = _taken(piece, lambda: gres_conf.read(text, embedded=True)) if gres_conf.sniff(text) else ()
        return _Held((*_taken(piece, lambda: manifests.read(text)), *inside), all_objects=not inside)
    if nccl_xml.sniff(text):
        return _Held(_taken(piece, lambda: placed.read(text)))
    if gres_conf.sniff(text):
        evidence = bool(recognise(text)) and not why_unreadable(text)
        return _Held(_taken(piece, lambda: gres_conf.read(text)), evidence=evidence)
    if recognise(text):
        return _Held((), evidence=True)
    return _Held(_taken(piece, lambda: manifests.read(text)), all_objects=True)


def _taken(piece: Piece, parse: Callable[[], tuple[Manifest, ...]]) -> tuple[Manifest, ...]:
    from gputopo.parsers.unreadable import Unreadable

    try:
        return parse()
    except Unreadable as error:
        where = f"{piece.name}:{error.line}" if error.line is not None else piece.name
        raise GputopoError(error.what, where, error.hint) from error
