"""Recordings of a driver's answers: our own format and the older one."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gputopo.parsers import nvml_recording
from gputopo.records import NodeRecords
from gputopo.terms.path_level import PathLevel
from gputopo.terms.unknown import Unknown
from tests.parsers.nvml_made import ALL_ONES, OLD, gpu, read, read_one, text_of, why

SHARED = Path(os.environ.get("GPUTOPO_SHARED") or Path(__file__).parents[3] / "shared")
RECORDINGS = SHARED / "data" / "sysfs" / "nvml"


def test_a_whole_recording() -> None:
    node = read(gpu(0), gpu(1))
    assert (node.format, node.gpus_complete, node.system.view) == ("nvml-recording", True, None)
    assert (node.system.driver, node.system.cuda) == ("560.35.03", "12.6")
    first = node.gpus[0]
    assert [(key.space, key.value) for key in first.keys] == [
        ("index", "0"),
        ("uuid", "GPU-00000000-1111-2222-3333-444455556666"),
        ("pci", "0000:1a:00.0"),
        ("minor", "0"),
    ]
    assert (first.label, first.vendor, first.architecture, first.compute_capability) == (
        "GPU0",
        "nvidia",
        "Hopper",
        "9.0",
    )
    assert (str(first.cpus), first.cpus_complete, first.numa_nodes) == ("0-15", True, (0,))
    assert (first.nvlinks_active, first.nvlinks_total) == (1, 2)
    assert str(first.links[0].remote) == "0000:1b:00.0"
    assert (first.links[0].remote_kind, first.links[0].gbps) == ("gpu", 26.562)
    assert (first.links[1].state, first.links[1].gbps) == ("inactive", None)
    assert first.fabric.state == "Not Started"
    assert first.mig == ()
    assert (node.gaps, node.observations, node.assumptions) == ((), (), ())
    (pair,) = node.pairs
    assert (pair.a, pair.b, pair.level) == ("GPU0", "GPU1", PathLevel.NODE)
    assert pair.p2p == dict.fromkeys(("read", "write", "nvlink", "atomics", "prop"), "OK")
    assert pair.nvlinks is None


def test_what_was_not_asked_is_none_and_never_zero() -> None:
    node = read({"index": 0, "uuid": "GPU-1"})
    record = node.gpus[0]
    said = {name for name, value in record._asdict().items() if value is not None}
    assert said == {"label", "keys", "nvml_index", "uuid", "vendor"}
    assert node.gaps == ()


@pytest.mark.parametrize(
    ("key", "field"),
    [
        ("uuid", "uuid"),
        ("name", "name"),
        ("pci", "pci"),
        ("minor", "minor"),
        ("memoryBytes", "memory_bytes"),
        ("architecture", "architecture"),
        ("computeCapability", "compute_capability"),
        ("moduleId", "module_id"),
        ("numaNodeId", "memory_numa_node"),
        ("fabric", "fabric"),
    ],
)
@pytest.mark.parametrize("code", [3, 4, 13, 999])
def test_a_refusal_is_unknown_with_its_reason(key: str, field: str, code: int) -> None:
    reason = why(getattr(read_one(**{key: {"error": code}}), field))
    assert "nvml" in reason
    assert ("FunctionNotFound" in reason) if code == 13 else (f"({code})" in reason)


def test_no_answer_is_believed_that_cannot_be() -> None:
    for key, field, value in (
        ("uuid", "uuid", 5),
        ("pci", "pci", ALL_ONES),
        ("minor", "minor", -1),
        ("architecture", "architecture", 4294967295),
        ("computeCapability", "compute_capability", [9]),
        ("numaNodeId", "memory_numa_node", -1),
        ("cpuAffinity", "cpus", {"node": [1 << 64]}),
        ("cpuAffinity", "cpus", {"node": [True]}),
        ("memoryAffinity", "numa_nodes", {"node": "0"}),
        ("fabric", "fabric", {"state": 9}),
        ("pcie", "pcie", {"generation": 0, "width": 255}),
    ):
        assert why(getattr(read_one(**{key: value}), field)), key


def test_cpu_words_without_a_cpu_are_unknown_not_empty() -> None:
    for possible in (None, 64, 256):
        snapshot = {} if possible is None else {"cpusPossible": possible}
        text = json.loads(text_of(gpu(0, cpuAffinity={"node": [0, 0]})))
        text["snapshot"].pop("cpusPossible")
        text["snapshot"].update(snapshot)
        (node,) = nvml_recording.parse(json.dumps(text))
        assert "no CPU among the 128" in why(node.gpus[0].cpus)
        assert node.gpus[0].cpus_complete is None


@pytest.mark.parametrize(("possible", "complete"), [(128, True), (64, True), (129, False), (None, None)])
def test_cpus_are_complete_when_enough_words_were_asked(possible: int | None, complete: bool | None) -> None:
    (record,) = read(gpu(0), cpusPossible=possible).gpus
    assert record.cpus_complete is complete


def test_the_node_of_a_gpus_own_memory() -> None:
    grace = read(
        gpu(0, numaNodeId=2, memoryAffinity={"node": [0b0101]}), gpu(1, numaNodeId=10, memoryAffinity={"node": [2]})
    )
    assert [record.memory_numa_node for record in grace.gpus] == [2, 10]
    assert "node of the CPUs" in why(read_one(numaNodeId=0).memory_numa_node)
    shared = read(*(gpu(i, numaNodeId=0, memoryAffinity={"node": [3]}) for i in range(2)))
    assert all("several GPUs" in why(record.memory_numa_node) for record in shared.gpus)


def test_a_lost_gpu_keeps_what_was_answered_before() -> None:
    node = read(gpu(0), {"index": 1, "uuid": "GPU-x", "name": {"error": 15}, "cpuAffinity": {"node": {"error": 15}}})
    lost = node.gpus[1]
    assert lost.uuid == "GPU-x"
    assert [key.space for key in lost.keys] == ["index", "uuid"]
    for field in ("name", "pci", "cpus", "numa_nodes", "links", "nvlinks_total", "fabric", "pcie", "mig", "minor"):
        assert why(getattr(lost, field)) == "GPU is lost (NVML 15): the driver cannot reach it"
    assert [(o.kind, o.subjects) for o in node.observations] == [("gpu-lost", ("GPU1",))]
    assert node.gpus[0].uuid == gpu(0)["uuid"]


def test_a_driver_that_refuses_to_count() -> None:
    text = '{"gputopo": "nvml-recording", "version": 1, "snapshot": {"driver": "560.35.03", "gpus": {"error": 999}}}'
    (node,) = nvml_recording.parse(text)
    assert node.gpus is None
    assert not node.gpus_complete
    assert [(gap.attribute, gap.reason) for gap in node.gaps] == [
        ("gpus", "nvmlDeviceGetCount_v2 answered UNKNOWN (999)")
    ]


def test_no_gpu_is_an_answer() -> None:
    node = read()
    assert (node.gpus, node.gpus_complete, node.pairs) == ((), True, ())


def test_bytes_fill_what_the_decoded_values_leave_out() -> None:
    (node,) = nvml_recording.parse(json.dumps(OLD))
    assert (node.gpus[0].minor, node.gpus[0].uuid, str(node.gpus[0].cpus)) == (2, "GPU-1", "0-1")


def test_reading_a_recording_loads_no_driver_wrapper() -> None:
    code = (
        "import sys; from gputopo.parsers import nvml_recording as r; "
        "r.parse(sys.stdin.read()); print(sorted({'pynvml', 'ctypes', 'struct', 'dataclasses'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
        input=text_of(gpu(0)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


@pytest.fixture(params=("h100", "gb200"))
def shared(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any], NodeRecords]:
    path = RECORDINGS / f"nvml-rec-mock-{request.param}.json.gz"
    if not path.exists():
        pytest.skip(f"shared recordings are absent: no {path}")
    text = gzip.decompress(path.read_bytes()).decode()
    assert nvml_recording.sniff(text)
    (node,) = nvml_recording.parse(text)
    return request.param, json.loads(text)["snap"], node


def test_shared_recordings(shared: tuple[str, dict[str, Any], NodeRecords]) -> None:
    name, snap, node = shared
    assert len(node.gpus) == 8
    assert node.gpus_complete
    assert node.system.driver == snap["drv"]
    speed = {"h100": 26.562, "gb200": 53.125}[name]
    for record, answers in zip(node.gpus, snap["gpus"]):
        assert record.uuid == answers["uuid"]
        assert (record.nvlinks_active, record.nvlinks_total) == (18, 18)
        assert {link[1:5] for link in record.links} == {("active", speed, None, "switch")}
        assert [link.number for link in record.links] == list(range(18))
        assert record.numa_nodes == (answers["numa"],)
        assert "node of the CPUs" in why(record.memory_numa_node)
        assert record.fabric == ("Completed", "Success", "00000000-0000-0000-0000-000000000001", 0, "Healthy")
        assert (record.minor, record.pcie, record.mig, record.module_id) == (None,) * 4
        if any(answers["cpus"]):
            assert record.cpus.mask == answers["cpus"][0] | answers["cpus"][1] << 64
        else:
            assert "no CPU among the 128" in why(record.cpus)
    without = [record.label for record in node.gpus if isinstance(record.cpus, Unknown)]
    assert without == {"h100": [], "gb200": ["GPU4", "GPU5", "GPU6", "GPU7"]}[name]
    assert len(node.pairs) == 28
    for pair in node.pairs:
        a, b = int(pair.a[3:]), int(pair.b[3:])
        assert int(pair.level) == snap["topo"][a][b]
        assert set(pair.p2p.values()) == {"OK"}
    assert (node.gaps, node.observations, node.assumptions) == ((), (), ())
