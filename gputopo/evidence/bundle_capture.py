"""A root folder that writes down what is asked of it: files read, links followed, folders listed.

The parser itself says what a capture must hold: it is let loose on this tree, and what it touched
is the capture. So a file that a later parser reads is captured from then on without a list of
names. A folder's entries that nobody read are kept as empty folders where they were folders; plain
files that nobody read are left out (those of which it was asked whether they are there, are kept
empty), links are kept.
"""

from __future__ import annotations

import os

from gputopo.evidence.live.watched_tree import WatchedTree, may_hang
from gputopo.evidence.piece import Tree
from gputopo.evidence.tar_headers import Member
from gputopo.evidence.tree import FILE, FOLDER, LINK, LinkedTree

_SELF = "proc/self"


class RecordingTree(LinkedTree):
    """The answers of another tree, kept; each place is looked at once."""

    __slots__ = ("_asked", "_contents", "_inner", "_kinds", "_listed", "_targets", "unread")

    def __init__(self, inner: WatchedTree) -> None:
        super().__init__()
        self._inner = inner
        self._asked: set[str] = set()  # places that somebody resolved
        self._kinds: dict[str, str | None] = {}
        self._targets: dict[str, str | None] = {}
        self._contents: dict[str, bytes | None] = {}
        self._listed: dict[str, list[str] | None] = {}
        self.unread: dict[str, str] = {}  # place → why

    def _kind(self, place: str) -> str | None:
        if place not in self._kinds:
            self._kinds[place] = self._inner._kind(place)
        return self._kinds[place]

    def _target(self, place: str) -> str | None:
        if place not in self._targets:
            self._targets[place] = self._inner._target(place)
        return self._targets[place]

    def _content(self, place: str) -> bytes | None:
        if place not in self._contents:
            data = self._contents[place] = self._inner._content(place)
            if data is None and self._kind(place) == FILE:
                self.unread[place] = self._why_not(place)
        return self._contents[place]

    def _children(self, place: str) -> list[str] | None:
        if place not in self._listed:
            found = self._listed[place] = self._inner._children(place)
            if found is None:
                self.unread[place] = "cannot be listed"
        return self._listed[place]

    def resolve(self, path: str) -> str | None:
        place = super().resolve(path)
        if place:
            self._asked.add(place)
        return place

    def _why_not(self, place: str) -> str:
        """What may hang is not asked again, not even for its reason."""
        if may_hang(place):
            return "did not answer in time" if self._inner.stuck else "could not be read"
        return _why(self._inner._path(place))

    def below(self, path: str) -> Tree | None:
        return self._inner.below(path)  # nobody reads a part of a root that is being recorded

    def members(self) -> dict[str, Member]:
        """The capture, by path."""
        found: dict[str, Member] = {}
        for folder, names in sorted(self._listed.items()):
            if names is not None:
                self._keep_entries(found, folder, names)
        for place in self._asked:
            kind = self._kind(place)
            if kind == FOLDER and self._listed.get(place, []) is not None:
                found[place] = Member(FOLDER)
            elif kind == FILE and place not in self._contents:
                found[place] = Member(FILE, data=b"")
        for place in [place for place, kind in self._kinds.items() if kind == LINK]:
            target = self._target(place)
            if target is not None:
                found[place] = Member(LINK, target)
        for place, data in self._contents.items():
            if data is not None:
                found[place] = Member(FILE, data=data)
        return _without_process_number(_needed(found), self._targets.get(_SELF))

    def _keep_entries(self, found: dict[str, Member], folder: str, names: list[str]) -> None:
        kept = not names
        for name in sorted(names):
            place = f"{folder}/{name}" if folder else name
            kind = self._kind(place)
            if kind == FOLDER and self._listed.get(place, []) is not None:
                found[place] = Member(FOLDER)
            kept = kept or kind in (LINK, FOLDER) or self._contents.get(place) is not None
        if not kept:  # that there is something may be all that is asked (sys/hypervisor/properties)
            found[f"{folder}/{min(names)}"] = Member(FOLDER)
        if folder and not names:
            found[folder] = Member(FOLDER)


def _needed(found: dict[str, Member]) -> dict[str, Member]:
    """Sorted, without the folders that something inside them implies."""
    implied = {path.rpartition("/")[0] for path in found}
    return {path: found[path] for path in sorted(found) if found[path].kind != FOLDER or path not in implied}


def _without_process_number(members: dict[str, Member], number: str | None) -> dict[str, Member]:
    """`proc/self -> 4711` and `proc/4711/status` as `proc/self/status`: the number is of no use."""
    if number is None or not number.isdigit():
        return members
    real = f"proc/{number}/"
    return {
        f"{_SELF}/{place[len(real) :]}" if place.startswith(real) else place: member
        for place, member in members.items()
        if place != _SELF
    }


def _why(path: str) -> str:
    """What the kernel says to somebody who reads this file."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        return (error.strerror or str(error)).lower()
    try:
        os.read(file, 1)
    except OSError as error:
        return (error.strerror or str(error)).lower()
    finally:
        os.close(file)
    return "could not be read to its end"
