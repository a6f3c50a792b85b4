"""GT023 seen-from-container

What it says
    The evidence was taken inside a container: GPU numbers are the container's own, and where its cpuset
    narrows the CPUs, which are left.

Why it matters
    GPU0 here need not be GPU0 of the host, of another container or of the kubelet: UUID and PCI address
    are the same everywhere. What the container is not given (GPUs, network devices, CPUs) is missing
    here or only seen in sysfs.

What to do
    Nothing, to learn what the container has. For the whole node: on the host, or from a pod with the
    host's /sys and /proc and all GPUs, `gputopo inspect --root /host`.

When it is silent
    The evidence is from a host, or does not tell.

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology
    >>> [finding] = check(NodeTopology(view="container", gpus=(Gpu("GPU0", 0),)))
    >>> finding.severity, finding.message
    ('info', "seen from a container: GPU numbers are the container's own, not the host's")
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import claimed
from gputopo.topology.node import NodeTopology

CODE = "GT023"
SEVERITY = "info"


def check(node: NodeTopology) -> Iterator[Finding]:
    if node.view != "container":
        return
    numbered = tuple(gpu.id for gpu in node.gpus if gpu.nvml_index is not None)
    parts = ["GPU numbers are the container's own, not the host's"] if numbered else []
    cpus = _cpuset(node)
    if cpus:
        parts.append(cpus)
    yield Finding(
        CODE,
        SEVERITY,
        numbered,
        "seen from a container" + (f": {'; '.join(parts)}" if parts else ""),
        matters="UUIDs and PCI addresses are the same in every view; what the container is not given is missing here",
        because="the reader's control group or root file system is a container's",
        remedy="for the whole node: gputopo inspect on the host",
        evidence=(claimed(node, "view: container"),),
    )


def _cpuset(node: NodeTopology) -> str:
    """`its cpuset allows CPUs 0-15, 16 of 224`."""
    of_nodes = [numa.cpus for numa in node.numa_nodes or () if numa.cpus is not None]
    of_packages = [package.cpus for package in node.packages or () if package.cpus is not None]
    total = max(sum(map(len, of_nodes)), sum(map(len, of_packages)))
    if node.allowed_cpus is None or len(node.allowed_cpus) >= total:
        return ""
    return f"its cpuset allows CPUs {node.allowed_cpus}, {len(node.allowed_cpus)} of {total}"
