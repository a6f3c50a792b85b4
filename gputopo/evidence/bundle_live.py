"""A bundle as the live reading that it was made from: what was known beside the files comes back too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from gputopo.evidence.bundle_read import BundleRoot
from gputopo.evidence.live.ask_driver import REFUSED, Answer, Trouble
from gputopo.evidence.live.node import Reading
from gputopo.evidence.live.surroundings import Surroundings
from gputopo.evidence.live.watched_tree import WatchedTree
from gputopo.evidence.piece import Piece


def readings(pieces: Sequence[Piece]) -> tuple[Reading, ...]:
    """One a bundle; () where a piece is no bundle's, so that there is more to join than bundles."""
    bundles: list[list[Piece]] = []
    for piece in pieces:
        if isinstance(piece.tree, BundleRoot):
            bundles.append([piece])
        elif bundles and bundles[-1][0].name == piece.name and piece.tree is None and _beside(bundles[-1][0], piece):
            bundles[-1].append(piece)
        else:
            return ()
    return tuple(_reading(bundle) for bundle in bundles)


def _beside(root: Piece, piece: Piece) -> bool:
    """Of one bundle: its members lie in one folder."""
    folder = root.where.rpartition("/")[0]
    return not folder or piece.where.startswith(f"{folder}/")


def _reading(bundle: Sequence[Piece]) -> Reading:
    root = bundle[0].tree
    assert isinstance(root, BundleRoot)
    tree = WatchedTree("", 0.0)  # nothing is read through it: it carries what did not come
    tree.stuck = {waits_for: str(place) for waits_for, place in _part(root.live, "stuck").items()}
    said = _part(root.live, "surroundings")
    around = Surroundings(**{name: said.get(name) is True for name in Surroundings._fields})
    answers = [answer for piece in bundle[1:] if (answer := _answer(piece)) is not None]
    return Reading(tree, tuple(bundle), answers[0] if answers else None, around)


def _part(live: Mapping[str, object], key: str) -> dict[str, object]:
    said = live.get(key)
    return {str(name): value for name, value in said.items()} if isinstance(said, dict) else {}


def _answer(piece: Piece) -> Answer | None:
    """What the driver was asked and said; `None` for a text that is no recording."""
    data = piece.data or b""
    if b'"nvml-recording"' not in data:
        return None
    failure = None if piece.whole else _failure(data)
    return Answer(piece.name, None if failure else data, failure)


def _failure(data: bytes) -> Trouble | None:
    try:
        document = json.loads(data)
        said, code = document["failure"], document["snapshot"]["gpus"]["error"]
        return Trouble(str(said.get("kind") or REFUSED), str(said["text"]), int(code))
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
