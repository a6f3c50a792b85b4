"""GT020 driver-did-not-answer

What it says
    The NVIDIA driver was asked on the live node and did not answer: it hangs, its library crashes,
    it refuses the first question, it is not loaded, or its library is not there. Or a file that a
    driver provides could not be read in time.

Why it matters
    The answer is then made of sysfs and /proc alone: NVLinks, P2P, MIG and NVML's numbers of the
    GPUs are not in it. nvidia-smi, the device plugin and DCGM ask the same library, so they hang or
    fail as well, and a node that hangs keeps its pods and takes no new ones.

What to do
    Hanging or crashing: `dmesg | grep -i -e nvrm -e xid`; a GPU off the bus needs a reboot. Refused
    with a version mismatch: reload the nvidia modules, or reboot, after a driver update. No library:
    `--driver-root DIR` names the driver's root folder; a container needs the NVIDIA runtime.

When it is silent
    The driver answered; nothing of NVIDIA's is on this node, so that it was not asked; or the
    evidence is a file. A missing driver is an error on a host with NVIDIA GPUs, information in a
    container and where vfio-pci has all GPUs, and no finding where there is none.

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology, Observed
    >>> text = "the NVIDIA driver did not answer within 10 s"
    >>> seen = Observed("driver-no-answer", (), text, "nvml-recording", None)
    >>> [finding] = check(NodeTopology(gpus=(Gpu("GPU0", vendor="nvidia"),), observations=(seen,)))
    >>> finding.severity, finding.message
    ('error', 'the NVIDIA driver did not answer within 10 s')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence
from gputopo.topology.node import NodeTopology

CODE = "GT020"
SEVERITY = "error"
_LOGS = "dmesg | grep -i -e nvrm -e xid; a GPU off the bus needs a reboot"
# What was observed → why it is so, and what to do.
_KINDS = {
    "driver-no-answer": ("a GPU or its firmware hangs, or the driver waits for a lock", _LOGS + "; --timeout SECONDS"),
    "driver-crashed": ("a fault in the library, or one that does not belong to this kernel module", _LOGS),
    "driver-refused": (
        "the driver is in a state in which it serves nobody",
        "reload the nvidia modules or reboot after an update of the driver; else " + _LOGS,
    ),
    "driver-not-loaded": ("the nvidia kernel module is not loaded", "modprobe nvidia; then dmesg | grep -i nvrm"),
    "driver-no-library": (
        "the driver's user-space part is not where the loader or this program looks",
        "--driver-root DIR; in a container: run it with the NVIDIA runtime",
    ),
    "driver-no-wrapper": ("this installation lacks nvidia-ml-py", "pip install nvidia-ml-py"),
    "file-did-not-come": ("the driver that provides the file hangs", "dmesg"),
}
_HANGS = ("driver-no-answer", "driver-crashed", "driver-refused")


def check(node: NodeTopology) -> Iterator[Finding]:
    for seen in node.observations:
        severity = _severity(node, seen.kind) if seen.kind in _KINDS else None
        if severity is not None:
            because, remedy = _KINDS[seen.kind]
            yield Finding(CODE, severity, (), seen.text, _matters(seen.kind), because, remedy, evidence([seen]))


def _severity(node: NodeTopology, kind: str) -> str | None:
    """By what is lost: nothing where no GPU waits for this driver."""
    gpus = [gpu for gpu in node.gpus if gpu.vendor == "nvidia"]
    waiting = [gpu for gpu in gpus if gpu.driver != "vfio-pci"]
    if kind in _HANGS:
        return SEVERITY if waiting else "warning"
    if kind in ("file-did-not-come", "driver-no-wrapper"):
        return "warning"
    if not gpus:
        return None
    return SEVERITY if waiting and node.view != "container" else "info"


def _matters(kind: str) -> str:
    if kind == "file-did-not-come":
        return "what these files tell is missing here, and other tools that read them hang"
    return "this answer is from sysfs and /proc: NVLinks, P2P, MIG and NVML's numbers are not known; nvidia-smi, \
the device plugin and DCGM ask the same driver"
