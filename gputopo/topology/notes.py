"""Why a field is `null`, and which joins were only supposed: the sentences beside the node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gputopo.topology.join import Joined
from gputopo.topology.ledger import Ledger, Spoken
from gputopo.topology.node import NodeTopology, NoteAssumption

# JSON attribute → (field, what no source says, what would settle it)
_GPU_NULLS = (
    ("uuid", "uuid", "no source prints the GPU's UUID", "nvidia-smi -L"),
    ("name", "name", "no source prints the model", "nvidia-smi -L"),
    ("pci", "pci", "no source prints the PCI address", "nvidia-smi --query-gpu=index,pci.bus_id --format=csv"),
    ("pcie", "pcie", "no source tells link width and speed", "nvidia-smi -q -x, or sysfs"),
    ("numaNodes", "numa_nodes", "no source tells the GPU's NUMA node", "sysfs numa_node"),
    ("cpus", "cpus", "no source tells the CPUs near the GPU", "sysfs local_cpulist"),
)  # fmt: skip


def explain_nulls(node: NodeTopology, ledger: Ledger) -> None:
    """A reason for every `null` a person would ask about, unless a source gave its own."""
    given = {(subject, note.attribute) for note in ledger.unknown_notes() for subject in note.subjects}
    for attribute, field, reason, settled_by in _GPU_NULLS:
        missing = tuple(gpu.id for gpu in node.gpus if getattr(gpu, field) is None and (gpu.id, attribute) not in given)
        if missing:
            ledger.unknown(missing, attribute, reason, settled_by)
    cut = tuple(gpu.id for gpu in node.gpus if gpu.cpus is not None and gpu.cpus_complete is None)
    if cut:
        ledger.unknown(cut, "cpusComplete", "nvidia-smi stops printing CPUs after 10 characters: the list may be cut",
                       "sysfs local_cpulist, or lscpu")  # fmt: skip
    narrowed = tuple(gpu.id for gpu in node.gpus if gpu.cpus is not None and not gpu.cpus)
    if narrowed:
        ledger.unknown(narrowed, "cpus", "the reader's cpuset has no CPU near the GPU, so its list is empty here",
                       "sysfs local_cpulist, or nvidia-smi on the host")  # fmt: skip
    if node.packages is None and node.gpus:
        ledger.unknown(("node",), "packages", "no source tells which CPUs share a socket", "lscpu, or sysfs")
    nics = tuple(nic.id for nic in node.nics or () if nic.numa_nodes is None and (nic.id, "numaNodes") not in given)
    if nics:
        ledger.unknown(nics, "numaNodes", "no source tells the NIC's NUMA node", "sysfs numa_node")
    unnamed = tuple(nic.id for nic in node.nics or () if nic.device is None and nic.pci is None)
    if unnamed:
        ledger.unknown(unnamed, "device", "the text has no NIC legend", "nvidia-smi topo -m with its legend")


def weak_joins(joined: Mapping[str, Joined], sources: Sequence[Spoken]) -> list[NoteAssumption]:
    """One sentence a supposed identity, so that a reader can doubt it."""
    found = []
    for kind, join in joined.items():
        for weak in join.weak:
            what = "GPUs" if kind == "gpu" else "NICs"
            how = {
                "index": "have the same NVML indices",
                "order": "stand in PCI order, NVML's default",
                "label": "carry the same NICn labels",
            }[weak.how]
            source = sources[weak.spoken].source
            labels = tuple(label for _, label in weak.pairs)
            text = f"the {what} of {source.name} are those of the other sources: they {how}, nothing contradicts it"
            found.append(NoteAssumption(labels, text, source.id))
    return found
