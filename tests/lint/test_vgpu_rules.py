"""What the rule over the annotations of HAMi and Volcano says."""

from __future__ import annotations

import json

import pytest

from tests.lint.test_node_rules import node
from tests.lint.test_pod_rules import POD, lint

UUIDS = ("GPU-00000000-0000-4000-8000-000000000000", "GPU-00000000-0000-4000-8000-000000000001")


def hami(**changes: object) -> str:
    """The register annotation of two GPUs; the second one with the changes."""
    first = {
        "id": UUIDS[0],
        "count": 10,
        "devmem": 81559,
        "devcore": 100,
        "type": "NVIDIA-X",
        "mode": "hami-core",
        "health": True,
    }
    devices = [first, {**first, "id": UUIDS[1], "index": 1, "numa": 1, **changes}]
    return f"hami.io/node-nvidia-register: '{json.dumps(devices)}'"


def scores(*ids: str) -> str:
    rows = [{"uuid": one, "score": {other: 100 for other in ids if other != one}} for one in ids]
    return f"hami.io/node-nvidia-score: '{json.dumps(rows)}'"


@pytest.mark.parametrize(
    ("annotations", "capacity", "expected"),
    [
        (hami(), 'nvidia.com/gpu: "20"', []),
        (f"{hami()}, {scores(*UUIDS)}, hami.io/device-cordon: {UUIDS[0]}", "", []),
        (f"{hami()}, hami.io/node-handshake: Requesting_2026-01-23 04:30:04", 'nvidia.com/gpu: "20"', []),
        ("hami.io/node-nvidia-register: '[{]'", "", [("error", "is not JSON")]),
        ("hami.io/node-nvidia-register: '[{\"id\": 3}]'", "", [("error", "does not decode")]),
        ("hami.io/node-nvidia-register: 'GPU-a,10,23034,100,NVIDIA-L4,0,true,0:'", "", [("error", "8 fields")]),
        ("hami.io/node-nvidia-register: 'GPU-a,10,23034,100,NVIDIA-L4,0,true:'", "", [("info", "before v2.8.0")]),
        ("hami.io/node-nvidia-register: '[]'", "", [("warning", "lists no GPU")]),
        (hami(id=UUIDS[0]), "", [("error", "registered 2 times")]),
        (hami(health=False), "", [("warning", "not healthy")]),
        (hami(), 'nvidia.com/gpu: "2"', [("warning", "2 GPUs with 20 slots")]),
        (f"{hami()}, hami.io/device-cordon: GPU-x", "", [("warning", "GPU-x is cordoned")]),
        (f"{hami()}, {scores(UUIDS[0])}", "", [("warning", "scores of pairs are missing")]),
        (f"{hami()}, hami.io/node-nvidia-score: '{{'", "", [("error", "node-nvidia-score")]),
        (f"{hami()}, hami.io/node-handshake: Deleted_2025-01-23 04:30:04", "", [("warning", "taken the node's GPUs")]),
    ],
)
def test_annotations_of_hami(annotations: str, capacity: str, expected: list[tuple[str, str]]) -> None:
    found = lint(node("", capacity, capacity, annotations))
    assert [(one.rule, one.severity) for one in found] == [("GT372", severity) for severity, _ in expected]
    assert all(part in one.message for one, (_, part) in zip(found, expected))


def test_hami_waits_for_a_plugin_that_is_gone() -> None:
    waiting = f"{hami()}, hami.io/node-handshake: Requesting_2026-01-23 04:30:04"
    [found] = lint(node("", "", 'cpu: "8", nvidia.com/gpu: "0"', waiting))
    assert "waits for the device plugin" in found.message


def test_the_number_of_gpus_of_hami_and_of_the_label() -> None:
    [found] = lint(node('nvidia.com/gpu.count: "4"', annotations=hami()))
    assert (found.rule, found.severity) == ("GT372", "info")
    assert "2 GPUs are registered" in found.message


def hami_pod(annotations: str) -> str:
    return POD.replace("{name: p}", f"{{name: p, annotations: {{{annotations}}}}}")


@pytest.mark.parametrize(
    ("annotations", "on_node", "expected"),
    [
        ("hami.io/gpu-scheduler-policy: binpack", hami(), ""),
        ("hami.io/gpu-scheduler-policy: 'mutex, numa'", hami(), ""),
        ("hami.io/gpu-scheduler-policy: topology-aware", f"{hami()}, {scores(*UUIDS)}", ""),
        ("hami.io/gpu-scheduler-policy: topology", hami(), "topology is taken as spread"),
        ("hami.io/gpu-scheduler-policy: 'binpack,near'", hami(), "near has no effect"),
        ("hami.io/gpu-scheduler-policy: topology-aware", hami(), "nothing to go by on a"),
        ("nvidia.com/numa-bind: 'true'", hami(), ""),
        ("nvidia.com/numa-bind: 'yes'", hami(), "no boolean"),
        ("nvidia.com/numa-bind: 'true'", hami(numa=0), "separates nothing on a"),
        (f"hami.io/vgpu-node: a, hami.io/vgpu-devices-allocated: '{UUIDS[1]},NVIDIA,3000,0:;'", hami(), ""),
        (
            "hami.io/vgpu-node: a, hami.io/vgpu-devices-allocated: 'GPU-x,NVIDIA,3000,0:;'",
            hami(),
            "the pod holds GPU-x",
        ),
        ("hami.io/vgpu-node: b, hami.io/vgpu-devices-allocated: 'GPU-x,NVIDIA,3000,0:;'", hami(), ""),
        ("hami.io/vgpu-devices-allocated: 'GPU-x,NVIDIA:;'", hami(), "fewer than 4 fields"),
    ],
)
def test_annotations_of_a_pod_of_hami(annotations: str, on_node: str, expected: str) -> None:
    found = lint(hami_pod(annotations) + "---\n" + node(annotations=on_node))
    assert [one.rule for one in found] == (["GT372"] if expected else [])
    assert all(expected in one.message for one in found)


SERVED = "volcano.sh/vgpu-number: 20, volcano.sh/vgpu-cores: 200, volcano.sh/vgpu-memory: 163118"
ROW = "GPU-a,10,81559,NVIDIA-NVIDIA H100 80GB HBM3,true,hami-core:"


@pytest.mark.parametrize(
    ("text", "allocatable", "expected"),
    [
        (ROW, SERVED, []),
        (ROW, "", []),
        (ROW + ROW.replace("-a", "-b"), SERVED, [("info", "blind to topology")]),
        (ROW.replace(",hami-core", ""), SERVED, [("error", "5 fields, not 6")]),
        (ROW.rstrip(":"), SERVED, [("error", "ends with a colon")]),
        (ROW.replace(",10,", ",ten,"), SERVED, [("warning", "count ten")]),
        (ROW, "cpu: 8, volcano.sh/vgpu-number: 20", [("warning", "volcano.sh/vgpu-cores is not allocatable")]),
    ],
)
def test_the_annotation_of_volcano(text: str, allocatable: str, expected: list[tuple[str, str]]) -> None:
    found = lint(node(allocatable=allocatable, annotations=f'volcano.sh/node-vgpu-register: "{text}"'))
    assert [(one.rule, one.severity) for one in found] == [("GT372", severity) for severity, _ in expected]
    assert all(part in one.message for one, (_, part) in zip(found, expected))


@pytest.mark.parametrize(("mode", "expected"), [("hami-core", []), ("mig", []), ("mps", ["GT372"])])
def test_the_mode_of_a_pod_of_volcano(mode: str, expected: list[str]) -> None:
    assert [one.rule for one in lint(hami_pod(f"volcano.sh/vgpu-mode: {mode}"))] == expected
