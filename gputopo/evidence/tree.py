"""Root folders (`/`, `/host`, an unpacked capture) that a link cannot lead out of.

A capture comes from a stranger: its links may name `/etc/shadow`, run in circles or point at a
FIFO. So no path is handed to the kernel whole: every element is looked at with lstat, links are
followed by us inside the root (an absolute target starts at the root again), and only plain files
are opened. Files of a live sysfs say size 4096 whatever they hold, so reading goes to the end.
"""

from __future__ import annotations

import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator

from gputopo.evidence.piece import Tree

MEMBER_BYTES = 1 << 20  # of one file, the most that is returned
_LINKS = 40  # what Linux follows before it says ELOOP
_PATH_ELEMENTS = 256
_FOLDER_NAMES = 100_000
_SYSFS = frozenset(("devices", "bus", "class"))

FILE, FOLDER, LINK = "file", "folder", "link"


class LinkedTree(ABC):
    """Path walking shared by folders and archives; a subclass tells what lies at one place.

    A *place* is a path in which only the last element may be a link.
    """

    __slots__ = ("_places",)

    def __init__(self) -> None:
        self._places: dict[str, str | None] = {}  # folders asked for before: a tree is one look at a node

    @abstractmethod
    def _kind(self, place: str) -> str | None: ...

    @abstractmethod
    def _target(self, place: str) -> str | None: ...

    @abstractmethod
    def _content(self, place: str) -> bytes | None: ...

    @abstractmethod
    def _children(self, place: str) -> list[str] | None: ...

    @abstractmethod
    def below(self, path: str) -> Tree | None: ...

    def resolve(self, path: str) -> str | None:
        folder, _, last = path.rpartition("/")
        if last in ("", ".", ".."):
            return self._walk(path)
        start = self._folder(folder)
        if start is None:
            return None
        return self._walk(f"{start}/{last}" if start else last, trusted=start)

    def _folder(self, path: str) -> str | None:
        if not path:
            return ""
        if path in self._places:
            return self._places[path]
        place = self._places[path] = self.resolve(path)
        return place

    def _walk(self, path: str, trusted: str = "") -> str | None:
        """Follow every link; `trusted` is the leading part known to hold none.

        A link whose target was not captured resolves to the place it names: the driver of a
        device is the last element of such a link.
        """
        at = trusted
        pending = path[len(trusted) :].split("/")[::-1]
        links = 0
        while pending:
            name = pending.pop()
            if name in ("", "."):
                continue
            if name == "..":
                if not at:
                    return None
                at = at.rpartition("/")[0]
                continue
            place = f"{at}/{name}" if at else name
            kind = self._kind(place)
            if kind == LINK:
                links += 1
                target = self._target(place)
                if target is None or links > _LINKS or len(pending) > _PATH_ELEMENTS:
                    return None
                if target.startswith("/"):
                    at = ""
                pending.extend(target.split("/")[::-1])
                continue
            if (kind is None and not links) or (kind is not None and pending and kind != FOLDER):
                return None
            at = place
        return at

    def read(self, path: str) -> bytes | None:
        place = self.resolve(path)
        return None if place is None else self._content(place)

    def names(self, path: str) -> tuple[str, ...] | None:
        place = self._folder(path)
        if place is None or (place and self._kind(place) != FOLDER):
            return None
        children = self._children(place)
        return None if children is None else tuple(sorted(children))

    def is_link(self, path: str) -> bool:
        folder, _, last = path.rpartition("/")
        start = self._folder(folder)
        if start is None or last in ("", ".", ".."):
            return False
        return self._kind(f"{start}/{last}" if start else last) == LINK


class FolderTree(LinkedTree):
    """A folder of this machine as the root of a tree."""

    __slots__ = ("root",)

    def __init__(self, root: str) -> None:
        super().__init__()
        self.root = os.fspath(root).rstrip("/")  # "/" becomes "", so that root + "/" + place holds

    def _path(self, place: str) -> str:
        return f"{self.root}/{place}"

    def _kind(self, place: str) -> str | None:
        try:
            mode = os.lstat(self._path(place)).st_mode
        except (OSError, ValueError):  # ValueError: a NUL in the name
            return None
        if stat.S_ISLNK(mode):
            return LINK
        if stat.S_ISDIR(mode):
            return FOLDER
        return FILE if stat.S_ISREG(mode) else "other"

    def _target(self, place: str) -> str | None:
        try:
            return os.readlink(self._path(place))
        except OSError:
            return None

    def _content(self, place: str) -> bytes | None:
        if not place or self._kind(place) != FILE:
            return None
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        try:
            file = os.open(self._path(place), flags)
        except (OSError, ValueError):
            return None
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):  # exchanged since lstat
                return None
            return _read_to_end(file)
        except OSError:  # EIO of a device off the bus, EINVAL of a `speed` file of a port that is down
            return None
        finally:
            os.close(file)

    def _children(self, place: str) -> list[str] | None:
        try:
            with os.scandir(self._path(place)) as entries:
                return [entry.name for entry, _ in zip(entries, range(_FOLDER_NAMES), strict=False)]
        except OSError:
            return None

    def below(self, path: str) -> Tree | None:
        place = self._folder(path)
        return None if place is None else FolderTree(self._path(place) if place else self.root or "/")


def _read_to_end(file: int) -> bytes:
    parts, missing = [], MEMBER_BYTES
    while missing > 0:
        part = os.read(file, min(missing, 65_536))
        if not part:
            break
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def find_roots(tree: LinkedTree) -> Iterator[tuple[str, Tree]]:
    """Each `(path, tree)` below which `sys/` lies: here, one folder down, or below `fsroot/`.

    hwloc-gather-topology writes `NAME/sys`, hwloc's own test suite `NAME/fsroot/sys`.
    """
    for path in _places_of_roots(tree):
        if _is_sysfs(tree, f"{path}/sys" if path else "sys"):
            found = tree.below(path)
            if found is not None:
                yield path, found


def _places_of_roots(tree: LinkedTree) -> Iterator[str]:
    yield ""
    yield "fsroot"
    if _is_sysfs(tree, "sys") or _is_sysfs(tree, "fsroot/sys"):
        return
    for name in tree.names("") or ():
        if not tree.is_link(name):
            yield name
            yield f"{name}/fsroot"


def _is_sysfs(tree: LinkedTree, path: str) -> bool:
    """A folder `sys` of a program's own source is none; an empty one is a capture that failed."""
    names = tree.names(path)
    return names is not None and (not names or not _SYSFS.isdisjoint(names))


def find_root(tree: LinkedTree) -> Tree | None:
    """The first root that holds `sys/`, or `None`: this is not a captured machine."""
    for _, found in find_roots(tree):
        return found
    return None
