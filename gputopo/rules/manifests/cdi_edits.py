"""containerEdits of a CDI specification: pkg/cdi/container-edits.go of cncf-tags/container-device-interface (main
05ae4b5). Read only where the shape is right.

    >>> list(edit_faults({"env": ["A"], "deviceNodes": [{"path": "/dev/x", "permissions": "rx"}]}, ()))
    ... # doctest: +NORMALIZE_WHITESPACE
    [(('env', 0), 'the variable A is not NAME=VALUE', ''),
     (('deviceNodes', 0, 'permissions'), 'permissions are of r, w and m, or none', '')]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gputopo.rules.manifests.cdi_shape import Path, field, listed, text

_TYPES = ("", "b", "c", "u", "p")
_HOOKS = ("prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop")
_LISTS = ("env", "deviceNodes", "hooks", "mounts", "additionalGids", "netDevices")
Found = tuple[Path, str, str]


def is_empty(edits: Any) -> bool:
    """Whether a device with these edits is refused."""
    return not any(field(edits, name)[1] for name in _LISTS) and field(edits, "intelRdt")[1] is None


def edit_faults(edits: Any, path: Path) -> Iterator[Found]:
    """Path, message and remedy."""
    yield from _variables(edits, path)
    for own, node in listed(edits, "deviceNodes", path):
        yield from _node(node, own)
    for own, hook in listed(edits, "hooks", path):
        yield from _hook(hook, own)
    for own, mount in listed(edits, "mounts", path):
        yield from _given(mount, own, "a mount", "hostPath", "containerPath")
    yield from _net_devices(edits, path)
    key, rdt = field(edits, "intelRdt")
    name_key, name = field(rdt, "closID")
    clos = text(name)
    if clos != "/" and (clos in (".", "..") or "/" in clos or "\n" in clos or len(clos.encode()) >= 4096):
        yield (*path, key, name_key), "closID is no name of a file", ""


def _variables(body: Any, path: Path) -> Iterator[Found]:
    for own, one in listed(body, "env", path):
        if text(one).find("=") <= 0:
            yield own, f"the variable {text(one) or '(empty)'} is not NAME=VALUE", ""


def _given(body: Any, path: Path, what: str, *names: str) -> Iterator[Found]:
    for name in names:
        key, value = field(body, name)
        if not text(value):
            yield (*path, key), f"{what} without {name}", ""


def _node(node: Any, path: Path) -> Iterator[Found]:
    yield from _given(node, path, "a device node", "path")
    key, kind = field(node, "type")
    if text(kind) not in _TYPES:
        yield (*path, key), "type of a device node is b, c, u or p", ""
    key, permissions = field(node, "permissions")
    if text(permissions) != "none" and text(permissions).strip("rwm"):
        yield (*path, key), "permissions are of r, w and m, or none", ""


def _hook(hook: Any, path: Path) -> Iterator[Found]:
    key, name = field(hook, "hookName")
    if text(name) not in _HOOKS:
        near = next((one for one in _HOOKS if one.lower() == text(name).lower().replace("-", "")), "")
        yield (*path, key), f"hookName is one of {', '.join(_HOOKS)}", near
    yield from _given(hook, path, "a hook", "path")
    yield from _variables(hook, path)


def _net_devices(edits: Any, path: Path) -> Iterator[Found]:
    seen: set[tuple[str, str]] = set()
    for own, device in listed(edits, "netDevices", path):
        yield from _given(device, own, "a net device", "hostInterfaceName", "name")
        for name in ("hostInterfaceName", "name"):
            key, value = field(device, name)
            if text(value) and (name, text(value)) in seen:
                yield (*own, key), f"a second net device with {name} {text(value)}", ""
            seen.add((name, text(value)))
