"""What the NUMA table settles about a GPU's CPUs, and the other way round.

`topo -m` cuts its CPU list after ten characters and old drivers print no NUMA column; with the CPU
list of every NUMA node at hand (lscpu, sysfs) both can be completed without a guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.path_level import PathLevel
from gputopo.topology.devices import Device
from gputopo.topology.ledger import Ledger, Spoken
from gputopo.topology.node import Gpu, Nic, NumaNode, Pair


def nodes_of_cpus(cpus: CpuSet | None, nodes: Sequence[NumaNode] | None) -> tuple[int, ...] | None:
    """The one NUMA node whose list this is, whole or cut after some characters; else `None`."""
    if not cpus or not nodes:
        return None
    found = [node.number for node in nodes if node.cpus and _same_or_cut(cpus, node.cpus)]
    return (found[0],) if len(found) == 1 and len(nodes) > 1 else None


def _same_or_cut(printed: CpuSet, full: CpuSet) -> bool:
    """nvidia-smi stops between two ranges, so a cut list is the full one's text up to a comma."""
    return printed == full or str(full).startswith(f"{printed},")


def complete_cpus(gpu: Gpu, nodes: Mapping[int, NumaNode], ledger: Ledger) -> Gpu:
    """A list that may be cut is settled by the lists of the GPU's NUMA nodes."""
    if gpu.cpus is None or gpu.cpus_complete is not None or not gpu.numa_nodes:
        return gpu
    full = CpuSet()
    for number in gpu.numa_nodes:
        node = nodes.get(number)
        if node is None or node.cpus is None:
            return gpu
        full = full | node.cpus
    if not full or not _same_or_cut(gpu.cpus, full):
        return gpu
    if gpu.cpus != full:
        near = ledger.provenance.get(f"NUMA{gpu.numa_nodes[0]}", {}).get("cpus")
        if near is not None:
            ledger.provenance[gpu.id]["cpus"] = near
    return gpu._replace(cpus=full, cpus_complete=True)


def note_narrowed(device: Device, sources: Sequence[Spoken], ledger: Ledger) -> None:
    """A list that is a part of the full one, but not its beginning, was narrowed by the reader's cpuset."""
    used = device.fields["cpus"]
    if used is None:
        return
    for witness in device.witnesses:
        cpus = getattr(witness.record, "cpus", None)
        if isinstance(cpus, CpuSet) and cpus != used and cpus <= used and not _same_or_cut(cpus, used):
            name = sources[witness.spoken].source.name
            seen = str(cpus) or "none"
            ledger.unknown(
                (device.id,),
                "cpus",
                f"{name} shows {seen} of these CPUs: the cpuset of the process that printed it narrows the list",
                "nvidia-smi on the host",
            )


def nic_numa(nics: Sequence[Nic], gpus: Sequence[Gpu], pairs: Sequence[Pair], ledger: Ledger) -> tuple[Nic, ...]:
    """A NIC at NODE or nearer to a GPU lies in that GPU's NUMA node: that is what the letter means."""
    wanted = {nic.id for nic in nics if nic.numa_nodes is None}
    if not wanted:
        return tuple(nics)
    node_of = {gpu.id: gpu.numa_nodes for gpu in gpus if gpu.numa_nodes and len(gpu.numa_nodes) == 1}
    found: dict[str, set[tuple[int, ...]]] = {}
    for pair in pairs:
        if pair.b in wanted and pair.a in node_of and pair.pcie is not None and pair.pcie <= PathLevel.NODE:
            found.setdefault(pair.b, set()).add(node_of[pair.a])
    placed = []
    for nic in nics:
        nodes = found.get(nic.id, set())
        if len(nodes) == 1:
            ledger.drop_unknown(nic.id, "numaNodes")
            nic = nic._replace(numa_nodes=next(iter(nodes)))
        placed.append(nic)
    return tuple(placed)
