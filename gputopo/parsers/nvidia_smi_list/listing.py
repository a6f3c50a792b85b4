r"""`nvidia-smi -L`: a line a GPU, and under it a line a MIG device.

>>> node, = read_listings(["GPU 0: NVIDIA H200 (UUID: GPU-00000000-3333-4000-8000-000000000000)",
...     "  MIG 3g.71gb     Device  0: (UUID: MIG-00000000-3333-4000-8000-000000000000)"])
>>> node.gpus[0].name, node.gpus[0].mig[0].profile, node.gpus[0].mig[0].number
('NVIDIA H200', '3g.71gb', 0)
>>> read_listings(["GPU 0: NVIDIA A40 (UUID: GPU-x)", "\t Link 0: 14.062 GB/s"])    # `nvidia-smi nvlink`
[]
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gputopo.parsers.limits import at_most_nodes
from gputopo.parsers.nvidia_smi_values import counts_from_zero, keyed, model, uuid
from gputopo.parsers.pasted_text import words_before
from gputopo.records import GpuRecord, MigRecord, NodeRecords

FORMAT = "nvidia-smi-list"
GPU = re.compile(r"(?<!\w)GPU (\d{1,3}): (.{0,200}?) ?\((?:UUID|S/N): ?([^)\s]{0,80})\)[ \t\"'`]*\Z")
_MIG = re.compile(r"(?<!\w)MIG (\S{1,30})\s+Device\s+(\d{1,3}): \(UUID: ?([^)\s]*)\)")
# 450 and 460 name a MIG device by its GPU and its instances: MIG-GPU-<uuid>/7/0.
_OLD_MIG_UUID = re.compile(r"MIG-GPU-[0-9a-fA-F-]{36}/(\d{1,3})/(\d{1,3})\Z")
_NVLINK = re.compile(
    r"(?<!\w)Link \d{1,2}(?:: |, )|nvlink information|all links are inactive|support nvlink|nvlink (?:link )?id",
    re.IGNORECASE,
)


class _Gpu:
    __slots__ = ("index", "line", "mig", "name", "uuid")

    def __init__(self, index: int, name: str, uuid: str, line: int) -> None:
        self.index = index
        self.name = name
        self.uuid = uuid
        self.line = line
        self.mig: list[MigRecord] = []


class _Run:
    """GPU lines that follow each other. `linked`: NVLinks stand before or behind, so it is no `-L`."""

    __slots__ = ("before", "gpus", "linked")

    def __init__(self, before: tuple[str, ...], linked: bool) -> None:
        self.before = before
        self.gpus: list[_Gpu] = []
        self.linked = linked


def read_listings(lines: Sequence[str]) -> list[NodeRecords]:
    """Every `-L` in a text, in order."""
    return [_build(run) for run in _runs(lines) if not run.linked]


def _runs(lines: Sequence[str]) -> list[_Run]:
    found: list[_Run] = []
    open_: dict[tuple[str, ...], _Run] = {}
    after_links: set[tuple[str, ...]] = set()
    last: _Run | None = None
    for number, line in enumerate(lines, 1):
        gpu = GPU.search(line) if "GPU " in line else None
        if gpu:
            before = words_before(line, gpu.start())
            index = int(gpu[1])
            run = open_.get(before)
            if run is None or index <= run.gpus[-1].index:
                run = open_[before] = _Run(before, before in after_links and index > 0)
                found.append(run)
                at_most_nodes(found, number)
            after_links.discard(before)
            run.gpus.append(_Gpu(index, gpu[2].strip(), gpu[3], number))
            last = run
            continue
        if not line.strip():
            continue
        mig = _MIG.search(line) if "MIG " in line else None
        if mig and last is not None:
            last.gpus[-1].mig.append(_mig(mig))
            continue
        if last is not None and _NVLINK.search(line):
            last.linked = True
            after_links.add(last.before)
            open_.pop(last.before, None)
            continue
        open_.clear()
        after_links.clear()
        last = None
    return found


def _mig(match: re.Match[str]) -> MigRecord:
    old = _OLD_MIG_UUID.match(match[3])
    if old:
        return MigRecord(match[3], match[1], int(old[1]), int(old[2]), int(match[2]))
    id = uuid(match[3])
    return MigRecord(id if isinstance(id, str) else None, match[1], number=int(match[2]))


def _build(run: _Run) -> NodeRecords:
    shows_mig = any(gpu.mig for gpu in run.gpus)
    records = keyed(
        GpuRecord(
            f"GPU{gpu.index}",
            line=gpu.line,
            nvml_index=gpu.index,
            uuid=uuid(gpu.uuid),
            name=model(gpu.name),
            vendor="nvidia",
            # Drivers before 450 list no MIG devices, so none on any GPU says nothing.
            mig=tuple(gpu.mig) if shows_mig else None,
        )
        for gpu in run.gpus
    )
    whole = counts_from_zero(records)
    return NodeRecords(FORMAT, "-L", line=run.gpus[0].line, whole=whole, gpus=records, gpus_complete=whole)
