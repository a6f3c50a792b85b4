r"""What people paste: the lines of a text without what terminals, mail and logs put around them.

>>> clean_lines("\x1b[4mGPU0\x1b[0m\r\nGPU1")
['GPU0', 'GPU1']
>>> words_before("[12:03:01] node-a | GPU 0: NVIDIA L4", 20)
('node-a',)
>>> words_before("> GPU 0: NVIDIA L4", 2)
()
"""

from __future__ import annotations

import re

from gputopo.parsers.limits import lines_of

# Colour codes, also where ESC was lost or spelled out.
_COLOUR = re.compile(
    r"(?:\x1b|\^\[|\\x1b|\\e|\\033|\\u001[bB]|#033|␛|\ufffd)\[[0-9;?]*[A-Za-z]|\[\d[\d;]*m(?:\[K)?|\[m\[K|\x1b\(B"
)
_COLOUR_SIGNS = ("\x1b", "[0m", "[4m", "[m", "[1m")
_ODD_SIGNS = {0xA0: " ", 0x2007: " ", 0x202F: " ", 0x2502: "|", 0x2503: "|", 0x2551: "|", 0xFEFF: None, 0x200B: None}
_TIME = re.compile(r"[\[(]?\d[\d:.,/\-+TZ]*[\])]?:?\Z")


def clean_lines(text: str) -> list[str]:
    """The lines without colour codes and carriage returns; line n of the text is element n - 1. Raises Unreadable."""
    if "\r" in text:
        text = re.sub("\r+\n", "\n", text)
        text = text.replace("\r", " " if "\n" in text else "\n")
    if any(sign in text for sign in _COLOUR_SIGNS):
        text = _COLOUR.sub("", text)
    if not text.isascii():
        text = text.translate(_ODD_SIGNS)
    return lines_of(text)


def without_colours(line: str) -> str:
    """A line without the codes that colour it."""
    return _COLOUR.sub("", line)


def words_before(line: str, at: int) -> tuple[str, ...]:
    """The words a log puts before every line of one output (a host, a rank), times and marks left out."""
    before = line[:at].strip()
    if not before:
        return ()
    return tuple(word for word in before.split() if not _TIME.match(word) and word.strip(">|#*`-'\""))
