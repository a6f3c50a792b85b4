"""A bundle's evidence as pieces: the captured root, the driver's answers; never what was derived.

    manifest.json   "evidence": ["root", "nvml.json"]
    root/sys/…      as a root folder
    nvml.json       as a recording
    inspect.json    not read: it was made from the others

Bundles come from strangers too: names and links are guarded as those of any archive.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping

from gputopo.errors import GputopoError
from gputopo.evidence.archive import ArchiveTree
from gputopo.evidence.kubelet_files import FOLDER as KUBELET
from gputopo.evidence.kubelet_files import STATE_FILES
from gputopo.evidence.piece import Piece, Tree
from gputopo.evidence.tar_headers import MEMBERS, Member, clean_path
from gputopo.evidence.tree import FILE, FOLDER, LINK, MEMBER_BYTES, LinkedTree
from gputopo.terms.structured_text import json_is_too_large

VERSION = 1
MANIFEST = "manifest.json"
MARK = '"gputopo": "bundle"'
DERIVED = ("inspect.json", MANIFEST)
_FOLDERS = 200  # of a folder of bundles
_NEWER = "a newer gputopo reads it"


def bundles_in(tree: LinkedTree) -> Iterator[tuple[str, Tree]]:
    """Each (path, tree) that has a bundle's manifest: here, or one folder down."""
    if _manifest(tree) is not None:
        yield "", tree
        return
    for name in (tree.names("") or ())[:_FOLDERS]:
        if not tree.is_link(name) and tree.read(f"{name}/{MANIFEST}") is not None:
            below = tree.below(name)
            if below is not None and _manifest(below) is not None:
                yield name, below


def pieces(tree: Tree, name: str, place: str = "", *, kubelet: bool = False) -> tuple[Piece, ...]:
    """The evidence of one bundle. Raises GputopoError: a version we do not know, or nothing in it.

    `kubelet`: the kubelet's state files too, which say nothing of how the node is wired.
    """
    manifest = _manifest(tree) or {}
    version = manifest.get("version")
    if version != VERSION:
        raise GputopoError(f"bundle of version {version!r}; this reads version {VERSION}", name, _NEWER)
    incomplete = manifest.get("incomplete")
    found = []
    beside = tuple(f"{KUBELET}/{os.path.basename(path)}" for path in STATE_FILES) if kubelet else ()
    for path in (*_evidence(manifest), *beside):
        where = f"{place}/{path}" if place else path
        if tree.names(path) is not None:
            piece = _root(tree, path, Piece(name, where=where), manifest)
        else:
            piece = _text(tree, path, name, where)
        if piece is not None:
            cut = isinstance(incomplete, list) and path in incomplete
            found.append(piece._replace(whole=False) if cut else piece)
    if not found:
        raise GputopoError("this bundle holds no evidence", name, "was the collection ended early? gputopo collect")
    return tuple(found)


def _manifest(tree: Tree) -> dict[str, object] | None:
    data = tree.read(MANIFEST)
    if data is None or MARK.encode() not in data:
        return None
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return manifest if isinstance(manifest, dict) and manifest.get("gputopo") == "bundle" else None


def _evidence(manifest: dict[str, object]) -> list[str]:
    """What the collector answered from. A manifest that was edited: what can be evidence."""
    said = manifest.get("evidence")
    if not isinstance(said, list):
        said = ["root", "nvml.json"]
    paths = (clean_path(path) for path in said if isinstance(path, str))
    return [path for path in dict.fromkeys(paths) if path is not None and path not in DERIVED]


class BundleRoot:
    """The root folder of a bundle; `live` is what its collector knew beside the files, `kubelet` its state files."""

    __slots__ = ("_tree", "kubelet", "live")

    def __init__(self, tree: Tree, live: Mapping[str, object], kubelet: tuple[Piece, ...] = ()) -> None:
        self._tree = tree
        self.live = live
        self.kubelet = kubelet

    def read(self, path: str) -> bytes | None:
        return self._tree.read(path)

    def names(self, path: str) -> tuple[str, ...] | None:
        return self._tree.names(path)

    def resolve(self, path: str) -> str | None:
        return self._tree.resolve(path)

    def is_link(self, path: str) -> bool:
        return self._tree.is_link(path)


def _root(tree: Tree, path: str, piece: Piece, manifest: dict[str, object]) -> Piece | None:
    below = tree.below(path) if isinstance(tree, LinkedTree) else None
    if below is None or below.names("sys") is None:
        return None
    live = manifest.get("live")
    files = [f"{KUBELET}/{file}" for file in tree.names(KUBELET) or ()]
    kubelet = tuple(one for file in files if (one := _text(tree, file, piece.name, file)) is not None)
    return piece._replace(tree=BundleRoot(below, live if isinstance(live, dict) else {}, kubelet))


def _text(tree: Tree, path: str, name: str, where: str) -> Piece | None:
    data = tree.read(path)
    if not data or not data.strip():
        return None
    return Piece(name, data=data, where=where, whole=len(data) < MEMBER_BYTES)


def record_pieces(text: str, name: str, *, kubelet: bool = False) -> Iterator[Piece]:
    """The evidence of every line. Raises GputopoError: a line that is no record, or damaged."""
    several = "\n" in text.strip()
    for number, row in _rows(text):
        place = f"line {number}" if several else ""
        shown = f"{name}:{number}"
        yield from pieces(ArchiveTree(_members(row, shown), None), name, place, kubelet=kubelet)


def _rows(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, one after another: a text of ten million lines is refused at its first."""
    at = number = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        number += 1
        row = text[at:end].strip()
        if row:
            yield number, row
        at = end + 1


def _members(row: str, shown: str) -> dict[str, Member]:
    if json_is_too_large(row):
        raise GputopoError("this line has more values than a record of gputopo collect", shown)
    try:
        document = json.loads(row)
    except (ValueError, RecursionError):
        raise GputopoError("this line is no whole record of gputopo collect", shown, "was the copy cut?") from None
    members = document.get("members") if isinstance(document, dict) else None
    if not isinstance(members, dict):
        raise GputopoError("this line is no record of gputopo collect", shown)
    if len(members) > MEMBERS:
        raise GputopoError(f"bundle refused: it has more than {MEMBERS:,} members", shown)
    found: dict[str, Member] = {}
    for path, value in members.items():
        place, member = clean_path(path), _member(value)
        if place is not None and member is not None:
            found[place] = member
    return found


def _member(value: object) -> Member | None:
    if isinstance(value, str):
        return Member(FILE, data=value.encode("utf-8", "replace"))
    if not isinstance(value, dict):
        return None
    target, content = value.get("link"), value.get("hex")
    if isinstance(target, str):
        return Member(LINK, target)
    if isinstance(content, str):
        try:
            return Member(FILE, data=bytes.fromhex(content))
        except ValueError:
            return None
    return Member(FOLDER) if value.get("folder") is True else None
