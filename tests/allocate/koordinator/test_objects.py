"""Annotations and objects of Koordinator as its scheduler decodes them."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from gputopo.allocate.koordinator.demand import Demand, of_pod
from gputopo.allocate.koordinator.devices import Devices, Place
from gputopo.allocate.koordinator.from_objects import devices_of, used_by
from gputopo.allocate.koordinator.mechanism import table_for
from gputopo.allocate.koordinator.partitions import HOPPER
from gputopo.allocate.koordinator.table import partition_table
from gputopo.errors import GputopoError
from gputopo.terms.kube_object import KubeObject, WrongShape

DOMAIN = "scheduling.koordinator.sh/"


def pod(asks: dict[str, object], annotations: dict[str, object] | None = None, **spec: object) -> KubeObject:
    notes = {
        DOMAIN + key: value if isinstance(value, str) else json.dumps(value)
        for key, value in (annotations or {}).items()
    }
    body = {"containers": [{"name": "main", "resources": {"limits": asks}}], **spec}
    return KubeObject({"kind": "Pod", "metadata": {"name": "p", "annotations": notes}, "spec": body}, "pod.yaml")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"4": [{"minors": [0, 1, 2, 3], "allocationScore": "1"}]}', 'allocationScore of "4"[0] is the string "1"'),
        (
            '{"4": [{"minors": [0]}, {"minors": [1], "allocationScore": 1.0}]}',
            'allocationScore of "4"[1] is a number with a point',
        ),
        ('{"4": [{"minors": ["0"]}]}', 'a minor of "4"[0] is the string "0"'),
        ('{"4": [{"minors": 3}]}', 'minors of "4"[0] is a number'),
        ('{"4": [{"allocationScore": true}]}', 'allocationScore of "4"[0] is true'),
        ('{"4": [{"ringBusBandwidth": "fast"}]}', "ringBusBandwidth of \"4\"[0]: 'fast' is not a quantity"),
        ('{"four": []}', 'the size "four" is not a whole number'),
        ('{"4": {}}', '"4" is a mapping'),
        ("[]", "the table is a list"),
        ("null", "the table is null"),
    ],
)
def test_a_table_that_go_does_not_decode_is_one_clear_line(text: str, what: str) -> None:
    with pytest.raises(GputopoError) as raised:
        partition_table(text, "device n")
    assert what in raised.value.what
    assert raised.value.exit_code == 2
    assert "ignores the whole table" in raised.value.hint


def test_a_string_score_says_how_to_write_it() -> None:
    with pytest.raises(GputopoError) as raised:
        partition_table('{"1": [{"minors": [0], "allocationScore": "1"}]}', "device n")
    assert raised.value.hint.startswith("write 1 without quotes")


def test_what_is_no_json_is_said() -> None:
    with pytest.raises(GputopoError, match="gpu-partitions is not JSON"):
        partition_table("{'1': []}", "device n")


def test_a_table_that_decodes() -> None:
    row = '{"Minors": [0, 1], "ringBusBandwidth": "400Gi", "allocationScore": 3, "gpuLinkType": "NVLink"}'
    text = f'{{"2": [{row}, {{}}], "4": null}}'
    found = partition_table(text, "device n")
    assert found is not None
    assert found[2][0].minors == (0, 1)
    assert found[2][0].bandwidth == 400 * 2**30
    assert found[2][0].score == 3
    assert found[2][1] == (found[2][1].__class__)(())
    assert found[4] == ()
    assert partition_table("", "device n") is None


def test_the_policy_label_counts_where_the_table_is() -> None:
    own = {2: ()}
    hopper = {"node.koordinator.sh/gpu-model": "H100"}
    assert table_for(own, True, hopper, False, "device n") == (own, "device n", True)
    assert table_for(own, False, hopper, True, "device n") == (own, "device n", False)
    assert table_for(None, True, hopper, False) == (HOPPER, "built in for H100", False)
    assert table_for(None, False, {}, True) == (None, "", True)


def demand(asks: dict[str, object], annotations: dict[str, object] | None = None) -> Demand:
    return of_pod(pod(asks, annotations))


@pytest.mark.parametrize(
    ("asks", "number", "shared"),
    [
        ({"nvidia.com/gpu": 4}, 4, False),
        ({"nvidia.com/gpu": "1"}, 1, False),
        ({"koordinator.sh/gpu": 200}, 2, False),
        ({"koordinator.sh/gpu": 50}, 1, True),
        ({"koordinator.sh/gpu-core": 100, "koordinator.sh/gpu-memory-ratio": 100}, 1, False),
        ({"koordinator.sh/gpu-core": 50, "koordinator.sh/gpu-memory": "8Gi"}, 1, True),
        ({"koordinator.sh/gpu.shared": 2, "koordinator.sh/gpu-memory-ratio": 100}, 2, True),
    ],
)
def test_how_many_gpus(asks: dict[str, object], number: int, shared: bool) -> None:
    found = demand(asks)
    assert found.gpus is not None
    assert (found.gpus.number, found.gpus.shared) == (number, shared)


@pytest.mark.parametrize(
    "asks",
    [
        {"nvidia.com/gpu": 1, "koordinator.sh/gpu": 100},
        {"koordinator.sh/gpu-core": 50},
        {"koordinator.sh/gpu": 150},
        {"koordinator.sh/gpu.shared": 2, "koordinator.sh/gpu-memory-ratio": 101},
    ],
)
def test_amounts_that_the_scheduler_does_not_accept(asks: dict[str, object]) -> None:
    assert demand(asks).invalid.startswith("invalid resource device requests: [")


def test_what_the_annotations_require() -> None:
    found = demand(
        {"nvidia.com/gpu": 4, "koordinator.sh/rdma": 1},
        {
            "gpu-partition-spec": {"allocatePolicy": "Restricted", "ringBusBandwidth": "200Gi"},
            "device-joint-allocate": {"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"},
            "device-allocate-hint": {"rdma": {"vfSelector": {}}, "gpu": {"requiredTopologyScope": "NUMANode"}},
        },
    )
    assert (found.honor, found.restricted, found.bandwidth) == (True, True, 200 * 2**30)
    assert (found.joint, found.same_pcie) == (("gpu", "rdma"), True)
    assert found.gpus is not None
    assert found.gpus.scope == "NUMANode"
    assert found.nics is not None
    assert (found.nics.number, found.nics.functions) == (1, {})


def test_a_partition_spec_of_nothing_is_best_effort_and_honors() -> None:
    found = demand({"nvidia.com/gpu": 2}, {"gpu-partition-spec": {}})
    assert (found.honor, found.restricted, found.bandwidth) == (True, False, None)


def test_joint_types_that_are_not_asked_for_are_left_out() -> None:
    found = demand({"nvidia.com/gpu": 2}, {"device-joint-allocate": {"deviceTypes": ["gpu", "rdma"]}})
    assert found.joint == ("gpu",)


@pytest.mark.parametrize(
    ("amount", "hint", "number", "each"),
    [(1, {}, 1, 1), (50, {}, 1, 50), (100, {}, 1, 100), (200, {}, 2, 100),
     (2, {"allocateStrategy": "RequestsAsCount"}, 2, 1),
     (2, {"allocateStrategy": "RequestsAsCount", "exclusivePolicy": "DeviceLevel"}, 2, 100)],
)  # fmt: skip
def test_how_many_nics(amount: int, hint: dict[str, str], number: int, each: int) -> None:
    found = demand({"nvidia.com/gpu": 1, "koordinator.sh/rdma": amount}, {"device-allocate-hint": {"rdma": hint}})
    assert found.nics is not None
    assert (found.nics.number, dict(found.nics.each)) == (number, {"koordinator.sh/rdma": each})


@pytest.mark.parametrize(
    ("annotations", "what"),
    [
        ({"gpu-partition-spec": "{"}, "gpu-partition-spec is not JSON"),
        ({"gpu-partition-spec": "[]"}, "gpu-partition-spec does not decode: it is a list"),
        ({"device-allocate-hint": "3"}, "device-allocate-hint does not decode: it is a number"),
        ({"gpu-partition-spec": {"allocatePolicy": "Strict"}}, "no such allocatePolicy: Strict"),
        (
            {"device-allocate-hint": {"gpu": {"requiredTopologyScope": "Socket"}}},
            "no such requiredTopologyScope: Socket",
        ),
        ({"device-joint-allocate": {"requiredScope": "SameNUMA"}}, "no such requiredScope: SameNUMA"),
        ({"device-joint-allocate": {"deviceTypes": "gpu"}}, "deviceTypes is not a list of strings"),
    ],
)
def test_annotations_that_do_not_decode(annotations: dict[str, object], what: str) -> None:
    with pytest.raises(GputopoError, match=what):
        demand({"nvidia.com/gpu": 1}, annotations)


def device(*rows: dict[str, object]) -> KubeObject:
    return KubeObject({"kind": "Device", "metadata": {"name": "n"}, "spec": {"devices": list(rows)}}, "device.yaml")


def test_a_device_object() -> None:
    row = {
        "type": "gpu", "id": "GPU-0", "minor": 0, "health": True, "labels": {"a": "b"},
        "resources": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "80Gi"},
        "topology": {"socketID": -1, "nodeID": 1, "pcieID": "pci0000:15", "busID": "0000:18:00.0"},
    }  # fmt: skip
    found = devices_of(device(row, {**row, "minor": 1, "health": False}, {"type": "gpu", "minor": 2})).all
    assert found[0].place == Place(1, "pci0000:15")
    assert found[0].total["koordinator.sh/gpu-memory"] == 80 * 2**30
    assert found[1].total == {}
    assert (found[2].total, found[2].place) == ({}, None)


def test_an_entry_without_a_minor_is_refused() -> None:
    with pytest.raises(WrongShape, match=r"spec\.devices\[0\] has no minor"):
        devices_of(device({"type": "gpu"}))


def test_what_bound_pods_hold() -> None:
    nic = {"minor": 0, "resources": {"koordinator.sh/rdma": 1}, "extension": {"vfs": [{"busID": "0000:19:00.1"}]}}
    held = {"gpu": [{"minor": 3, "resources": {"koordinator.sh/gpu-core": "50"}}], "rdma": [nic]}
    bound = pod({}, {"device-allocated": held}, nodeName="n")
    twice = used_by(Devices(()), [bound, bound, pod({}, {"device-allocated": held})], "n")
    assert twice.used["gpu", 3] == {"koordinator.sh/gpu-core": Fraction(100)}
    assert twice.used_functions == {"0000:19:00.1"}
    assert used_by(Devices(()), [bound], "other").used == {}
    done = bound._replace(body={**bound.body, "status": {"phase": "Succeeded"}})
    assert used_by(Devices(()), [done], "n").used == {}


@pytest.mark.parametrize(
    "held",
    ["[]", '{"gpu": 3}', '{"gpu": [3]}', '{"gpu": [{}]}', '{"gpu": [{"minor": 0, "resources": []}]}'],
)
def test_what_is_held_in_a_way_that_does_not_decode(held: str) -> None:
    with pytest.raises((GputopoError, WrongShape)):
        used_by(Devices(()), [pod({}, {"device-allocated": held}, nodeName="n")], "n")
