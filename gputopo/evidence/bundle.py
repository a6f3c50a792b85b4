"""A node's evidence in one bundle: captured, trimmed, redacted, listed.

    manifest.json      what was read, what could not be read and why, what was replaced
    root/sys root/proc the files and links that the sysfs parser reads
    nvml.json          the driver's answers
    smi/ lscpu.txt     what people ask for; not evidence where the files above say it
    kubelet/           on request
    inspect.json       derived; never read back

docs/bundle.md describes it for people.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gputopo.evidence.bundle_identities import NO_HOSTS
from gputopo.evidence.bundle_kubelet import names_replaced as kubelet_names
from gputopo.evidence.bundle_read import MANIFEST, VERSION
from gputopo.evidence.bundle_trim import group_path, is_trimmed, trim
from gputopo.evidence.kubelet_files import FOLDER as KUBELET
from gputopo.evidence.redact import KINDS, Redactor
from gputopo.evidence.tar_headers import Member
from gputopo.evidence.tree import FILE, LINK
from gputopo.version import __version__

ROOT = "root"
_CGROUPS = re.compile(r"((?:sys/fs/|dev/)?(?:cgroup|cpuset)(?:/unified|/cpuset)?)/(.+)\Z")
_HOSTNAME = "proc/sys/kernel/hostname"


class Part(NamedTuple):
    """A text beside the root: its path in the bundle, its content, where it is from."""

    path: str
    data: bytes
    source: str
    evidence: bool = False
    whole: bool = True  # False: an answer that did not come to its end


class NotRead(NamedTuple):
    what: str
    why: str


class Collected(NamedTuple):
    """All that was read of a node, not yet redacted. `root` is relative to the root folder."""

    root: Mapping[str, Member]
    parts: tuple[Part, ...] = ()
    not_read: tuple[NotRead, ...] = ()
    live: Mapping[str, Mapping[str, object]] = {}  # what the reader of a live node knows beside the files


def members(collected: Collected, redactor: Redactor, *, salted: bool) -> dict[str, Member]:
    """The bundle but for `inspect.json`. What still holds an identity is left out, and said so."""
    captured = {path: _trimmed(path, member) for path, member in collected.root.items()}
    found = {f"{ROOT}/{_path(path, redactor)}": _redacted(path, one, redactor) for path, one in captured.items()}
    not_read: list[NotRead] = []
    for part in collected.parts:
        data = kubelet_names(part.data, redactor) if part.path.startswith(f"{KUBELET}/") else part.data
        if data is None:
            not_read.append(NotRead(part.path, "left out: no JSON, so names in it cannot be told from the rest"))
        else:
            found[part.path] = Member(FILE, data=_scrubbed(data, redactor))
    leaking = _leaking(found, redactor)
    for path in leaking:
        del found[path]
    not_read += [NotRead(_what(one.what, redactor), redactor.text(one.why)) for one in collected.not_read]
    not_read += [NotRead(path, f"left out: a {kind} of this node is still in it") for path, kind in leaking.items()]
    not_read = [_unnamed(one, redactor) for one in not_read]
    found[MANIFEST] = Member(FILE, data=_manifest(collected, found, not_read, redactor, salted))
    return found


def _trimmed(path: str, member: Member) -> Member:
    if member.kind != FILE or member.data is None:
        return member
    return member._replace(data=trim(path, member.data))


def _path(path: str, redactor: Redactor) -> str:
    """A control group is called in a path as in `proc/self/cgroup`."""
    match = _CGROUPS.match(path)
    return redactor.text(f"{match[1]}/{group_path(match[2])}" if match else path)


def _what(what: str, redactor: Redactor) -> str:
    inside = what.removeprefix(f"{ROOT}/")
    return redactor.text(what) if inside == what else f"{ROOT}/{_path(inside, redactor)}"


def _unnamed(one: NotRead, redactor: Redactor) -> NotRead:
    return one if redactor.leak(f"{one.what}\n{one.why}") is None else NotRead("something", "its name is an identity")


def _redacted(path: str, member: Member, redactor: Redactor) -> Member:
    if member.kind == LINK:
        return member._replace(target=redactor.text(member.target))
    if member.data is None:
        return member
    if path == _HOSTNAME:
        name = member.data.decode("utf-8", "replace").strip()
        said = name if name.lower() in NO_HOSTS else redactor.name("host", name)
        return member._replace(data=f"{said}\n".encode())
    return member if path.endswith("/config") else member._replace(data=_scrubbed(member.data, redactor))


def _scrubbed(data: bytes, redactor: Redactor) -> bytes:
    text = data.partition(b"\0")[0].decode("utf-8", "replace") if b"\0" in data else data.decode("utf-8", "replace")
    return redactor.text(text).encode("utf-8", "replace")


def _leaking(found: Mapping[str, Member], redactor: Redactor) -> dict[str, str]:
    """Members that still hold something known, looked for in all at once first."""
    texts = {path: f"{path}\n{one.target}\n{(one.data or b'').decode('latin-1')}" for path, one in found.items()}
    if redactor.leak("\n\n".join(texts.values())) is None:
        return {}
    kinds = ((path, redactor.leak(text)) for path, text in texts.items())
    return {path: kind for path, kind in kinds if kind is not None}


def _plain(value: object, redactor: Redactor) -> object:
    return redactor.text(value) if isinstance(value, str) else value


def _manifest(
    collected: Collected, found: Mapping[str, Member], not_read: Iterable[NotRead], redactor: Redactor, salted: bool
) -> bytes:
    # What a live inspection answers from; the other texts are for people.
    evidence = [ROOT, *(part.path for part in collected.parts if part.evidence and part.path in found)]
    parts = (part for part in collected.parts if part.path in found)
    rows = [{"path": part.path, "from": redactor.text(part.source)} for part in parts]
    document = {
        "gputopo": "bundle",
        "version": VERSION,
        "writtenBy": f"gputopo {__version__}",
        "evidence": evidence,
        "incomplete": [part.path for part in collected.parts if not part.whole and part.path in found],
        "live": {
            key: {redactor.text(name): _plain(value, redactor) for name, value in said.items()}
            for key, said in collected.live.items()
        },
        "read": [_root_row(found), *rows],
        "notRead": [one._asdict() for one in sorted(set(not_read))],
        "trimmed": sorted(redactor.text(path) for path in collected.root if is_trimmed(path) and not _many(path)),
        "redaction": {
            "replaced": [kind for kind in KINDS if kind not in redactor.keep],
            "kept": [kind for kind in KINDS if kind in redactor.keep],
            "salt": "given" if salted else "random: values are equal within this bundle only",
        },
    }
    return (json.dumps(document, indent=2) + "\n").encode()


def _root_row(found: Mapping[str, Member]) -> dict[str, object]:
    root = [member.kind for path, member in found.items() if path.startswith(f"{ROOT}/")]
    return {"path": ROOT, "from": "the root folder", "files": root.count(FILE), "links": root.count(LINK)}


def _many(path: str) -> bool:
    """One of many files that are trimmed alike: docs/bundle.md names them."""
    return path.endswith("/config") or "/node/node" in path or "/gpus/" in path
