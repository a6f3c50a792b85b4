r"""A CDI specification (/etc/cdi, /var/run/cdi), JSON or YAML: which device files a name like `nvidia.com/gpu=0` means.

    >>> text = "cdiVersion: 0.6.0\nkind: nvidia.com/gpu\ndevices:\n"
    >>> edits = "  containerEdits: {deviceNodes: [{path: /dev/nvidia3}, {path: /dev/nvidia-uvm}]}\n"
    >>> [said] = parse(text + '- name: "0"\n' + edits + "- name: GPU-0a1b\n" + edits)
    >>> [(one.id, one.uuid, one.minor) for one in said.names]
    [('nvidia.com/gpu=0', 'GPU-0a1b', 3), ('nvidia.com/gpu=GPU-0a1b', 'GPU-0a1b', 3)]

It says nothing of who holds what. A device file's number is the minor number; nvidia-ctk names one device by its index
and by its UUID, with the same files (nvidia-container-toolkit, pkg/nvcdi), so that one name tells the other. A MIG
device has files of its own below /dev/nvidia-caps beside those of its GPU. A name of several GPUs (`all`) is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gputopo.holdings import DeviceName, HoldingRecords
from gputopo.parsers.json_values import items, mapping, text, values
from gputopo.parsers.told_devices import of_node
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Gap
from gputopo.terms.device_id import is_cdi

_WHAT = "a CDI specification"
_YAML = re.compile(r"^(?:---\s*\n)?cdiVersion[ \t]*:", re.MULTILINE)
_CAPS = "/dev/nvidia-caps/"
_MOST = 4096  # devices of one specification
Body = dict[str, Any]


def sniff(given: str) -> bool:
    """Whether a text has `cdiVersion` where a specification has it."""
    if given.lstrip()[:1] in ("{", "["):
        return '"cdiVersion"' in given and '"devices"' in given
    return _YAML.search(given) is not None


def parse(given: str) -> tuple[HoldingRecords, ...]:
    """Raises Unreadable."""
    names: list[DeviceName] = []
    gaps: list[Gap] = []
    for line, body in _bodies(given):
        kind = text(body, "kind")
        if "cdiVersion" not in body or not is_cdi(f"{kind}=x"):
            raise Unreadable("not a CDI specification: it has no kind vendor/class", line)
        devices = [one for one in items(body, "devices") if text(one, "name")]
        if len(devices) > _MOST:
            raise Unreadable(f"a CDI specification of {len(devices):,} devices: more than {_MOST:,} are not read", line)
        names += _names(kind, devices, gaps)
    return (HoldingRecords("cdi-spec", names=tuple(names), gaps=tuple(gaps)),)


def _bodies(given: str) -> list[tuple[int, Body]]:
    if given.lstrip()[:1] in ("{", "["):
        return values(given, _WHAT)
    from gputopo.parsers.kube_objects import yaml_nodes

    return [(node.start_mark.line + 1, body if isinstance(body, dict) else {}) for node, body in yaml_nodes(given)]


def _names(kind: str, devices: list[Body], gaps: list[Gap]) -> Iterator[DeviceName]:
    paths = [frozenset(_paths(one)) for one in devices]
    uuids: dict[frozenset[str], str | None] = {}
    for one, own in zip(devices, paths):
        name = text(one, "name")
        if own and name.startswith(("GPU-", "MIG-")):
            uuids[own] = name if uuids.setdefault(own, name) == name else None
    for one, own in zip(devices, paths):
        name = text(one, "name")
        id = f"{kind}={name}"
        found = dict.fromkeys(named for path in sorted(own) for named in of_node(path))
        minors = [int(number) for number, space in found if space == "minor"]
        files = [file for file, space in found if space == "name"]
        uuid = name if name.startswith(("GPU-", "MIG-")) else uuids.get(own)
        on_mig = any(path.startswith(_CAPS) for path in own)
        if len(minors) + len(files) > 1:
            gaps.append(Gap((id,), "gpu", f"it names {len(minors) + len(files)} devices"))
        elif uuid or ((minors or files) and not on_mig):
            minor = minors[0] if minors and not on_mig else None
            yield DeviceName(id, "cdi", uuid=uuid, minor=minor, name=files[0] if files else None)


def _paths(device: Body) -> Iterator[str]:
    """Files on the host: `hostPath` where the container's name of it is another."""
    for node in items(mapping(device, "containerEdits"), "deviceNodes"):
        path = text(node, "hostPath") or text(node, "path")
        if path:
            yield path
