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


def read(files: Sequence[str], quiet: bool) -> Reading:
    """Raises GputopoError: nothing to check, not readable, evidence of several nodes."""
    checked: list[tuple[str, tuple[Manifest, ...]]] = []
    evidence: list[Piece] = []
    data: dict[str, bytes] = {}
    for file in files:
        found: list[Manifest] = []
        pieces = open_pieces([file], _TIMEOUT, quiet)
        for piece in pieces:
            manifests, is_evidence = _of_piece(piece)
            found += manifests
            if len(pieces) == 1 and piece.data is not None and _is_text_of(manifests, piece.data, file):
                data[file] = piece.data
            evidence += [piece] if is_evidence else []
        if found:
            checked.append((file, tuple(found)))
    if not checked:
        raise GputopoError(
            "nothing to check: this is evidence of a node", ", ".join(files),
            f"gputopo inspect {' '.join(files)}, or give the configuration beside it",
        )  # fmt: skip
    return Reading(tuple(checked), _node(evidence) if evidence else None, data)


def _is_text_of(manifests: Sequence[Manifest], data: bytes, file: str) -> bool:
    """Whether objects are all that a file has, as its bytes stand: no archive, and not compressed."""
    from gputopo.parsers import manifests as parser
    from gputopo.parsers.unreadable import Unreadable

    if os.path.isfile(file) and os.stat(file).st_size != len(data):
        return False
    try:
        read = parser.read(_text(data))
    except (Unreadable, RecursionError):
        return False
    return [one.object for one in read] == [one.object for one in manifests]


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")


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

    text = _text(piece.data or b"")
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
