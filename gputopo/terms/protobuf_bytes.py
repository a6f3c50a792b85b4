r"""Whether bytes look like a protobuf message of few fields: protobuf itself need not be loaded to say no.

A message is fields one after another: a tag, then a number or a length and as many bytes. In what is looked for here
fields 1, 2 and 3 are texts, messages or packed numbers (0a, 12, 1a), or 2 is numbers one by one (10).

    >>> is_message(b"\x0a\x03abc\x12\x00"), is_message(b"\nGPU0\n"), is_message(b"\x0a\xff\xff\x7f"), is_message(b"")
    (True, False, False, False)
    >>> begins_as_message(b"\x0a\x03abc\x12\x7fcut"), begins_as_message(b"\nGPU0\tGPU1\n" * 20)
    (True, False)
"""

from __future__ import annotations

from typing import Final

TAGS: Final = b"\x0a\x10\x12\x1a"
_NUMBER = 0x10
_MOST = 100_000  # fields: a node has some hundred pods, and a machine some thousand CPUs


def is_message(data: bytes) -> bool:
    """Whether the bytes are fields to the last one."""
    return _walk(data) == len(data) > 0


def begins_as_message(head: bytes) -> bool:
    """Whether the first bytes of more are fields as far as they go."""
    return _walk(head) >= len(head) > 0


def _walk(data: bytes) -> int:
    """Where the fields end: before the end of the data where something else comes, past it where it is cut."""
    place, length = 0, len(data)
    for _ in range(_MOST):
        if place >= length:
            return place
        tag = data[place]
        value, end = _varint(data, place + 1) if tag in TAGS else (0, None)
        if end is None:
            return place
        place = end if tag == _NUMBER else end + value
    return 0


def _varint(data: bytes, place: int) -> tuple[int, int | None]:
    """The number at a place and where it ends: past the data where it is cut, `None` where it is too long."""
    value = 0
    for shift, byte in enumerate(data[place : place + 10]):
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, place + shift + 1
    return 0, len(data) + 1 if len(data) < place + 10 else None
