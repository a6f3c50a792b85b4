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


_ODD = bytes(c for c in range(32) if c not in b"\a\b\t\n\v\f\r\x1b")
