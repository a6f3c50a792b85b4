"""One `PrintedLog` → `NodeRecords`."""

from __future__ import annotations

from gputopo.parsers.nvidia_smi_q.health import observe
from gputopo.parsers.nvidia_smi_q.printed import PrintedGpu, PrintedLog, PrintedMig, plain
from gputopo.parsers.nvidia_smi_values import (
    generation,
    is_missing,
    keyed,
    label,
    lanes,
    mebibytes,
    model,
    pci,
    text,
    uuid,
    whole_number,
)
from gputopo.records import FabricRecord, Gap, GpuRecord, MigRecord, NodeRecords, Observation, Pcie, SystemRecord
from gputopo.terms.unknown import Said, Unknown

FORMAT = "nvidia-smi-q"
_GENERATION = ("pciegeneration/current", "pciegen/currentlinkgen")
_MAX_GENERATION = ("pciegeneration/max", "pciegen/maxlinkgen")
_DEVICE_GENERATION = ("pciegeneration/devicemax", "pciegen/maxdevicelinkgen")
_HOST_GENERATION = ("pciegeneration/hostmax", "pciegen/maxhostlinkgen")
_WIDTH = ("linkwidth/current", "linkwidths/currentlinkwidth")
_MIG = ("migmode/current", "migmode/currentmig")
_MAX_WIDTH = ("linkwidth/max", "linkwidths/maxlinkwidth")
# Parts of the fabric's health that are bad when they say this; `Bandwidth` is Full or Degraded.
_TROUBLES = (
    ("degradedbandwidth", "true", "degraded bandwidth"),
    ("bandwidth", "degraded", "degraded bandwidth"),
    ("routerecoveryinprogress", "true", "route recovery"),
    ("routeunhealthy", "true", "route unhealthy"),
    ("accesstimeoutrecovery", "true", "access timeout recovery"),
)
_VIRTUAL = ("pass-through", "vgpu")


def build(log: PrintedLog) -> NodeRecords:
    """Never raises: what is not printed is `None`, what is printed as N/A is `Unknown`."""
    attached = whole_number(log.head.get("attachedgpus"))
    # nvidia-smi prints GPUs in the order of their indices; one that was asked for alone keeps the total above it.
    all_listed = attached == len(log.gpus) and all(gpu.address is not None for gpu in log.gpus)
    observations: list[Observation] = []
    gaps: list[Gap] = []
    records = []
    for place, gpu in enumerate(log.gpus):
        record = _gpu(gpu, place if all_listed else None)
        observations += _observed(gpu, record)
        if gpu.get(*_MIG) == "Enabled" and gpu.mig:
            reason = "`-q` prints MIG devices without UUID and profile"
            gaps.append(Gap((record.label,), "mig", reason, "nvidia-smi -L"))
        records.append(record)
    if isinstance(attached, int) and attached != len(log.gpus):
        reason = f"nvidia-smi counts {attached} GPUs and the text lists {len(log.gpus)}"
        gaps.append(Gap((), "gpus", reason, "nvidia-smi -q, the whole output", log.line))
    return NodeRecords(
        FORMAT,
        "-q",
        line=log.line,
        whole=log.is_xml or (_ends_whole(log) and (attached is None or all_listed)),
        system=_system(log),
        gpus=keyed(records),
        gpus_complete=all_listed,
        gaps=tuple(gaps),
        observations=_merged(observations),
    )


def _merged(observations: list[Observation]) -> tuple[Observation, ...]:
    """One observation for all GPUs of which the same is seen."""
    found: dict[tuple[str, str], Observation] = {}
    for one in observations:
        first = found.get((one.kind, one.text))
        found[one.kind, one.text] = one if first is None else first._replace(subjects=first.subjects + one.subjects)
    return tuple(found.values())


def _ends_whole(log: PrintedLog) -> bool:
    """Whether every GPU's block has its last section. `-d` prints single sections, and no product name."""
    return all(gpu.has("processes") or not gpu.has("productname") for gpu in log.gpus)


def _system(log: PrintedLog) -> SystemRecord:
    modes = {mode.strip().lower() for gpu in log.gpus if (mode := gpu.get("virtualizationmode")) is not None}
    return SystemRecord(
        taken_at=_known(text(log.head.get("timestamp"))),
        driver=text(log.head.get("driverversion")),
        cuda=text(log.head.get("cudaversion")),
        virtual=True if modes.intersection(_VIRTUAL) else None,
    )


def _known(said: Said[str]) -> str | None:
    return said if isinstance(said, str) else None


def _gpu(gpu: PrintedGpu, index: int | None) -> GpuRecord:
    address = pci(gpu.get("pci/busid", "pci/pcibusid", "busid", "pcibusid") or gpu.address)
    id = uuid(gpu.get("gpuuuid", "uuid"))
    module = whole_number(gpu.get("moduleid", "gpumoduleid"))
    node = whole_number(gpu.get("gpunumaid"))
    return GpuRecord(
        label(index, address, id, gpu.line),
        line=gpu.line,
        nvml_index=index,
        uuid=id,
        name=model(gpu.get("productname")),
        vendor="nvidia",
        architecture=text(gpu.get("productarchitecture")),
        memory_bytes=mebibytes(gpu.get("fbmemoryusage/total")),
        pci=address,
        minor=whole_number(gpu.get("minornumber")),
        module_id=module if isinstance(module, int) else None,
        memory_numa_node=node if isinstance(node, int) else None,
        fabric=_fabric(gpu),
        pcie=_pcie(gpu),
        mig=_mig(gpu),
    )


def _pcie(gpu: PrintedGpu) -> Said[Pcie]:
    """The link now and at most. `Max` is what GPU and slot can do together; `Device Max` the GPU alone."""
    most = generation(gpu.get(*_MAX_GENERATION)) or generation(gpu.get(*_DEVICE_GENERATION))
    link = Pcie(generation(gpu.get(*_GENERATION)), lanes(gpu.get(*_WIDTH)), most, lanes(gpu.get(*_MAX_WIDTH)))
    if any(link):
        return link
    printed = gpu.get(*_GENERATION, *_WIDTH)
    return None if printed is None else Unknown(f"nvidia-smi printed {printed[:60]}", "sysfs current_link_width")


def _mig(gpu: PrintedGpu) -> Said[tuple[MigRecord, ...]]:
    """MIG devices; none where MIG is off. N/A is what GPUs without MIG print, and WSL."""
    mode = gpu.get(*_MIG)
    if mode == "Disabled":
        return ()
    if mode != "Enabled":
        return None
    if gpu.mig is None:
        return Unknown("MIG is on, and the text does not list its devices", "nvidia-smi -L")
    return tuple(_mig_device(device) for device in gpu.mig)


def _mig_device(device: PrintedMig) -> MigRecord:
    numbers = [whole_number(device.values.get(name)) for name in ("gpuinstanceid", "computeinstanceid", "index")]
    instance, compute, number = (one if isinstance(one, int) else None for one in numbers)
    return MigRecord(gpu_instance=instance, compute_instance=compute, number=number)


def _fabric(gpu: PrintedGpu) -> FabricRecord | None:
    """As printed. N/A throughout is a GPU that belongs to no fabric."""
    state, status = (_printed(gpu, name) for name in ("fabric/state", "fabric/status"))
    clique = whole_number(gpu.get("fabric/cliqueid", "cliqueid"))
    cluster = _known(text(gpu.get("fabric/clusteruuid", "clusteruuid")))
    record = FabricRecord(state, status, cluster, clique if isinstance(clique, int) else None, _health(gpu))
    return record if any(value is not None for value in record) else None


def _printed(gpu: PrintedGpu, name: str) -> str | None:
    return _known(text(gpu.get(name)))


def _health_parts(gpu: PrintedGpu) -> dict[str, str]:
    return {
        plain(value.name): value.value.strip()
        for value in gpu.within("fabric")
        if plain(value.section[-1]) == "health" and not is_missing(value.value)
    }


def _troubles(parts: dict[str, str]) -> list[str]:
    found = [words for name, bad, words in _TROUBLES if parts.get(name, "").lower() == bad]
    configuration = parts.get("incorrectconfiguration", "False")
    return found if configuration.lower() in ("false", "none") else [*found, "incorrect configuration"]


def _health(gpu: PrintedGpu) -> str | None:
    """The summary (newer drivers), else what the single parts come to."""
    parts = _health_parts(gpu)
    if "summary" in parts:
        return parts["summary"]
    if not parts:
        return None
    return ", ".join(_troubles(parts)) or "Healthy"


def _observed(gpu: PrintedGpu, record: GpuRecord) -> list[Observation]:
    found = list(observe(gpu, record.label))
    troubles = _troubles(_health_parts(gpu))
    if troubles:
        found.append(Observation("fabric-trouble", (record.label,), ", ".join(troubles), gpu.line))
    most, host, device = (
        generation(gpu.get(*names)) for names in (_MAX_GENERATION, _HOST_GENERATION, _DEVICE_GENERATION)
    )
    if host and device and most == host < device:  # GB300 prints a host of 4 beside a link that runs at 6
        found.append(
            Observation("pcie-host-slower", (record.label,), f"host PCIe {host}.0, GPU PCIe {device}.0", gpu.line)
        )
    current, pending = gpu.get(*_MIG), gpu.get("migmode/pending", "migmode/pendingmig")
    if current and pending and current != pending and not is_missing(pending):
        found.append(Observation("mig-mode-pending", (record.label,), f"MIG {current}, pending {pending}", gpu.line))
    return found
