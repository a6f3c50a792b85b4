"""Fields of `nvidia-smi --query-gpu` that say something of a GPU, and a row as a record.

>>> record = row_record({"index": "3", "gpu_bus_id": "00000000:C1:00.0", "mig.mode.current": "Disabled"}, 5)
>>> record.label, str(record.pci), record.mig
('GPU3', '0000:c1:00.0', ())
>>> guess_columns([["0", "NVIDIA L4", "00000000:01:00.0"], ["1", "NVIDIA L4", "00000000:02:00.0"]])
['index', 'name', 'pci.bus_id']
"""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.parsers.nvidia_smi_values import (
    LOST,
    generation,
    is_missing,
    label,
    lanes,
    mebibytes,
    model,
    pci,
    slow_bus,
    text,
    uuid,
    whole_number,
)
from gputopo.records import FabricRecord, GpuRecord, MigRecord, Observation, Pcie
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Said, Unknown

# `nvidia-smi --help-query-gpu` has some 150 fields; a header is known by one of these.
KNOWN = frozenset(
    (
        "index", "name", "gpu_name", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "count", "driver_version",
        "mig.mode.current", "pcie.link.gen.current", "pcie.link.gen.max", "pcie.link.gen.gpucurrent",
        "pcie.link.gen.gpumax", "pcie.link.gen.hostmax", "pcie.link.width.current", "pcie.link.width.max",
        "memory.total", "compute_cap", "serial", "vbios_version", "pstate", "persistence_mode",
    )
)  # fmt: skip
_MODELS = ("NVIDIA", "Tesla", "GeForce", "Quadro", "GRID", "TITAN", "Graphics Device")
_THROTTLES = ("clocks_throttle_reasons.", "clocks_event_reasons.")
_HARMLESS = frozenset(("gpu_idle", "applications_clocks_setting", "supported", "active"))
# Bits of clocks_event_reasons.active (nvml.h, nvmlClocksEventReason*) that slow the GPU down.
_SLOW_BITS = (
    (0x4, "sw_power_cap"), (0x8, "hw_slowdown"), (0x10, "sync_boost"), (0x20, "sw_thermal_slowdown"),
    (0x40, "hw_thermal_slowdown"), (0x80, "hw_power_brake_slowdown"),
)  # fmt: skip


def row_record(values: dict[str, str], line: int) -> GpuRecord:
    """One row, by field name. Without `index` the number is not known: `-i` may have picked GPUs."""

    def get(*names: str) -> str | None:
        return next((values[name] for name in names if name in values), None)

    index = whole_number(get("index"))
    number = index if isinstance(index, int) else None
    address = pci(get("pci.bus_id", "gpu_bus_id"))
    id = uuid(get("uuid", "gpu_uuid"))
    return GpuRecord(
        label(number, address, id, line),
        line=line,
        nvml_index=number,
        uuid=id,
        name=model(get("name", "gpu_name")),
        vendor="nvidia",
        compute_capability=_capability(get("compute_cap")),
        memory_bytes=mebibytes(get("memory.total")),
        pci=address,
        fabric=_fabric(values),
        pcie=_pcie(values),
        mig=_mig(get("mig.mode.current")),
    )


def _capability(printed: str | None) -> Said[str]:
    said = text(printed)
    if isinstance(said, str) and not said.replace(".", "", 1).isdigit():
        return Unknown(f"'{said[:60]}' is no compute capability")
    return said


def _pcie(values: dict[str, str]) -> Said[Pcie]:
    most = generation(values.get("pcie.link.gen.max")) or generation(values.get("pcie.link.gen.gpumax"))
    link = Pcie(
        generation(values.get("pcie.link.gen.current")) or generation(values.get("pcie.link.gen.gpucurrent")),
        lanes(values.get("pcie.link.width.current")),
        most,
        lanes(values.get("pcie.link.width.max")),
    )
    if any(link):
        return link
    printed = next((value for name, value in values.items() if name.startswith("pcie.link.")), None)
    return None if printed is None else Unknown(f"nvidia-smi printed {printed[:60]}", "sysfs current_link_width")


def _mig(mode: str | None) -> Said[tuple[MigRecord, ...]]:
    if mode == "Disabled":
        return ()
    if mode == "Enabled":
        return Unknown("MIG is on; --query-gpu does not list its devices", "nvidia-smi -L")
    return None  # [N/A]: a GPU without MIG, or a driver that cannot say


def _fabric(values: dict[str, str]) -> FabricRecord | None:
    """Newer drivers answer `fabric.*`; the spelling of clique and cluster varies."""
    said = {
        name.removeprefix("fabric.").replace("_", "").replace(".", "").lower(): value
        for name, value in values.items()
        if name.startswith("fabric.") and not is_missing(value)
    }
    clique = whole_number(said.get("cliqueid"))
    record = FabricRecord(
        said.get("state"), said.get("status"), said.get("clusteruuid"), clique if isinstance(clique, int) else None
    )
    return record if any(value is not None for value in record) else None


def row_observations(values: dict[str, str], record: GpuRecord) -> list[Observation]:
    """ECC errors, clock slowdowns and a lost GPU, where the fields were asked for."""
    found = []
    counted = [
        f"{name}: {count}"
        for name, value in values.items()
        if name.startswith("ecc.errors.") and isinstance(count := whole_number(value), int) and count
    ]
    if counted:
        found.append(Observation("ecc-errors", (record.label,), "; ".join(counted)[:400], record.line))
    slow = _slow(values)
    if slow:
        found.append(Observation("clocks-throttled", (record.label,), ", ".join(slow)[:200], record.line))
    bus = slow_bus(
        values.get("pstate"), generation(values.get("pcie.link.gen.current")),
        generation(values.get("pcie.link.gen.max")), values.get("utilization.gpu"),
    )  # fmt: skip
    if bus:
        found.append(Observation("pcie-slow-at-p0", (record.label,), bus, record.line))
    if any(LOST in value for value in values.values()):
        found.append(Observation("gpu-lost", (record.label,), LOST, record.line))
    return found


def _slow(values: dict[str, str]) -> list[str]:
    found = []
    for name, value in values.items():
        reason = next((name.removeprefix(prefix) for prefix in _THROTTLES if name.startswith(prefix)), None)
        if reason == "active" and value.startswith("0x") and len(value) <= 18:
            try:
                mask = int(value, 16)
            except ValueError:
                continue
            found += [word for bit, word in _SLOW_BITS if mask & bit]
        elif reason and reason not in _HARMLESS and value == "Active":
            found.append(reason)
    return list(dict.fromkeys(found))


def guess_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Names for columns without a header, only where the values leave no doubt; "" elsewhere.

    A UUID, a PCI address and a product name are known by their form. A first column that counts
    from 0 beside them is the index.
    """
    columns = [""] * len(rows[0])
    for place in range(len(columns)):
        values = [row[place] for row in rows]
        if all(isinstance(uuid(value), str) and value.startswith("GPU-") for value in values):
            columns[place] = "uuid"
        elif all(value.count(":") == 2 and isinstance(pci(value), PciAddress) for value in values):
            columns[place] = "pci.bus_id"
        elif all(value.startswith(_MODELS) for value in values):
            columns[place] = "name"
    if not columns[0] and [row[0] for row in rows] == [str(place) for place in range(len(rows))]:
        columns[0] = "index"
    named = [name for name in columns if name]
    known = ("uuid" in named or "pci.bus_id" in named) and len(named) > 1  # one UUID in a line of a log is no CSV
    return columns if known and len(set(named)) == len(named) else [""] * len(columns)
