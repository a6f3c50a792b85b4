"""The kubelet's own state files, which say what running containers hold.

/var/lib/kubelet/cpu_manager_state, memory_manager_state and device-plugins/kubelet_internal_checkpoint,
known by their keys whatever they are called. Checksums are of a Go value's printed form and are not checked.

    >>> [state] = parse('{"policyName":"static","defaultCpuSet":"0,3","entries":{"uid-1":{"app":"1-2"}},"checksum":1}')
    >>> state.policy, str(state.shared), [(one.pod, one.container, str(one.cpus)) for one in state.held]
    ('static', '0,3', [('uid-1', 'app', '1-2')])
    >>> entry = '{"PodUID":"uid-1","ContainerName":"app","ResourceName":"nvidia.com/gpu","DeviceIDs":{"0":["GPU-a"]}}'
    >>> [state] = parse('{"Data":{"PodDeviceEntries":[%s],"RegisteredDevices":{}},"Checksum":2}' % entry)
    >>> [(one.pod, one.resource, one.devices, one.numa) for one in state.held]
    [('uid-1', 'nvidia.com/gpu', ('GPU-a',), (('GPU-a', (0,)),))]

Since 1.37 (cpu_manager_state v4, memory_manager_state v3) the whole state is once more in the text `data`, which is
what that kubelet reads; beside it stands what older ones understand (pkg/kubelet/cm/*manager/state/checkpoint.go).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeGuard, Union

from gputopo.holdings import MemoryHeld
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.cpu_set import HIGHEST_CPU, CpuSet
from gputopo.terms.structured_text import json_is_too_large


class HeldCpus(NamedTuple):
    pod: str  # UID; the container's id in files of 1.17 and before
    container: str
    cpus: CpuSet


class CpuManagerState(NamedTuple):
    policy: str
    shared: CpuSet | None  # the pool of all others, reserved CPUs included; None: policy none
    held: tuple[HeldCpus, ...]
    pods: tuple[tuple[str, CpuSet], ...] = ()  # (UID, CPUs of the pod as a whole), its containers' own included


class HeldDevices(NamedTuple):
    pod: str
    container: str
    resource: str
    devices: tuple[str, ...]
    numa: tuple[tuple[str, tuple[int, ...]], ...] = ()  # (device, its NUMA nodes) of those that have some
    answer: str = ""  # base64 of what the plugin answered to Allocate


class DeviceCheckpoint(NamedTuple):
    held: tuple[HeldDevices, ...]
    registered: dict[str, tuple[str, ...]]  # healthy devices by resource


class HeldMemory(NamedTuple):
    pod: str
    container: str
    blocks: tuple[MemoryHeld, ...]


class MemoryManagerState(NamedTuple):
    policy: str
    free: tuple[tuple[int, int], ...]  # (NUMA node, bytes of ordinary memory that nobody has pinned)
    held: tuple[HeldMemory, ...] = ()
    pods: tuple[tuple[str, tuple[MemoryHeld, ...]], ...] = ()  # (UID, blocks of the pod as a whole)


KubeletState = Union[CpuManagerState, DeviceCheckpoint, MemoryManagerState]  # noqa: UP007


def sniff(text: str) -> bool:
    """Whether a text is one of the three."""
    if text.lstrip()[:1] != "{":
        return False
    return ('"policyName"' in text and '"checksum"' in text) or '"PodDeviceEntries"' in text


def parse(text: str) -> tuple[KubeletState, ...]:
    """The one state of a file. Raises Unreadable."""
    body = _object(text)
    if isinstance(body.get("Data"), dict):
        return (_checkpoint(body["Data"]),)
    if isinstance(body.get("data"), str) and body["data"]:
        body = _object(body["data"])
    if "machineState" in body:
        return (_memory(body),)
    if "defaultCpuSet" in body or "policyName" in body:
        return (_cpus(body),)
    raise Unreadable("not a kubelet's state file")


def _object(text: str) -> dict[str, Any]:
    if json_is_too_large(text):
        raise Unreadable("a kubelet's state file of more values than are read at once")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable("not JSON of a kubelet's state file; was it cut?") from error
    if not isinstance(body, dict):
        raise Unreadable("not a kubelet's state file")
    return body


def _cpus(body: dict[str, Any]) -> CpuManagerState:
    held = []
    for pod, containers in _mapping(body, "entries").items():
        if isinstance(containers, str):  # the layout of 1.17 and before: container id → CPUs
            held.append(HeldCpus(pod, "", _cpu_list(containers)))
            continue
        for name, text in _mapping({"entries": containers}, "entries").items():
            held.append(HeldCpus(pod, name, _cpu_list(text)))
    pods = tuple((pod, _cpu_list(entry.get("cpuSet", ""))) for pod, entry in _of_pods(body))
    shared = body.get("defaultCpuSet")
    return CpuManagerState(_text(body, "policyName"), _cpu_list(shared) if shared else None, tuple(held), pods)


def _of_pods(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for pod, entry in _mapping(body, "podEntries").items():
        if not isinstance(entry, dict):
            raise Unreadable("podEntries of a kubelet's state file is no object of objects")
        yield pod, entry


def _cpu_list(text: object) -> CpuSet:
    found = CpuSet.parse_list(text) if isinstance(text, str) else None
    if found is None:
        raise Unreadable(f"a kubelet's CPU state with a CPU list that is none: {text!r:.60}")
    return found


def _checkpoint(data: dict[str, Any]) -> DeviceCheckpoint:
    entries = data.get("PodDeviceEntries")
    if entries is not None and not isinstance(entries, list):
        raise Unreadable("PodDeviceEntries of the kubelet's checkpoint is no list")
    registered = {
        name: tuple(one for one in ids if isinstance(one, str))
        for name, ids in _mapping(data, "RegisteredDevices").items()
        if isinstance(ids, list)
    }
    return DeviceCheckpoint(tuple(_held_devices(entry) for entry in entries or ()), registered)


def _held_devices(entry: object) -> HeldDevices:
    if not isinstance(entry, dict):
        raise Unreadable("an entry of the kubelet's checkpoint is no object")
    ids = entry.get("DeviceIDs")
    groups = ids if isinstance(ids, dict) else {"-1": ids or []}  # a list until 1.19
    if not all(isinstance(group, list) and all(isinstance(one, str) for one in group) for group in groups.values()):
        raise Unreadable("DeviceIDs of the kubelet's checkpoint holds something else than ids")
    nodes: dict[str, list[int]] = {}  # in the order of the file; a device of two NUMA nodes is listed under both
    for key, group in groups.items():
        number = _numa_node(key)
        for id in group:
            nodes.setdefault(id, []).extend([] if number is None else [number])
    numa = tuple((id, tuple(sorted(set(found)))) for id, found in nodes.items() if found)
    pod, container, resource = (_text(entry, key) for key in ("PodUID", "ContainerName", "ResourceName"))
    return HeldDevices(pod, container, resource, tuple(nodes), numa, _text(entry, "AllocResp"))


def _numa_node(key: str) -> int | None:
    """`None` for -1, under which the device manager lists what has no NUMA node."""
    if key.startswith("-") and key[1:].isdecimal():
        return None
    if not _is_node(key):
        raise Unreadable(f"DeviceIDs of the kubelet's checkpoint has a NUMA node that is none: {key!r:.60}")
    return int(key)


def _memory(body: dict[str, Any]) -> MemoryManagerState:
    free = []
    for node, state in _mapping(body, "machineState").items():
        table = state.get("memoryMap") if isinstance(state, dict) else None
        memory = table.get("memory") if isinstance(table, dict) else None
        size = memory.get("free") if isinstance(memory, dict) else None
        if not _is_node(node) or not _is_size(size):
            raise Unreadable(f"the free memory of NUMA node {node:.60} is not in the kubelet's state")
        free.append((int(node), size))
    held = [
        HeldMemory(pod, name, _blocks(blocks))
        for pod, containers in _mapping(body, "entries").items()
        for name, blocks in _mapping({"entries": containers}, "entries").items()
    ]
    pods = tuple((pod, _blocks(entry.get("memoryBlocks"))) for pod, entry in _of_pods(body))
    return MemoryManagerState(_text(body, "policyName"), tuple(sorted(free)), tuple(held), pods)


def _blocks(blocks: object) -> tuple[MemoryHeld, ...]:
    if blocks is not None and not isinstance(blocks, list):
        raise Unreadable("memory blocks of a kubelet's state file are no list")
    return tuple(_block(block) for block in blocks or ())


def _block(block: object) -> MemoryHeld:
    if not isinstance(block, dict):
        raise Unreadable("a memory block of a kubelet's state file is no object")
    nodes, kind, size = (block.get(key) for key in ("numaAffinity", "type", "size"))
    if not isinstance(nodes, list) or not all(_is_size(node) and node <= HIGHEST_CPU for node in nodes):
        raise Unreadable("a memory block of a kubelet's state file without NUMA nodes")
    if not isinstance(kind, str) or not _is_size(size):
        raise Unreadable("a memory block of a kubelet's state file without type or size")
    return MemoryHeld(kind, tuple(nodes), size)


def _is_node(key: str) -> bool:
    return key.isascii() and key.isdecimal() and len(key) <= 5 and int(key) <= HIGHEST_CPU


def _is_size(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


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
