"""The GPU records of one matrix, from the texts of their affinity cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gputopo.parsers.nvidia_smi_topo.affinity import is_fragment, may_be_cut, never_cuts
from gputopo.parsers.nvidia_smi_topo.cells import PrintedRow
from gputopo.parsers.nvidia_smi_topo.tail import Tail
from gputopo.records import Gap, GpuRecord, Key, Observation
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.unknown import Said, Unknown

NUMA_NA = Unknown("nvidia-smi printed N/A: the kernel knows no NUMA node for it", "sysfs: numa_node of the device")
NUMA_EMPTY = Unknown("nvidia-smi printed an empty NUMA cell", "sysfs: numa_node of the device")
MEMORY_NA = Unknown("nvidia-smi printed N/A: the GPU's memory is no NUMA node of the kernel")
CPU_SOURCE = "sysfs: local_cpulist of the device"


class Cells(NamedTuple):
    label: str
    row: PrintedRow | None
    tail: Tail | None


def gpu_records(
    cells: Sequence[Cells], heads: int, gaps: list[Gap], observations: list[Observation]
) -> tuple[GpuRecord, ...]:
    """One record a GPU; what is odd in the cells goes to `gaps` and `observations`."""
    texts = {cell.tail.cpu for cell in cells if cell.tail and cell.tail.cpu}
    seen = _Seen(texts, heads)
    records = tuple(seen.record(cell) for cell in cells)
    gaps += seen.gaps
    observations += [
        Observation(kind, tuple(subjects), text[:120], line) for (kind, text), (subjects, line) in seen.observed.items()
    ]
    return records


class _Seen:
    def __init__(self, texts: set[str], heads: int) -> None:
        self.texts = texts
        self.heads = heads
        self.never = never_cuts(texts)
        self.fragments = {text for text in texts if len(texts) > 1 and is_fragment(text, texts)}
        self.parsed = {text: CpuSet.parse_list(text) for text in texts}
        self.gaps: list[Gap] = []
        self.observed: dict[tuple[str, str], tuple[list[str], int]] = {}

    def observe(self, kind: str, text: str, row: PrintedRow) -> None:
        self.observed.setdefault((kind, text), ([], row.line))[0].append(row.label)

    def record(self, cell: Cells) -> GpuRecord:
        label, row, tail = cell
        number = label[3:]
        keys = (Key("index", number),)
        if row is None or tail is None:
            return GpuRecord(label, keys, row.line if row else None, int(number))
        cpus, complete = self.cpus(row, tail)
        numa_nodes = self.numa_nodes(row, tail)
        return GpuRecord(
            label,
            keys,
            row.line,
            int(number),
            numa_nodes=numa_nodes,
            cpus=cpus,
            cpus_complete=complete,
            memory_numa_node=self.memory(row, tail, numa_nodes),
        )

    def cpus(self, row: PrintedRow, tail: Tail) -> tuple[Said[CpuSet], bool | None]:
        text = tail.cpu
        if text is None:
            return self.untold(row, tail, "cpus", CPU_SOURCE), None
        if text == "":
            self.observe("empty-cpu-cell", "", row)
            return CpuSet(), True
        cpus = self.parsed[text]
        if cpus is None or text in self.fragments:
            why = f"the CPU Affinity cell '{text}' is damaged"
            self.observe("damaged-cpu-cell", text, row)
            self.gaps.append(Gap((row.label,), "cpus", why, CPU_SOURCE, row.line))
            return Unknown(why, CPU_SOURCE), None
        if may_be_cut(text, self.never):
            self.observe("cpu-affinity-may-be-cut", text, row)
            return cpus, None
        return cpus, True

    def numa_nodes(self, row: PrintedRow, tail: Tail) -> Said[tuple[int, ...]]:
        text = tail.numa
        if self.heads < 2:
            return None
        if text is None:
            return self.untold(row, tail, "numaNodes", NUMA_NA.settled_by)
        if text == "N/A":
            return NUMA_NA
        if text == "":
            return NUMA_EMPTY
        nodes = CpuSet.parse_list(text)
        if nodes is None:
            why = f"the NUMA Affinity cell '{text}' is damaged"
            self.observe("damaged-numa-cell", text, row)
            self.gaps.append(Gap((row.label,), "numaNodes", why, NUMA_NA.settled_by, row.line))
            return Unknown(why, NUMA_NA.settled_by)
        return tuple(nodes)

    def memory(self, row: PrintedRow, tail: Tail, numa_nodes: Said[tuple[int, ...]]) -> Said[int]:
        text = tail.memory
        if self.heads < 3:
            return None
        if text is None:
            return self.untold(row, tail, "memoryNumaNode", "nvidia-smi topo -gnid")
        if not text.isdigit() or len(text) > 5:
            return MEMORY_NA if text in ("N/A", "") else Unknown(f"the GPU NUMA ID cell '{text}' is damaged")
        if isinstance(numa_nodes, tuple) and int(text) in numa_nodes:
            self.observe("gpu-numa-id-equals-numa", text, row)
        return int(text)

    def untold(self, row: PrintedRow, tail: Tail, attribute: str, settled_by: str) -> Unknown | None:
        """A cell that is not there is not mentioned; one that cannot be told from its neighbour is a gap."""
        if tail.cut or not tail.doubt:
            return None
        if attribute == "cpus" or tail.cpu is not None:
            self.observe("ambiguous-affinity", " ".join(row.rest), row)
        if attribute != "memoryNumaNode":
            self.gaps.append(Gap((row.label,), attribute, tail.doubt, settled_by, row.line))
        return Unknown(tail.doubt, settled_by)
