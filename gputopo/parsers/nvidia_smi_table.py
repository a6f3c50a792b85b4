r"""The plain table of `nvidia-smi`: which GPUs there are. It says nothing of how they are connected.

    >>> node, = parse('''
    ... | NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2     |
    ... |-----------------------------------------+----------------------+----------------------+
    ... | GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
    ... | Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |
    ... |                                         |                      |               MIG M. |
    ... |=========================================+======================+======================|
    ... |   0  NVIDIA H100 80GB HBM3          On  | 00000000:18:00.0 Off |                    0 |
    ... | N/A   30C    P0              70W / 700W |      2MiB / 81559MiB |      0%      Default |
    ... |                                         |                      |             Disabled |
    ... +-----------------------------------------+----------------------+----------------------+
    ... ''')
    >>> gpu, = node.gpus
    >>> gpu.label, gpu.name, str(gpu.pci), gpu.memory_bytes >> 20, gpu.mig
    ('GPU0', 'NVIDIA H100 80GB HBM3', '0000:18:00.0', 81559, ())
    >>> node.system.driver, node.system.cuda, node.gaps[0].settled_by
    ('535.104.05', '12.2', 'nvidia-smi topo -m')

Tables of drivers 418 to 580 were read. Long names are cut (`NVIDIA RTX 6000 Ada Gene...`); rows of
processes are not kept.
"""

from __future__ import annotations

import re

from gputopo.parsers.limits import at_most_nodes
from gputopo.parsers.nvidia_smi_values import (
    LOST,
    counts_from_zero,
    is_missing,
    keyed,
    mebibytes,
    model,
    whole_number,
    without_handle,
)
from gputopo.parsers.pasted_text import clean_lines
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Gap, GpuRecord, MigRecord, NodeRecords, Observation, SystemRecord
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Said, Unknown

FORMAT = "nvidia-smi-table"
_TITLE = re.compile(r"NVIDIA-SMI\s+(\S+)\s+(?:Driver Version|KMD Version): *(\S+)(?:\s+CUDA (?:UMD )?Version: *(\S+))?")
_GPU = re.compile(
    r"\|\s{0,9}(\d{1,3})\s{1,9}(\S.{0,80}?)\s{1,40}(?:On|Off|N/A|WDDM|TCC|MCDM|ERR!)\s{0,9}"
    r"\|\s*([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s+\S+\s*\|([^|]*)\|"
)
_MEMORY = re.compile(r"/\s*(\d{1,9})MiB\s*\|")
_MIG_MODE = re.compile(r"\|\s*\|\s*\|\s*(Enabled|Disabled|N/A)\*?\s*\|\s*\Z")
_MIG_DEVICE = re.compile(r"\|\s*(\d{1,3})\s+(\d{1,3})\s+(\d{1,3})\s+(\d{1,3})\s*\|\s*\d+MiB\s*/")
_NO_TOPOLOGY = "no topology in this text: the plain table of nvidia-smi does not say how GPUs are connected"
_ASK = "nvidia-smi topo -m"


class _Table:
    __slots__ = ("gpus", "line", "mig", "modes", "observations", "system")

    def __init__(self, line: int) -> None:
        self.line = line
        self.system = SystemRecord()
        self.gpus: list[GpuRecord] = []
        self.modes: dict[int, str] = {}  # MIG mode by index
        self.mig: dict[int, list[MigRecord]] = {}
        self.observations: list[Observation] = []


def sniff(text: str) -> bool:
    """Whether a text holds the plain table: its title, or a row of a GPU."""
    if "NVIDIA-SMI" in text and _TITLE.search(text):
        return True
    return "|" in text and _GPU.search(text.replace("\u2502", "|")) is not None


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One `NodeRecords` a table, in order. Raises Unreadable."""
    lines = clean_lines(text)
    tables = [table for table in _tables(lines) if table.gpus]
    if not tables:
        raise Unreadable("no row of a GPU in this table of `nvidia-smi`", None, _ASK)
    nodes = [_build(table) for table in tables]
    lost = without_handle(lines)
    if lost:
        nodes[0] = nodes[0]._replace(observations=nodes[0].observations + lost)
    return tuple(nodes)


def _tables(lines: list[str]) -> list[_Table]:
    found: list[_Table] = []
    for number, line in enumerate(lines, 1):
        if "NVIDIA-SMI" in line:
            title = _TITLE.search(line)
            if title:
                found.append(_Table(number))
                at_most_nodes(found, number)
                found[-1].system = SystemRecord(driver=_version(title[2]), cuda=_version(title[3]))
                continue
        if "|" not in line:
            continue
        gpu = _GPU.search(line)
        if gpu:
            if not found or any(record.nvml_index == int(gpu[1]) for record in found[-1].gpus):
                found.append(_Table(number))
                at_most_nodes(found, number)
            _gpu_row(found[-1], gpu, number)
        elif found and found[-1].gpus:
            _below(found[-1], line)
    return found


def _version(printed: str | None) -> Said[str]:
    if printed is None:
        return None
    return Unknown(f"nvidia-smi printed {printed[:40]}") if is_missing(printed) else printed


def _gpu_row(table: _Table, match: re.Match[str], number: int) -> None:
    label = f"GPU{match[1]}"
    errors = match[4].strip()
    table.gpus.append(
        GpuRecord(
            label,
            line=number,
            nvml_index=int(match[1]),
            name=model(match[2]),
            vendor="nvidia",
            pci=PciAddress.parse(match[3]) or Unknown(f"'{match[3]}' is no PCI address"),
        )
    )
    count = whole_number(errors)
    if isinstance(count, int) and count:
        text = f"volatile uncorrectable: {count}"
        table.observations.append(Observation("ecc-errors", (label,), text, number))
    if LOST in match[2] or LOST in errors:
        table.observations.append(Observation("gpu-lost", (label,), LOST, number))


def _below(table: _Table, line: str) -> None:
    """Second and third line of the GPU above; a row of the MIG table."""
    mig = _MIG_DEVICE.search(line)
    if mig:
        gpu, instance, compute, device = (int(mig[place]) for place in range(1, 5))
        table.mig.setdefault(gpu, []).append(MigRecord(gpu_instance=instance, compute_instance=compute, number=device))
        return
    last = table.gpus[-1]
    memory = _MEMORY.search(line)
    if memory and last.memory_bytes is None:
        table.gpus[-1] = last._replace(memory_bytes=mebibytes(memory[1]))
    mode = _MIG_MODE.search(line)
    if mode and last.nvml_index is not None:
        table.modes.setdefault(int(last.label[3:]), mode[1])


def _build(table: _Table) -> NodeRecords:
    records = keyed(record._replace(mig=_mig(table, int(record.label[3:]))) for record in table.gpus)
    whole = counts_from_zero(records)
    return NodeRecords(
        FORMAT,
        "nvidia-smi",
        line=table.line,
        whole=whole,
        system=table.system,
        gpus=records,
        gpus_complete=whole,
        gaps=(Gap((), "pairs", _NO_TOPOLOGY, _ASK, table.line),),
        observations=tuple(table.observations),
    )


def _mig(table: _Table, index: int) -> Said[tuple[MigRecord, ...]]:
    mode = table.modes.get(index)
    if mode == "Disabled":
        return ()
    if mode != "Enabled":
        return None  # N/A: a GPU without MIG; no third line: a driver before 450
    devices = table.mig.get(index)
    return tuple(devices) if devices else Unknown("MIG is on, and no device of it is listed", "nvidia-smi -L")
