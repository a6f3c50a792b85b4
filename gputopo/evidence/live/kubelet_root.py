"""The kubelet's state files below its root folder, each as a piece, or named with the reason why it is none.

    >>> found = read("/no/such/folder")
    >>> found.pieces, found.not_read
    ((), (NotRead(what='/no/such/folder', why='no such folder'),))

They are of mode 0600 and their folder is 0750, so as a rule only root reads them. None of them alone is missed:
who holds what can be in another.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from gputopo.evidence import limits
from gputopo.evidence.kubelet_files import ROOT, STATE_FILES
from gputopo.evidence.piece import Piece
from gputopo.evidence.tree import FolderTree

LIVE = "live"
_DENIED = "permission denied (root may)"
_ABSENT = "there is no such file"
_LEADS_OUT = "a link that leads out of the root folder, or nowhere"


class NotRead(NamedTuple):
    what: str  # path
    why: str


class Found(NamedTuple):
    pieces: tuple[Piece, ...]
    not_read: tuple[NotRead, ...]


def read(root: str = ROOT) -> Found:
    """All that can be read. A link that leads out of the root folder is not followed."""
    try:
        os.scandir(root).close()
    except PermissionError:
        pass  # a folder may be closed to listing and open to who knows the names
    except (OSError, ValueError) as error:
        return Found((), (NotRead(root, _why_no_folder(error)),))
    tree = FolderTree(root)
    pieces, not_read = [], []
    for name in STATE_FILES:
        shown = os.path.join(root, name)
        data, why = _content(tree, root, name)
        if data is None:
            not_read.append(NotRead(shown, why))
        else:
            pieces.append(Piece(shown, data=data, where=LIVE))
    return Found(tuple(pieces), tuple(not_read))


def _why_no_folder(error: OSError | ValueError) -> str:
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return "no such folder"
    return str(getattr(error, "strerror", None) or "not a path").lower()


def _content(tree: FolderTree, root: str, name: str) -> tuple[bytes | None, str]:
    """The bytes, or why there are none."""
    place, path = tree.resolve(name), os.path.join(root, name)
    if place is None:
        return None, _why_unresolved(path)
    try:
        file = os.open(os.path.join(root, place), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except PermissionError:
        return None, _DENIED
    except OSError as error:
        return None, _why_unresolved(path) if isinstance(error, FileNotFoundError) else str(error.strerror).lower()
    try:
        return _to_the_end(file)
    except OSError as error:
        return None, str(error.strerror).lower()
    finally:
        os.close(file)


def _why_unresolved(path: str) -> str:
    try:
        return _LEADS_OUT if stat.S_ISLNK(os.lstat(path).st_mode) else _ABSENT
    except OSError as error:
        return _DENIED if isinstance(error, PermissionError) else _ABSENT


def _to_the_end(file: int) -> tuple[bytes | None, str]:
    if not stat.S_ISREG(os.fstat(file).st_mode):
        return None, "not a plain file"
    parts, left = [], limits.TEXT_BYTES + 1
    while left > 0 and (part := os.read(file, min(left, limits.CHUNK))):
        parts.append(part)
        left -= len(part)
    data = b"".join(parts)
    if left <= 0:
        return None, f"larger than {limits.TEXT_BYTES // limits.MIB} MiB"
    return (data, "") if data.strip() else (None, "the file is empty")
