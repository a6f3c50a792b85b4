"""What the snapshot asks, against a driver made by hand that has every trait the wrappers stumble over."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from typing import Any

import pytest

from gputopo.evidence.nvml.calls import by_reference, installed
from gputopo.evidence.nvml.interface import Questions
from gputopo.evidence.nvml.record import record
from gputopo.evidence.nvml.replay import ReplayLibrary, questions_of
from gputopo.evidence.nvml.wrappers import snapshot
from gputopo.parsers import nvml_recording

pynvml = pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")

INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND, INSUFFICIENT_SIZE, LOST, MISMATCH = 2, 3, 6, 7, 15, 25
QUESTIONS = Questions({"node": 1, "socket": 1}, {"node": 1}, 192)


class HandMadeDriver:
    """Two GPUs: a Hopper with four links, MIG on, in a fabric; and one that may be lost.

    192 CPUs, so that one 64-bit word is too few. Functions it does not have are absent.
    """

    def __init__(self, lost: bool = False, link_count_field: bool = True) -> None:
        self.lost = lost
        self.link_count_field = link_count_field
        self.fabric_tags: list[int] = []

    def __getattr__(self, name: str) -> Callable[..., int]:
        answer = getattr(HandMadeDriver, f"_{name}", None)
        if answer is None:
            raise AttributeError(name)

        class Pointer:
            restype: Any = None

            def __call__(_, *arguments: Any) -> int:
                return int(answer(self, *arguments) or 0)

        return Pointer()

    def _gpu(self, handle: Any) -> int:
        return ctypes.cast(handle, ctypes.c_void_p).value or 0

    def _nvmlInitWithFlags(self, flags: Any) -> None: ...

    def _nvmlShutdown(self) -> None: ...

    def _nvmlSystemGetDriverVersion(self, text: Any, size: Any) -> None:
        text.value = b"560.35.03"

    def _nvmlSystemGetCudaDriverVersion_v2(self, version: Any) -> None:
        by_reference(version).value = 12060

    def _nvmlDeviceGetCount_v2(self, count: Any) -> None:
        by_reference(count).value = 2

    def _nvmlDeviceGetHandleByIndex_v2(self, index: Any, handle: Any) -> int:
        if self.lost and index.value == 1:
            return LOST
        address = 0x7F00_0000_1000 + 0x100 * index.value
        ctypes.memmove(ctypes.addressof(by_reference(handle)), address.to_bytes(8, "little"), 8)
        return 0

    def _nvmlDeviceGetUUID(self, handle: Any, text: Any, size: Any) -> None:
        mig = {0x7F00_0000_9000: b"MIG-aa", 0x7F00_0000_9001: b"MIG-bb"}
        text.value = mig.get(self._gpu(handle), b"GPU-%x" % self._gpu(handle))

    def _nvmlDeviceGetName(self, handle: Any, text: Any, size: Any) -> None:
        mig = self._gpu(handle) >= 0x7F00_0000_9000
        text.value = b"NVIDIA H100 80GB HBM3 MIG 3g.40gb" if mig else b"NVIDIA H100 80GB HBM3"

    def _nvmlDeviceGetPciInfo_v3(self, handle: Any, info: Any) -> None:
        by_reference(info).busId = b"00000000:%02X:00.0" % (0x1A + (self._gpu(handle) >> 8 & 1))

    def _nvmlDeviceGetMinorNumber(self, handle: Any, minor: Any) -> None:
        by_reference(minor).value = 1 - (self._gpu(handle) >> 8 & 1)  # not the index

    def _nvmlDeviceGetMemoryInfo(self, handle: Any, memory: Any) -> None:
        by_reference(memory).total = 85_520_809_984

    def _nvmlDeviceGetArchitecture(self, handle: Any, architecture: Any) -> None:
        by_reference(architecture).value = 9

    def _nvmlDeviceGetCudaComputeCapability(self, handle: Any, major: Any, minor: Any) -> None:
        by_reference(major).value = 9

    def _nvmlDeviceGetModuleId(self, handle: Any, module: Any) -> None:
        by_reference(module).value = 5

    def _nvmlDeviceGetCpuAffinityWithinScope(self, handle: Any, size: Any, words: Any, scope: Any) -> int:
        if size < 3:
            return INSUFFICIENT_SIZE
        by_reference(words)[2] = 0xFF
        return 0

    def _nvmlDeviceGetMemoryAffinity(self, handle: Any, size: Any, words: Any, scope: Any) -> None:
        by_reference(words)[0] = 0b10

    def _nvmlDeviceGetNumaNodeId(self, handle: Any, node: Any) -> int:
        return NOT_SUPPORTED

    def _nvmlDeviceGetFieldValues(self, handle: Any, count: Any, values: Any) -> None:
        answers = {91: (1, "uiVal", 4), 164: (1, "uiVal", 26_562), 165: (3, "ullVal", 1), 146: (1, "uiVal", 7)}
        for value in by_reference(values):
            kind, member, number = answers.get(value.fieldId, (1, "uiVal", None))
            known = number is not None and (value.fieldId != 91 or self.link_count_field)
            value.nvmlReturn = 0 if known else NOT_SUPPORTED
            if known:
                value.valueType = kind
                setattr(value.value, member, 2 if value.fieldId == 165 and value.scopeId == 3 else number)

    def _nvmlDeviceGetNvLinkState(self, handle: Any, link: int, state: Any) -> int:
        by_reference(state).value = 1
        return 0 if link < 4 else INVALID_ARGUMENT

    def _nvmlDeviceGetNvLinkVersion(self, handle: Any, link: int, version: Any) -> None:
        by_reference(version).value = 6

    def _nvmlDeviceGetNvLinkRemoteDeviceType(self, handle: Any, link: int, kind: Any) -> None:
        by_reference(kind).value = 2

    def _nvmlDeviceGetNvLinkRemotePciInfo_v2(self, handle: Any, link: int, info: Any) -> None:
        by_reference(info).busId = b"00000000:0%d:00.0" % (3 + link % 2)

    def _nvmlDeviceGetGpuFabricInfoV(self, handle: Any, info: Any) -> int:
        struct = by_reference(info)
        self.fabric_tags.append(struct.version)
        if struct.version >> 24 == 3:
            return MISMATCH
        struct.state, struct.status, struct.cliqueId, struct.healthMask = 3, 0, 4, 0b01_10
        struct.clusterUuid[15] = 0xAB
        return 0

    def _nvmlDeviceGetPlatformInfo(self, handle: Any, info: Any) -> None:
        struct = by_reference(info)
        serial = b"\xff\x001".ljust(16, b"\xee")
        content = bytes(struct)[:4] + b"\xfe" * 16 + serial + bytes([0, 200, 1, 2, 3])
        ctypes.memmove(ctypes.addressof(struct), content, len(content))

    def _nvmlDeviceGetMigMode(self, handle: Any, now: Any, pending: Any) -> None:
        by_reference(now).value = 1

    def _nvmlDeviceGetMaxMigDeviceCount(self, handle: Any, count: Any) -> None:
        by_reference(count).value = 4

    def _nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Any, index: Any, mig: Any) -> int:
        if index.value not in (0, 3):
            return NOT_FOUND
        address = 0x7F00_0000_9000 + (index.value == 3)
        ctypes.memmove(ctypes.addressof(by_reference(mig)), address.to_bytes(8, "little"), 8)
        return 0

    def _nvmlDeviceGetGpuInstanceId(self, handle: Any, number: Any) -> None:
        by_reference(number).value = 2 + (self._gpu(handle) & 1)

    def _nvmlDeviceGetCurrPcieLinkGeneration(self, handle: Any, generation: Any) -> None:
        by_reference(generation).value = 1

    def _nvmlDeviceGetCurrPcieLinkWidth(self, handle: Any, width: Any) -> None:
        by_reference(width).value = 16

    def _nvmlDeviceGetTopologyCommonAncestor(self, a: Any, b: Any, level: Any) -> None:
        by_reference(level).value = 0 if self._gpu(a) == self._gpu(b) else 20

    def _nvmlDeviceGetP2PStatus(self, a: Any, b: Any, kind: Any, status: Any) -> int:
        assert isinstance(kind, int)  # NVML_P2P_CAPS_INDEX_READ of the wrappers is a tuple
        by_reference(status).value = 0 if kind != 4 else 5
        return 0


@pytest.fixture
def recording() -> dict[str, Any]:
    about = {"node": "gpu-17", "bootId": "b-1", "password": "no"}
    loaded: dict[str, Any] = json.loads(json.dumps(record(pynvml, HandMadeDriver(), about, QUESTIONS)))
    return loaded


def test_the_head_says_what_recorded_it(recording: dict[str, Any]) -> None:
    assert (recording["gputopo"], recording["version"]) == ("nvml-recording", 1)
    assert (recording["node"], recording["bootId"]) == ("gpu-17", "b-1")
    assert "password" not in recording
    assert recording["structSizes"]["c_nvmlFieldValue_t"] == 40
    assert "nvmlDeviceGetMaxPcieLinkWidth" in recording["missing"]


def test_too_few_words_are_asked_again(recording: dict[str, Any]) -> None:
    gpu = recording["snapshot"]["gpus"][0]
    assert gpu["cpuAffinity"] == {"node": [0, 0, 255, 0], "socket": [0, 0, 255, 0]}
    assert gpu["memoryAffinity"] == {"node": [2]}


def test_the_fabric_is_asked_with_v3_then_v2() -> None:
    driver = HandMadeDriver()
    answers = record(pynvml, driver, questions=QUESTIONS)["snapshot"]
    assert driver.fabric_tags == [0x3000028, 0x2000024] * 2
    assert answers["gpus"][0]["fabric"] == {
        "state": 3,
        "status": 0,
        "cliqueId": 4,
        "clusterUuid": "00000000-0000-0000-0000-0000000000ab",
        "healthMask": 6,
    }


@pytest.mark.parametrize("link_count_field", [True, False])
def test_links_end_where_the_driver_says(link_count_field: bool) -> None:
    driver = HandMadeDriver(link_count_field=link_count_field)
    made = json.dumps(record(pynvml, driver, questions=QUESTIONS))
    (node,) = nvml_recording.parse(made)
    gpu = node.gpus[0]
    assert (len(gpu.links), gpu.nvlinks_total) == (4, 4)


def test_platform_bytes_and_serials(recording: dict[str, Any]) -> None:
    platform = recording["snapshot"]["gpus"][0]["platform"]
    assert platform == {"slotNumber": 0, "trayIndex": 200, "hostId": 1, "peerType": 2, "moduleId": 3}
    (outputs,) = {
        json.dumps(value[1]) for key, value in recording["calls"].items() if "nvmlDeviceGetPlatformInfo" in key
    }
    assert "fe" not in outputs  # the GUID
    assert "ee" not in outputs  # the chassis serial


def test_mig_devices_are_found_past_holes(recording: dict[str, Any]) -> None:
    mig = recording["snapshot"]["gpus"][0]["mig"]
    assert [(d["index"], d["uuid"], d["gpuInstance"]) for d in mig["devices"]] == [(0, "MIG-aa", 2), (3, "MIG-bb", 3)]
    assert mig["devices"][0]["computeInstance"] == {"error": 13}


def test_the_records_of_it(recording: dict[str, Any]) -> None:
    (node,) = nvml_recording.parse(json.dumps(recording))
    gpu = node.gpus[0]
    assert (node.system.name, node.system.driver, node.system.cuda) == ("gpu-17", "560.35.03", "12.6")
    assert [key.space for key in gpu.keys] == ["index", "uuid", "pci", "minor"]
    assert (gpu.minor, gpu.module_id, gpu.memory_bytes) == (1, 5, 85_520_809_984)
    assert (gpu.architecture, gpu.compute_capability) == ("Hopper", "9.0")
    assert (str(gpu.cpus), gpu.cpus_complete, gpu.numa_nodes) == ("128-135", True, (1,))
    assert [(link.number, link.state, link.remote_link) for link in gpu.links] == [
        (0, "active", 7),
        (1, "active", 7),
        (2, "active", 7),
        (3, "sleep", None),
    ]
    assert str(gpu.links[1].remote) == "0000:04:00.0"
    assert (gpu.nvlinks_active, gpu.nvlinks_total) == (3, 4)
    assert gpu.fabric == ("Completed", "Success", "00000000-0000-0000-0000-0000000000ab", 4, "route recovery")
    assert (gpu.pcie.generation, gpu.pcie.width, gpu.pcie.max_width) == (1, 16, None)
    assert [(m.profile, m.number) for m in gpu.mig] == [("3g.40gb", 0), ("3g.40gb", 3)]
    assert node.pairs[0].level.name == "PXB"
    assert node.pairs[0].p2p == {"read": "OK", "write": "OK", "nvlink": "OK", "atomics": "OK", "prop": "NS"}


def test_it_replays_without_the_driver(recording: dict[str, Any]) -> None:
    library = ReplayLibrary(recording)
    assert record(pynvml, library, {"node": "gpu-17", "bootId": "b-1"}, QUESTIONS) == recording
    assert library.unknown_calls == []
    again = ReplayLibrary(recording)
    with installed(pynvml, again):
        pynvml.nvmlInit()
        answers = snapshot(pynvml, questions_of(recording))
    assert json.loads(json.dumps(answers)) == recording["snapshot"]
    assert again.unknown_calls == []


def test_bytes_alone_say_the_same_where_both_speak(recording: dict[str, Any]) -> None:
    (decoded,) = nvml_recording.parse(json.dumps(recording))
    del recording["snapshot"]
    (from_bytes,) = nvml_recording.parse(json.dumps(recording))
    # Not in the small table of structs: two outputs at once, handles of MIG devices, the CPU count.
    absent = {"compute_capability": None, "mig": None, "cpus_complete": None}
    assert from_bytes.gpus == tuple(gpu._replace(**absent) for gpu in decoded.gpus)
    assert from_bytes.pairs == decoded.pairs


def test_a_gpu_without_handle_is_not_asked() -> None:
    made = json.dumps(record(pynvml, HandMadeDriver(lost=True), questions=QUESTIONS))
    assert json.loads(made)["snapshot"]["gpus"][1] == {"index": 1, "handle": {"error": LOST}}
    (node,) = nvml_recording.parse(made)
    assert node.gpus[0].uuid == "GPU-7f0000001000"
    assert node.gpus[1].uuid.why.startswith("GPU is lost (NVML 15)")
    assert [o.subjects for o in node.observations] == [("GPU1",)]
    assert node.pairs[0].level.why.startswith("GPU is lost (NVML 15)")
