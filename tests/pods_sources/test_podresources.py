"""Answers of the kubelet's podresources socket, in every spelling (k8s.io/kubelet, podresources/v1/api.proto)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gputopo.holdings import ContainerHolding, DeviceHeld, HoldingRecords, MemoryHeld, PodRecord
from gputopo.parsers import podresources
from gputopo.parsers.podresources import kind_of, parse, parse_bytes, sniff, sniff_bytes
from gputopo.parsers.podresources.wire import ENTRIES_MOST
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.cpu_set import CpuSet

GPU = "nvidia.com/gpu"


def device(id: str, *nodes: int, resource: str = GPU) -> dict[str, Any]:
    """As grpcurl prints it: zero is left out, numbers are texts."""
    topology = {"topology": {"nodes": [{"ID": str(node)} if node else {} for node in nodes]}} if nodes else {}
    return {"resourceName": resource, "deviceIds": [id], **topology}


def answer(*containers: dict[str, Any], **pod: Any) -> dict[str, Any]:
    return {"podResources": [{"name": "job-0", "namespace": "ml", "containers": list(containers), **pod}]}


def snake(value: Any) -> Any:
    """The same with the names that Go's encoding/json writes, and int64 as numbers."""
    if isinstance(value, dict):
        return {"".join(f"_{c.lower()}" if c.isupper() else c for c in key) if key != "ID" else key: snake(one)
                for key, one in value.items()}  # fmt: skip
    if isinstance(value, list):
        return [snake(one) for one in value]
    return int(value) if isinstance(value, str) and value.isdigit() else value


def as_protobuf(value: dict[str, Any], call: str = podresources.LIST) -> bytes:
    """Encoded by the library of protobuf."""
    from google.protobuf.json_format import ParseDict

    from gputopo.parsers.podresources import wire

    message = wire.empty(call)
    ParseDict(value, message)
    return bytes(message.SerializeToString())


BOTH = [{"name": "v/c=0"}, {"name": "v/c=1"}]
DRIVER = {"driverName": "d.example.com", "poolName": "n"}
FULL = answer(
    {
        "name": "main",
        "devices": [device("GPU-b", 1), device("GPU-a", 0), device("GPU-b", 0), device("hca-3", resource="rdma/hca")],
        "cpuIds": ["9", "8", "0"],
        "memory": [{"memoryType": "memory", "size": "1024", "topology": {"nodes": [{}]}}],
        "dynamicResources": [
            {
                "claimName": "two",
                "claimNamespace": "ml",
                "claimResources": [
                    {**DRIVER, "deviceName": "gpu-0", "cdiDevices": [{"name": "v/c=0"}]},
                    {**DRIVER, "deviceName": "gpu-1", "cdiDevices": BOTH, "shareId": "s1"},
                ],
            }
        ],
    },
    {"name": "logger"},
)  # fmt: skip
MAIN = ContainerHolding(
    namespace="ml",
    pod="job-0",
    container="main",
    devices=(
        DeviceHeld(GPU, "GPU-b", "uuid", (0, 1)),  # an entry for each of its NUMA nodes
        DeviceHeld(GPU, "GPU-a", "uuid", (0,)),
        DeviceHeld("rdma/hca", "hca-3", "other", None),
        DeviceHeld("claim:two", "d.example.com/n/gpu-0", "dra"),
        DeviceHeld("claim:two", "d.example.com/n/gpu-1", "dra", share="s1"),
        DeviceHeld("claim:two", "v/c=0", "cdi", by="cdi"),  # once, though every later device repeats it
        DeviceHeld("claim:two", "v/c=1", "cdi", by="cdi"),
    ),
    claims=(("two", ""),),
    cpus=CpuSet.parse_list("0,8-9"),
    memory=(MemoryHeld("memory", (0,), 1024),),
)
LOGGER = ContainerHolding("ml", "job-0", container="logger", devices=(), claims=(), cpus=CpuSet(), memory=())
RECORDS = HoldingRecords(
    "podresources",
    containers=(MAIN, LOGGER),
    containers_complete=True,
    pods=(PodRecord("ml", "job-0", None),),
    pods_complete=True,
)


@pytest.mark.parametrize("value", [FULL, snake(FULL)])
def test_every_field_in_both_spellings(value: dict[str, Any]) -> None:
    written = json.dumps(value)
    assert sniff(written)
    assert parse(written) == (RECORDS,)


def test_protobuf_says_the_same() -> None:
    data = as_protobuf(FULL)
    assert (sniff_bytes(data), kind_of(data)) == (True, podresources.LIST)
    assert parse_bytes(data, podresources.LIST) == (RECORDS,)


def test_an_answer_of_one_pod_may_be_of_get() -> None:
    """The messages are alike, so only who asked knows that there is no other pod."""
    data = as_protobuf(FULL)
    assert parse_bytes(data) == (RECORDS._replace(containers_complete=False, pods_complete=False),)
    two = {"podResources": FULL["podResources"] * 2}
    assert parse_bytes(as_protobuf(two))[0].containers_complete


def test_get_answers_with_one_object() -> None:
    [said] = parse(json.dumps({"podResources": FULL["podResources"][0]}))
    assert said.containers == RECORDS.containers
    assert (said.containers_complete, said.pods_complete) == (False, False)


def test_what_is_empty_may_be_written() -> None:
    written = answer({"name": "main", "devices": [], "cpuIds": [], "memory": [], "dynamicResources": []})
    [said] = parse(json.dumps(written))
    assert said.containers[0].cpus == CpuSet()
    assert said.gaps == ()
    null = answer({"name": "main", "devices": [{**device("x"), "topology": None}], "cpuIds": None})
    assert parse(json.dumps(null))[0].containers[0].devices == (DeviceHeld(GPU, "x", "other", None),)


def test_a_plugin_may_say_that_a_device_has_no_numa_node() -> None:
    written = answer({"name": "main", "devices": [{**device("a"), "topology": {"nodes": []}}, device("b", -1)]})
    [said] = parse(json.dumps(written))
    assert [one.numa_nodes for one in said.containers[0].devices or ()] == [(), None]


@pytest.mark.parametrize("empty", ['{"podResources": []}', '{"pod_resources": null}'])
def test_a_node_without_pods(empty: str) -> None:
    assert sniff(empty)
    assert parse(empty) == (HoldingRecords("podresources", containers_complete=True, pods=(), pods_complete=True),)
    assert parse_bytes(b"", podresources.LIST) == parse(empty)


def test_v1alpha1_says_nothing_of_cpus_and_memory() -> None:
    written = answer({"name": "main", "devices": [device("GPU-a")]})
    for said in (*parse(json.dumps(written)), *parse_bytes(as_protobuf(written)), *parse_bytes(
        as_protobuf(written), podresources.LIST, of_v1=False
    )):  # fmt: skip
        [container] = said.containers
        assert (container.cpus, container.memory, container.claims) == (None, None, None)
        assert [gap.attribute for gap in said.gaps] == ["cpus"]
    [known] = parse_bytes(as_protobuf(written), podresources.LIST, of_v1=True)
    assert (known.containers[0].cpus, known.containers[0].memory, known.gaps) == (CpuSet(), (), ())


def test_cpus_of_the_pod_as_a_whole() -> None:
    """1.37: a container without own ones may run on those that its pod shares."""
    block = {"memoryType": "memory", "size": "7", "topology": {"nodes": [{"ID": "1"}]}}
    written = answer({"name": "own", "cpuIds": ["1"]}, {"name": "pool"}, cpuIds=["1", "2"], memory=[block])
    for said in (*parse(json.dumps(written)), *parse_bytes(as_protobuf(written))):
        assert said.pods == (
            PodRecord("ml", "job-0", None, cpus=CpuSet.of((1, 2)), memory=(MemoryHeld("memory", (1,), 7),)),
        )
        assert [one.cpus for one in said.containers] == [CpuSet.of((1,)), None]
        assert [one.memory for one in said.containers] == [None, None]


ALLOCATABLE = {
    "cpuIds": ["1", "2"],
    "devices": [device("GPU-a", 0), device("0000:3b:02.1", resource="example.com/vf"), device("MIG-1", 1)],
    "memory": [{"memoryType": "hugepages-1Gi", "topology": {"nodes": [{}]}}],
}


def test_what_is_allocatable() -> None:
    data = as_protobuf(ALLOCATABLE, podresources.ALLOCATABLE)
    assert kind_of(data) == podresources.ALLOCATABLE
    for said in (*parse(json.dumps(ALLOCATABLE)), *parse(json.dumps(snake(ALLOCATABLE))), *parse_bytes(data)):
        assert said == HoldingRecords(
            "podresources",
            allocatable=(
                DeviceHeld(GPU, "GPU-a", "uuid", (0,)),
                DeviceHeld("example.com/vf", "0000:3b:02.1", "pci", None),
                DeviceHeld(GPU, "MIG-1", "mig", (1,)),
            ),
            allocatable_cpus=CpuSet.of((1, 2)),
            allocatable_memory=(MemoryHeld("hugepages-1Gi", (0,), 0),),
        )


def test_two_calls_in_one_file_are_one_node_and_two_lists_are_two() -> None:
    both = json.dumps(ALLOCATABLE, indent=2) + "\n" + json.dumps(FULL, indent=2)
    [said] = parse(both)
    assert said.containers == RECORDS.containers
    assert len(said.allocatable or ()) == 3
    assert len(parse(json.dumps(FULL) + json.dumps(FULL))) == 2


@pytest.mark.parametrize(
    "broken",
    [
        json.dumps(FULL)[:-9],
        json.dumps(FULL) + "}",
        json.dumps(FULL) + "[]",
        '{"podResources": [5]}',
        '{"podResources": [{"containers": {"a": 1}}]}',
        '{"podResources": [{"name": 5}]}',
        '{"podResources": [{"name": "\\ud800"}]}',
        json.dumps(answer({"name": "main", "cpuIds": ["x"]})),
        json.dumps(answer({"name": "main", "cpuIds": [1.5]})),
        json.dumps(answer({"name": "main", "cpuIds": [10**30]})),
        json.dumps(answer({"name": "main", "cpuIds": ["-1"]})),
        json.dumps(answer({"name": "main", "cpuIds": ["99999999"]})),
        json.dumps(answer({"name": "main", "devices": [device("a", 70_000)]})),
        '{"podResources": ' + "[" * 100_000,
        '{"podResources": ' + '[{"containers": ' * 5_000 + "[" + "]}" * 5_000,
        "{}",
        "",
    ],
)  # fmt: skip
def test_what_is_broken_is_unreadable_in_one_line(broken: str) -> None:
    with pytest.raises(Unreadable) as caught:
        parse(broken)
    assert "\n" not in caught.value.what
    assert len(caught.value.what) < 300


@pytest.mark.parametrize(
    "other",
    [
        "",
        "[]",
        "{}",
        '{"gpus": []}',
        '{"memory": 5}',
        "podResources",
        '{"apiVersion": "v1", "devices": [{"deviceIds": []}]}',
    ],
)
def test_other_texts_are_not_taken_for_one(other: str) -> None:
    assert not sniff(other)


def test_a_cut_one_is_known_all_the_same() -> None:
    assert sniff(json.dumps(FULL)[:-40])


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\n", b"\nGPU0\tGPU1\n", b"\x0a\x00", b"\x0a\x03\x0a\x01\x01", b"\x7fELF", bytes(300),
        b"\x0a\xff\xff\xff\xff\x0f",
        as_protobuf(FULL)[:-1], as_protobuf(FULL) + b"\x00", as_protobuf(FULL) + b"\x22\x01a",  # field 4 there is none
        as_protobuf(FULL).replace(b"job-0", b"job 0"), as_protobuf(FULL).replace(b"job-0", b"jo/-0"),
        as_protobuf(ALLOCATABLE, podresources.ALLOCATABLE).replace(b"nvidia.com/gpu", b"nvidia.com.gpu"),
    ],
)  # fmt: skip
def test_other_bytes_are_not_taken_for_one(data: bytes) -> None:
    assert kind_of(data) is None
    with pytest.raises(Unreadable):
        parse_bytes(data)


def test_a_message_of_two_bytes_an_entry_is_refused_before_it_is_kept() -> None:
    many = b"\x1a\x00" * (ENTRIES_MOST + 1)
    size = len(many)
    head = bytes((0x0A, size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14))
    with pytest.raises(Unreadable, match="more than 100,000 entries"):
        parse_bytes(head + many, podresources.LIST)
    with pytest.raises(Unreadable, match="more than 100,000 entries"):
        parse_bytes(b"\x0a\x00" * (ENTRIES_MOST + 1), podresources.LIST)
