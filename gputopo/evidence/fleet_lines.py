"""A text of many nodes, a line each (NDJSON: `gputopo collect --stdout` of many, or documents of one line): each line
is a thing of its own, so that the text need not fit into memory and its lines can be read by several processes.

Any other text, and anything packed, is one thing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

from gputopo.evidence import limits
from gputopo.evidence.fleet_plan import FAILED, FILE, TEXT, Later
from gputopo.evidence.reading import packing

_TOO_LONG = f"longer than {limits.TEXT_BYTES >> 20} MiB"


def split(later: Later) -> Iterator[Later]:
    """The lines of a file that has many; else what was given."""
    if later.kind != FILE or not os.path.isfile(later.path):  # a pipe is opened once, by whom reads it
        yield later
        return
    try:
        with open(later.path, "rb") as file:
            first = file.readline(limits.TEXT_BYTES + 1)
            if not _is_record(first) or not file.read(1):
                yield later
                return
            file.seek(0)
            yield from _lines(file, later.path, b"")
    except OSError:
        yield later  # who reads it says why not


def of_stream(stream: BinaryIO, name: str) -> Iterator[Later]:
    """What comes, as it comes."""
    first = stream.readline(limits.TEXT_BYTES + 1)
    if packing(first) is None and _is_record(first):
        yield from _lines(stream, name, first)
        return
    data = first + stream.read(max(0, limits.TEXT_BYTES + 1 - len(first)))
    if len(data) > limits.TEXT_BYTES:
        yield Later(FAILED, name, why=_TOO_LONG)
    else:
        yield Later(TEXT, name, data=data)


def _is_record(line: bytes) -> bool:
    """One whole object."""
    line = line.strip()
    return len(line) > 2 and line[:1] == b"{" and line[-1:] == b"}"


def _lines(stream: BinaryIO, name: str, first: bytes) -> Iterator[Later]:
    number = 0
    line = first or stream.readline(limits.TEXT_BYTES + 1)
    while line:
        number += 1
        if len(line) > limits.TEXT_BYTES:
            yield Later(FAILED, f"{name}:{number}", why=_TOO_LONG)
            while line and not line.endswith(b"\n"):
                line = stream.readline(limits.CHUNK)
        elif line.strip():
            yield Later(TEXT, f"{name}:{number}", data=line)
        line = stream.readline(limits.TEXT_BYTES + 1)
