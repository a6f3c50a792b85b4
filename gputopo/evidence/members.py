"""The plain files in a folder or an archive: how deep, how many and how much is limited."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gputopo.errors import GputopoError
from gputopo.evidence import limits
from gputopo.evidence.piece import Tree
from gputopo.evidence.reading import read_path
from gputopo.evidence.tree import MEMBER_BYTES

Warn = Callable[[str], object]


class MemberFile(NamedTuple):
    where: str
    data: bytes
    whole: bool = True


def folder_files(
    path: str, depth: int, timeout: float, warn: Warn, most: int = limits.TEXT_BYTES
) -> Iterator[MemberFile]:
    """The plain files at most `depth` folders down, sorted; hidden and empty ones are left."""
    left = most
    for where, size in _first(_folder_walk(path, "", depth), path, warn):
        if size > left:
            warn(f"skipped {path}: {where}: too large")
            continue
        try:
            data = read_path(os.path.join(path, where), where, timeout, most)
        except GputopoError as error:
            warn(f"skipped {path}: {where}: {error.what}")
            continue
        left -= len(data)
        yield MemberFile(where, data)


def tree_files(tree: Tree, depth: int, name: str, warn: Warn) -> Iterator[MemberFile]:
    """The same of an archive, whose members are cut at 1 MiB."""
    for where, _ in _first(_tree_walk(tree, "", depth), name, warn):
        data = tree.read(where)
        if data:
            yield MemberFile(where, data, len(data) < MEMBER_BYTES)


def _first(files: Iterator[tuple[str, int]], name: str, warn: Warn) -> Iterator[tuple[str, int]]:
    for number, file in enumerate(files):
        if number == limits.FOLDER_FILES:
            warn(f"{name}: only the first {limits.FOLDER_FILES} files are read")
            return
        yield file


def _folder_walk(root: str, inside: str, depth: int) -> Iterator[tuple[str, int]]:
    try:
        names = sorted(os.listdir(os.path.join(root, inside)))
    except OSError:
        return
    folders = []
    for name in names:
        where = os.path.join(inside, name)
        try:
            status = os.stat(os.path.join(root, where))
        except OSError:
            continue
        if name.startswith("."):
            continue
        if stat.S_ISREG(status.st_mode) and status.st_size:
            yield where, status.st_size
        elif stat.S_ISDIR(status.st_mode) and depth:
            folders.append(where)
    for folder in folders:
        yield from _folder_walk(root, folder, depth - 1)


def _tree_walk(tree: Tree, inside: str, depth: int) -> Iterator[tuple[str, int]]:
    folders = []
    for name in tree.names(inside) or ():
        where = f"{inside}/{name}" if inside else name
        if name.startswith("."):
            continue
        if tree.names(where) is not None:
            folders.append(where)
        else:
            yield where, 0
    if depth:
        for folder in folders:
            yield from _tree_walk(tree, folder, depth - 1)
