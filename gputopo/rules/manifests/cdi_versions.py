"""The versions of CDI, and which one a specification needs at least: specs-go/version.go of
cncf-tags/container-device-interface (main 05ae4b5).

    >>> required({"kind": "nvidia.com/gpu", "devices": [{"name": "0"}]})
    ('0.5.0', 'a device name that begins with a digit')
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gputopo.rules.manifests.cdi_shape import field, listed, text

VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0")


def required(body: dict[str, Any]) -> tuple[str, str]:
    """The version and what needs it."""
    needs = [("0.3.0", "the specification as it is read today"), *_of_spec(body)]
    return max(needs, key=lambda need: VERSIONS.index(need[0]))


def _of_spec(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    devices = [device for _, device in listed(body, "devices", ())]
    for one in (body, *devices):
        if field(one, "annotations")[1]:
            yield "0.6.0", "annotations"
        yield from _of_edits(field(one, "containerEdits")[1])
    if "." in text(field(body, "kind")[1]).partition("/")[2]:
        yield "0.6.0", "a class with a dot"
    if any(text(field(device, "name")[1])[:1] in tuple("0123456789") for device in devices):
        yield "0.5.0", "a device name that begins with a digit"


def _of_edits(edits: Any) -> Iterator[tuple[str, str]]:
    if any(field(node, "hostPath")[1] for _, node in listed(edits, "deviceNodes", ())):
        yield "0.5.0", "hostPath of a device node"
    if any(field(mount, "type")[1] for _, mount in listed(edits, "mounts", ())):
        yield "0.4.0", "type of a mount"
    if field(edits, "additionalGids")[1]:
        yield "0.7.0", "additionalGids"
    if field(edits, "netDevices")[1]:
        yield "1.1.0", "netDevices"
    rdt = field(edits, "intelRdt")[1]
    if rdt is not None:
        yield "0.7.0", "intelRdt"
        if field(rdt, "schemata")[1] is not None or field(rdt, "enableMonitoring")[1]:
            yield "1.1.0", "schemata or enableMonitoring of intelRdt"
