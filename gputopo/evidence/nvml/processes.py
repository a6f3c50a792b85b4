"""Asks the driver which processes compute on which GPU; of a GPU in MIG mode, on which MIG device.

The answer's shape, as JSON text (a refusal is `{"error": rc}` in the place of a list):

    {"gputopo": "gpu-processes", "version": 1, "gpus": [
      {"index": 0, "uuid": "GPU-…", "processes": [{"pid": 4711, "bytes": 1048576}], "mps": [{"pid": 4712}]},
      {"index": 1, "uuid": "GPU-…", "processes": [], "mig": [{"uuid": "MIG-…", "processes": [{"pid": 4713}]}]}]}

Process ids are those of the process that asks, so in its PID namespace; what is outside of it is not listed.
`mps` are clients of the MPS server, which is itself among `processes`. Kept apart from the recording (record.py),
which holds no process.
"""

from __future__ import annotations

from typing import Any

from gputopo.evidence.nvml.asker import Asker, put, questions_for_this_machine, refused

FORMAT = "gpu-processes"
VERSION = 1
_MOST_MIG = 64


def processes(pynvml: Any) -> dict[str, Any]:
    """`pynvml` is initialised. Never raises NVMLError."""
    driver = Asker(pynvml, questions_for_this_machine())
    count = driver.ask("nvmlDeviceGetCount")
    gpus: Any = [_gpu(driver, index) for index in range(count)] if isinstance(count, int) else count
    return {"gputopo": FORMAT, "version": VERSION, "gpus": gpus}


def _gpu(driver: Asker, index: int) -> dict[str, Any]:
    handle = driver.ask("nvmlDeviceGetHandleByIndex", index)
    said: dict[str, Any] = {"index": index}
    if handle is None or refused(handle):
        return {**said, "processes": handle}
    gpu = Asker(driver.pynvml, driver.questions, handle)
    put(said, "uuid", gpu.ask("nvmlDeviceGetUUID", handle))
    put(said, "processes", gpu.ask("nvmlDeviceGetComputeRunningProcesses", handle, read=_listed))
    put(said, "mps", gpu.ask("nvmlDeviceGetMPSComputeRunningProcesses", handle, read=_listed))
    put(said, "mig", _mig(gpu))
    return said


def _mig(gpu: Asker) -> list[dict[str, Any]] | None:
    mode = gpu.ask("nvmlDeviceGetMigMode", gpu.handle, read=list)
    if not isinstance(mode, list) or mode[:1] != [1]:
        return None
    most = gpu.ask("nvmlDeviceGetMaxMigDeviceCount", gpu.handle)
    devices = []
    for index in range(min(most, _MOST_MIG) if isinstance(most, int) else 0):
        handle = gpu.ask("nvmlDeviceGetMigDeviceHandleByIndex", gpu.handle, index)
        if handle is None or refused(handle):  # NOT_FOUND: indexes have holes
            continue
        device: dict[str, Any] = {}
        put(device, "uuid", gpu.ask("nvmlDeviceGetUUID", handle))
        put(device, "processes", gpu.ask("nvmlDeviceGetComputeRunningProcesses", handle, read=_listed))
        devices.append(device)
    return devices


def _listed(answer: Any) -> list[dict[str, int]]:
    """nvidia-ml-py has `None` for memory that the driver does not account to processes (WDDM, vGPU)."""
    return [
        {"pid": int(one.pid)} | ({} if one.usedGpuMemory is None else {"bytes": int(one.usedGpuMemory)})
        for one in answer
    ]
