"""A piece of evidence: bytes or a guarded tree, with the name the user gave it."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Tree(Protocol):
    """A root folder, live or captured (`sys/`, `proc/`), that cannot be left.

    Paths are relative to the root, without a leading slash: `sys/bus/pci/devices`. Links are
    followed inside the root only (absolute targets are re-rooted); what leads out is absent.
    """

    def read(self, path: str) -> bytes | None:
        """The content, at most 1 MiB, or `None`: absent, unreadable, not a plain file."""

    def names(self, path: str) -> tuple[str, ...] | None:
        """The names in a folder, sorted, or `None`: absent, unreadable, not a folder."""

    def resolve(self, path: str) -> str | None:
        """The path with every link followed (`sys/devices/pci0000:00/0000:00:01.0`), or `None`."""

    def is_link(self, path: str) -> bool:
        """Whether the last element itself is a link."""


class Piece(NamedTuple):
    """Exactly one of `data` and `tree` is set."""

    name: str
    data: bytes | None = None
    tree: Tree | None = None
    where: str = ""  # place inside a larger thing: a member's path
    whole: bool = True  # False: cut at a size limit
