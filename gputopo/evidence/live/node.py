"""What a live inspection reads: the root folder, and what the NVIDIA driver answers."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from gputopo.errors import GputopoError
from gputopo.evidence.live import surroundings
from gputopo.evidence.live.ask_driver import Answer, ask_driver
from gputopo.evidence.live.driver import libraries
from gputopo.evidence.live.surroundings import Surroundings
from gputopo.evidence.live.watched_tree import WatchedTree
from gputopo.evidence.piece import Piece

LIVE = "live"
_FILES = 1.0  # s, for the files of the root after the driver has used up its time


class Reading(NamedTuple):
    """`answer` is `None` where nothing on this machine is NVIDIA's, so that nobody was asked."""

    tree: WatchedTree
    pieces: tuple[Piece, ...]
    answer: Answer | None
    around: Surroundings


def read(
    root: str = "/",
    driver_root: str | None = None,
    timeout: float = 10.0,
    *,
    ask: bool = True,
    slow: Callable[[], object] = lambda: None,
) -> Reading:
    """This node. Files that a driver holds up are waited for until 1 s after `timeout`. Raises GputopoError.

    `ask`: whether the driver is asked at all. `slow` is called once when it takes 2 s.
    """
    start = monotonic()
    tree = WatchedTree(root, start + timeout + _FILES)
    if tree.names("sys") is None:
        raise GputopoError("no sys/ in this root folder", root, "--root /host in a container")
    around = surroundings.look(tree)
    pieces = [Piece(root, tree=tree, where=LIVE)]
    answer = None
    if ask and (around.nvidia or driver_root is not None):
        answer = ask_driver(libraries(root, driver_root), timeout, slow=slow)
        where = LIVE if answer.trouble is None else f"{LIVE}: {answer.trouble.text}"
        pieces.append(Piece(answer.library, data=answer.document(), where=where, whole=answer.trouble is None))
    return Reading(tree, tuple(pieces), answer, around)
