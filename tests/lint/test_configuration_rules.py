"""What the rules over slices and configurations say, and where."""

from __future__ import annotations

import pytest

from gputopo.rules.manifests.problem import Context
from tests.lint.test_dra_rules import lint

KUBELET = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
SLICE = """apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: d.example.com
  nodeName: n1
  pool: {name: p, generation: 1, resourceSliceCount: 1}
  devices:
  - name: a
  - name: b
"""


def places(text: str, context: Context | None = None) -> list[tuple[str, int, int]]:
    return [(one.rule, *one.place) for one in lint(text, context)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("cpuManagerPolicy: static\nkubeReserved: {cpu: 500m}\n", []),
        ("cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\n", []),
        ("cpuManagerPolicy: static\n", [("GT330", 3, 19)]),
        ("cpuManagerPolicy: dynamic\n", [("GT330", 3, 19)]),
        ("memoryManagerPolicy: Static\n", [("GT330", 3, 22)]),
        ("topologyManagerPolicy: restricted\ntopologyManagerScope: node\n", [("GT330", 4, 23)]),
        ("topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {nearest: 'true'}\n", [("GT330", 4, 41)]),
        ("topologyManagerPolicy: none\ntopologyManagerPolicyOptions: {nearest: 'true'}\n", []),
        ("topologyManagerPolicy: [none]\n", [("GT330", 3, 24)]),
    ],
)
def test_a_kubelet_that_does_not_start(body: str, expected: list[tuple[str, int, int]]) -> None:
    assert places(KUBELET + body) == expected


def test_what_configz_answers_is_placed_too() -> None:
    assert places('{"kubeletconfig":\n {"cpuManagerPolicy": "dynamic"}}') == [("GT330", 2, 23)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("flags: {migStrategy: mixed}\n", []),
        ("flags: {migStrategy: mixt}\n", [("GT340", 2, 22)]),
        ("flags:\n  plugin:\n    deviceListStrategi: envvar\n", [("GT340", 4, 5)]),
        ("sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}\n", [("GT340", 2, 10)]),
    ],
)
def test_a_configuration_of_the_plugin(body: str, expected: list[tuple[str, int, int]]) -> None:
    assert places("version: v1\n" + body) == expected


def test_in_a_config_map_the_place_is_that_of_the_file() -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  any: |-\n    version: v1\n    flags:\n"
        "      migStrategi: mixed\n  kubelet: |\n    kind: KubeletConfiguration\n"
        "    apiVersion: kubelet.config.k8s.io/v1beta1\n    cpuManagerPolicy: dynamic\n"
    )
    assert places(text) == [("GT340", 8, 7), ("GT330", 12, 23)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("  nodeName: n1\n", "", [("GT320", 5, 3)]),
        (", resourceSliceCount: 1", "", [("GT320", 7, 9)]),
        ("name: b", "name: a", [("GT320", 10, 11)]),
        ("name: b", "name: [b]", [("GT300", 10, 11)]),
    ],
)
def test_a_slice_that_is_passed_over(old: str, new: str, expected: list[tuple[str, int, int]]) -> None:
    assert places(SLICE.replace(old, new) if old else SLICE) == expected


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ('{"1": [{"minors": [0], "allocationScore": 1}]}', []),
        ('{"1": [{"minors": [0], "allocationScore": "1"}]}', [("GT350", 6, 49)]),
        ('{"1": [', [("GT350", 5, 47)]),
        ('{"one": []}', [("GT350", 5, 47)]),
    ],
)
def test_a_table_that_koordinator_ignores(table: str, expected: list[tuple[str, int, int]]) -> None:
    head = "apiVersion: scheduling.koordinator.sh/v1alpha1\nkind: Device\nmetadata:\n  annotations:\n"
    text = f"{head}    scheduling.koordinator.sh/gpu-partitions: |\n      {table}\n"
    assert places(text) == expected
