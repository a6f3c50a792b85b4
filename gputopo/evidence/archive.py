"""Archives as trees: tar (plain, gzip, bzip2, xz, zstd) and zip, from strangers.

Nothing is unpacked to disk. Limits hold before anything is kept (`expanded.py`, `tar_headers.py`):
members, expanded bytes, ratio. Devices, FIFOs, absolute names and names with `..` are skipped; a
link is only a text that `LinkedTree` follows inside the archive.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO

from gputopo.errors import GputopoError
from gputopo.evidence import tar_headers
from gputopo.evidence.expanded import Expanded, Plain, compression_of, too_large
from gputopo.evidence.tar_headers import BLOCK, HARD_LINK, MEMBERS, Member
from gputopo.evidence.tree import FILE, FOLDER, LINK, MEMBER_BYTES, LinkedTree

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

_LINK_BYTES = 4_096


def archive_kind(head: bytes) -> str | None:
    """`gzip` · `bzip2` · `xz` · `zstd` · `zip` · `tar` by the first 512 bytes, or `None`.

    A compressed file need not hold an archive: `open_archive` tells.
    """
    return compression_of(head) or ("tar" if tar_headers.is_header(head[:BLOCK]) else None)


def open_archive(source: str | bytes, name: str = "") -> ArchiveTree | None:
    """The archive in a file (a path) or in memory; `None` where it is none.

    Raises `GputopoError` where a limit is passed, `OSError` where the file cannot be opened.
    """
    name = name or (source if isinstance(source, str) else "archive")
    file = _opened(source)
    kind = archive_kind(file.read(BLOCK))
    file.seek(0)
    if kind == "zip":
        return ArchiveTree(_zip(file, name), None)
    if kind == "tar":
        found, whole = tar_headers.members(Plain(file), name)
        return ArchiveTree(found, file, whole)
    with file:
        if kind is None:
            return None
        stream = Expanded(file, kind, name)
        if not tar_headers.is_header(stream.peek(BLOCK)):
            return None
        found, whole = tar_headers.members(stream, name)
        return ArchiveTree(found, None, whole)


def _opened(source: str | bytes) -> BinaryIO:
    return io.BytesIO(source) if isinstance(source, bytes) else open(source, "rb")


class ArchiveTree(LinkedTree):
    """The members of an archive as a tree; `whole` is False where the archive is cut or damaged."""

    __slots__ = ("_file", "_folders", "_members", "_prefix", "whole")

    def __init__(self, members: dict[str, Member], file: BinaryIO | None, whole: bool = True) -> None:
        super().__init__()
        self.whole = whole
        self._members = members
        self._file = file  # of an archive that is not compressed: data is read when asked for
        self._folders = _folders(members)
        self._prefix = ""

    @property
    def kept_bytes(self) -> int:
        """How much of it is in memory, unpacked."""
        return sum(len(member.data) for member in self._members.values() if member.data is not None)

    def _kind(self, place: str) -> str | None:
        full = self._prefix + place
        member = self._members.get(full)
        if member is not None:
            return FILE if member.kind == HARD_LINK else member.kind
        return FOLDER if full in self._folders else None

    def _target(self, place: str) -> str | None:
        member = self._members.get(self._prefix + place)
        return member.target if member is not None else None

    def _content(self, place: str) -> bytes | None:
        member = self._members.get(self._prefix + place)
        if member is not None and member.kind == HARD_LINK:
            member = self._members.get(member.target)
        if member is None or member.kind != FILE:
            return None
        return member.data if member.data is not None else self._stored(member)

    def _stored(self, member: Member) -> bytes | None:
        if self._file is None:
            return None
        try:
            self._file.seek(member.offset)
            data = self._file.read(min(member.size, MEMBER_BYTES))
        except (OSError, ValueError):
            return None
        return data if len(data) == min(member.size, MEMBER_BYTES) else None

    def _children(self, place: str) -> list[str] | None:
        return self._folders.get((self._prefix + place).rstrip("/"), [])

    def below(self, path: str) -> ArchiveTree | None:
        place = self._folder(path)
        if place is None:
            return None
        tree = ArchiveTree.__new__(ArchiveTree)
        LinkedTree.__init__(tree)
        tree._members, tree._file, tree._folders = self._members, self._file, self._folders
        tree.whole = self.whole
        tree._prefix = f"{self._prefix}{place}/" if place else self._prefix
        return tree


def _folders(members: dict[str, Member]) -> dict[str, list[str]]:
    """The names in every folder; archives need not list the folders themselves."""
    folders: dict[str, list[str]] = {"": []}
    for path in members:
        while True:
            folder, _, name = path.rpartition("/")
            known = folders.get(folder)
            if known is not None:
                known.append(name)
                break
            folders[folder] = [name]
            if folder in members:  # its own turn adds it to the folder above
                break
            path = folder
    return folders


def _zip(file: BinaryIO, name: str) -> dict[str, Member]:
    """zip members; links are those whose Unix mode says so."""
    import zipfile

    found: dict[str, Member] = {}
    total = 0
    try:
        with file, zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            if len(entries) > MEMBERS:
                raise too_large(name, f"it has more than {MEMBERS:,} members")
            for entry in entries:
                path = tar_headers.clean_path(entry.filename)
                mode = entry.external_attr >> 16 & 0o170000
                if path is None or mode not in (0, 0o040000, 0o100000, 0o120000) or entry.flag_bits & 1:
                    continue
                if entry.is_dir():
                    found[path] = Member(FOLDER)
                    continue
                link = mode == 0o120000
                data = _zip_data(archive, entry, _LINK_BYTES if link else MEMBER_BYTES)
                total += len(data or b"")
                if total > tar_headers.KEPT_BYTES:
                    raise too_large(name)
                if data is not None:
                    target = data.decode("utf-8", "surrogateescape") if link else ""
                    found[path] = Member(LINK, target) if link else Member(FILE, data=data)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise GputopoError(f"damaged zip: {error}", name) from None
    return found


def _zip_data(archive: ZipFile, entry: ZipInfo, limit: int) -> bytes | None:
    import zlib

    try:
        with archive.open(entry) as member:
            return member.read(limit)
    except (zlib.error, OSError, EOFError, ValueError, NotImplementedError, RuntimeError):
        return None  # one damaged member is an unreadable file
    except Exception as error:  # zipfile.BadZipFile, which has no base of its own
        if type(error).__name__ != "BadZipFile":
            raise
        return None
