"""GT022 node-without-gpus

What it says
    This node has no GPU, and how that is known: nothing on PCI, no driver.

Why it matters
    Everything about links and allocation is empty then. On a machine that should have GPUs the reason
    tells where to look: nothing on PCI is a matter of hardware or of the virtual machine, a driver that
    lists none one of software.

What to do
    Nothing on a node without GPUs. Else `lspci -d 10de:` (also -d 1002: and -d 8086:), and for a virtual
    machine its definition.

When it is silent
    A GPU was found; or no source holds the PCI devices, so that it is not known.

Example
    >>> from gputopo.topology.node import NodeTopology, Source
    >>> node = NodeTopology(sources=(Source("sysfs-root", "/", "sysfs-root", "live", True),))
    >>> [finding] = check(node)
    >>> finding.severity, finding.message
    ('info', 'no GPUs: no GPU on PCI; no NVIDIA driver (/proc/driver/nvidia is absent)')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Evidence, Finding
from gputopo.topology.node import NodeTopology

CODE = "GT022"
SEVERITY = "info"


def check(node: NodeTopology) -> Iterator[Finding]:
    if node.gpus or any(note.attribute == "gpus" for note in node.unknown):
        return
    root = next((source.id for source in node.sources if source.format == "sysfs-root"), None)
    if root is None:
        return
    reasons = ["no GPU on PCI", _of_driver(node)]
    reasons += [seen.text for seen in node.observations if seen.kind == "gpu-not-on-pci"]
    text = "; ".join(reasons)
    yield Finding(
        CODE,
        SEVERITY,
        (),
        f"no GPUs: {text}",
        because="neither PCI nor a driver of this node names one",
        remedy="if it should have some: lspci -d 10de:",
        evidence=(Evidence(root, None, text),),
    )


def _of_driver(node: NodeTopology) -> str:
    driver = node.system.driver if node.system is not None else None
    if driver is None:
        return "no NVIDIA driver (/proc/driver/nvidia is absent)"
    answered = any(source.format == "nvml-recording" and source.whole for source in node.sources)
    return f"NVIDIA driver {driver} {'lists none' if answered else 'is loaded'}"
