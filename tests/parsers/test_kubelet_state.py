"""The kubelet's state files. The layouts are those of pkg/kubelet/cm/{cpumanager,memorymanager,devicemanager}."""

from __future__ import annotations

import json

import pytest

from gputopo.holdings import MemoryHeld
from gputopo.parsers.kubelet_state import (
    CpuManagerState,
    DeviceCheckpoint,
    HeldMemory,
    MemoryManagerState,
    parse,
    sniff,
)
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.cpu_set import CpuSet

CPUS = {"policyName": "static", "defaultCpuSet": "0,5-7", "entries": {"uid-1": {"app": "1-4"}}, "checksum": 1}
MEMORY = {
    "policyName": "Static",
    "machineState": {
        "0": {"numberOfAssignments": 1, "memoryMap": {"memory": {"total": 100, "free": 60}}, "cells": [0]},
        "1": {"numberOfAssignments": 0, "memoryMap": {"memory": {"total": 100, "free": 90}}, "cells": [1]},
    },
    "entries": {"uid-1": {"app": [{"numaAffinity": [0], "type": "memory", "size": 40}]}},
    "checksum": 2,
}  # fmt: skip
ENTRY = {"PodUID": "uid-1", "ContainerName": "app", "ResourceName": "nvidia.com/gpu", "AllocResp": ""}


def checkpoint(ids: object) -> str:
    data = {"PodDeviceEntries": [ENTRY | {"DeviceIDs": ids}], "RegisteredDevices": {"nvidia.com/gpu": ["GPU-a"]}}
    return json.dumps({"Data": data, "Checksum": 3})


def test_cpu_manager() -> None:
    [state] = parse(json.dumps(CPUS))
    assert isinstance(state, CpuManagerState)
    assert (state.policy, state.shared) == ("static", CpuSet.parse_list("0,5-7"))
    assert [(one.pod, one.container, one.cpus) for one in state.held] == [("uid-1", "app", CpuSet.parse_list("1-4"))]


def test_cpu_manager_of_1_17_names_containers_by_id() -> None:
    [state] = parse(json.dumps(CPUS | {"entries": {"containerid": "1-4"}}))
    assert isinstance(state, CpuManagerState)
    assert [(one.pod, one.container) for one in state.held] == [("containerid", "")]


def test_cpu_manager_none_has_no_pool() -> None:
    [state] = parse('{"policyName":"none","defaultCpuSet":"","checksum":1353318690}')
    assert state == CpuManagerState("none", None, ())


def test_memory_manager_tells_what_is_free_and_what_is_held() -> None:
    held = HeldMemory("uid-1", "app", (MemoryHeld("memory", (0,), 40),))
    assert parse(json.dumps(MEMORY)) == (MemoryManagerState("Static", ((0, 60), (1, 90)), (held,)),)


def test_pods_as_a_whole() -> None:
    """PodLevelResourceManagers of 1.36."""
    [cpus] = parse(json.dumps(CPUS | {"podEntries": {"uid-1": {"cpuSet": "1-6"}}}))
    assert isinstance(cpus, CpuManagerState)
    assert cpus.pods == (("uid-1", CpuSet.parse_list("1-6")),)
    blocks = [{"numaAffinity": [0, 1], "type": "hugepages-1Gi", "size": 5}]
    [memory] = parse(json.dumps(MEMORY | {"podEntries": {"uid-1": {"memoryBlocks": blocks}}}))
    assert isinstance(memory, MemoryManagerState)
    assert memory.pods == (("uid-1", (MemoryHeld("hugepages-1Gi", (0, 1), 5),)),)


@pytest.mark.parametrize(("state", "change"), [(CPUS, {"defaultCpuSet": "0"}), (MEMORY, {"policyName": "Other"})])
def test_of_1_37_the_text_within_is_what_counts(state: dict[str, object], change: dict[str, object]) -> None:
    outside = state | change | {"data": json.dumps(state), "dataChecksum": 5}
    assert sniff(json.dumps(outside))
    assert parse(json.dumps(outside)) == parse(json.dumps(state))


@pytest.mark.parametrize(
    ("ids", "devices"),
    [
        ({"0": ["GPU-a"], "1": ["GPU-b"]}, ("GPU-a", "GPU-b")),
        ({"-1": ["GPU-a::3"]}, ("GPU-a::3",)),
        ({"0": ["GPU-a"], "1": ["GPU-a"]}, ("GPU-a",)),  # a device of two NUMA nodes is listed under both
        (["GPU-a", "GPU-b"], ("GPU-a", "GPU-b")),  # until 1.19
        (None, ()),
    ],
)
def test_device_checkpoint(ids: object, devices: tuple[str, ...]) -> None:
    [state] = parse(checkpoint(ids))
    assert isinstance(state, DeviceCheckpoint)
    assert [one.devices for one in state.held] == [devices]
    assert state.registered == {"nvidia.com/gpu": ("GPU-a",)}


def test_an_empty_checkpoint_holds_nothing() -> None:
    text = '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":4}'
    assert parse(text) == (DeviceCheckpoint((), {}),)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(CPUS)[:40],
        json.dumps(CPUS | {"defaultCpuSet": "a-b"}),
        json.dumps(CPUS | {"entries": []}),
        json.dumps(MEMORY | {"machineState": {"0": {}}}),
        json.dumps(MEMORY | {"machineState": {"0": {"memoryMap": []}}}),
        json.dumps(MEMORY | {"entries": {"uid-1": {"app": [{"type": "memory", "size": 1}]}}}),
        json.dumps(MEMORY | {"entries": {"uid-1": {"app": [{"numaAffinity": [0], "type": "memory", "size": -1}]}}}),
        json.dumps(MEMORY | {"entries": {"uid-1": {"app": [{"numaAffinity": [-1], "type": "memory", "size": 1}]}}}),
        json.dumps(MEMORY | {"podEntries": {"uid-1": []}}),
        json.dumps(CPUS | {"data": "{"}),
        checkpoint({"0": "GPU-a"}),
        checkpoint({"x": ["GPU-a"]}),
        checkpoint({"99999": ["GPU-a"]}),
        checkpoint({"0": [7]}),
        "[]",
        "{}",
    ],
)
def test_what_is_broken_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse(text)


def test_sniff() -> None:
    assert sniff(json.dumps(CPUS))
    assert sniff(json.dumps(MEMORY))
    assert sniff(checkpoint({}))
    assert not sniff('{"apiVersion": "gputopo/v1alpha1"}')
    assert not sniff("policyName checksum")
