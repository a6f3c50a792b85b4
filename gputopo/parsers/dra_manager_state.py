r"""The kubelet's state of ResourceClaims: /var/lib/kubelet/dra_manager_state, JSON in a text in JSON.

    >>> device = r'{\"PoolName\":\"node-a\",\"DeviceName\":\"gpu-0\",\"RequestNames\":[\"gpus\"]}'
    >>> claim = r'{\"ClaimUID\":\"uid-9\",\"ClaimName\":\"two\",\"Namespace\":\"ml\",\"PodUIDs\":{\"uid-1\":{}},'
    >>> claim += r'\"DriverState\":{\"gpu.nvidia.com\":{\"Devices\":[%s]}}}' % device
    >>> [said] = parse(r'{"Data":"{\"ClaimInfoStateList\":[%s]}","Checksum":null}' % claim)
    >>> [(one.namespace, one.name, one.pods, [(to, held.id) for to, held in one.devices]) for one in said.claims]
    [('ml', 'two', ('uid-1',), [('gpus', 'gpu.nvidia.com/node-a/gpu-0')])]

It names pods by UID and no container. A claim of several pods is shared by them on purpose. The layout is that of
1.31 and later (kubernetes pkg/kubelet/cm/dra/state), ShareID of 1.35. The checksum is the CRC-32 of the inner text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from gputopo.holdings import ClaimRecord, DeviceHeld, DeviceName, HoldingRecords
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Gap
from gputopo.terms.structured_text import json_is_too_large

LIST = "ClaimInfoStateList"


def sniff(text: str) -> bool:
    """Whether a text is one: the list's name stands in the inner text, so in quotes that are escaped."""
    return text.lstrip()[:1] == "{" and f'\\"{LIST}\\"' in text and '"Data"' in text


def parse(text: str) -> tuple[HoldingRecords, ...]:
    """Raises Unreadable."""
    outer = _object(text)
    inner = outer.get("Data")
    if not isinstance(inner, str):
        raise Unreadable("not the kubelet's state of resource claims")
    listed = _object(inner).get(LIST)
    if listed is not None and not isinstance(listed, list):
        raise Unreadable(f"{LIST} of the kubelet's DRA state is no list")
    names: list[DeviceName] = []
    claims = tuple(_claim(one, names) for one in listed or ())
    gaps = _damage(inner, outer.get("Checksum"))
    return (HoldingRecords("dra-manager-state", claims=claims, names=tuple(dict.fromkeys(names)), gaps=gaps),)


def _object(text: str) -> dict[str, Any]:
    if json_is_too_large(text):
        raise Unreadable("the kubelet's DRA state has more values than are read at once")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable("not JSON of the kubelet's DRA state; was it cut?") from None
    if not isinstance(body, dict):
        raise Unreadable("not the kubelet's state of resource claims")
    return body


def _damage(inner: str, checksum: object) -> tuple[Gap, ...]:
    """The kubelet itself refuses a file whose checksum is of another text."""
    from zlib import crc32

    if not isinstance(checksum, int) or crc32(inner.encode("utf-8", "surrogatepass")) == checksum:
        return ()
    return (Gap((), "claims", "the checksum is of another text: this file was edited or damaged", "a new copy of it"),)


def _claim(body: object, names: list[DeviceName]) -> ClaimRecord:
    if not isinstance(body, dict):
        raise Unreadable("a claim of the kubelet's DRA state is no object")
    name = _text(body, "ClaimName")
    devices = tuple(dict.fromkeys(_devices(body, name, names)))
    pods = tuple(_mapping(body, "PodUIDs"))
    return ClaimRecord(_text(body, "Namespace") or None, name, _text(body, "ClaimUID") or None, devices, pods)


def _devices(claim: dict[str, Any], name: str, names: list[DeviceName]) -> Iterator[tuple[str, DeviceHeld]]:
    """Each device under each of the requests that it is for; a driver that prepared nothing has none."""
    for driver, state in _mapping(claim, "DriverState").items():
        for device in _list(state, "Devices"):
            if not isinstance(device, dict):
                raise Unreadable("a device of the kubelet's DRA state is no object")
            id = "/".join((driver, _text(device, "PoolName"), _text(device, "DeviceName")))
            names += [DeviceName(cdi, "cdi", dra=id) for cdi in _texts(device, "CDIDeviceIDs")]
            for request in _texts(device, "RequestNames") or ("",):
                resource = f"claim:{name}/{request}" if request else f"claim:{name}"
                yield request, DeviceHeld(resource, id, "dra", share=_text(device, "ShareID"))


def _mapping(body: dict[str, Any], key: str) -> dict[str, Any]:
    found = body.get(key)
    if found is not None and not isinstance(found, dict):
        raise Unreadable(f"{key} of the kubelet's DRA state is no object")
    return found or {}


def _list(body: object, key: str) -> list[Any]:
    found = body.get(key) if isinstance(body, dict) else {}
    if found is not None and not isinstance(found, list):
        raise Unreadable(f"{key} of the kubelet's DRA state is no list")
    return found or []


def _text(body: dict[str, Any], key: str) -> str:
    found = body.get(key)
    if found is not None and not isinstance(found, str):
        raise Unreadable(f"{key} of the kubelet's DRA state is no text")
    return found or ""


def _texts(body: dict[str, Any], key: str) -> tuple[str, ...]:
    found: Iterable[Any] = _list(body, key)
    if not all(isinstance(one, str) for one in found):
        raise Unreadable(f"{key} of the kubelet's DRA state is no list of texts")
    return tuple(found)
