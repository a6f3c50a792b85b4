"""Recordings of a driver's answers, made: what a test does not name is as a plain GPU answers it."""

from __future__ import annotations

import json
from typing import Any

from gputopo.parsers import nvml_recording
from gputopo.records import GpuRecord, NodeRecords
from gputopo.terms.unknown import Unknown

ALL_ONES = "FFFFFFFF:FF:FF.0"
ZERO_UUID = "00000000-0000-0000-0000-000000000000"
CLUSTER = "3a1c7e52-0d4b-4f6e-9b1a-7c2d5e8f9012"
# The older format: decoded values and raw bytes beside them.
OLD = {
    "pynvml": "nvidia-ml-py",
    "calls": {
        '["nvmlDeviceGetHandleByIndex_v2", 0, ["ref", "LP_struct_c_nvmlDevice_t", "00"]]': [0, [None, "07"]],
        '["nvmlDeviceGetMinorNumber", ["h", 7], ["ref", "c_uint", "00000000"]]': [0, [None, "02000000"]],
    },
    "snap": {
        "drv": "560.35.03",
        "gpus": [
            {
                "uuid": "GPU-1",
                "name": "ERR15",
                "pci": "00000000:1A:00.0",
                "numa": "ERR3",
                "cpus": [3, 0],
                "mem": [1],
                "links": [[0, 6, 2, ALL_ONES]],
                "fv": [[91, 0, 0, 1], [164, 0, 0, 26_562]],
                "fabric": [0, 3, 0, "0x1aa"],
            }
        ],
        "topo": [[0]],
        "p2p": {"0": [[0]]},
    },
}


def gpu(index: int, **answers: Any) -> dict[str, Any]:
    return {
        "index": index,
        "uuid": f"GPU-{index:08x}-1111-2222-3333-444455556666",
        "name": "NVIDIA H100 80GB HBM3",
        "pci": f"00000000:{0x1A + index:02X}:00.0",
        "minor": index,
        "memoryBytes": 85_520_809_984,
        "architecture": 9,
        "computeCapability": [9, 0],
        "moduleId": 1 + index,
        "numaNodeId": {"error": 3},
        "cpuAffinity": {"node": [0xFFFF, 0]},
        "memoryAffinity": {"node": [1]},
        "fields": [[91, 0, 0, 2], [164, 0, 0, 26_562], [164, 1, 0, 26_562]],
        "links": [
            {"link": 0, "state": 1, "version": 6, "remoteType": 0, "remoteBusId": f"00000000:{0x1B - index:02X}:00.0"},
            {"link": 1, "state": 0},
        ],
        "fabric": {"state": 1, "status": 0, "cliqueId": 0, "clusterUuid": ZERO_UUID, "healthMask": 0},
        "pcie": {"generation": 5, "width": 16, "maxGeneration": 5, "maxWidth": 16},
        "mig": {"mode": [0, 0]},
    } | answers


def text_of(*gpus: dict[str, Any], **more: Any) -> str:
    count = len(gpus)
    snapshot = {
        "driver": "560.35.03",
        "cuda": 12060,
        "cpusPossible": 128,
        "gpus": list(gpus),
        "topology": [[0 if a == b else 40 for b in range(count)] for a in range(count)],
        "p2p": {str(kind): [[0] * count for _ in range(count)] for kind in range(5)},
    }
    return json.dumps({"gputopo": "nvml-recording", "version": 1, "snapshot": snapshot | more})


def read(*gpus: dict[str, Any], **more: Any) -> NodeRecords:
    (node,) = nvml_recording.parse(text_of(*gpus, **more))
    return node


def read_one(**answers: Any) -> GpuRecord:
    gpus = read(gpu(0, **answers)).gpus
    assert gpus is not None
    return gpus[0]


def why(value: object) -> str:
    assert isinstance(value, Unknown)
    return value.why
