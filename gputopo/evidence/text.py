"""Bytes to text: UTF-8, UTF-16 as Windows' `>` writes it, else Latin-1; or not a text at all."""

from __future__ import annotations

UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


class NotText(ValueError):
    """Holds NUL bytes or mostly control characters."""


def decode(data: bytes) -> tuple[str, str]:
    r"""The text and a note for the user ("" when there is nothing to say). Raises NotText.

    >>> decode(b"\xef\xbb\xbfGPU0")
    ('GPU0', '')
    >>> decode("GPU0".encode("utf-16"))
    ('GPU0', '')
    >>> decode(b"Prozessorsockel f\xfcr GPU0")
    ('Prozessorsockel für GPU0', 'not UTF-8, read as Latin-1')
    """
    encoding = UTF16.get(data[:2])
    if encoding:
        text = data[2:].decode(encoding, "replace")
        if "\0" in text or "\ufffd" in text:
            raise NotText
        return text, ""
    if looks_binary(data):
        raise NotText
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        return data.decode("latin-1"), "not UTF-8, read as Latin-1"


def without_wide(data: bytes) -> bytes:
    r"""UTF-8 in which every character beyond U+FFFF, an emoji, is U+FFFD: one alone makes Python take four bytes each.

    >>> without_wide("GPU0 \U0001f600".encode()).decode()
    'GPU0 \ufffd'
    """
    import codecs
    import re

    wide = re.compile("[\U00010000-\U0010ffff]")
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    kept = bytearray()
    for at in range(0, len(data), _STEP):
        kept += wide.sub("\ufffd", decoder.decode(data[at : at + _STEP])).encode()
    return bytes(kept)


def has_wide(data: bytes) -> bool:
    """Whether UTF-8 has a character beyond U+FFFF."""
    return len(data.translate(None, _WIDE)) < len(data)


def ended_lines(text: bytes) -> bytes:
    r"""A text that was cut, without the line in which it was.

    >>> ended_lines(b"CPU(s): 64\nNUMA node0 CPU(s): 0-3"), ended_lines(b"0-3")
    (b'CPU(s): 64\n', b'')
    """
    return text[: text.rfind(b"\n") + 1]


def looks_binary(data: bytes) -> bool:
    """NULs, or control characters that no terminal copy has (a text keeps tab, newline, ESC …)."""
    if b"\0" in data:
        return True
    head = data[:4096]
    return len(head.translate(None, _ODD)) < 0.9 * len(head)


_STEP = 1 << 20
_WIDE = bytes(range(0xF0, 0xF5))  # the first byte of such a character
_ODD = bytes(c for c in range(32) if c not in b"\a\b\t\n\v\f\r\x1b")
