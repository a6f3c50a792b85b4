"""The recording's shape: what the driver was asked and what it answered, uninterpreted.

Every answer is the value as NVML gives it (numbers of its enums, 64-bit words, MB/s), or
`{"error": rc}` with the nvmlReturn. A question that was not asked is an absent key; nothing is
0, -1 or "" for unknown. docs/nvml-recording.md describes the JSON text.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypedDict

VERSION = 1

# nvmlReturn_t (nvml.h), the ones that mean something here.
INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
INSUFFICIENT_SIZE = 7
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
ARGUMENT_VERSION_MISMATCH = 25
UNKNOWN = 999

# Field ids of nvmlDeviceGetFieldValues (nvml.h); the scope of the per-link ones is the link.
LINK_COUNT = 91
LINK_SPEED_COMMON = 90  # MB/s
LINK_SPEED = 164  # MB/s
LINK_STATE = 165  # 0 inactive, 1 active, 2 sleep, 3 active but no traffic
LINK_REMOTE_NUMBER = 146
C2C_COUNT = 170
C2C_STATUS = 171
C2C_SPEED = 172  # MB/s

# NVML_NVLINK_MAX_LINKS is 18 in nvidia-ml-py 11 and 12 and 36 in 13.6: an upper bound for
# probing, never the number of links.
MOST_LINKS = 36


class Refusal(TypedDict):
    error: int


class LinkAnswers(TypedDict, total=False):
    """NvLinkState and, of links that are on, what is at the far end."""

    link: int
    state: int | Refusal
    version: int | Refusal
    remoteType: int | Refusal  # 0 GPU, 1 IBM NPU, 2 switch, 255 unknown
    remoteBusId: str | Refusal


class FabricAnswers(TypedDict, total=False):
    state: int
    status: int  # nvmlReturn of the registration, meaningful when state is 3 (completed)
    cliqueId: int
    clusterUuid: str
    healthMask: int
    healthSummary: int  # from the v3 struct


class PcieAnswers(TypedDict, total=False):
    generation: int | Refusal
    width: int | Refusal
    maxGeneration: int | Refusal  # of device and slot together
    maxWidth: int | Refusal
    gpuMaxGeneration: int | Refusal


class MigDeviceAnswers(TypedDict, total=False):
    index: int
    uuid: str | Refusal
    name: str | Refusal
    gpuInstance: int | Refusal
    computeInstance: int | Refusal


class MigAnswers(TypedDict, total=False):
    mode: list[int] | Refusal  # [now, after the next reset]
    maxDevices: int | Refusal
    devices: list[MigDeviceAnswers]  # in mode 1 only


class PlatformAnswers(TypedDict, total=False):
    slotNumber: int
    trayIndex: int
    hostId: int
    peerType: int
    moduleId: int


Words = dict[str, "list[int] | Refusal"]  # by scope: "node", "socket"


class GpuAnswers(TypedDict, total=False):
    index: int
    handle: Refusal  # only when the driver gave none: nothing else was asked
    uuid: str | Refusal
    name: str | Refusal
    pci: str | Refusal  # busId, 8-digit domain, upper case
    minor: int | Refusal
    memoryBytes: int | Refusal
    architecture: int | Refusal
    computeCapability: list[int] | Refusal
    moduleId: int | Refusal
    numaNodeId: int | Refusal  # of the GPU's own memory
    cpuAffinity: Words
    memoryAffinity: Words  # nodes of the CPUs' memory near the GPU
    fields: list[list[int | float | None]] | Refusal  # [field, scope, nvmlReturn, value or null]
    links: list[LinkAnswers]
    fabric: FabricAnswers | Refusal
    pcie: PcieAnswers
    c2cEnabled: int | Refusal
    mig: MigAnswers
    platform: PlatformAnswers | Refusal


Matrix = list[list["int | Refusal | None"]]  # [from][to] by index, diagonal too; null: not asked


class Snapshot(TypedDict, total=False):
    driver: str | Refusal
    cuda: int | Refusal  # 12040 is CUDA 12.4
    cpusPossible: int  # highest possible CPU number + 1, from the kernel
    gpus: list[GpuAnswers] | Refusal
    topology: Matrix  # nvmlGpuTopologyLevel_t
    p2p: dict[str, Matrix]  # nvmlGpuP2PStatus_t by index "0" read … "4" PCI


class Recording(TypedDict, total=False):
    gputopo: Literal["nvml-recording"]
    version: int
    node: str
    bootId: str
    takenAt: str
    nvidiaMlPy: str | None
    structSizes: dict[str, int]
    snapshot: Snapshot
    missing: list[str]  # symbols the driver's library does not export
    calls: dict[str, list[Any]]


FieldRequest = tuple[tuple[int, int], ...]  # (field id, scope id), one nvmlDeviceGetFieldValues


class Questions(NamedTuple):
    """What a snapshot asks. The default is everything; a replay asks what was recorded."""

    cpu_words: dict[str, int]  # 64-bit words by scope, "node" and "socket"
    memory_words: dict[str, int]
    cpus_possible: int | None = None
    functions: frozenset[str] | None = None  # symbols; None: all
    fabric_versions: tuple[int, ...] = (3, 2)
    fields: dict[int, tuple[FieldRequest, ...]] | None = None  # by GPU index; None: by link count

    def includes(self, symbol: str) -> bool:
        return self.functions is None or symbol in self.functions
