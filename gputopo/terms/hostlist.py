"""Slurm's hostlists, which `NodeName=` and `File=` of gres.conf are (SchedMD/slurm 284c3b9, src/common/hostlist.c).

>>> expand("/dev/nvidia[0-1,3],/dev/nvidia9")
('/dev/nvidia0', '/dev/nvidia1', '/dev/nvidia3', '/dev/nvidia9')
>>> expand("rack[0-1]n[08-10]")
('rack0n08', 'rack0n09', 'rack0n10', 'rack1n08', 'rack1n09', 'rack1n10')
>>> expand("tux[3-1]")
Traceback (most recent call last):
ValueError: 3-1 is no range
>>> print(expand("n[0-99999]"))                             # more than anybody wants to list
None
"""

from __future__ import annotations

import re

MOST = 4096
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18})?)?\Z")
_PART = re.compile(r"(?:[^\[\],\s]|\[[^\]]*\])+")


def expand(text: str) -> tuple[str, ...] | None:
    """The names in order; None: more than MOST. Raises ValueError where Slurm cannot parse it."""
    if text.count("[") != text.count("]"):
        raise ValueError("a bracket is not closed" if "[" in text else "a bracket is not opened")
    found: list[str] = []
    for part in _PART.findall(text):
        names = _names(part)
        if names is None or len(found) + len(names) > MOST:
            return None
        found += names
    return tuple(found)


def _names(part: str) -> list[str] | None:
    """Of one part without commas outside of brackets."""
    names = [""]
    for number, piece in enumerate(re.split(r"[\[\]]", part)):
        choices = _range_list(piece) if number % 2 else [piece]
        if choices is None or len(names) * len(choices) > MOST:
            return None
        names = [name + choice for name in names for choice in choices]
    return names


def _range_list(text: str) -> list[str] | None:
    found: list[str] = []
    for one in text.split(","):
        match = _RANGE.match(one)
        if match is None or (match[2] and int(match[2]) < int(match[1])):
            raise ValueError(f"{one or 'nothing'} is no range")
        first, last = int(match[1]), int(match[2] or match[1])
        if last - first >= MOST:
            return None
        found += [str(number).zfill(len(match[1])) for number in range(first, last + 1)]
    return found if len(found) <= MOST else None
