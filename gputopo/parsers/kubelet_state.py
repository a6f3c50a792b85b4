"""The kubelet's own state files, which say what running containers hold.

/var/lib/kubelet/cpu_manager_state, memory_manager_state and device-plugins/kubelet_internal_checkpoint,
known by their keys whatever they are called. Checksums are of a Go value's printed form and are not checked.

    >>> [state] = parse('{"policyName":"static","defaultCpuSet":"0,3","entries":{"uid-1":{"app":"1-2"}},"checksum":1}')
    >>> state.policy, str(state.shared), [(one.pod, one.container, str(one.cpus)) for one in state.held]
    ('static', '0,3', [('uid-1', 'app', '1-2')])
    >>> entry = '{"PodUID":"uid-1","ContainerName":"app","ResourceName":"nvidia.com/gpu","DeviceIDs":{"0":["GPU-a"]}}'
    >>> [state] = parse('{"Data":{"PodDeviceEntries":[%s],"RegisteredDevices":{}},"Checksum":2}' % entry)
    >>> [(one.pod, one.resource, one.devices) for one in state.held]
    [('uid-1', 'nvidia.com/gpu', ('GPU-a',))]
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Union

from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.cpu_set import CpuSet


class HeldCpus(NamedTuple):
    pod: str  # UID; the container's id in files of 1.17 and before
    container: str
    cpus: CpuSet


class CpuManagerState(NamedTuple):
    policy: str
    shared: CpuSet | None  # the pool of all others, reserved CPUs included; None: policy none
    held: tuple[HeldCpus, ...]


class HeldDevices(NamedTuple):
    pod: str
    container: str
    resource: str
    devices: tuple[str, ...]


class DeviceCheckpoint(NamedTuple):
    held: tuple[HeldDevices, ...]
    registered: dict[str, tuple[str, ...]]  # healthy devices by resource


class MemoryManagerState(NamedTuple):
    policy: str
    free: tuple[tuple[int, int], ...]  # (NUMA node, bytes of ordinary memory that nobody has pinned)


KubeletState = Union[CpuManagerState, DeviceCheckpoint, MemoryManagerState]  # noqa: UP007


def sniff(text: str) -> bool:
    """Whether a text is one of the three."""
    if text.lstrip()[:1] != "{":
        return False
    return ('"policyName"' in text and '"checksum"' in text) or '"PodDeviceEntries"' in text


def parse(text: str) -> tuple[KubeletState, ...]:
    """The one state of a file. Raises Unreadable."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable("not JSON of a kubelet's state file; was it cut?") from error
    if not isinstance(body, dict):
        raise Unreadable("not a kubelet's state file")
    if isinstance(body.get("Data"), dict):
        return (_checkpoint(body["Data"]),)
    if "machineState" in body:
        return (_memory(body),)
    if "defaultCpuSet" in body or "policyName" in body:
        return (_cpus(body),)
    raise Unreadable("not a kubelet's state file")


def _cpus(body: dict[str, Any]) -> CpuManagerState:
    held = []
    for pod, containers in _mapping(body, "entries").items():
        if isinstance(containers, str):  # the layout of 1.17 and before: container id → CPUs
            held.append(HeldCpus(pod, "", _cpu_list(containers)))
            continue
        for name, text in _mapping({"entries": containers}, "entries").items():
            held.append(HeldCpus(pod, name, _cpu_list(text)))
    shared = body.get("defaultCpuSet")
    return CpuManagerState(_text(body, "policyName"), _cpu_list(shared) if shared else None, tuple(held))


def _cpu_list(text: object) -> CpuSet:
    found = CpuSet.parse_list(text) if isinstance(text, str) else None
    if found is None:
        raise Unreadable(f"a kubelet's CPU state with a CPU list that is none: {text!r}")
    return found


def _checkpoint(data: dict[str, Any]) -> DeviceCheckpoint:
    entries = data.get("PodDeviceEntries")
    if entries is not None and not isinstance(entries, list):
        raise Unreadable("PodDeviceEntries of the kubelet's checkpoint is no list")
    held = []
    for entry in entries or ():
        if not isinstance(entry, dict):
            raise Unreadable("an entry of the kubelet's checkpoint is no object")
        ids = entry.get("DeviceIDs")
        groups = ids.values() if isinstance(ids, dict) else [ids or []]  # a list until 1.19
        if not all(isinstance(group, list) and all(isinstance(one, str) for one in group) for group in groups):
            raise Unreadable("DeviceIDs of the kubelet's checkpoint holds something else than ids")
        devices = tuple(dict.fromkeys(one for group in groups for one in group))
        pod, container, resource = (_text(entry, key) for key in ("PodUID", "ContainerName", "ResourceName"))
        held.append(HeldDevices(pod, container, resource, devices))
    registered = {
        name: tuple(one for one in ids if isinstance(one, str))
        for name, ids in _mapping(data, "RegisteredDevices").items()
        if isinstance(ids, list)
    }
    return DeviceCheckpoint(tuple(held), registered)


def _memory(body: dict[str, Any]) -> MemoryManagerState:
    free = []
    for node, state in _mapping(body, "machineState").items():
        memory = state.get("memoryMap", {}).get("memory", {}) if isinstance(state, dict) else {}
        size = memory.get("free") if isinstance(memory, dict) else None
        if not node.isdecimal() or not isinstance(size, int) or size < 0:
            raise Unreadable(f"the free memory of NUMA node {node} is not in the kubelet's state")
        free.append((int(node), size))
    return MemoryManagerState(_text(body, "policyName"), tuple(sorted(free)))


def _mapping(body: dict[str, Any], key: str) -> dict[str, Any]:
    found = body.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise Unreadable(f"{key} of a kubelet's state file is no object")
    return found


def _text(body: dict[str, Any], key: str) -> str:
    found = body.get(key)
    if found is not None and not isinstance(found, str):
        raise Unreadable(f"{key} of a kubelet's state file is no text")
    return found or ""
