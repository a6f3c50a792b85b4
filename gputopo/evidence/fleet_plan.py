"""What there is to read of a fleet, before anything of it is opened: in which files and folders are saved nodes?

The things of a plan are plain words that another process can be sent; fleet.py opens them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gputopo.evidence.bundle_read import bundles_in
from gputopo.evidence.object_store import is_address, objects
from gputopo.evidence.open import SAMPLE
from gputopo.evidence.reading import packing
from gputopo.evidence.tree import FolderTree, LinkedTree, find_roots

FILE, NODE, TOGETHER, TEXT, OBJECT, FAILED = "file", "node", "together", "text", "object", "failed"
DEPTH = 8  # folders below folders, lists of lists
_UNITS = 100_000
MOST_TOGETHER = 200  # plain files of one folder that may be one node
_LIST_BYTES = 4 << 20
_HERE = ("", "fsroot")  # where `sys/` of a captured root is; hwloc's own captures have the second
LINE = b'{"gputopo": "bundle"'  # how a record of `gputopo collect --stdout` begins


class Later(NamedTuple):
    """One file, folder or object of a store, not opened yet: plain words that another process can be sent.

    `kind`: a file, a node (a captured root, a bundle's folder, what `inspect` reads as one), the `files` of a
    node's own folder together, text (`data`: a line of a longer one), an object of a store, or what failed.
    """

    kind: str
    path: str
    files: tuple[str, ...] = ()
    why: str = ""
    data: bytes = b""


def plan(paths: Sequence[str]) -> list[Later]:
    """What there is, in the order of the paths and of their names; nothing but lists of paths is read yet."""
    found: list[Later] = []
    for path in paths:
        for one in _of_path(path):
            if len(found) == _UNITS:
                return [*found, Later(FAILED, path, why=f"only the first {_UNITS:,} are asked")]
            found.append(one)
    return found


def _of_path(path: str, depth: int = 0) -> Iterator[Later]:
    if path == "-" or path.startswith(SAMPLE):
        yield Later(NODE, path)
    elif is_address(path):
        yield from (Later(OBJECT, one) for one in objects(path))
    elif os.path.isdir(path):
        yield from _of_folder(path, 0, set())
    elif listed := _listed(path):
        if depth == DEPTH:
            yield Later(FAILED, path, why="a list of lists, or of itself")
            return
        for one in listed:
            yield from _of_path(one, depth + 1)
    else:
        yield Later(FILE, path)


def _of_folder(path: str, depth: int, seen: set[str]) -> Iterator[Later]:
    real = os.path.realpath(path)
    if depth > DEPTH or real in seen:
        return
    seen.add(real)
    if is_node(FolderTree(path)):
        yield Later(NODE, path)
        return
    try:
        names = sorted(name for name in os.listdir(path) if not name.startswith("."))
    except OSError as error:
        yield Later(FAILED, path, why=(error.strerror or str(error)).lower())
        return
    places = [os.path.join(path, name) for name in names]
    folders = [place for place in places if os.path.isdir(place)]
    files = [place for place in places if not os.path.isdir(place)]
    if depth and not folders and 1 < len(files) <= MOST_TOGETHER and not _bundles(files):
        yield Later(TOGETHER, path, tuple(files))
        return
    for file in files:
        yield Later(FILE, file)
    for folder in folders:
        yield from _of_folder(folder, depth + 1, seen)


def _bundles(files: Sequence[str]) -> bool:
    """Whether each is packed, or a record: a folder of bundles is a collection, not a node's own folder."""
    for path in files:
        try:
            with open(path, "rb") as file:
                head = file.read(512) if os.path.isfile(path) else b""
        except OSError:
            head = b""
        if packing(head) is None and LINE not in head[:64]:
            return False
    return True


def _listed(path: str) -> list[str]:
    """The paths of a list, beside the list or from here; [] where it is none."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LIST_BYTES:
            return []
        with open(path, "rb") as file:
            data = file.read(_LIST_BYTES)
    except OSError:
        return []
    if b"\0" in data:
        return []
    rows = [row.strip() for row in data.decode("utf-8", "replace").splitlines()]
    found = []
    for row in rows:
        if not row or row.startswith("#"):
            continue
        beside = os.path.join(os.path.dirname(path), row)
        place = next((one for one in (beside, row) if len(row) < 4096 and os.path.exists(one)), None)
        if place is None and not row.startswith(SAMPLE):
            return []
        found.append(place or row)
    return found if path not in found else []


def is_node(tree: LinkedTree) -> bool:
    """Whether this itself is a captured root or an unpacked bundle; what lies below is another matter."""
    for found in (find_roots(tree), bundles_in(tree)):
        place, _ = next(found, (None, None))
        if place in _HERE:
            return True
    return False
