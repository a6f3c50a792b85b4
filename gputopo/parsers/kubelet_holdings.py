"""The kubelet's checkpoint and its managers' state files: who holds what, by the pods' UIDs.

    >>> [said] = parse('{"policyName":"static","defaultCpuSet":"0,3","entries":{"uid-1":{"app":"1-2"}},"checksum":1}')
    >>> said.format, said.policies, str(said.shared_cpus), [(one.uid, str(one.cpus)) for one in said.containers]
    ('cpu-manager-state', (('cpu', 'static'),), '0,3', [('uid-1', '1-2')])

The device manager writes its checkpoint when it allocates, not when a pod ends, so pods in it may be gone
(kubernetes#137010), and the managers drop theirs at the next hint or allocation. A container is in the checkpoint
once for each resource, here once. What the plugin answered to Allocate names the devices again (`by`): DeviceIDs,
whose `by` is empty, are what the kubelet gave. What DRA gave is not in it, so it is complete for device plugins only.
"""

from __future__ import annotations

from collections.abc import Iterable

from gputopo.holdings import ContainerHolding, DeviceHeld, HoldingRecords, MemoryHeld, PodRecord
from gputopo.parsers.kubelet_state import (
    CpuManagerState,
    DeviceCheckpoint,
    HeldDevices,
    MemoryManagerState,
)
from gputopo.parsers.kubelet_state import parse as parse_state
from gputopo.parsers.kubelet_state import sniff as sniff_state
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Gap, Observation
from gputopo.terms.device_id import space_of


def sniff(text: str) -> bool:
    """Whether a text is one of the three files."""
    return sniff_state(text)


def parse(text: str) -> tuple[HoldingRecords, ...]:
    """What the one file says. Raises Unreadable."""
    [state] = parse_state(text)
    if isinstance(state, DeviceCheckpoint):
        return (_checkpoint(state),)
    return (_cpus(state) if isinstance(state, CpuManagerState) else _memory(state),)


def _checkpoint(state: DeviceCheckpoint) -> HoldingRecords:
    by_container: dict[tuple[str, str], list[HeldDevices]] = {}
    for entry in state.held:
        by_container.setdefault((entry.pod, entry.container), []).append(entry)
    gaps: list[Gap] = []
    containers = tuple(_container(entries, gaps) for entries in by_container.values())
    registered = tuple(
        DeviceHeld(resource, id, space_of(id)) for resource, ids in state.registered.items() for id in ids
    )
    nothing = tuple(
        Observation("no-healthy-device", (name,), f"RegisteredDevices lists no device of {name}")
        for name, ids in state.registered.items()
        if not ids
    )
    return HoldingRecords(
        "kubelet-checkpoint",
        containers=containers,
        containers_complete=True,
        allocatable=registered,
        gaps=tuple(gaps),
        observations=nothing,
    )


def _container(entries: Iterable[HeldDevices], gaps: list[Gap]) -> ContainerHolding:
    from gputopo.parsers.allocate_answer import read

    given: list[DeviceHeld] = []
    named: list[DeviceHeld] = []
    visible: tuple[str, ...] | None = None
    for entry in entries:
        numa = dict(entry.numa)
        given += [DeviceHeld(entry.resource, id, space_of(id), numa.get(id)) for id in entry.devices]
        if not entry.answer:
            continue
        try:
            answer = read(entry.answer, entry.resource)
        except Unreadable as error:
            gaps.append(Gap((entry.pod, entry.container), "devices", f"{entry.resource}: {error.what}"))
            continue
        named += answer.devices
        visible = visible if answer.visible is None else (*(visible or ()), *answer.visible)
    devices = tuple(dict.fromkeys((*given, *named)))
    return ContainerHolding(uid=entry.pod, container=entry.container, devices=devices, visible=visible)


def _cpus(state: CpuManagerState) -> HoldingRecords:
    containers = tuple(
        ContainerHolding(uid=one.pod, container=one.container, cpus=one.cpus)
        if one.container
        else ContainerHolding(container_id=one.pod, cpus=one.cpus)  # the layout of 1.17 and before
        for one in state.held
    )
    return HoldingRecords(
        "cpu-manager-state",
        containers=containers,
        pods=tuple(PodRecord(None, None, uid, cpus=cpus) for uid, cpus in state.pods) or None,
        shared_cpus=state.shared,
        policies=(("cpu", state.policy),) if state.policy else (),
    )


def _memory(state: MemoryManagerState) -> HoldingRecords:
    containers = tuple(
        ContainerHolding(uid=one.pod, container=one.container, kind=_kind(one.blocks), memory=one.blocks)
        for one in state.held
    )
    return HoldingRecords(
        "memory-manager-state",
        containers=containers,
        pods=tuple(PodRecord(None, None, uid, memory=blocks) for uid, blocks in state.pods) or None,
        policies=(("memory", state.policy),) if state.policy else (),
    )


def _kind(blocks: Iterable[MemoryHeld]) -> str | None:
    """An app container takes over the memory of its pod's init containers, whose blocks then shrink, to 0 at last
    (kubernetes pkg/kubelet/cm/memorymanager/policy_static.go, updateInitContainersMemoryBlocks)."""
    return "init" if any(block.size == 0 for block in blocks) else None
