"""tar read header by header: POSIX ustar and pax, GNU long names; nothing else is kept.

A captured machine is ten thousand files of a few bytes, for which the standard library's tarfile
takes seconds. A header is 512 bytes (POSIX.1-2001, pax "ustar Interchange Format"; GNU tar manual,
"Basic Tar Format"): name 0..100, size 124..136, checksum 148..156, type 156, link target 157..257,
`ustar` at 257, prefix 345..500.

    >>> octal(b"00000000017\\x00"), octal(b"\\x80" + bytes(9) + b"\\x01\\x00"), octal(b"junk")
    (15, 256, None)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from zlib import adler32

from gputopo.evidence.expanded import Stream, too_large
from gputopo.evidence.tree import FILE, FOLDER, LINK, MEMBER_BYTES

MEMBERS = 100_000
KEPT_BYTES = 96 << 20
BLOCK = 512
HARD_LINK = "hard"
_EXTENSION_BYTES = 65_536  # of a long name or a pax header
_KINDS = {b"0": FILE, b"\0": FILE, b"7": FILE, b"1": HARD_LINK, b"2": LINK, b"5": FOLDER}


class Member(NamedTuple):
    kind: str  # FILE | FOLDER | LINK | HARD_LINK
    target: str = ""  # of a link
    data: bytes | None = None
    offset: int = 0  # where `data` is None: its place in the file
    size: int = 0


class _Entry(NamedTuple):
    path: str
    kind: bytes
    size: int
    target: str


def octal(field: bytes) -> int | None:
    """A number field: octal text, or base 256 where the first bit is set (GNU)."""
    if field[:1] >= b"\x80":
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    try:
        return int(field.strip(b"\0 ") or b"0", 8)
    except ValueError:
        return None


def is_header(block: bytes) -> bool:
    """Whether a block is a tar header: by its checksum, since old tars have no `ustar`.

    The checksum is the sum of the bytes, its own field taken as blanks. The lower half of Adler-32
    is 1 + the sum modulo 65521, at a tenth of the cost of `sum`.
    """
    if len(block) < BLOCK or not block[0]:
        return False
    stated = octal(block[148:156])
    if stated is None:
        return False
    return (stated - 8 * 32 + sum(block[148:156]) + 1) % 65_521 == adler32(block) & 0xFFFF


def clean_path(path: str) -> str | None:
    """`./a//b/` → `a/b`; `None` for what leaves the archive or names nothing in it.

    >>> clean_path("./sys//bus/"), clean_path("../etc"), clean_path("/etc")
    ('sys/bus', None, None)
    """
    if path.startswith("/") or len(path) > 4_096:
        return None
    if "//" in path or "." in path:
        parts = [part for part in path.split("/") if part not in ("", ".")]
        return None if ".." in parts or not parts else "/".join(parts)
    return path.rstrip("/") or None


def members(stream: Stream, name: str) -> tuple[dict[str, Member], bool]:
    """Path → member, and whether the archive is whole: it ends with a block of zeros.

    The last of two members of one path wins, as when it is unpacked. A member that is cut is left
    out: half of `0-15` would be a wrong value.
    """
    found: dict[str, Member] = {}
    kept = 0
    for count, entry in enumerate(_entries(stream)):
        if entry is None:
            return found, True
        if count >= MEMBERS:
            raise too_large(name, f"it has more than {MEMBERS:,} members")
        kind = _KINDS.get(entry.kind)
        path = clean_path(entry.path)
        if path is None or kind is None:
            stream.skip(_padded(entry.size))
        elif kind == FILE:
            member = _file(stream, entry.size)
            if member is None:
                return found, False
            kept += len(member.data or b"")
            if kept > KEPT_BYTES:
                raise too_large(name)
            found[path] = member
        else:
            target = clean_path(entry.target) if kind == HARD_LINK else entry.target
            found[path] = Member(kind, target or "")
    return found, False


def _padded(size: int) -> int:
    return (size + BLOCK - 1) // BLOCK * BLOCK


def _file(stream: Stream, size: int) -> Member | None:
    """A plain file's member, or `None` where the archive ends inside it."""
    if stream.lazy:
        member = Member(FILE, offset=stream.tell(), size=size)
        stream.skip(_padded(size))
        return member
    if size <= MEMBER_BYTES:
        data = stream.take(_padded(size))[:size]
    else:
        data = stream.take(MEMBER_BYTES)
        stream.skip(_padded(size) - MEMBER_BYTES)
    return Member(FILE, data=data) if len(data) == min(size, MEMBER_BYTES) else None


def _entries(stream: Stream) -> Iterator[_Entry | None]:
    """Headers with the extensions before them applied; `None` is the end, less than that damage."""
    extension: dict[str, str] = {}
    everywhere: dict[str, str] = {}
    extensions = 0
    while True:
        block = stream.take(BLOCK)
        if not is_header(block):
            if len(block) == BLOCK and not any(block):
                yield None
            return
        kind = block[156:157]
        size = octal(block[124:136])
        if size is None or size > 1 << 50:
            return
        if kind in b"LKxg" and kind:
            extensions += 1
            if size > _EXTENSION_BYTES or extensions > MEMBERS:
                return
            data = stream.take(_padded(size))[:size]
            _extend(kind, data, everywhere if kind == b"g" else extension)
            continue
        fields = {**everywhere, **extension} if everywhere or extension else extension
        yield _entry(block, kind, size, fields)
        extension = {}


def _entry(block: bytes, kind: bytes, size: int, extension: dict[str, str]) -> _Entry:
    path = _text(block[:100])
    if block[257:263] == b"ustar\0" and block[345]:
        path = f"{_text(block[345:500])}/{path}"
    target = _text(block[157:257])
    if extension:
        path = extension.get("path", path)
        target = extension.get("linkpath", target)
        stated = extension.get("size", "")
        size = int(stated) if stated.isascii() and stated.isdigit() and len(stated) < 16 else size
    if kind in (b"1", b"2", b"5", b"3", b"4", b"6"):
        size = 0
    return _Entry(path, kind, size, target)


def _extend(kind: bytes, data: bytes, fields: dict[str, str]) -> None:
    if kind == b"L":
        fields["path"] = _text(data)
    elif kind == b"K":
        fields["linkpath"] = _text(data)
    else:
        for key, value in _pax_records(data):
            fields[key] = value


def _pax_records(data: bytes) -> Iterator[tuple[str, str]]:
    """`LENGTH KEY=VALUE\\n` records; the length counts itself."""
    at = 0
    while at < len(data):
        digits, blank, _ = data[at : at + 8].partition(b" ")
        if not blank or not digits.isdigit():
            return
        length = int(digits)
        key, equals, value = data[at + len(digits) + 1 : at + length - 1].partition(b"=")
        if not equals or length <= len(digits) + 1:
            return
        yield key.decode("utf-8", "replace"), value.decode("utf-8", "surrogateescape")
        at += length


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "surrogateescape")
