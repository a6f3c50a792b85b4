"""The kubelet's checkpoint and state files as who holds what. Layouts: kubernetes pkg/kubelet/cm."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from gputopo.holdings import ContainerHolding, DeviceHeld, HoldingRecords, MemoryHeld, PodRecord
from gputopo.parsers.allocate_answer import read
from gputopo.parsers.kubelet_holdings import parse, sniff
from gputopo.protos.deviceplugin_pb2 import CDIDevice, ContainerAllocateResponse, DeviceSpec, Mount
from gputopo.terms.cpu_set import CpuSet
from tests.pods_sources.samples import gpu, needs_samples, pod, text

GPU = "nvidia.com/gpu"
VISIBLE = "NVIDIA_VISIBLE_DEVICES"
VOLUMES = "/var/run/nvidia-container-devices"
PLUGIN = "k8s.device-plugin.nvidia.com/gpu"


def encoded(**fields: Any) -> str:
    return b64encode(ContainerAllocateResponse(**fields).SerializeToString()).decode()


def entry(ids: object, container: str = "main", resource: str = GPU, answer: str | None = None) -> dict[str, object]:
    return {"PodUID": "u1", "ContainerName": container, "ResourceName": resource, "DeviceIDs": ids, "AllocResp": answer}


def checkpoint(*entries: dict[str, object], **registered: list[str]) -> str:
    return json.dumps({"Data": {"PodDeviceEntries": entries, "RegisteredDevices": registered}, "Checksum": None})


def test_a_container_is_one_holding_whatever_it_has() -> None:
    written = checkpoint(
        entry({"0": ["GPU-a", "GPU-b::2"], "1": ["GPU-a"], "-1": ["odd"]}),
        entry({"-1": ["hca-3"]}, resource="rdma/hca"),
        entry({"1": ["GPU-c"]}, container="init"),
        **{GPU: ["GPU-a", "GPU-b::2"], "rdma/hca": []},
    )
    assert sniff(written)
    [said] = parse(written)
    assert said.format == "kubelet-checkpoint"
    assert said.containers == (
        ContainerHolding(
            uid="u1",
            container="main",
            devices=(
                DeviceHeld(GPU, "GPU-a", "uuid", (0, 1)),
                DeviceHeld(GPU, "GPU-b::2", "uuid", (0,)),
                DeviceHeld(GPU, "odd", "other", None),
                DeviceHeld("rdma/hca", "hca-3", "other", None),
            ),
        ),
        ContainerHolding(uid="u1", container="init", devices=(DeviceHeld(GPU, "GPU-c", "uuid", (1,)),)),
    )
    assert said.containers_complete
    assert said.allocatable == (DeviceHeld(GPU, "GPU-a", "uuid"), DeviceHeld(GPU, "GPU-b::2", "uuid"))
    assert [(one.kind, one.subjects) for one in said.observations] == [("no-healthy-device", ("rdma/hca",))]


@pytest.mark.parametrize(
    ("fields", "named", "visible"),
    [
        ({"envs": {VISIBLE: "GPU-b,GPU-a"}}, [("GPU-b", "uuid", "env"), ("GPU-a", "uuid", "env")], ("GPU-b", "GPU-a")),
        ({"envs": {VISIBLE: "2"}}, [("2", "index", "env")], ("2",)),
        ({"envs": {VISIBLE: "MIG-a"}}, [("MIG-a", "mig", "env")], ("MIG-a",)),
        ({"envs": {VISIBLE: "void"}}, [], ("void",)),
        ({"envs": {VISIBLE: "all"}}, [], ("all",)),
        ({"envs": {VISIBLE: ""}}, [], ("",)),
        ({"envs": {"CUDA_VISIBLE_DEVICES": "1"}}, [], None),
        (
            {
                "envs": {VISIBLE: VOLUMES},
                "mounts": [
                    Mount(host_path="/dev/null", container_path=f"{VOLUMES}/{id}")
                    for id in ("GPU-a", "3", "imex/0", "cdi/nvidia.com/gpu/5")
                ]
                + [Mount(host_path="/x", container_path="/y")],
            },
            [("GPU-a", "uuid", "mount"), ("3", "index", "mount"), ("nvidia.com/gpu=5", "cdi", "mount")],
            (VOLUMES,),
        ),
        (
            {"annotations": {"cdi.k8s.io/nvidia-device-plugin_7": f"{PLUGIN}=GPU-a,{PLUGIN}=GPU-b", "other": "v/c=1"}},
            [(f"{PLUGIN}=GPU-a", "cdi", "annotation"), (f"{PLUGIN}=GPU-b", "cdi", "annotation")],
            None,
        ),
        ({"cdi_devices": [CDIDevice(name=f"{PLUGIN}=GPU-a")]}, [(f"{PLUGIN}=GPU-a", "cdi", "cdi")], None),
        (
            {
                "devices": [
                    DeviceSpec(host_path=path)
                    for path in ("/dev/nvidiactl", "/dev/nvidia12", "/dev/infiniband/uverbs3", "/dev/nvidia-uvm")
                ]
            },
            [("12", "minor", "node"), ("uverbs3", "name", "node")],
            None,
        ),
        ({"envs": {"PCIDEVICE_X": "0000:3b:02.1, junk"}}, [("0000:3b:02.1", "pci", "env")], None),
        ({}, [], None),
    ],
)
def test_what_the_plugin_answered(
    fields: dict[str, Any], named: list[tuple[str, str, str]], visible: tuple[str, ...] | None
) -> None:
    answer = read(encoded(**fields), GPU)
    assert [(one.id, one.space, one.by) for one in answer.devices] == named
    assert {one.resource for one in answer.devices} <= {GPU}
    assert answer.visible == visible


def test_what_the_plugin_answered_stands_behind_what_the_kubelet_gave() -> None:
    written = checkpoint(entry({"0": ["GPU-a", "GPU-b"]}, answer=encoded(envs={VISIBLE: "GPU-b,GPU-a"})))
    [container] = parse(written)[0].containers
    assert [(one.id, one.by) for one in container.devices or ()] == [
        ("GPU-a", ""), ("GPU-b", ""), ("GPU-b", "env"), ("GPU-a", "env"),
    ]  # fmt: skip
    assert container.visible == ("GPU-b", "GPU-a")


@pytest.mark.parametrize("answer", ["not base64!", "AAAA", "Ag==", b64encode(b"\x0a\xff\xff").decode()])
def test_a_damaged_answer_is_a_gap_and_the_devices_stay(answer: str) -> None:
    [said] = parse(checkpoint(entry({"0": ["GPU-a"]}, answer=answer)))
    assert [one.id for one in said.containers[0].devices or ()] == ["GPU-a"]
    assert [(gap.attribute, gap.subjects) for gap in said.gaps] == [("devices", ("u1", "main"))]


def test_exclusive_cpus() -> None:
    pods = {"u1": {"main": "1-4,9"}, "u2": {"a": "5"}}
    state = {"policyName": "static", "defaultCpuSet": "0,6-8", "entries": pods, "checksum": 1}
    [said] = parse(json.dumps(state | {"podEntries": {"u3": {"cpuSet": "10-11"}}}))
    assert said == HoldingRecords(
        "cpu-manager-state",
        containers=(
            ContainerHolding(uid="u1", container="main", cpus=CpuSet.parse_list("1-4,9")),
            ContainerHolding(uid="u2", container="a", cpus=CpuSet.of((5,))),
        ),
        pods=(PodRecord(None, None, "u3", cpus=CpuSet.of((10, 11))),),
        shared_cpus=CpuSet.parse_list("0,6-8"),
        policies=(("cpu", "static"),),
    )


def test_of_1_17_the_container_is_an_id() -> None:
    state = {"policyName": "static", "defaultCpuSet": "0", "entries": {"ab" * 32: "1-4"}, "checksum": 1}
    [container] = parse(json.dumps(state))[0].containers
    assert (container.uid, container.container, container.container_id) == (None, None, "ab" * 32)


def test_memory_and_what_a_block_of_nothing_says() -> None:
    entries = {
        "u1": {
            "main": [{"numaAffinity": [0, 1], "type": "memory", "size": 40}],
            "init": [{"numaAffinity": [0], "type": "memory", "size": 0}],
        }
    }
    free = {"0": {"memoryMap": {"memory": {"free": 1}}}}
    state = {"policyName": "Static", "machineState": free, "entries": entries, "checksum": 2}
    [said] = parse(json.dumps(state | {"podEntries": {"u3": {"memoryBlocks": entries["u1"]["main"]}}}))
    assert said == HoldingRecords(
        "memory-manager-state",
        containers=(
            ContainerHolding(uid="u1", container="main", memory=(MemoryHeld("memory", (0, 1), 40),)),
            ContainerHolding(uid="u1", container="init", kind="init", memory=(MemoryHeld("memory", (0,), 0),)),
        ),
        pods=(PodRecord(None, None, "u3", memory=(MemoryHeld("memory", (0, 1), 40),)),),
        policies=(("memory", "Static"),),
    )


# What the samples' README says of them.


def held(
    said: HoldingRecords, by: str = ""
) -> dict[tuple[str | None, str | None], list[tuple[str, tuple[int, ...] | None]]]:
    return {
        (one.uid, one.container): [(dev.id, dev.numa_nodes) for dev in one.devices or () if dev.by == by]
        for one in said.containers
    }


@needs_samples
def test_the_samples_checkpoint() -> None:
    [said] = parse(text("kubelet_internal_checkpoint.v2.json"))
    mig = "MIG-00000000-0000-5000-8000-0000000000a1"
    names = ["trainer", "cross-numa", "annotated", "volmount", "mig", "shared", "indexed"]
    keys = [(pod(number), name) for number, name in enumerate(names, 1)]
    assert held(said) == dict(zip(keys, [
        [(gpu(1), (0,)), (gpu(0), (0,))],
        [(gpu(3), (0,)), (gpu(4), (1,)), (gpu(5), (1,)), ("hca-3", None)],
        [(gpu(6), (1,))],
        [(gpu(7), None)],
        [(mig, (0,))],
        [(f"{gpu(2)}::3", (0,)), (f"{gpu(2)}::0", (0,))],
        [(gpu(2), (0,))],
    ], strict=True))  # fmt: skip
    ids = [[id for id, _ in devices] for devices in held(said, "env").values()]
    assert ids == [[gpu(0), gpu(1)], [], [gpu(6)], [], [mig], [gpu(2)], ["2"]]
    assert held(said, "cdi")[keys[1]] == [(f"{PLUGIN}={gpu(4)}", None), (f"{PLUGIN}={gpu(5)}", None)]
    assert held(said, "annotation")[keys[2]] == [(f"{PLUGIN}={gpu(6)}", None)]
    assert held(said, "mount")[keys[3]] == [(gpu(7), None)]
    assert said.containers[3].visible == (VOLUMES,)
    assert held(said, "node")[keys[0]] == [("0", None), ("1", None)]
    assert held(said, "node")[keys[1]] == [("uverbs3", None)]
    assert [one.space for one in said.containers[6].devices or () if one.by == "env"] == ["index"]
    registered = [(one.resource, one.id) for one in said.allocatable or ()]
    assert registered == [
        *((GPU, gpu(number)) for number in range(8)),
        *(("nvidia.com/gpu.shared", f"{gpu(2)}::{number}") for number in range(4)),
        *(("nvidia.com/mig-1g.10gb", f"MIG-00000000-0000-5000-8000-0000000000a{number}") for number in (1, 2)),
    ]
    assert said.gaps == ()


@needs_samples
def test_the_samples_old_and_empty_checkpoints() -> None:
    [said] = parse(text("kubelet_internal_checkpoint.v1-legacy.json"))
    assert held(said) == {(pod(1), "notebook"): [(gpu(0), None)]}
    assert [one.id for one in said.allocatable or ()] == [gpu(0), gpu(1)]
    [said] = parse(text("kubelet_internal_checkpoint.empty.json"))
    assert (said.containers, said.containers_complete, said.allocatable) == ((), True, ())


@needs_samples
@pytest.mark.parametrize("name", ["node-set-a", "node-set-none"])
def test_the_samples_node_sets(name: str) -> None:
    """Against expected.json: the devices, exclusive CPUs and memory of each container, and the policies."""
    expected = json.loads(text(f"{name}/expected.json"))
    [devices], [cpus], [memory] = (
        parse(text(f"{name}/{file}"))
        for file in ("kubelet_internal_checkpoint", "cpu_manager_state", "memory_manager_state")
    )
    found = {
        key: {str(numa): sorted(id for id, nodes in ids if nodes == (numa,)) for numa in (0, 1)}
        for key, ids in held(devices).items()
    }
    by_cpus = {(one.uid, one.container): str(one.cpus) for one in cpus.containers}
    by_memory = {(one.uid, one.container): one for one in memory.containers}
    assert len(expected["containers"]) == len(found) == 4
    for one in expected["containers"]:
        key = (one["podUID"], one["container"])
        assert {numa: ids for numa, ids in found[key].items() if ids} == {
            numa: sorted(ids) for numa, ids in one["deviceIdsByNuma"].items()
        }
        assert by_cpus.get(key) == one["exclusiveCpus"]
        assert (key in by_memory) == (one["memory"] is not None)
    policies = expected["policies"]
    assert cpus.policies == (("cpu", policies["cpuManager"]),)
    assert memory.policies == (("memory", policies["memoryManager"]),)
    shared = None if cpus.shared_cpus is None else str(cpus.shared_cpus)
    assert shared == expected["sharedPoolCpus"]
    assert {gpu for one in devices.allocatable or () for gpu in [one.id]} == {gpu(n) for n in range(8)}


@needs_samples
def test_the_samples_memory_on_nodes() -> None:
    [said] = parse(text("node-set-a/memory_manager_state"))
    assert [(one.uid, one.container, one.kind, one.memory) for one in said.containers] == [
        (pod(1), "c", None, (MemoryHeld("memory", (0,), 64 << 30),)),
        (pod(4), "c", None, (MemoryHeld("memory", (1,), 64 << 30),)),
        (pod(5), "c", None, (MemoryHeld("memory", (0,), 8 << 30),)),
        (pod(5), "i", "init", (MemoryHeld("memory", (0,), 0),)),
    ]
