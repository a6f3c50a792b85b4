"""Recorded drivers answer unmodified nvidia-ml-py; decoded both ways, the answers agree."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from gputopo.evidence.nvml.calls import installed
from gputopo.evidence.nvml.record import record
from gputopo.evidence.nvml.replay import ReplayLibrary, questions_of
from gputopo.evidence.nvml.wrappers import snapshot
from gputopo.parsers import nvml_recording
from gputopo.terms.unknown import Unknown

pynvml = pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")

SHARED = Path(os.environ.get("GPUTOPO_SHARED") or Path(__file__).parents[3] / "shared")
RECORDINGS = SHARED / "data" / "sysfs" / "nvml"
NAMES = ("nvml-rec-mock-h100", "nvml-rec-mock-gb200")


@pytest.fixture(params=NAMES)
def given(request: pytest.FixtureRequest) -> dict[str, Any]:
    path = RECORDINGS / f"{request.param}.json.gz"
    if not path.exists():
        pytest.skip(f"shared recordings are absent: no {path}")
    loaded: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return loaded


def replayed(recording: dict[str, Any], library: ReplayLibrary) -> dict[str, Any]:
    with installed(pynvml, library):
        pynvml.nvmlInit()
        return json.loads(json.dumps(snapshot(pynvml, questions_of(recording))))


def test_bytes_through_the_wrappers_say_what_the_decoded_values_say(given: dict[str, Any]) -> None:
    library = ReplayLibrary(given)
    answers = replayed(given, library)
    snap = given["snap"]
    assert library.unknown_calls == []
    assert answers["driver"] == snap["drv"]
    assert answers["topology"] == snap["topo"]
    assert answers["p2p"] == snap["p2p"]
    assert len(answers["gpus"]) == len(snap["gpus"]) == 8
    for ours, theirs in zip(answers["gpus"], snap["gpus"]):
        assert (ours["uuid"], ours["name"], ours["pci"]) == (theirs["uuid"], theirs["name"], theirs["pci"])
        assert ours["numaNodeId"] == theirs["numa"]
        assert ours["cpuAffinity"] == {"node": theirs["cpus"]}
        assert ours["memoryAffinity"] == {"node": theirs["mem"]}
        assert ours["fields"] == theirs["fv"]
        far_ends = [[link["link"], link["version"], link["remoteType"], link["remoteBusId"]] for link in ours["links"]]
        assert far_ends == theirs["links"]
        fabric = ours["fabric"]
        assert [0, fabric["state"], fabric["cliqueId"], hex(fabric["healthMask"])] == theirs["fabric"]
        assert "minor" not in ours  # not recorded is not asked, never 0
        assert "pcie" not in ours


def test_records_from_snap_from_bytes_and_through_the_wrappers_are_equal(given: dict[str, Any]) -> None:
    (mixed,) = nvml_recording.parse(json.dumps(given))
    (from_bytes,) = nvml_recording.parse(json.dumps({"calls": given["calls"]}))
    answers = replayed(given, ReplayLibrary(given))
    ours = {"gputopo": "nvml-recording", "version": 1, "snapshot": answers}
    (through_wrappers,) = nvml_recording.parse(json.dumps(ours))
    assert mixed == from_bytes
    assert mixed == through_wrappers


def test_a_recording_of_a_replay_replays_equal(given: dict[str, Any]) -> None:
    first = json.loads(json.dumps(record(pynvml, ReplayLibrary(given))))
    library = ReplayLibrary(first)
    assert record(pynvml, library) == first
    assert library.unknown_calls == []
    assert replayed(first, ReplayLibrary(first)) == first["snapshot"]
    tokens = {json.loads(key)[1][1] for key in first["calls"] if key.startswith('["nvmlDeviceGetUUID"')}
    assert tokens == set(range(1, 9))  # addresses of the recording process do not get out


def test_a_call_that_was_not_recorded_is_counted(given: dict[str, Any]) -> None:
    library = ReplayLibrary(given)
    with installed(pynvml, library):
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        with pytest.raises(pynvml.NVMLError_NotSupported):
            pynvml.nvmlDeviceGetMinorNumber(handle)
    assert [json.loads(call)[0] for call in library.unknown_calls] == ["nvmlDeviceGetMinorNumber"]


def test_an_old_driver_lacks_functions(given: dict[str, Any]) -> None:
    gone = ("nvmlDeviceGetNumaNodeId", "nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetNvLinkState")
    answers = replayed(given, ReplayLibrary(given, missing=gone))
    assert answers["gpus"][3]["numaNodeId"] == {"error": 13}
    assert answers["gpus"][3]["fabric"] == {"error": 13}
    ours = {"gputopo": "nvml-recording", "version": 1, "snapshot": answers}
    (node,) = nvml_recording.parse(json.dumps(ours))
    gpu = node.gpus[3]
    assert gpu.memory_numa_node.why == "this driver has no nvmlDeviceGetNumaNodeId (FunctionNotFound)"
    assert gpu.fabric.why == "this driver has no nvmlDeviceGetGpuFabricInfoV (FunctionNotFound)"
    assert gpu.links.why == gpu.nvlinks_active.why == "this driver has no nvmlDeviceGetNvLinkState (FunctionNotFound)"
    assert gpu.nvlinks_total == 18  # field 91 is another function
    assert gpu.uuid == given["snap"]["gpus"][3]["uuid"]


def test_a_lost_gpu_leaves_the_others(given: dict[str, Any]) -> None:
    library = ReplayLibrary(given, lost=[2])
    answers = replayed(given, library)
    assert library.unknown_calls == []
    ours = {"gputopo": "nvml-recording", "version": 1, "snapshot": answers}
    (node,) = nvml_recording.parse(json.dumps(ours))
    (whole,) = nvml_recording.parse(json.dumps(given))
    lost = node.gpus[2]
    asked = (
        "uuid",
        "name",
        "pci",
        "minor",
        "numa_nodes",
        "cpus",
        "memory_numa_node",
        "links",
        "nvlinks_active",
        "fabric",
    )
    assert all(getattr(lost, name).why.startswith("GPU is lost (NVML 15)") for name in asked)
    assert [key.space for key in lost.keys] == ["index"]
    assert [(o.kind, o.subjects) for o in node.observations] == [("gpu-lost", ("GPU2",))]
    assert [g for g in node.gpus if g.label != "GPU2"] == [g for g in whole.gpus if g.label != "GPU2"]
    with_lost = [pair for pair in node.pairs if "GPU2" in (pair.a, pair.b)]
    assert len(with_lost) == 7
    assert all(isinstance(pair.level, Unknown) and isinstance(pair.p2p, Unknown) for pair in with_lost)
    rest = [pair for pair in node.pairs if "GPU2" not in (pair.a, pair.b)]
    assert rest == [pair for pair in whole.pairs if "GPU2" not in (pair.a, pair.b)]


def test_the_module_is_as_before(given: dict[str, Any]) -> None:
    before = pynvml.nvmlLib
    with installed(pynvml, ReplayLibrary(given)):
        assert pynvml.nvmlDeviceGetCount() == 8
    assert pynvml.nvmlLib is before
    assert pynvml._nvmlGetFunctionPointer_cache == {}
