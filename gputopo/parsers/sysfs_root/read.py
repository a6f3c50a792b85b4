"""Files of a root as text, numbers, CPU sets: whatever they hold, a value or `None`."""

from __future__ import annotations

from typing import Protocol

from gputopo.terms.cpu_set import CpuSet

_DIGITS = 18  # of a number the kernel prints; longer is damage


class Tree(Protocol):
    """What a parser needs of a root folder; `gputopo.evidence.piece.Tree` is one."""

    def read(self, path: str) -> bytes | None: ...
    def names(self, path: str) -> tuple[str, ...] | None: ...
    def resolve(self, path: str) -> str | None: ...
    def is_link(self, path: str) -> bool: ...


def text(tree: Tree, path: str) -> str | None:
    """The file up to the first NUL, stripped; `None` where it is absent or blank."""
    data = tree.read(path)
    if data is None:
        return None
    return data.partition(b"\0")[0].decode("utf-8", "replace").strip() or None


def line(tree: Tree, path: str) -> str | None:
    """The first line of a file of one line: captures may have junk behind it."""
    content = text(tree, path)
    return None if content is None else content.splitlines()[0].strip() or None


def integer(value: str | None) -> int | None:
    """
    >>> integer("-1"), integer("250"), integer("8 GT/s"), integer("9" * 40)
    (-1, 250, None, None)
    """
    if value is None:
        return None
    digits = value[1:] if value[:1] in ("-", "+") else value
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS):
        return None
    return int(value)


def number(tree: Tree, path: str) -> int | None:
    return integer(line(tree, path))


def hexadecimal(tree: Tree, path: str) -> int | None:
    """`class`, `vendor`, `device`: `0x10de`."""
    value = line(tree, path)
    if value is None or not value.startswith("0x") or len(value) > 10:
        return None
    try:
        return int(value[2:], 16)
    except ValueError:
        return None


def cpu_set(tree: Tree, mask_path: str, list_path: str) -> CpuSet | None:
    """The bitmap wins: the list may hold CPUs that were never plugged in (POWER9: 0-87 against 0-15)."""
    mask = text(tree, mask_path)
    found = CpuSet.parse_mask(mask) if mask is not None else None
    return cpu_list(tree, list_path) if found is None else found


def cpu_list(tree: Tree, path: str) -> CpuSet | None:
    """A list file; an empty file is the empty set, an absent one is unknown."""
    data = tree.read(path)
    if data is None:
        return None
    return CpuSet.parse_list(data.partition(b"\0")[0].decode("utf-8", "replace"))


def last_name(path: str | None) -> str | None:
    return None if path is None else path.rpartition("/")[2]
