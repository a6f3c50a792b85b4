"""One GPU's answers → `GpuRecord`."""

from __future__ import annotations

from gputopo.parsers.nvml_recording.answers import (
    GPU_IS_LOST,
    LOST,
    LOST_SETTLED_BY,
    NOT_SUPPORTED,
    Notes,
    number,
    odd,
    part,
    refusal,
    refusal_code,
    said,
    settled,
    text,
    words_mask,
)
from gputopo.parsers.nvml_recording.nvlinks import read_c2c, read_fabric, read_nvlinks
from gputopo.records import GpuRecord, Key, MigRecord, Observation, Pcie
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Said, Unknown

Answers = dict[str, object]
Counts = dict[int, int]

# nvmlDeviceArchitecture_t; 11, 12 and 15 are no GPUs.
_ARCHITECTURES = {
    2: "Kepler", 3: "Maxwell", 4: "Pascal", 5: "Volta", 6: "Turing", 7: "Ampere", 8: "Ada Lovelace",
    9: "Hopper", 10: "Blackwell", 13: "Rubin",
}  # fmt: skip
_CPU_CALL = "nvmlDeviceGetCpuAffinityWithinScope"
_MEMORY_CALL = "nvmlDeviceGetMemoryAffinity"
_NUMA_CALL = "nvmlDeviceGetNumaNodeId"
_SYSFS = "the node's sysfs tree (`local_cpulist` and `numa_node` of the GPU)"
_LANES = (1, 2, 4, 8, 12, 16, 32)

# What NVML tells of a GPU it reaches; of a lost one all of it is unknown.
_TOLD = ("uuid", "name", "architecture", "compute_capability", "memory_bytes", "pci", "minor", "module_id",
         "numa_nodes", "cpus", "memory_numa_node", "nvlinks_active", "nvlinks_total", "links", "fabric",
         "pcie", "mig")  # fmt: skip


def label_of(answers: Answers, position: int) -> str:
    index = number(answers.get("index"))
    return f"GPU{position if index is None else index}"


def read_gpu(answers: Answers, position: int, cpus_possible: int | None, claimed: Counts, notes: Notes) -> GpuRecord:
    label = label_of(answers, position)
    lost = is_lost(answers)
    if lost:
        notes.observations.append(Observation("gpu-lost", (label,), LOST))
    cpus, cpus_complete = _near_cpus(answers, cpus_possible)
    numa_nodes = _cpu_side_nodes(answers)
    nvlinks = read_nvlinks(answers, label, notes)
    record = GpuRecord(
        label=label,
        nvml_index=int(label[3:]),
        uuid=said(answers, "uuid", "nvmlDeviceGetUUID", text),
        name=said(answers, "name", "nvmlDeviceGetName", text),
        vendor="nvidia",
        architecture=said(answers, "architecture", "nvmlDeviceGetArchitecture", _architecture),
        compute_capability=said(
            answers, "computeCapability", "nvmlDeviceGetCudaComputeCapability", _compute_capability
        ),
        memory_bytes=said(answers, "memoryBytes", "nvmlDeviceGetMemoryInfo", number),
        pci=said(answers, "pci", "nvmlDeviceGetPciInfo_v3", _pci),
        minor=said(answers, "minor", "nvmlDeviceGetMinorNumber", number),
        module_id=said(answers, "moduleId", "nvmlDeviceGetModuleId", number),
        numa_nodes=numa_nodes,
        cpus=cpus,
        cpus_complete=cpus_complete,
        memory_numa_node=_own_node(answers, numa_nodes, claimed),
        nvlinks_active=nvlinks.active,
        nvlinks_total=nvlinks.total,
        links=nvlinks.links,
        c2c=read_c2c(answers),
        fabric=read_fabric(answers, label, notes),
        pcie=_pcie(answers),
        mig=_mig(answers),
    )
    handle = refusal_code(answers.get("handle"))
    if lost:
        record = _all_unknown(record, Unknown(LOST, LOST_SETTLED_BY))
    elif handle is not None:
        record = _all_unknown(record, refusal(handle, "nvmlDeviceGetHandleByIndex_v2"))
    return record._replace(keys=_keys(record))


def is_lost(answers: Answers) -> bool:
    """Whether any question about this GPU was answered with GPU_IS_LOST."""
    pending: list[object] = list(answers.values())
    while pending:
        answer = pending.pop()
        if refusal_code(answer) == GPU_IS_LOST:
            return True
        if isinstance(answer, dict):
            pending.extend(answer.values())
        elif isinstance(answer, list) and any(isinstance(item, dict) for item in answer):
            pending.extend(answer)
    return False


def _all_unknown(record: GpuRecord, why: Unknown) -> GpuRecord:
    """What was answered before the GPU was lost is kept."""
    unknown = {
        name: why for name in _TOLD if getattr(record, name) is None or isinstance(getattr(record, name), Unknown)
    }
    return record._replace(**unknown)  # type: ignore[arg-type]


def _keys(record: GpuRecord) -> tuple[Key, ...]:
    keys = [Key("index", str(record.nvml_index))]
    for space, value in (("uuid", record.uuid), ("pci", record.pci), ("minor", record.minor)):
        if value is not None and not isinstance(value, Unknown):
            keys.append(Key(space, str(value)))
    return tuple(keys)


def _architecture(answer: object) -> str | None:
    return _ARCHITECTURES.get(answer) if isinstance(answer, int) else None


def _compute_capability(answer: object) -> str | None:
    if isinstance(answer, list) and len(answer) == 2 and None not in map(number, answer):
        return f"{answer[0]}.{answer[1]}"
    return None


def _pci(answer: object) -> PciAddress | None:
    return PciAddress.parse(answer) if isinstance(answer, str) else None


def _near_cpus(answers: Answers, cpus_possible: int | None) -> tuple[Said[CpuSet], Said[bool]]:
    """CPUs of the GPU's NUMA node, and whether enough words were asked to hold all of them.

    Words without any CPU, answered without an error, mean that the CPUs lie beyond the words.
    """
    words = part(answers, "cpuAffinity").get("node")
    mask = said(part(answers, "cpuAffinity"), "node", _CPU_CALL, words_mask)
    if mask is None or isinstance(mask, Unknown):
        return settled(mask, _SYSFS) if isinstance(mask, Unknown) else None, None
    asked = 64 * len(words) if isinstance(words, list) else 0
    enough = None if cpus_possible is None else cpus_possible <= asked
    if mask == 0:
        reason = f"{_CPU_CALL} named no CPU among the {asked} that were asked for"
        return Unknown(reason, f"{_SYSFS}, or a recording that asks for more"), None
    return CpuSet(mask), enough


def _cpu_side_nodes(answers: Answers) -> Said[tuple[int, ...]]:
    """NUMA nodes of the CPU memory near the GPU."""
    mask = said(part(answers, "memoryAffinity"), "node", _MEMORY_CALL, words_mask)
    if mask is None:
        return None
    if isinstance(mask, Unknown):
        return settled(mask, _SYSFS)
    if mask == 0:
        return Unknown(f"{_MEMORY_CALL} named no NUMA node among those asked for", _SYSFS)
    return tuple(CpuSet(mask))


def _own_node(answers: Answers, cpu_side: Said[tuple[int, ...]], claimed: Counts) -> Said[int]:
    """The NUMA node made of the GPU's own memory (Grace, POWER9), which no CPU belongs to.

    Real drivers answer NOT_SUPPORTED on x86; NVIDIA's mock driver answers the CPUs' node there
    (pkg/gpu/mocknvml of k8s-test-infra). That node, or one that two GPUs claim, is no GPU's own.
    On Grace the memory affinity may name the own node too, beside that of the CPUs.
    """
    node = said(answers, "numaNodeId", _NUMA_CALL, number)
    if node is None:
        return None
    by = "`/proc/driver/nvidia/gpus/*/numa_status`"
    if isinstance(node, Unknown):
        return settled(node, by)
    if cpu_side == (node,):
        return Unknown(f"{_NUMA_CALL} answered {node}, the node of the CPUs, not one of GPU memory", by)
    if claimed.get(node, 0) > 1:
        return Unknown(f"{_NUMA_CALL} answered {node} for several GPUs: not the memory of one", by)
    return node


def own_nodes_claimed(tables: list[Answers]) -> Counts:
    """How many GPUs answer each node as that of their own memory."""
    counts: Counts = {}
    for answers in tables:
        node = number(answers.get("numaNodeId"))
        if node is not None:
            counts[node] = counts.get(node, 0) + 1
    return counts


def _pcie(answers: Answers) -> Said[Pcie]:
    pcie = part(answers, "pcie")
    if not pcie:
        return None
    read = [
        (key, said(pcie, key, f"nvmlDeviceGet{name}", in_range))
        for key, name, in_range in (
            ("generation", "CurrPcieLinkGeneration", _generation),
            ("width", "CurrPcieLinkWidth", _width),
            ("maxGeneration", "MaxPcieLinkGeneration", _generation),
            ("maxWidth", "MaxPcieLinkWidth", _width),
        )
    ]
    values = [value if isinstance(value, int) else None for _, value in read]
    if not any(values):
        return next((value for _, value in read if isinstance(value, Unknown)), None)
    return Pcie(*values)


def _generation(answer: object) -> int | None:
    value = number(answer)
    return value if value is not None and 1 <= value <= 7 else None


def _width(answer: object) -> int | None:
    value = number(answer)
    return value if value in _LANES else None


def _mig(answers: Answers) -> Said[tuple[MigRecord, ...]]:
    """MIG devices; none where MIG is off or the GPU cannot do it (NOT_SUPPORTED)."""
    mig = part(answers, "mig")
    if refusal_code(mig.get("mode")) == NOT_SUPPORTED:
        return ()
    mode = said(mig, "mode", "nvmlDeviceGetMigMode", lambda answer: answer if isinstance(answer, list) else None)
    if mode is None or isinstance(mode, Unknown):
        return mode
    if mode[:1] == [0]:
        return ()
    devices = mig.get("devices")
    if mode[:1] != [1] or not isinstance(devices, list):
        return odd("nvmlDeviceGetMigMode", mig)
    return tuple(_mig_device(device) for device in devices if isinstance(device, dict))


def _mig_device(answers: Answers) -> MigRecord:
    name = text(answers.get("name"))
    return MigRecord(
        uuid=text(answers.get("uuid")),
        profile=name.partition(" MIG ")[2] or None if name else None,  # "NVIDIA H100 … MIG 1g.10gb"
        gpu_instance=number(answers.get("gpuInstance")),
        compute_instance=number(answers.get("computeInstance")),
        number=number(answers.get("index")),
    )
