"""The fields of a CDI specification with their types, as the library decodes them: strictly, in any case of letters.

Source: cncf-tags/container-device-interface specs-go/config.go and pkg/cdi/spec.go (ParseSpec), main 05ae4b5. The file
is read with sigs.k8s.io/yaml: where a text is wanted, a number or true is taken for its text; null is the empty value.

    >>> list(faults({"kind": "a/b", "device": [], "devices": {}}))
    [(('device',), 'there is no field device'), (('devices',), 'devices is no list')]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Shape = Any  # a word for a scalar, a list of one shape, a mapping of lower-case field → shape
TEXT, FLAG, WHOLE, UNSIGNED, TEXTS = "text", "flag", "whole", "unsigned", "texts"
_NODE = {
    "path": TEXT, "hostpath": TEXT, "type": TEXT, "major": WHOLE, "minor": WHOLE, "filemode": UNSIGNED,
    "permissions": TEXT, "uid": UNSIGNED, "gid": UNSIGNED,
}  # fmt: skip
_MOUNT = {"hostpath": TEXT, "containerpath": TEXT, "options": [TEXT], "type": TEXT}
_HOOK = {"hookname": TEXT, "path": TEXT, "args": [TEXT], "env": [TEXT], "timeout": WHOLE}
_RDT = {"closid": TEXT, "l3cacheschema": TEXT, "membwschema": TEXT, "schemata": [TEXT], "enablemonitoring": FLAG}
_EDITS = {
    "env": [TEXT], "devicenodes": [_NODE], "netdevices": [{"hostinterfacename": TEXT, "name": TEXT}],
    "hooks": [_HOOK], "mounts": [_MOUNT], "intelrdt": _RDT, "additionalgids": [UNSIGNED],
}  # fmt: skip
_DEVICE = {"name": TEXT, "annotations": TEXTS, "containeredits": _EDITS}
SPEC = {"cdiversion": TEXT, "kind": TEXT, "annotations": TEXTS, "devices": [_DEVICE], "containeredits": _EDITS}
_LIMITS = {WHOLE: (-(2**63), 2**63 - 1), UNSIGNED: (0, 2**32 - 1)}
Path = tuple["str | int", ...]


def faults(value: Any, shape: Shape = SPEC, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Where the file does not decode, and why."""
    if value is None:
        return
    name = str(path[-1]) if path else "the file"
    if isinstance(shape, list):
        if not isinstance(value, list):
            yield path, f"{name} is no list"
            return
        for place, one in enumerate(value):
            yield from faults(one, shape[0], (*path, place))
    elif isinstance(shape, dict):
        yield from _of_mapping(value, shape, path, name)
    elif shape == TEXTS:
        yield from _of_mapping(value, dict.fromkeys(map(_lower, value), TEXT) if isinstance(value, dict) else {},
                               path, name)  # fmt: skip
    elif (said := _of_scalar(value, shape)) is not None:
        yield path, f"{name if isinstance(path[-1], str) else path[-2]} is {said}"


def _of_mapping(value: Any, shape: dict[str, Shape], path: Path, name: str) -> Iterator[tuple[Path, str]]:
    if not isinstance(value, dict):
        yield path, f"{name} is no mapping"
        return
    for key, one in value.items():
        if _lower(key) not in shape:
            yield (*path, str(key)), f"there is no field {key}"
        else:
            yield from faults(one, shape[_lower(key)], (*path, str(key)))


def _lower(key: Any) -> str:
    return str(key).lower()


def _of_scalar(value: Any, shape: str) -> str | None:
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "a mapping"
    if shape == FLAG:
        return None if isinstance(value, bool) else "neither true nor false"
    if shape in _LIMITS:
        least, most = _LIMITS[shape]
        whole = isinstance(value, int) and not isinstance(value, bool)
        return None if whole and least <= value <= most else f"no whole number from {least} to {most}"
    return None


def field(body: Any, name: str) -> tuple[str, Any]:
    """A field's key as it is written and its value; the key of an absent one is the name."""
    if isinstance(body, dict):
        for key, value in body.items():
            if _lower(key) == name.lower():
                return str(key), value
    return name, None


def text(value: Any) -> str:
    """A scalar as the text that the library makes of it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (str, int, float)) else ""


def listed(body: Any, name: str, path: Path) -> Iterator[tuple[Path, Any]]:
    """The elements of a list field, with their paths."""
    key, value = field(body, name)
    for place, one in enumerate(value if isinstance(value, list) else ()):
        yield (*path, key, place), one
