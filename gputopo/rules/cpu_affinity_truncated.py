"""GT001 cpu-affinity-truncated

What it says
    The printed CPU list of a GPU may be only the beginning of the real one.

Why it matters
    `nvidia-smi topo -m` stops adding ranges once the text has 10 characters (measured with drivers
    470, 535 and 550): CPUs 0,2,4,...,22 are printed as `0,2,4,6,8,10`. A CPU mask, a cpuset or a
    `Cores=` line copied from that column leaves CPUs out.

What to do
    Take the list from `/sys/bus/pci/devices/ADDRESS/local_cpulist`, or read the output of `lscpu`
    together with the matrix: `gputopo inspect topo.txt lscpu.txt`.

When it is silent
    The list is shorter than 10 characters, or another source (sysfs, NVML, NCCL's XML) gives it whole.

Example
    >>> from gputopo.terms.cpu_set import CpuSet
    >>> from gputopo.topology.node import Gpu, NodeTopology
    >>> cut = Gpu("GPU0", cpus=CpuSet.parse_list("0,2,4,6,8,10"), cpus_complete=None)
    >>> [finding] = check(NodeTopology(gpus=(cut,)))
    >>> finding.message
    'CPU list 0,2,4,6,8,10 of GPU0 may be a prefix: nvidia-smi stops printing it after 10 characters'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import claimed, evidence, observed
from gputopo.rules.wording import listed, names
from gputopo.topology.node import NodeTopology

CODE = "GT001"
SEVERITY = "info"


def check(node: NodeTopology) -> Iterator[Finding]:
    doubtful = [g for g in node.gpus if g.cpus and g.cpus_complete is not True]
    if not doubtful:
        return
    ids = tuple(g.id for g in doubtful)
    lists = list(dict.fromkeys(str(g.cpus) for g in doubtful))
    certain = all(g.cpus_complete is False for g in doubtful)
    seen = [o for o in observed(node, "cpu-affinity-may-be-cut") if not set(o.subjects).isdisjoint(ids)]
    verdict = "is cut" if certain else "may be a prefix"
    yield Finding(
        CODE,
        SEVERITY,
        ids,
        f"CPU list {listed(lists, 2)} of {names(ids)} {verdict}: nvidia-smi stops printing it after 10 characters",
        matters="a CPU mask or cpuset copied from this column can leave out CPUs that are near the GPU",
        because="the column holds no more text; it does not say when something was left out",
        remedy="cat /sys/bus/pci/devices/ADDRESS/local_cpulist, or add the output of `lscpu` to the sources",
        evidence=evidence(seen) or tuple(claimed(node, str(g.cpus)) for g in doubtful),
    )
