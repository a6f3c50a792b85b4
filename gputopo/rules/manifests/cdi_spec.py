"""GT321 cdi-spec

What it says
    A CDI specification that container runtimes do not load: an unknown or too old cdiVersion, a field that there is
    not, a kind or device name with characters that are not allowed, two devices of one name, edits that are empty or
    of the wrong form.

Why it matters
    The whole file is passed over: "unresolvable CDI devices nvidia.com/gpu=0", and no container with one of its devices
    starts.

What to do
    As the message says. A field needs the version that it came with: hostPath of a device node 0.5.0, annotations
    0.6.0, intelRdt and additionalGids 0.7.0, netDevices 1.1.0.

When it is silent
    The library loads the file. Whether the runtime's own copy of it is as new as cdiVersion is not known, nor whether
    the paths exist.

    Source: cncf-tags/container-device-interface main 05ae4b5 (spec 1.1.0): specs-go/version.go, pkg/cdi/spec.go,
    pkg/cdi/container-edits.go, pkg/parser/parser.go.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [spec] = read('''cdiVersion: 0.4.0
    ... kind: nvidia.com/gpu
    ... devices:
    ... - name: gpu0
    ...   containerEdits: {deviceNodes: [{path: /dev/nvidia0, hostPath: /dev/nvidia0}]}
    ... ''')
    >>> [(found.place.line, found.message, found.remedy) for found in check(spec, Context())]
    [(1, 'cdiVersion 0.4.0 is too old: hostPath of a device node came with 0.5.0', 'cdiVersion: 0.5.0')]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gputopo.rules.manifests.cdi_edits import edit_faults, is_empty
from gputopo.rules.manifests.cdi_shape import Path, faults, field, listed, text
from gputopo.rules.manifests.cdi_versions import VERSIONS, required
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest

CODE = "GT321"
SEVERITY = "error"
KINDS = ("CDISpec",)
_REFUSED = "the runtime passes the whole file over: none of its devices can be used"
_DROPPED = ("enablecmt", "enablembm")
Found = tuple[Path, str, str]  # path, message, remedy


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    body = manifest.object.body
    wrong = list(faults(body))
    for path, message in wrong:
        place = manifest.key(path) if message.startswith("there is no field") else None
        old = str(path[-1]).lower() in _DROPPED
        severity, said = ("warning", f"{path[-1]} went with 1.1.0") if old else (SEVERITY, message)
        yield problem(CODE, severity, manifest, path, said, _REFUSED, "", place)
    if wrong:
        return
    for path, message, remedy in (*_version(body), *_kind(body), *_devices(body), *_edits(body, ())):
        yield problem(CODE, SEVERITY, manifest, path, message, _REFUSED, remedy)


def _version(body: dict[str, Any]) -> Iterator[Found]:
    key, value = field(body, "cdiVersion")
    said = text(value)
    version = said.removeprefix("v")
    least, why = required(body)
    if version not in VERSIONS:
        yield (key,), f"there is no version {said or '(empty)'} of CDI", f"cdiVersion: {least}"
    elif VERSIONS.index(version) < VERSIONS.index(least):
        yield (key,), f"cdiVersion {said} is too old: {why} came with {least}", f"cdiVersion: {least}"


def _kind(body: dict[str, Any]) -> Iterator[Found]:
    key, value = field(body, "kind")
    kind = text(value)
    vendor, slash, name = kind.partition("/")
    if not slash or not vendor or not name:
        yield (key,), f"kind is {kind or 'empty'}, not VENDOR/CLASS", "nvidia.com/gpu"
        return
    for what, part in (("vendor", vendor), ("class", name)):
        if not _is_letter(part[0]):
            yield (key,), f"the {what} {part} does not begin with a letter", ""
        elif not _fits(part, "_-."):
            allowed = "letters, digits, '_', '-' and '.', with one of the first two at its end"
            yield (key,), f"the {what} {part} is not of {allowed}", ""


def _devices(body: dict[str, Any]) -> Iterator[Found]:
    found = list(listed(body, "devices", ()))
    if not found:
        yield (field(body, "devices")[0],), "there are no devices", ""
    seen: set[str] = set()
    for path, device in found:
        key, value = field(device, "name")
        name = text(value)
        if not name:
            yield (*path, key), "a device without a name", ""
        elif not _is_letter_or_digit(name[0]) or not _fits(name, "_-.:"):
            allowed = "letters, digits, '_', '-', '.' and ':', with one of the first two at both ends"
            yield (*path, key), f"the device name {name} is not of {allowed}", ""
        elif name in seen:
            yield (*path, key), f"a second device {name}", ""
        seen.add(name)
        yield from _edits(device, path, name or "?")


def _edits(body: Any, path: Path, device: str = "") -> Iterator[Found]:
    key, edits = field(body, "containerEdits")
    if device and is_empty(edits):
        yield (*path, key), f"device {device} has no edits", ""
    yield from edit_faults(edits, (*path, key))


def _is_letter(character: str) -> bool:
    return character.isascii() and character.isalpha()


def _is_letter_or_digit(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _fits(name: str, more: str) -> bool:
    inner = all(_is_letter_or_digit(one) or one in more for one in name[1:-1])
    return inner and (len(name) == 1 or _is_letter_or_digit(name[-1]))
