"""Facts for rules in `-q`: ECC errors, remapped rows, clock slowdowns, a GPU that wants a reset."""

from __future__ import annotations

from collections.abc import Iterable

from gputopo.parsers.nvidia_smi_q.printed import PrintedGpu, Value, plain
from gputopo.parsers.nvidia_smi_values import LOST, generation, is_missing, slow_bus, whole_number
from gputopo.records import Observation

# Reasons that slow nothing down: no work, a user's own setting, a display.
_HARMLESS = ("idle", "applicationsclockssetting", "displayclocksetting", "displayclockssetting")
_CLOCKS = ("clockseventreasons", "clocksthrottlereasons")
_XML_CLOCK = ("clocks_event_reason_", "clocks_throttle_reason_")
_NO_RESET = ("no", "none")


def observe(gpu: PrintedGpu, label: str) -> tuple[Observation, ...]:
    """What of this GPU a rule may want, each with its line."""
    parts = (_ecc, _remapped, _clocks, _reset, _lost, _bus)
    found = tuple(one for part in parts for one in part(gpu, label))
    mode = gpu.get("addressingmode")
    if mode and mode != "None" and not is_missing(mode):
        return (*found, Observation("addressing-mode", (label,), mode[:60], gpu.line))
    return found


def _ecc(gpu: PrintedGpu, label: str) -> Iterable[Observation]:
    counted = [
        (value, count)
        for value in gpu.within("eccerrors")
        if isinstance(count := whole_number(value.value), int) and count
    ]
    if counted:
        text = "; ".join(f"{_below(value, 'eccerrors')}: {count}" for value, count in counted)
        yield Observation("ecc-errors", (label,), text[:400], counted[0][0].line)


def _below(value: Value, section: str) -> str:
    """`Volatile DRAM Uncorrectable`: a name with the sections between it and a named one."""
    plains = [plain(one) for one in value.section]
    inner = value.section[plains.index(section) + 1 :] if section in plains else ()
    return " ".join(name.replace("_", " ") for name in (*inner, value.name))


def _remapped(gpu: PrintedGpu, label: str) -> Iterable[Observation]:
    said = [
        value
        for value in gpu.within("remappedrows", "retiredpages")
        if value.value.strip().lower() == "yes" and ("pending" in plain(value.name) or "fail" in plain(value.name))
    ]
    if said:
        text = "; ".join(f"{value.section[0]} {value.name}: {value.value}".replace("_", " ") for value in said)
        yield Observation("memory-rows-failing", (label,), text[:200], said[0].line)


def _clocks(gpu: PrintedGpu, label: str) -> Iterable[Observation]:
    active = [
        value
        for value in gpu.within(*_CLOCKS)
        if value.value.strip().lower() == "active" and plain(_reason(value)).removeprefix("gpu") not in _HARMLESS
    ]
    if active:
        text = ", ".join(_reason(value) for value in active)
        yield Observation("clocks-throttled", (label,), text[:200], active[0].line)


def _reason(value: Value) -> str:
    name = value.name
    for prefix in _XML_CLOCK:
        name = name.removeprefix(prefix)
    return name.replace("_", " ")


def _reset(gpu: PrintedGpu, label: str) -> Iterable[Observation]:
    for name in ("resetrequired", "gpurecoveryaction"):
        said = gpu.get(name)
        if said is not None and not is_missing(said) and said.strip().lower() not in _NO_RESET:
            words = "Reset Required" if name == "resetrequired" else "GPU Recovery Action"
            yield Observation("gpu-reset-required", (label,), f"{words}: {said[:60]}", gpu.line)
            return


def _bus(gpu: PrintedGpu, label: str) -> Iterable[Observation]:
    text = slow_bus(
        gpu.get("performancestate"), generation(gpu.get("pciegeneration/current", "pciegen/currentlinkgen")),
        generation(gpu.get("pciegeneration/max", "pciegen/maxlinkgen")),
        gpu.get("utilization/gpu", "utilization/gpuutil"),
    )  # fmt: skip
    if text:
        yield Observation("pcie-slow-at-p0", (label,), text, gpu.line)


def _lost(gpu: PrintedGpu, label: str) -> Iterable[Observation]:
    value = next((value for value in gpu.values if LOST in value.value), None)
    if value is not None:
        yield Observation("gpu-lost", (label,), f"{value.name}: {value.value[:80]}", value.line)
