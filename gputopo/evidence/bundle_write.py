"""A bundle as bytes: a tar (gzip or zstd) or one line of JSON. The same members give the same bytes.

tar headers are POSIX ustar with pax records for long names ("pax Interchange Format"); no owner, no
time. gzip's time is 0 (RFC 1952, MTIME).
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping

from gputopo.errors import GputopoError
from gputopo.evidence.tar_headers import Member
from gputopo.evidence.tree import FOLDER, LINK

RECORD_START = '{"gputopo": "bundle", "version": 1, "members": {'
ZSTD_MODULES = ("compression.zstd", "backports.zstd", "pyzstd")  # as evidence/expanded.py reads it


def tar_gz(members: Mapping[str, Member]) -> bytes:
    import gzip

    return gzip.compress(_tar(members), 6, mtime=0)


def tar_zst(members: Mapping[str, Member]) -> bytes:
    """Raises GputopoError where this Python has no zstd."""
    return zstd_compressor()(_tar(members))  # type: ignore[operator, no-any-return]


def zstd_compressor() -> object:
    from importlib import import_module

    for name in ZSTD_MODULES:
        try:
            return import_module(name).compress
        except ImportError:
            continue
    raise GputopoError("cannot write zstd: this Python has no zstd module", hint="name the file .tar.gz")


def _tar(members: Mapping[str, Member]) -> bytes:
    import tarfile

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, member in sorted(members.items()):
            entry = tarfile.TarInfo(path)
            data = member.data or b""
            if member.kind == LINK:
                entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, member.target, 0o777
            elif member.kind == FOLDER:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            else:
                entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def record(members: Mapping[str, Member]) -> str:
    """One line: path → the text, or an object for what is no text."""
    rows = (f"{_quoted(path)}: {_value(member)}" for path, member in sorted(members.items()))
    return RECORD_START + ", ".join(rows) + "}}\n"


def _value(member: Member) -> str:
    if member.kind == LINK:
        return f'{{"link": {_quoted(member.target)}}}'
    if member.kind == FOLDER:
        return '{"folder": true}'
    data = member.data or b""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return f'{{"hex": "{data.hex()}"}}'
    return _quoted(text)


def _quoted(text: str) -> str:
    return json.dumps(text)
