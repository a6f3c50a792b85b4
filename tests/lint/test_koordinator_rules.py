"""What the rules over Koordinator's objects say, and where: GT350 and GT351."""

from __future__ import annotations

import pytest

from gputopo.terms.json_spots import read as read_json
from tests.lint.places import at, lint_together, said

PREFIX = "scheduling.koordinator.sh"
POD = """apiVersion: v1
kind: Pod
metadata:
  name: p
  annotations:
    {prefix}/{name}: '{text}'
spec:
  containers:
  - {{name: c, resources: {{limits: {{nvidia.com/gpu: 4, koordinator.sh/rdma: 1}}}}}}
"""
DEVICE = """apiVersion: scheduling.koordinator.sh/v1alpha1
kind: Device
metadata:
  name: n1
  labels: {node.koordinator.sh/gpu-partition-policy: Honor}
spec:
  devices:
  - {type: gpu, minor: 0, health: true}
  - {type: gpu, minor: 1, health: true}
  - {type: rdma, minor: 0, health: true}
"""


def pod(name: str, text: str) -> str:
    return POD.format(prefix=PREFIX, name=name, text=text)


SPEC, JOINT, HINT, HELD = "gpu-partition-spec", "device-joint-allocate", "device-allocate-hint", "device-allocated"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (SPEC, '{"allocatePolicy":"Restricted","ringBusBandwidth":"200Gi"}'),
        (SPEC, '{"AllocatePolicy":"BestEffort","ringBusBandwidth":200}'),
        (SPEC, "{}"),
        (SPEC, "null"),
        (JOINT, '{"deviceTypes":["gpu","rdma"],"requiredScope":"SamePCIe"}'),
        (JOINT, '{"deviceTypes":["rdma","gpu"]}'),
        (HINT, '{"rdma":{"vfSelector":{}},"gpu":{"requiredTopologyScope":"NUMANode"}}'),
        (HINT, '{"rdma":{"allocateStrategy":"RequestsAsCount","exclusivePolicy":"DeviceLevel"}}'),
        (HELD, '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"100"}}],"rdma":null}'),
    ],
)
def test_annotations_that_are_right(name: str, text: str) -> None:
    assert lint_together(pod(name, text)) == []


@pytest.mark.parametrize(
    ("name", "text", "mark", "severity", "part"),
    [
        (SPEC, '{"allocatePolicy":"restricted"}', '"restricted"', "warning", "read as BestEffort"),
        (SPEC, '{"allocationPolicy":"Restricted"}', '"allocationPolicy"', "warning", "no such field"),
        (SPEC, '{"ringBusBandwidth":"200GB"}', '"200GB"', "error", "not a quantity"),
        (SPEC, '{"allocatePolicy":["Restricted"]}', '["Restricted"]', "error", "not a string"),
        (SPEC, '{"allocatePolicy":"Restricted",}', "}'", "error", "is not JSON"),
        (SPEC, '"Restricted"', '"Restricted"', "error", "not a mapping"),
        (JOINT, '{"deviceTypes":["gpu","rdma"],"requiredScope":"samepcie"}', '"samepcie"', "warning", "is required"),
        (JOINT, '{"deviceTypes":["GPU","rdma"]}', '"GPU"', "warning", "is passed over"),
        (JOINT, '{"deviceTypes":["gpu","fpga"]}', '["gpu","fpga"]', "warning", "asks for only gpu"),
        (JOINT, '{"deviceTypes":"gpu"}', '"gpu"', "error", "not a list"),
        (JOINT, '{"deviceTypes":["gpu",1]}', "1]", "error", "not a string"),
        (HINT, '{"gpu":{"requiredTopologyScope":"numa"}}', '"numa"', "warning", "it bounds nothing"),
        (HINT, '{"rdma":{"requiredTopologyScope":"PCIe"}}', '"PCIe"', "warning", "no effect on rdma"),
        (HINT, '{"rdma":{"exclusivePolicy":"PCIeLevel"}}', '"PCIeLevel"', "warning", "PCIeLevel has no effect"),
        (HINT, '{"rdma":{"exclusivePolicy":"DeviceLevel"}}', '"DeviceLevel"', "warning", "without allocateStrategy"),
        (HINT, '{"gpu":{"exclusivePolicy":"DeviceLevel"}}', '"DeviceLevel"', "warning", "no effect on gpu"),
        (HINT, '{"rdma":{"allocateStrategy":"All"}}', '"All"', "warning", "it has no effect"),
        (HINT, '{"nic":{}}', '"nic"', "warning", "no type of device"),
        (HINT, '{"gpu":{"selector":[]}}', "[]", "error", "not a label selector"),
        (HINT, '{"gpu":["PCIe"]}', '["PCIe"]', "error", "not a mapping"),
        (HELD, '{"gpu":[{"minor":"0"}]}', '"0"', "error", "not a whole number"),
        (HELD, '{"gpu":{"minor":0}}', '{"minor"', "error", "not a list"),
    ],
)
def test_annotations_that_are_read_otherwise(name: str, text: str, mark: str, severity: str, part: str) -> None:
    manifest = pod(name, text)
    [found] = lint_together(manifest, only="GT351")
    assert (found.severity, tuple(found.place)) == (severity, at(manifest, mark))
    assert part in found.message


def test_without_a_request_they_are_not_read() -> None:
    bare = pod(SPEC, '{"allocatePolicy":"nonsense"}').replace("nvidia.com/gpu: 4", "cpu: 4")
    assert said(bare) == [("GT351", "info", at(bare, PREFIX))]
    none = pod(JOINT, "no JSON").replace("nvidia.com/gpu: 4, koordinator.sh/rdma: 1", "nvidia.com/gpu: 0")
    assert said(none) == [("GT351", "info", at(none, PREFIX))]


def test_a_template_is_read_as_a_pod_is() -> None:
    text = pod(SPEC, '{"allocatePolicy":"restricted"}')
    _, metadata = text.split("metadata:", 1)
    lines = "".join(f"    {line}\n" for line in f"metadata:{metadata}".splitlines())
    deployment = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d}}\nspec:\n  template:\n{lines}"
    assert said(deployment) == [("GT351", "warning", at(deployment, '"restricted"'))]


@pytest.mark.parametrize(
    ("old", "new", "mark", "severity"),
    [
        ("policy: Honor", "policy: honor", "honor}", "warning"),
        ("policy: Honor", "policy: Prefer", "", ""),
        ("gpu, minor: 1", "gpu, minor: 0", "0, health: true}\n  - {type: rdma", "warning"),
        ("gpu, minor: 1, ", "gpu, ", "{type: gpu, health", "error"),
        ("- {type: rdma, minor: 0, health: true}", "- rdma", "rdma\n", "error"),
    ],
)
def test_a_device(old: str, new: str, mark: str, severity: str) -> None:
    text = DEVICE.replace(old, new)
    assert said(text) == [("GT351", severity, at(text, mark))] * bool(severity)


TABLE = """  annotations:
    scheduling.koordinator.sh/gpu-partitions: |
      {"2": [{"minors": [0, 1]}, {"minors": [2, 3, 4]}]}
"""


def test_a_partition_of_another_size() -> None:
    text = DEVICE.replace("spec:\n", TABLE + "spec:\n")
    assert said(text) == [("GT350", "warning", at(text, '{"minors": [2'))]
    assert said(text.replace(", 4]", "]")) == []


def test_on_a_node_the_table_is_not_read() -> None:
    text = "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n" + TABLE
    assert said(text) == [("GT350", "warning", at(text, "scheduling"))]


@pytest.mark.parametrize("text", ['{"a": NaN}', "[1,]", "{'a': 1}", '{"a" 1}', "", "[" * 1000, '{"a": 1} x', '"\t"'])
def test_what_is_no_json(text: str) -> None:
    with pytest.raises(ValueError, match=r"line \d+ column"):
        read_json(text)


def test_of_a_key_given_twice_the_last_one_counts() -> None:
    spot = read_json('{"a": 1, "a": [2, {"b": null}]}')
    assert (spot.value, spot.members["a"].start) == ({"a": [2, {"b": None}]}, 14)
