"""Archives and compressed files a little wrong: what opens them must refuse or read, never more."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from functools import cache

from gputopo.evidence.archive import open_archive
from gputopo.evidence.expanded import compression_of, unpack

_FILES = {
    "node-1/sys/devices/system/node/node0/cpulist": b"0-7\n",
    "node-1/sys/devices/" + "pci0000:00/" * 12 + "class": b"0x030200\n",
    "topo.txt": b"\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n",
    "empty": b"",
}


@cache
def seeds() -> tuple[bytes, ...]:
    plain = [_tar(form) for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in _FILES.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return (
        *plain, packed.getvalue(), gzip.compress(plain[2], mtime=0), bz2.compress(plain[1]), lzma.compress(plain[0]),
        gzip.compress(_FILES["topo.txt"], mtime=0),
    )  # fmt: skip


def _tar(form: int) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, data in _FILES.items():
            if form == tarfile.USTAR_FORMAT and len(name) > 100:
                continue
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for name, target in (("node-1/sys/link", "../sys/devices"), ("node-1/sys/long", "../" * 40 + "etc/passwd")):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target[:90] if form == tarfile.USTAR_FORMAT else target
            archive.addfile(entry)
    return out.getvalue()


def run(data: bytes, further: bool) -> None:
    """Open it, list all of it and read what it lists."""
    tree = open_archive(data, "input")
    if tree is None:
        kind = compression_of(data)
        if kind is not None and kind != "zip":
            unpack(data, kind, "input")
        return
    folders = [""]
    for _ in range(1_000):
        if not folders:
            return
        folder = folders.pop()
        for name in tree.names(folder) or ():
            path = f"{folder}/{name}" if folder else name
            assert ".." not in path.split("/"), path
            assert not path.startswith("/"), path
            if tree.names(path) is not None and not tree.is_link(path):
                folders.append(path)
            elif further:
                tree.read(path)
