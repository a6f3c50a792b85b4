"""What the user named, as pieces of evidence: file, folder, archive, pipe, `-`, `sample:NAME`.

What a thing is, is found by looking at it, never by its name. Every piece that is a text is
handed on as UTF-8, protobuf that is wanted as it is. A member of a folder or an archive carries its path in
`where`; members that are no evidence (binary, empty, of no known format) are skipped, with a message through `warn`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from gputopo.errors import GputopoError
from gputopo.evidence import limits
from gputopo.evidence.piece import Piece
from gputopo.evidence.reading import binary, cannot_open, packing, read_fd, read_path
from gputopo.evidence.text import UTF16, NotText, decode, ended_lines, has_wide, without_wide
from gputopo.terms.protobuf_bytes import TAGS as PROTOBUF
from gputopo.terms.protobuf_bytes import is_message

if TYPE_CHECKING:  # imported where a folder or an archive is met: most sources are one text
    from gputopo.evidence.archive import ArchiveTree
    from gputopo.evidence.members import MemberFile
    from gputopo.evidence.tree import LinkedTree

Warn = Callable[[str], object]
WhyNot = Callable[[str], str]
OfMessage = Callable[[bytes], "str | None"]
SAMPLE = "sample:"
_BUNDLE_MARK = b'{"gputopo": "bundle"'  # how a line of `gputopo collect --stdout` begins


def open_sources(
    specs: Sequence[str],
    *,
    stdin: int | None = None,
    timeout: float = 10.0,
    warn: Warn = lambda message: None,
    why_not: WhyNot = lambda text: "",
    protobuf: OfMessage = lambda data: None,
    kubelet: bool = False,
    most: int = limits.TEXT_BYTES,
) -> tuple[Piece, ...]:
    """The pieces of every source, in the order given. Raises GputopoError.

    `stdin` is the descriptor that `-` means; `why_not` tells why a text is no evidence ("" if it
    is), and decides only which members of a folder or an archive are kept. `protobuf` is the
    same for messages, `None` where one is not known: it is then no text. `kubelet`: whether the
    kubelet's files in a bundle are wanted. `most`: bytes of one text.
    """
    if specs.count("-") > 1:
        raise GputopoError("standard input can be read once", "-")
    opener = _Opener(stdin, timeout, warn, why_not, protobuf, kubelet, most)
    return tuple(piece for spec in specs for piece in opener.open(spec))


def open_bytes(
    data: bytes, name: str, *, warn: Warn = lambda message: None, why_not: WhyNot = lambda text: ""
) -> tuple[Piece, ...]:
    """The pieces of one file that was read already. Raises GputopoError."""
    return tuple(_Opener(None, 0.0, warn, why_not)._bytes(data, name))


def open_tree(
    tree: ArchiveTree, name: str, *, warn: Warn = lambda message: None, why_not: WhyNot = lambda text: ""
) -> tuple[Piece, ...]:
    """The pieces of a folder in an archive. Raises GputopoError."""
    return tuple(_Opener(None, 0.0, warn, why_not)._archive(tree, name))


class _Opener:
    __slots__ = ("kubelet", "most", "protobuf", "stdin", "timeout", "warn", "why_not")

    def __init__(
        self, stdin: int | None, timeout: float, warn: Warn, why_not: WhyNot,
        protobuf: OfMessage = lambda data: None, kubelet: bool = False, most: int = limits.TEXT_BYTES,
    ) -> None:  # fmt: skip
        self.protobuf = protobuf
        self.kubelet = kubelet
        self.most = most
        self.stdin = stdin
        self.timeout = timeout
        self.warn = warn
        self.why_not = why_not

    def open(self, spec: str) -> Iterable[Piece]:
        if spec == "-":
            return self._stdin()
        if spec.startswith(SAMPLE):
            return self._sample(spec)
        try:
            mode = os.stat(spec).st_mode
        except (OSError, ValueError) as error:
            cannot_open(error if isinstance(error, OSError) else OSError(str(error)), spec)
        if stat.S_ISDIR(mode):
            return self._folder(spec)
        return self._bytes(read_path(spec, spec, self.timeout, self.most), spec)

    def _stdin(self) -> Iterable[Piece]:
        if self.stdin is None:
            raise GputopoError("standard input is closed", "-")
        if os.isatty(self.stdin):
            self.warn("reading the terminal; end with Ctrl-D")
        return self._bytes(read_fd(self.stdin, "standard input", self.timeout, self.most), "-")

    def _sample(self, spec: str) -> Iterable[Piece]:
        from gputopo.sample_files import sample_names, sample_paths

        name = spec[len(SAMPLE) :]
        names = sample_names()
        if name not in names:
            raise GputopoError("no such sample", spec, _nearest(name, names))
        for path in sample_paths(name):
            text = self._text(read_path(path, spec, self.timeout), spec)
            yield Piece(spec, data=text, where=os.path.basename(path))

    def _folder(self, path: str) -> Iterable[Piece]:
        from gputopo.evidence.members import folder_files
        from gputopo.evidence.tree import FolderTree, find_roots

        try:
            os.scandir(path).close()
        except OSError as error:
            cannot_open(error, path)
        tree = FolderTree(path)
        bundles = self._bundles(tree, path)
        if bundles:
            return bundles
        roots = [Piece(path, tree=root, where=where) for where, root in find_roots(tree)]
        depth = 0 if roots else limits.FOLDER_DEPTH
        bundled: list[Piece] = []
        files = self._but_bundles(folder_files(path, depth, self.timeout, self.warn, self.most), path, bundled)
        found = self._members(roots, files, path, "folder", bundled)
        return [*bundled, *found]

    def _but_bundles(self, files: Iterable[MemberFile], path: str, bundled: list[Piece]) -> Iterable[MemberFile]:
        """The files that are no bundles of `gputopo collect`; the evidence of those goes to `bundled`."""
        from gputopo.evidence.archive import open_archive
        from gputopo.evidence.expanded import too_large
        from gputopo.evidence.tar_headers import KEPT_BYTES

        left = KEPT_BYTES
        for file in files:
            name = os.path.join(path, file.where)
            try:
                if _BUNDLE_MARK in file.data[:64]:
                    bundled += self._one_text(file.data, name, name)
                    continue
                archive = open_archive(file.data, name) if packing(file.data) not in (None, "zip") else None
                bundles = self._bundles(archive, name) if archive is not None else ()
                if archive is not None and bundles:
                    left -= archive.kept_bytes
                    if left < 0:
                        raise too_large(name, f"the bundles of this folder hold more than {KEPT_BYTES >> 20} MiB")
            except GputopoError as error:
                self.warn(f"skipped {name}: {error.what}")
                continue
            if not bundles:
                yield file
            else:
                bundled += [one._replace(whole=one.whole and archive is not None and archive.whole) for one in bundles]

    def _bytes(self, data: bytes, name: str) -> Iterable[Piece]:
        """The pieces of one file's bytes."""
        shown = "standard input" if name == "-" else name
        if not data:
            raise GputopoError("no input" if name == "-" else "the file is empty", shown, _EMPTY)
        kind = packing(data)
        if kind is None:
            return self._one_text(data, name, shown)
        from gputopo.evidence.archive import open_archive

        archive = open_archive(data, shown)
        if archive is not None:
            return self._archive(archive, name)
        text, whole = self._unpacked(data, kind, shown)
        return self._one_text(text, name, shown, whole)

    def _one_text(self, data: bytes, name: str, shown: str, whole: bool = True) -> Iterable[Piece]:
        text = self._text(data, shown)
        if _BUNDLE_MARK in text[:64]:
            from gputopo.evidence.bundle_read import record_pieces

            return tuple(record_pieces(text.decode(), name, kubelet=self.kubelet))
        return (Piece(name, data=text, whole=whole),)

    def _archive(self, archive: ArchiveTree, name: str) -> Iterable[Piece]:
        from gputopo.evidence.members import tree_files
        from gputopo.evidence.tree import find_roots

        if not archive.whole:
            self.warn(f"{name}: the archive is cut or damaged; what is before that is read")
        bundles = self._bundles(archive, name)
        if bundles:
            return [piece._replace(whole=piece.whole and archive.whole) for piece in bundles]
        roots = [Piece(name, tree=root, where=where, whole=archive.whole) for where, root in find_roots(archive)]
        depth = 0 if roots else limits.FOLDER_DEPTH
        return self._members(roots, tree_files(archive, depth, name, self.warn), name, "archive")

    def _members(
        self, roots: list[Piece], files: Iterable[MemberFile], name: str, noun: str, bundled: Sequence[Piece] = ()
    ) -> Iterable[Piece]:  # fmt: skip
        """The captured machines in a thing and the texts beside them that are evidence."""
        pieces = list(roots)
        for where, data, whole in files:
            # Beside a captured machine lie notes and tools; alone, a skipped file is worth a word.
            piece = self._member(name, where, data, whole, speak=not roots)
            if piece is not None:
                pieces.append(piece)
        if not pieces and not bundled:
            raise GputopoError(f"nothing in this {noun} can be read", name, "give a file, or a folder with sys/ in it")
        return pieces

    def _member(self, name: str, where: str, data: bytes, whole: bool, *, speak: bool) -> Piece | None:
        shown = f"{name}: {where}"
        text = b""
        try:
            kind = packing(data)
            if kind is not None:
                data, unpacked_whole = self._unpacked(data, kind, shown)
                whole = whole and unpacked_whole
            elif not whole:
                data = ended_lines(data)
            text = self._text(data, shown)
            message = self._as_message(text)
            why = self.why_not(text.decode()) if message is None else message
        except GputopoError as error:
            why = error.what
        if why and speak:
            self.warn(f"skipped {shown}: {why}")
        return None if why else Piece(name, data=text, where=where, whole=whole)

    def _unpacked(self, data: bytes, kind: str, name: str) -> tuple[bytes, bool]:
        """A compressed text, and whether it is whole."""
        from gputopo.evidence.expanded import unpack

        if kind in ("tar", "zip"):
            raise GputopoError("an archive inside an archive", name)
        text, whole = unpack(data, kind, name, self.most)
        if not whole:
            self.warn(f"{name}: the {kind} file is cut or damaged; what is before that is read")
        return text, whole

    def _bundles(self, tree: LinkedTree, name: str) -> tuple[Piece, ...]:
        """The evidence of what `gputopo collect` wrote; () for other folders and archives."""
        from gputopo.evidence.bundle_read import bundles_in, pieces

        found = bundles_in(tree)
        return tuple(one for place, below in found for one in pieces(below, name, place, kubelet=self.kubelet))

    def _as_message(self, data: bytes) -> str | None:
        """What `protobuf` says. A message may hold nothing that no text has, so it is asked first."""
        return self.protobuf(data) if data[:1] in PROTOBUF and is_message(data) else None

    def _text(self, data: bytes, name: str) -> bytes:
        if len(data) > self.most:
            raise GputopoError(f"more than {self.most // limits.MIB} MiB of text", name)
        if self._as_message(data) is not None:
            return data
        try:
            text, note = decode(data)
        except NotText:
            raise binary(name) from None
        if not text or text.isspace():
            raise GputopoError("the file is empty", name, _EMPTY)
        if note:
            self.warn(f"{name}: {note}")
        if note or data.startswith(_MARKS):
            data = text.encode("utf-8", "replace")
        del text
        return without_wide(data) if len(data) > _LARGE and has_wide(data) else data


_MARKS = (*UTF16, b"\xef\xbb\xbf")  # what `decode` takes away
_LARGE = 4 * limits.MIB
_EMPTY = "was the command's output saved? nvidia-smi topo -m > FILE"


def _nearest(name: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, names, 1)
    return f"did you mean {SAMPLE}{near[0]}?" if near else "gputopo formats --samples lists them"
