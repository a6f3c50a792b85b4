"""One text in a compressed file (`topo.txt.gz`), unpacked within the limit of a text."""

from __future__ import annotations

from io import BytesIO

from gputopo.errors import GputopoError
from gputopo.evidence import limits
from gputopo.evidence.expanded import Expanded


def unpack(data: bytes, kind: str, name: str) -> bytes:
    """The text inside, at most `limits.TEXT_BYTES`. Raises GputopoError: larger, or nothing is left."""
    with BytesIO(data) as file:
        text = Expanded(file, kind, name).peek(limits.TEXT_BYTES + 1)
    if len(text) > limits.TEXT_BYTES:
        raise GputopoError(f"unpacks to more than {limits.TEXT_BYTES // limits.MIB} MiB", name)
    if not text:
        raise GputopoError(f"empty or damaged {kind} file", name, "copy it again")
    return text
