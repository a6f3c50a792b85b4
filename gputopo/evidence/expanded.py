"""Compressed streams from strangers (`topo.txt.gz`, `capture.tar.xz`): expanded piece by piece, under limits.

The limits hold before anything is kept: expanded bytes, ratio, memory of the decompressor (an xz
header may ask for 4 GiB). A damaged or cut stream ends where it is damaged, and says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

from gputopo.errors import GputopoError
from gputopo.evidence import limits
from gputopo.evidence.text import ended_lines
from gputopo.evidence.tree import MEMBER_BYTES

EXPANDED_BYTES = 256 << 20
_RATIO = 2_000  # a capture of a large machine reaches 400: padding of small files
_RATIO_FROM = 32 << 20
_DECODER_MEMORY = 128 << 20
_STEP = 1 << 18
_MAGIC = (
    ("gzip", b"\x1f\x8b"),
    ("bzip2", b"BZh"),
    ("xz", b"\xfd7zXZ\0"),
    ("zstd", b"\x28\xb5\x2f\xfd"),
    ("zip", b"PK\x03\x04"),
    ("zip", b"PK\x05\x06"),  # an empty one
)


def compression_of(head: bytes) -> str | None:
    """`gzip` · `bzip2` · `xz` · `zstd` · `zip` by the first bytes, or `None`.

    >>> compression_of(bytes.fromhex("fd377a585a00")), compression_of(b"GPU0")
    ('xz', None)
    """
    for kind, magic in _MAGIC:
        if head.startswith(magic):
            return kind
    return None


def too_large(name: str, what: str = "it expands to more than 256 MiB") -> GputopoError:
    return GputopoError(f"archive refused: {what}", name, "give the file that matters, unpacked")


def unpack(data: bytes, kind: str, name: str, most: int = limits.TEXT_BYTES) -> tuple[bytes, bool]:
    """The text inside, at most `most` bytes, and whether it is whole. Raises GputopoError.

    Of a cut text only the lines that ended are kept: half of `0-15` would be a wrong value.
    """
    from io import BytesIO

    stream = Expanded(BytesIO(data), kind, name)
    text = stream.peek(most + 1)
    if len(text) > most:
        raise GputopoError(f"unpacks to more than {most // limits.MIB} MiB", name)
    if not stream.whole:
        text = ended_lines(text)
    if not text:
        raise GputopoError(f"empty or damaged {kind} file", name, "copy it again")
    return text, stream.whole


class Stream(Protocol):
    lazy: bool

    def take(self, size: int) -> bytes: ...
    def skip(self, size: int) -> None: ...
    def tell(self) -> int: ...


class Plain:
    """An archive that is not compressed: data is read when asked for."""

    lazy = True

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def take(self, size: int) -> bytes:
        return self._file.read(size)

    def skip(self, size: int) -> None:
        self._file.seek(size, os.SEEK_CUR)

    def tell(self) -> int:
        return self._file.tell()


class Expanded:
    """What a decompressor gives, under the limits.

    `whole` is False where the stream ended early; it can be asked after the end was reached.
    """

    lazy = False

    def __init__(self, file: BinaryIO, kind: str, name: str) -> None:
        self.whole = True
        self._parts = self._expanded(file, kind, name)
        self._buffer = b""
        self._at = 0

    def _fill(self, size: int) -> None:
        have = [self._buffer[self._at :]]
        count = len(have[0])
        while count < size:
            part = next(self._parts, None)
            if part is None:
                break
            have.append(part)
            count += len(part)
        self._buffer, self._at = b"".join(have), 0

    def peek(self, size: int) -> bytes:
        if len(self._buffer) - self._at < size:
            self._fill(size)
        return self._buffer[self._at : self._at + size]

    def take(self, size: int) -> bytes:
        data = self.peek(size)
        self._at += len(data)
        return data

    def skip(self, size: int) -> None:
        while size > 0:
            step = len(self.take(min(size, MEMBER_BYTES)))
            if not step:
                return
            size -= step

    def tell(self) -> int:
        return 0

    def _expanded(self, file: BinaryIO, kind: str, name: str) -> Iterator[bytes]:
        """Pieces of the expanded stream; several streams one after another are one (xz, gzip)."""
        total, packed = 0, 0
        decoder = _decoder(kind, name)
        data = b""
        try:
            while True:
                if not data and getattr(decoder, "needs_input", True):
                    data = file.read(_STEP)
                    packed += len(data)
                    if not data:
                        self.whole = decoder.eof
                        return
                if decoder.eof:
                    if compression_of(data) != kind:
                        return  # zeros of a tape's block, or what else was put behind the stream
                    decoder = _decoder(kind, name)
                part = decoder.decompress(data, _STEP)
                data = decoder.unused_data if decoder.eof else getattr(decoder, "unconsumed_tail", b"")
                total += len(part)
                if total > EXPANDED_BYTES or (total > _RATIO_FROM and total > packed * _RATIO):
                    raise too_large(name)
                if part:
                    yield part
        except (OSError, EOFError, ValueError, MemoryError):
            self.whole = False  # damaged: what was read so far counts
        except Exception as error:  # lzma.LZMAError, zlib.error, zstd's own: named without importing them
            if type(error).__name__ not in ("LZMAError", "error", "ZstdError"):
                raise
            self.whole = False


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


def _decoder(kind: str, name: str) -> _Decoder:
    if kind == "gzip":
        import zlib

        return zlib.decompressobj(31)
    if kind == "bzip2":
        import bz2

        return bz2.BZ2Decompressor()
    if kind == "xz":
        import lzma

        return lzma.LZMADecompressor(memlimit=_DECODER_MEMORY)
    return _zstd_decoder(name)


def _zstd_decoder(name: str) -> _Decoder:
    import importlib

    for module in ("compression.zstd", "backports.zstd", "pyzstd"):
        try:
            decoder: Callable[[], _Decoder] = importlib.import_module(module).ZstdDecompressor
            return decoder()
        except ImportError:
            continue
    raise GputopoError("cannot read zstd here", name, "unpack it first: zstd -d FILE")
