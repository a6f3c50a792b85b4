"""GT012 cpu-cell-empty-beside-known-numa

What it says
    The process that read the node may use no CPU (or only some) of those near a GPU: the CPU
    Affinity cell is empty although the NUMA node is known, or narrower than the GPU's own CPUs.

Why it matters
    From driver 535 on, `nvidia-smi topo -m` prints the GPU's CPUs cut down to the cpuset (cgroup) of
    the reader, and NVML's affinity calls do the same. An empty cell is no fault of the GPU: it says
    that this job's threads and pinned memory are on another NUMA node than the GPU.

What to do
    Compare `grep Cpus_allowed_list /proc/self/status` in the job with
    `/sys/bus/pci/devices/ADDRESS/local_cpulist`; give the job CPUs of the GPU's NUMA node (kubelet:
    static CPU manager with a Topology Manager policy; Slurm: `--gres-flags=enforce-binding`).

When it is silent
    The GPU's NUMA node is unknown (GT010) or has no CPUs of its own, the cell is damaged (GT002), or
    the reader may use all CPUs near the GPU.

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology, Observed
    >>> seen = Observed("empty-cpu-cell", ("GPU1",), "CPU Affinity is empty", "s1", 3)
    >>> [finding] = check(NodeTopology(gpus=(Gpu("GPU1", numa_nodes=(1,)),), observations=(seen,)))
    >>> finding.severity, finding.message
    ('warning', "the reader's cpuset has no CPU near GPU1: CPU affinity is empty beside NUMA node 1")
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Evidence, Finding
from gputopo.rules.witness import evidence, observed
from gputopo.rules.wording import listed, names, one_line
from gputopo.topology.node import Gpu, NodeTopology

CODE = "GT012"
SEVERITY = "warning"

_REMEDY = (
    "compare `grep Cpus_allowed_list /proc/self/status` in the job with local_cpulist of the GPU; "
    "give the job CPUs of the GPU's NUMA node"
)


def check(node: NodeTopology) -> Iterator[Finding]:
    told_empty = {id for o in observed(node, "empty-cpu-cell") for id in o.subjects}
    told_narrow = {id for n in node.unknown if _tells_cpuset(n.attribute, n.reason) for id in n.subjects}
    none, some = [], []
    for gpu in node.gpus:
        if not gpu.numa_nodes or not _node_has_cpus(node, gpu):
            continue
        allowed = None if node.allowed_cpus is None or not gpu.cpus else gpu.cpus & node.allowed_cpus
        is_empty = gpu.cpus is not None and not gpu.cpus
        if gpu.id in told_empty or is_empty or (allowed is not None and not allowed):
            none.append(gpu)
        elif gpu.id in told_narrow or (allowed is not None and allowed != gpu.cpus):
            some.append(gpu)
    if none:
        yield _no_cpu(node, none)
    if some:
        yield _some_cpus(node, some)


def _no_cpu(node: NodeTopology, gpus: list[Gpu]) -> Finding:
    ids = tuple(g.id for g in gpus)
    numa = listed(list(dict.fromkeys(",".join(map(str, g.numa_nodes or ())) for g in gpus)), 4)
    seen = evidence(o for o in observed(node, "empty-cpu-cell") if not set(o.subjects).isdisjoint(ids))
    if seen or node.allowed_cpus is None:
        how = f"CPU affinity is empty beside NUMA node {numa}"
    else:
        near = listed(list(dict.fromkeys(str(g.cpus) for g in gpus)), 2)
        how = f"allowed are {node.allowed_cpus}, near are {near}"
    return Finding(
        CODE,
        SEVERITY,
        ids,
        f"the reader's cpuset has no CPU near {names(ids)}: {how}",
        matters="threads and pinned memory of a job with this cpuset are on another NUMA node than the GPU",
        because="nvidia-smi prints the CPU affinity cut down to the cgroup cpuset of the process that asks",
        remedy=_REMEDY,
        evidence=seen or _allowed(node),
    )


def _some_cpus(node: NodeTopology, gpus: list[Gpu]) -> Finding:
    ids = tuple(g.id for g in gpus)
    notes = [n for n in node.unknown if _tells_cpuset(n.attribute, n.reason)]
    about = [n for n in notes if not set(n.subjects).isdisjoint(ids)]
    said = tuple(Evidence(None, None, one_line(n.reason)) for n in about)
    return Finding(
        CODE,
        "info",
        ids,
        f"the reader's cpuset holds only some of the CPUs near {names(ids)}"
        + (f": allowed are {node.allowed_cpus}" if node.allowed_cpus is not None else ""),
        matters="CPU affinity read from here is the job's part of it, not all CPUs near the GPU",
        because="a container or job with a cgroup cpuset read the node",
        remedy="for the whole list: cat /sys/bus/pci/devices/ADDRESS/local_cpulist",
        evidence=said[:4] or _allowed(node),
    )


def _allowed(node: NodeTopology) -> tuple[Evidence, ...]:
    if node.allowed_cpus is None:
        return ()
    return (Evidence(None, None, f"Cpus_allowed_list {node.allowed_cpus}"),)


def _tells_cpuset(attribute: str, reason: str) -> bool:
    return attribute in ("cpus", "cpusComplete") and "cpuset" in reason.lower()


def _node_has_cpus(node: NodeTopology, gpu: Gpu) -> bool:
    """False only where every NUMA node of the GPU is known to have no CPUs (GPU memory, CXL)."""
    cpus = {n.number: n.cpus for n in node.numa_nodes or ()}
    return any(cpus.get(number) is None or bool(cpus[number]) for number in gpu.numa_nodes or ())
