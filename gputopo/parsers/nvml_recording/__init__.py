r"""`nvml-recording`: what the NVIDIA driver answered, as `gputopo collect` writes it down.

The text is JSON (docs/nvml-recording.md): decoded answers by GPU, `{"error": rc}` where the driver
refused, no key where it was not asked. `rc` is an nvmlReturn: 3 NOT_SUPPORTED, 13 no such
function, 15 GPU is lost.

    >>> text = '''{"gputopo": "nvml-recording", "version": 1, "snapshot": {
    ...   "driver": "550.163.01", "cuda": 12040, "cpusPossible": 64,
    ...   "gpus": [
    ...     {"index": 0, "uuid": "GPU-5e7f", "name": "NVIDIA L40S", "pci": "00000000:3B:00.0",
    ...      "numaNodeId": {"error": 3}, "cpuAffinity": {"node": [4294967295]},
    ...      "memoryAffinity": {"node": [1]}, "links": [{"link": 0, "state": {"error": 3}}]},
    ...     {"index": 1, "uuid": {"error": 15}}],
    ...   "topology": [[0, 50], [50, 0]]}}'''
    >>> node, = parse(text)
    >>> gpu, lost = node.gpus
    >>> gpu.pci, gpu.cpus, gpu.numa_nodes, gpu.nvlinks_total
    (PciAddress(domain=0, bus=59, device=0, function=0), CpuSet('0-31'), (0,), 0)
    >>> gpu.memory_numa_node.why
    'nvmlDeviceGetNumaNodeId answered NOT_SUPPORTED (3)'
    >>> lost.uuid.why
    'GPU is lost (NVML 15): the driver cannot reach it'
    >>> node.pairs[0].level.name
    'SYS'
"""

from __future__ import annotations

from gputopo.parsers.nvml_recording.answers import (
    Notes,
    number,
    refusal,
    refusal_code,
    said,
    text,
)
from gputopo.parsers.nvml_recording.document import FORMAT, decoded, read_document
from gputopo.parsers.nvml_recording.gpu import label_of, own_nodes_claimed, read_gpu
from gputopo.parsers.nvml_recording.pairs import read_pairs
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Gap, NodeRecords, SystemRecord

Answers = dict[str, object]

_WINDOW = 4096


def sniff(source: str) -> bool:
    """Whether the text looks like a recording: JSON, and one of its marks near either end."""
    head = source[:_WINDOW].removeprefix("\ufeff").lstrip()
    if not head.startswith("{"):
        return False
    if '"nvml-recording"' in head or '"[\\"nvml' in head:
        return True
    ends = head + source[-_WINDOW:]
    return '"pynvml"' in ends and ('"snap"' in ends or '"calls"' in ends or '"[\\"nvml' in ends)


def parse(source: str) -> tuple[NodeRecords, ...]:
    """One node's records. Raises Unreadable."""
    document = read_document(source)
    snapshot = decoded(document)
    notes = Notes([], [], [])
    system = _system(document, snapshot)
    answers = snapshot.get("gpus")
    count_refused = refusal_code(answers)
    if count_refused is not None:
        reason = refusal(count_refused, "nvmlDeviceGetCount_v2").why
        return (NodeRecords(FORMAT, system=system, gaps=(Gap((), "gpus", reason),)),)
    if not isinstance(answers, list):
        raise Unreadable("the recording holds no answers of any GPU", hint="docs/nvml-recording.md")
    tables = [gpu if isinstance(gpu, dict) else {} for gpu in answers]
    labels = [label_of(gpu, position) for position, gpu in enumerate(tables)]
    if len(set(labels)) < len(labels):
        raise Unreadable("the recording numbers two GPUs alike", hint="docs/nvml-recording.md")
    cpus_possible = number(snapshot.get("cpusPossible"))
    claimed = own_nodes_claimed(tables)
    gpus = tuple(read_gpu(gpu, at, cpus_possible, claimed, notes) for at, gpu in enumerate(tables))
    pairs = read_pairs(snapshot, labels, notes)
    return (
        NodeRecords(
            FORMAT,
            system=system,
            gpus=gpus,
            gpus_complete=True,
            pairs=pairs,
            gaps=tuple(notes.gaps),
            observations=tuple(notes.observations),
            assumptions=tuple(notes.assumptions),
        ),
    )


def _system(document: Answers, snapshot: Answers) -> SystemRecord:
    return SystemRecord(
        name=text(document.get("node")),
        boot_id=text(document.get("bootId")),
        taken_at=text(document.get("takenAt")),
        driver=said(snapshot, "driver", "nvmlSystemGetDriverVersion", text),
        cuda=said(snapshot, "cuda", "nvmlSystemGetCudaDriverVersion_v2", _cuda),
    )


def _cuda(answer: object) -> str | None:
    """12040 → "12.4"."""
    version = number(answer)
    return None if not version else f"{version // 1000}.{version % 1000 // 10}"


__all__ = ["FORMAT", "parse", "sniff"]
