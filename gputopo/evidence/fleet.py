"""Saved nodes in a folder, an archive or a list of paths: one after another, each opened when it is its turn.

    fleet/a17.txt              a file: what `gputopo inspect` would read of it
    fleet/b02.tar.gz           a bundle, a captured root: one node; another archive: its members
    fleet/rack3/c11/           a folder with `sys/` or a bundle's manifest: one node
    fleet/rack3/c12/           a folder of plain files only: they are read together, as of one node
    fleet/rack3/               a folder with folders, or of bundles only: a collection, like the first

A list is a text in which every line names a file or a folder that is there. What cannot be opened is
named and left out: it stops nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gputopo.errors import GputopoError
from gputopo.evidence.bundle_read import BundleRoot
from gputopo.evidence.fleet_plan import DEPTH, FILE, LINE, MOST_TOGETHER, NODE, OBJECT, TEXT, TOGETHER, Later, is_node
from gputopo.evidence.kubelet_files import BELOW_A_NODE
from gputopo.evidence.object_store import read as read_object
from gputopo.evidence.open import open_bytes, open_sources, open_tree
from gputopo.evidence.piece import Piece
from gputopo.evidence.reading import packing, read_path
from gputopo.evidence.tree import MEMBER_BYTES

if TYPE_CHECKING:
    from gputopo.evidence.archive import ArchiveTree

Warn = Callable[[str], object]
WhyNot = Callable[[str], str]
KUBELET_CONFIG = "var/lib/kubelet/config.yaml"  # where kubeadm puts it
_NESTED = 2  # archives in archives


class Part(NamedTuple):
    """One file, opened when it is its turn. `open` raises GputopoError."""

    name: str
    open: Callable[[], Sequence[Piece]]


class Unit(NamedTuple):
    """What is read together: one file, or the files of a node's own folder."""

    name: str
    parts: tuple[Part, ...]


class Failed(NamedTuple):
    name: str
    error: GputopoError


class Ways(NamedTuple):
    """How things are opened."""

    timeout: float = 10.0
    warn: Warn = lambda message: None
    why_not: WhyNot = lambda text: ""


def units(later: Later, ways: Ways) -> Iterator[Unit | Failed]:
    """What is read together; an archive has many."""
    if later.kind == FILE:
        yield from _of_file(later.path, ways)
    elif later.kind == TEXT:
        yield from _of_text(later.data, later.path, ways)
    elif later.kind == OBJECT:
        yield from _of_object(later.path, ways)
    elif later.kind == NODE:
        yield _on_disk(later.path, ways)
    elif later.kind == TOGETHER:
        yield Unit(later.path, tuple(part for file in later.files for part in _on_disk(file, ways).parts))
    else:
        yield Failed(later.path, GputopoError(later.why, later.path))


def opened(unit: Unit) -> tuple[list[tuple[Piece, ...]], list[Failed]]:
    """The pieces of a unit, by node where several captured roots say how many there are; and what failed."""
    pieces: list[Piece] = []
    failed: list[Failed] = []
    for part in unit.parts:
        try:
            pieces += part.open()
        except GputopoError as error:
            failed.append(Failed(part.name, error))
    return _by_root(pieces), failed


def of_kubelet(pieces: Sequence[Piece]) -> list[Piece]:
    """The kubelet's configuration and state in captured roots, and in bundles that were asked for them."""
    found: list[Piece] = []
    for piece in pieces:
        if isinstance(piece.tree, BundleRoot):
            found += piece.tree.kubelet
        elif piece.tree is not None:
            for path in (KUBELET_CONFIG, *BELOW_A_NODE):
                data = piece.tree.read(path)
                if data:
                    found.append(Piece(piece.name, data=data, where=path))
    return found


def _by_root(pieces: Sequence[Piece]) -> list[tuple[Piece, ...]]:
    """Several captured roots are several nodes; what lies in a bundle's folder is of that bundle."""
    if sum(piece.tree is not None for piece in pieces) < 2:
        return [tuple(pieces)] if pieces else []
    groups: list[list[Piece]] = []
    rest: list[Piece] = []
    for piece in pieces:
        if piece.tree is not None:
            groups.append([piece])
        elif groups and _folder(groups[-1][0]) == _folder(piece):
            groups[-1].append(piece)
        else:
            rest.append(piece)
    return [tuple(group) for group in (*groups, rest) if group]


def _folder(piece: Piece) -> tuple[str, str]:
    return piece.name, piece.where.rpartition("/")[0]


def _on_disk(path: str, ways: Ways) -> Unit:
    def open() -> Sequence[Piece]:
        return open_sources([path], timeout=ways.timeout, warn=ways.warn, why_not=ways.why_not)

    return Unit(path, (Part(path, open),))


def _of_file(path: str, ways: Ways) -> Iterator[Unit | Failed]:
    try:
        data = read_path(path, path, ways.timeout)
    except GputopoError as error:
        yield Failed(path, error)
        return
    yield from _of_text(data, path, ways)


def _of_object(address: str, ways: Ways) -> Iterator[Unit | Failed]:
    try:
        data = read_object(address)
    except GputopoError as error:
        yield Failed(address, error)
        return
    yield from _of_text(data, address, ways)


def _of_text(data: bytes, path: str, ways: Ways) -> Iterator[Unit | Failed]:
    if packing(data) is not None:
        yield from _of_packed(data, path, ways, 0)
    elif LINE in data[:64]:
        yield from _of_lines(data, path, ways)
    else:
        yield _of_bytes(data, path, ways)


def _of_bytes(data: bytes, name: str, ways: Ways) -> Unit:
    def open() -> Sequence[Piece]:
        return open_bytes(data, name, warn=ways.warn, why_not=ways.why_not)

    return Unit(name, (Part(name, open),))


def _of_lines(data: bytes, name: str, ways: Ways) -> Iterator[Unit]:
    """Records of `gputopo collect --stdout`, one a line: a damaged one costs itself alone."""
    rows = [(number, row) for number, row in enumerate(data.splitlines(), 1) if row.strip()]
    for number, row in rows:
        yield _of_bytes(row, f"{name}:{number}" if len(rows) > 1 else name, ways)


def _of_packed(data: bytes, name: str, ways: Ways, depth: int) -> Iterator[Unit | Failed]:
    """A compressed text, a node's archive, or an archive of many."""
    from gputopo.evidence.archive import open_archive

    try:
        archive = open_archive(data, name)
    except GputopoError as error:
        yield Failed(name, error)
        return
    if archive is None:
        yield _of_bytes(data, name, ways)
        return
    if not archive.whole:
        yield Failed(name, GputopoError("the archive is cut or damaged; what is before that is read", name))
    yield from _of_tree(archive, "", name, ways, depth)


def _of_tree(
    tree: ArchiveTree, inside: str, name: str, ways: Ways, depth: int, level: int = 0
) -> Iterator[Unit | Failed]:  # fmt: skip
    shown = f"{name}: {inside}" if inside else name
    below = tree.below(inside) if inside else tree
    if below is not None and is_node(below):
        yield Unit(shown, (Part(shown, lambda: open_tree(below, shown, warn=ways.warn, why_not=ways.why_not)),))
        return
    places = [f"{inside}/{one}" if inside else one for one in tree.names(inside) or () if not one.startswith(".")]
    folders = [place for place in places if tree.names(place) is not None]
    files = [place for place in places if tree.names(place) is None]
    if level and not folders and 1 < len(files) <= MOST_TOGETHER:
        yield Unit(shown, tuple(_member(tree, place, name, ways) for place in files))
        return
    for place in files:
        yield from _of_member(tree, place, name, ways, depth)
    for place in folders:
        if level < DEPTH and not tree.is_link(place):
            yield from _of_tree(tree, place, name, ways, depth, level + 1)


def _of_member(tree: ArchiveTree, place: str, name: str, ways: Ways, depth: int) -> Iterator[Unit | Failed]:
    shown = f"{name}: {place}"
    data = tree.read(place) or b""
    if len(data) < MEMBER_BYTES and depth + 1 < _NESTED and packing(data) is not None:
        yield from _of_packed(data, shown, ways, depth + 1)
    elif len(data) < MEMBER_BYTES and LINE in data[:64]:
        yield from _of_lines(data, shown, ways)
    else:
        yield Unit(shown, (_member(tree, place, name, ways),))


def _member(tree: ArchiveTree, place: str, name: str, ways: Ways) -> Part:
    shown = f"{name}: {place}"

    def open() -> Sequence[Piece]:
        data = tree.read(place) or b""
        if len(data) >= MEMBER_BYTES:
            raise GputopoError("more than 1 MiB inside an archive", shown, "unpack it, and give the folder")
        return open_bytes(data, shown, warn=ways.warn, why_not=ways.why_not)

    return Part(shown, open)
