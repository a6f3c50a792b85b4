"""Captured machines a little wrong: files, folders and links of a root changed, lost or exchanged."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from random import Random

from fuzz.mutate import TOKENS, mutate
from gputopo.evidence.archive import ArchiveTree, open_archive
from gputopo.evidence.tar_headers import Member
from gputopo.evidence.tree import FILE, FOLDER, LINK

Members = dict[str, Member]
_MACHINES = ("single-gpu", "mixed-5gpu", "pcie-bridged", "gb200-tray")
_NAMES = (
    "0000:zz:00.0", "0000:00:00.0", "ffffffff:ff:1f.7", "10000:01:00.0", "node-1", "node99999999", "cpu-1",
    "cpu99999999999",
    "node\u00b2", "mlx5_0", "card0", "nvme0n1", "\u202e", "\x1b[2J", "a b", "..", "0000:0f:00.0 ", "x" * 255,
)  # fmt: skip


@cache
def seeds() -> tuple[Members, ...]:
    """Our machines as root folders."""
    from tests.machines import MACHINES
    from tests.machines.render_sysfs import render_sysfs

    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in _MACHINES:
            place = Path(folder) / name
            render_sysfs(MACHINES[name], place)
            found.append(_members(place))
    return tuple(found)


def _members(root: Path) -> Members:
    found: Members = {}
    for folder, folders, files in os.walk(root):
        for name in sorted(folders + files):
            path = Path(folder) / name
            inside = str(path.relative_to(root))
            if path.is_symlink():
                found[inside] = Member(LINK, os.readlink(path))
            elif path.is_dir():
                found[inside] = Member(FOLDER)
            else:
                found[inside] = Member(FILE, data=path.read_bytes())
    return found


def change(members: Members, random: Random) -> Members:
    """A copy with one to a dozen changes."""
    changed = dict(members)
    for _ in range(random.choice((1, 1, 2, 3, 5, 12))):
        names = list(changed)
        if names:
            _change_one(changed, random.choice(names), names, random)
    return changed


def _change_one(members: Members, path: str, names: list[str], random: Random) -> None:
    member = members[path]
    way = random.randrange(12)
    if way == 0:
        del members[path]
    elif way == 1:
        _without(members, path)
    elif way == 2:
        members[path] = members[random.choice(names)]
    elif way == 3:
        folder, _, _ = path.rpartition("/")
        members[f"{folder}/{random.choice(_NAMES)}".lstrip("/")] = member
    elif way == 4:
        _moved(members, path, random.choice(_NAMES))
    elif member.kind == LINK:
        other = mutate(member.target.encode("utf-8", "surrogateescape"), random, ()).decode("utf-8", "surrogateescape")
        targets = (other, other, member.target.rpartition("/")[0], "../" * 40, "/", path, "")
        members[path] = Member(LINK, random.choice(targets))
    elif member.kind == FILE:
        data = member.data or b""
        members[path] = Member(FILE, data=random.choice(TOKENS) + b"\n" if way < 8 else mutate(data, random, ()))
    else:
        members[path] = Member(FILE, data=b"1\n")


def _without(members: Members, path: str) -> None:
    for name in [name for name in members if name == path or name.startswith(f"{path}/")]:
        del members[name]


def _moved(members: Members, path: str, name: str) -> None:
    folder, _, _ = path.rpartition("/")
    for old in [old for old in members if old == path or old.startswith(f"{path}/")]:
        members[f"{folder}/{name}{old[len(path) :]}".lstrip("/")] = members.pop(old)


def tree(members: Members) -> ArchiveTree:
    return ArchiveTree(members, None)


def pack(members: Members) -> bytes:
    """As a .tar.gz, to keep it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, member in members.items():
            entry = tarfile.TarInfo(path)
            if member.kind == LINK:
                entry.type, entry.linkname = tarfile.SYMTYPE, member.target
            elif member.kind == FOLDER:
                entry.type = tarfile.DIRTYPE
            entry.size = len(member.data or b"")
            archive.addfile(entry, io.BytesIO(member.data or b""))
    return packed.getvalue()


def unpack(data: bytes) -> Members:
    packed = open_archive(data, "corpus")
    return dict(packed._members) if packed is not None else {}
