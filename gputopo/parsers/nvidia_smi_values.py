"""Values as every nvidia-smi command prints them, and the words it has for "I do not know".

>>> whole_number("16x"), whole_number("0")
(16, 0)
>>> whole_number("[N/A]").why
'nvidia-smi printed [N/A]'
>>> mebibytes("81559 MiB")
85520809984
>>> uuid("GPU-xxx").why                             # a person masked it: it names no GPU
"the UUID printed is masked: 'GPU-xxx'"
>>> text(None) is None                              # not printed at all
True
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gputopo.records import GpuRecord, Key, Observation
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Said, Unknown

# Seen in `-q`, CSV and tables of 418 to 610; compared without brackets and case.
_MISSING = frozenset((
    "", "n/a", "not supported", "unknown error", "unknown", "err!", "error", "not available", "not applicable",
    "insufficient permissions", "requested functionality has been deprecated", "function not found", "not found",
    "gpu is lost", "gpu requires reset", "unsupported", "no permission", "deprecated", "reset required", "-",
))  # fmt: skip
_UUID = re.compile(r"(?:GPU|MIG)-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
_NUMBER = re.compile(r"(\d{1,15})(?:\s*(?:x|MiB|MB|%))?\Z")
_NO_HANDLE = re.compile(r"Unable to determine the device handle for (?:gpu|GPU)\s*([0-9A-Fa-f:.]+?\.\d): (.*)")
_LANES = (1, 2, 4, 8, 12, 16, 32)
LOST = "GPU is lost"


def _not_said(printed: str) -> Unknown:
    return Unknown(f"nvidia-smi printed {printed.strip()[:60] or 'nothing'}")


def is_missing(printed: str) -> bool:
    """Whether this is one of nvidia-smi's words for no value."""
    return printed.strip().strip("[]").strip().lower() in _MISSING


def text(printed: str | None) -> Said[str]:
    """The text; `Unknown` where nvidia-smi says that it does not know; `None` where nothing is printed."""
    if printed is None:
        return None
    return _not_said(printed) if is_missing(printed) else printed.strip()


def whole_number(printed: str | None) -> Said[int]:
    if printed is None:
        return None
    if is_missing(printed):
        return _not_said(printed)
    match = _NUMBER.match(printed.strip())
    return int(match[1]) if match else Unknown(f"'{printed.strip()[:60]}' is no number")


def mebibytes(printed: str | None) -> Said[int]:
    """Bytes of `81559 MiB`, or of a bare number (`nounits`), which is MiB too."""
    amount = whole_number(printed)
    return amount * 2**20 if isinstance(amount, int) else amount


def generation(printed: str | None) -> int | None:
    """A PCIe generation; 0 and anything else that is none is not known."""
    value = whole_number(printed)
    return value if isinstance(value, int) and 1 <= value <= 7 else None


def slow_bus(state: str | None, now: int | None, most: int | None, utilization: str | None) -> str | None:
    """What is odd of a PCIe link below its generation while the GPU runs at its highest state; a GPU that rests may.

    >>> slow_bus("P0", 1, 4, "97 %")
    'P0, PCIe generation 1 of 4'
    >>> slow_bus("P8", 1, 4, "0 %"), slow_bus("P0", 1, 4, "0 %"), slow_bus("P0", 4, 4, None)
    (None, None, None)
    """
    if (state or "").strip() != "P0" or whole_number((utilization or "").removesuffix("%").strip() or None) == 0:
        return None
    return f"P0, PCIe generation {now} of {most}" if now is not None and most is not None and now < most else None


def lanes(printed: str | None) -> int | None:
    value = whole_number(printed)
    return value if isinstance(value, int) and value in _LANES else None


def pci(printed: str | None) -> Said[PciAddress]:
    if printed is None:
        return None
    if is_missing(printed):
        return _not_said(printed)
    return PciAddress.parse(printed) or Unknown(f"'{printed.strip()[:60]}' is no PCI address")


def uuid(printed: str | None) -> Said[str]:
    """A whole UUID. One that was masked for publication names no GPU, and may be the same on several."""
    if printed is None:
        return None
    if is_missing(printed):
        return _not_said(printed)
    if _UUID.match(printed.strip()):
        return printed.strip()
    return Unknown(f"the UUID printed is masked: '{printed.strip()[:60]}'")


def model(printed: str | None) -> Said[str]:
    """A product name; the plain table cuts long ones (`NVIDIA RTX 6000 Ada Gene...`)."""
    said = text(printed)
    if isinstance(said, str) and said.endswith(("...", "…")):
        return Unknown(f"the name is cut: '{said[:60]}'", "nvidia-smi -L")
    return said


def label(index: int | None, address: Said[PciAddress], id: Said[str], line: int) -> str:
    """`GPU3` where the source numbers it, else its address, else its UUID."""
    if index is not None:
        return f"GPU{index}"
    for name in (address, id):
        if name is not None and not isinstance(name, Unknown):
            return str(name)
    return f"gpu@{line}"


def keyed(gpus: Iterable[GpuRecord]) -> tuple[GpuRecord, ...]:
    """The records with their keys. A UUID that stands on two GPUs of one output was made up or copied: no key."""
    records = list(gpus)
    said = [record.uuid for record in records if isinstance(record.uuid, str)]
    found = []
    for record in records:
        if isinstance(record.uuid, str) and said.count(record.uuid) > 1:
            record = record._replace(uuid=Unknown(f"two GPUs are printed with one UUID, {record.uuid}"))
        keys = [
            Key(space, str(value))
            for space, value in (
                ("index", record.nvml_index),
                ("uuid", record.uuid),
                ("pci", record.pci),
                ("minor", record.minor),
            )
            if value is not None and not isinstance(value, Unknown)
        ]
        found.append(record._replace(keys=tuple(keys)))
    return tuple(found)


def counts_from_zero(gpus: Iterable[GpuRecord]) -> bool:
    """Whether the indices are 0, 1, 2 … without a hole: nothing is missing between them."""
    return all(record.nvml_index == place for place, record in enumerate(gpus))


def without_handle(lines: Iterable[str]) -> tuple[Observation, ...]:
    """GPUs that nvidia-smi could not open (`Unable to determine the device handle for GPU …`)."""
    found = []
    for number, line in enumerate(lines, 1):
        match = _NO_HANDLE.search(line) if "device handle" in line else None
        if match:
            address = PciAddress.parse(match[1])
            subject = str(address) if address else match[1][:40]
            found.append(Observation("gpu-lost", (subject,), match[0].strip()[:160], number))
    return tuple(found)
