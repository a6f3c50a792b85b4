"""Asks the driver everything a topology needs, through the wrappers of nvidia-ml-py.

`snapshot(pynvml)` expects an initialised module (`pynvml.nvmlInit()`), calls nothing that
changes the machine, and never raises NVMLError: a refusal is part of the answer. What one has to
know about the wrappers (nvidia-ml-py 11.525 to 13.615) is said where it matters. Once a GPU is
lost it is not asked again, since each call to a GPU off the bus may take seconds.
"""

from __future__ import annotations

from ctypes import byref, c_uint
from typing import Any

from gputopo.evidence.nvml import interface as nvml
from gputopo.evidence.nvml.asker import (
    MOST_WORDS,
    SCOPES,
    Asker,
    put,
    questions_for_this_machine,
    refused,
)
from gputopo.evidence.nvml.interface import GpuAnswers, Questions, Refusal, Snapshot
from gputopo.evidence.nvml.links import field_value, fields_of, links_of


def snapshot(pynvml: Any, questions: Questions | None = None) -> Snapshot:
    """Everything the driver tells, as one JSON-able document (interface.py)."""
    questions = questions or questions_for_this_machine()
    driver = Asker(pynvml, questions)
    answers: dict[str, Any] = {}
    put(answers, "driver", driver.ask("nvmlSystemGetDriverVersion"))
    put(answers, "cuda", driver.ask("nvmlSystemGetCudaDriverVersion_v2"))
    if questions.cpus_possible is not None:
        answers["cpusPossible"] = questions.cpus_possible
    count = driver.ask("nvmlDeviceGetCount", symbol="nvmlDeviceGetCount_v2")
    if not isinstance(count, int):
        put(answers, "gpus", count)
        return answers  # type: ignore[return-value]
    gpus: list[GpuAnswers] = []
    askers: list[Asker] = []
    for index in range(count):
        handle = driver.ask("nvmlDeviceGetHandleByIndex", index, symbol="nvmlDeviceGetHandleByIndex_v2")
        if handle is None or refused(handle):
            gpus.append(GpuAnswers(index=index, handle=handle or Refusal(error=nvml.FUNCTION_NOT_FOUND)))
            lost = refused(handle, nvml.GPU_IS_LOST)
            askers.append(Asker(pynvml, questions, None, lost))
        else:
            askers.append(Asker(pynvml, questions, handle))
            gpus.append(_gpu(askers[-1], index))
    answers["gpus"] = gpus
    put(answers, "topology", _matrix(askers, "nvmlDeviceGetTopologyCommonAncestor"))
    # NVML_P2P_CAPS_INDEX_READ is the tuple (0,) in every nvidia-ml-py: plain numbers it is.
    p2p = {str(kind): _matrix(askers, "nvmlDeviceGetP2PStatus", kind) for kind in range(5)}
    put(answers, "p2p", {kind: matrix for kind, matrix in p2p.items() if matrix is not None} or None)
    return answers  # type: ignore[return-value]


def _gpu(gpu: Asker, index: int) -> GpuAnswers:
    handle = gpu.handle
    answers: dict[str, Any] = {"index": index}
    for key, name, read in (
        ("uuid", "nvmlDeviceGetUUID", None),
        ("name", "nvmlDeviceGetName", None),
        ("pci", "nvmlDeviceGetPciInfo_v3", lambda pci: pci.busId),
        ("minor", "nvmlDeviceGetMinorNumber", None),
        ("memoryBytes", "nvmlDeviceGetMemoryInfo", lambda memory: int(memory.total)),
        ("architecture", "nvmlDeviceGetArchitecture", None),
        ("computeCapability", "nvmlDeviceGetCudaComputeCapability", list),
        ("numaNodeId", "nvmlDeviceGetNumaNodeId", None),
        ("c2cEnabled", "nvmlDeviceGetC2cModeInfoV", lambda mode: int(mode.isC2cEnabled)),
    ):
        put(answers, key, gpu.ask(name, handle, read=read))
    # The wrapper's default argument is one c_uint shared by all calls and threads.
    put(answers, "moduleId", gpu.ask("nvmlDeviceGetModuleId", handle, c_uint()))
    questions = gpu.questions
    cpus = _words(gpu, "nvmlDeviceGetCpuAffinityWithinScope", questions.cpu_words)
    put(answers, "cpuAffinity", cpus)
    put(answers, "memoryAffinity", _words(gpu, "nvmlDeviceGetMemoryAffinity", questions.memory_words))
    fields = fields_of(gpu, index)
    put(answers, "fields", fields)
    put(answers, "links", links_of(gpu, field_value(fields, nvml.LINK_COUNT)))
    put(answers, "fabric", _fabric(gpu))
    put(answers, "pcie", _pcie(gpu))
    put(answers, "mig", _mig(gpu))
    put(answers, "platform", _platform(gpu))
    return answers  # type: ignore[return-value]


def _words(gpu: Asker, name: str, sizes: dict[str, int]) -> dict[str, Any] | None:
    """64-bit words of a CPU or node set by scope; more words where the driver wants more."""
    answers: dict[str, Any] = {}
    for number, scope in enumerate(SCOPES):
        size = sizes.get(scope)
        if size is None:
            continue
        answer = gpu.ask(name, gpu.handle, size, number, read=list)
        while refused(answer, nvml.INSUFFICIENT_SIZE) and size < MOST_WORDS:
            size *= 2
            answer = gpu.ask(name, gpu.handle, size, number, read=list)
        put(answers, scope, answer)
    return answers or None


def _fabric(gpu: Asker) -> Any:
    """Fabric state by the newest struct the driver takes: v3 has the summary, v2 the mask."""
    answer = None
    for version in gpu.questions.fabric_versions:
        struct_type = getattr(gpu.pynvml, f"c_nvmlGpuFabricInfo_v{version}_t", None)
        if struct_type is None:
            continue
        struct = struct_type()  # the constructor sets the version tag; the call wants byref
        answer = gpu.ask("nvmlDeviceGetGpuFabricInfoV", gpu.handle, byref(struct))
        if answer is not None and not refused(answer):
            return _fabric_answers(struct)
        if answer is None or answer["error"] in (nvml.FUNCTION_NOT_FOUND, nvml.GPU_IS_LOST):
            break
    return answer


def _fabric_answers(struct: Any) -> dict[str, Any]:
    cluster = bytes(struct.clusterUuid).hex()
    answers: dict[str, Any] = {
        "state": int(struct.state),
        "status": int(struct.status),
        "cliqueId": int(struct.cliqueId),
        "clusterUuid": "-".join((cluster[:8], cluster[8:12], cluster[12:16], cluster[16:20], cluster[20:])),
        "healthMask": int(struct.healthMask),
    }
    if hasattr(struct, "healthSummary"):
        answers["healthSummary"] = int(struct.healthSummary)
    return answers


def _pcie(gpu: Asker) -> dict[str, Any] | None:
    answers: dict[str, Any] = {}
    for key, name in (
        ("generation", "nvmlDeviceGetCurrPcieLinkGeneration"),
        ("width", "nvmlDeviceGetCurrPcieLinkWidth"),
        ("maxGeneration", "nvmlDeviceGetMaxPcieLinkGeneration"),
        ("maxWidth", "nvmlDeviceGetMaxPcieLinkWidth"),
        ("gpuMaxGeneration", "nvmlDeviceGetGpuMaxPcieLinkGeneration"),
    ):
        put(answers, key, gpu.ask(name, gpu.handle))
    return answers or None


def _mig(gpu: Asker) -> dict[str, Any] | None:
    answers: dict[str, Any] = {}
    mode = gpu.ask("nvmlDeviceGetMigMode", gpu.handle, read=list)
    put(answers, "mode", mode)
    if not isinstance(mode, list) or mode[0] != 1:
        return answers or None
    most = gpu.ask("nvmlDeviceGetMaxMigDeviceCount", gpu.handle)
    put(answers, "maxDevices", most)
    answers["devices"] = devices = []
    for index in range(most if isinstance(most, int) else 0):
        handle = gpu.ask("nvmlDeviceGetMigDeviceHandleByIndex", gpu.handle, index)
        if handle is None or refused(handle):  # NOT_FOUND: indexes have holes
            continue
        device: dict[str, Any] = {"index": index}
        put(device, "uuid", gpu.ask("nvmlDeviceGetUUID", handle))
        put(device, "name", gpu.ask("nvmlDeviceGetName", handle))
        put(device, "gpuInstance", gpu.ask("nvmlDeviceGetGpuInstanceId", handle))
        put(device, "computeInstance", gpu.ask("nvmlDeviceGetComputeInstanceId", handle))
        devices.append(device)
    return answers


def _platform(gpu: Asker) -> Any:
    """Slot, tray, host and module. The struct's attributes decode its bytes as UTF-8 and stop at
    a zero byte, so the numbers are taken from its bytes. GUID and serial number stay out."""
    struct_type = getattr(gpu.pynvml, "c_nvmlPlatformInfo_v2_t", None)
    if struct_type is None:
        return None
    struct = struct_type()
    answer = gpu.ask("nvmlDeviceGetPlatformInfo", gpu.handle, byref(struct))
    if answer is None or refused(answer):
        return answer
    keys = ("slotNumber", "trayIndex", "hostId", "peerType", "moduleId")
    return dict(zip(keys, bytes(struct)[36:41]))


def _matrix(askers: list[Asker], name: str, *more: int) -> list[list[Any]] | None:
    """The answers for every ordered pair; `None` when not asked (also of single cells)."""
    rows = [[_between(a, b, name, more) for b in askers] for a in askers]
    return rows if any(cell is not None for row in rows for cell in row) else None


def _between(a: Asker, b: Asker, name: str, more: tuple[int, ...]) -> Any:
    lost = a.lost or b.lost
    if not lost and (a.handle is None or b.handle is None):
        return None
    # An asker of its own: GPU_IS_LOST for a pair does not say which of the two is lost.
    return Asker(a.pynvml, a.questions, a.handle, lost).ask(name, a.handle, b.handle, *more)
