"""GT021 gpu-not-listed-by-driver

What it says
    An NVIDIA GPU is on PCI, and the driver, which answered, does not list it.

Why it matters
    No CUDA program, device plugin or nvidia-smi finds it, and the driver's numbers skip it. On a host
    the node offers fewer GPUs than it has; in a container it is how GPUs are kept from others.

What to do
    On a host: `dmesg | grep -i -e nvrm -e xid`; a GPU that failed to start or fell off the bus needs a
    reset or a reboot. `lspci -nnk -s ADDRESS` tells which driver is bound to it. In a container:
    nothing, if it should not have it.

When it is silent
    The driver did not answer (GT020), no source is the driver's own answer, or GT016 tells already why
    the driver does not use the GPU: lost, excluded, bound to vfio-pci.

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology, Source
    >>> nvml = Source("nvml-recording", "libnvidia-ml.so.1", "nvml-recording", "live", True)
    >>> listed = Gpu("GPU0", 0, vendor="nvidia", pci="0000:04:00.0")
    >>> gpus = (listed, Gpu("0000:0f:00.0", vendor="nvidia", driver="nvidia"))
    >>> [finding] = check(NodeTopology(view="container", gpus=gpus, sources=(nvml,)))
    >>> finding.severity, finding.message
    ('info', '0000:0f:00.0 is not given to this container')
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gputopo.rules.finding import Evidence, Finding
from gputopo.rules.witness import in_node_order
from gputopo.rules.wording import names
from gputopo.topology.node import Gpu, NodeTopology

CODE = "GT021"
SEVERITY = "error"
_NVML = "nvml-recording"
_TOLD_ELSEWHERE = ("gpu-lost", "gpu-excluded", "gpu-bound-to-vfio")
_UNUSED = "no CUDA program, device plugin or nvidia-smi on this node finds it"


def check(node: NodeTopology) -> Iterator[Finding]:
    if not _driver_answered(node):
        return
    told = {id for seen in node.observations if seen.kind in _TOLD_ELSEWHERE for id in seen.subjects}
    missing = [
        gpu
        for gpu in node.gpus
        if gpu.vendor == "nvidia" and gpu.nvml_index is None and gpu.driver != "vfio-pci" and gpu.id not in told
    ]
    if missing and node.view == "container":
        yield _finding(
            node, missing, "info", "not given to this container",
            "the host has them; numbers of GPUs here count only those given",
            "the container's device cgroup, or NVIDIA_VISIBLE_DEVICES, leaves it out",
            "if it should have it: ask for more GPUs in the pod's resources",
        )  # fmt: skip
        return
    unbound = [gpu for gpu in missing if gpu.driver is None]
    other = [gpu for gpu in missing if gpu.driver not in (None, "nvidia")]
    lost = [gpu for gpu in missing if gpu.driver == "nvidia"]
    if lost:
        yield _lost(node, lost)
    if unbound:
        yield _finding(
            node, unbound, "warning", "on PCI without a kernel driver, and not listed by the NVIDIA driver",
            _UNUSED, "no kernel driver is bound to it", "lspci -nnk -s ADDRESS; dmesg | grep -i nvrm",
        )  # fmt: skip
    for driver in sorted({gpu.driver or "" for gpu in other}):
        yield _finding(
            node, [gpu for gpu in other if gpu.driver == driver], "info",
            f"bound to {driver}, and not listed by the NVIDIA driver",
            _UNUSED, f"the kernel driver bound to it is {driver}", "if that is not meant: lspci -nnk -s ADDRESS",
        )  # fmt: skip


def _driver_answered(node: NodeTopology) -> bool:
    return any(source.format == _NVML and source.whole for source in node.sources)


def _lost(node: NodeTopology, gpus: Sequence[Gpu]) -> Finding:
    """An error on a host. Where nothing tells host from container, it may also be hidden."""
    if node.view == "host":
        text, because = "bound to the NVIDIA driver, which does not list it", "it failed to start, or fell off the bus"
    else:
        text = "bound to the NVIDIA driver, which does not list it here"
        because = "it failed to start, fell off the bus, or is kept from this process (a container that shows no sign)"
    return _finding(
        node, gpus, SEVERITY if node.view == "host" else "warning", text, _UNUSED, because,
        "dmesg | grep -i -e nvrm -e xid; then drain the node and reboot it",
    )  # fmt: skip


def _finding(
    node: NodeTopology, gpus: Sequence[Gpu], severity: str, text: str, matters: str, because: str, remedy: str
) -> Finding:  # fmt: skip
    ids = in_node_order(node, (gpu.id for gpu in gpus))
    listed = sum(gpu.nvml_index is not None for gpu in node.gpus)
    source = next(source.id for source in node.sources if source.format == _NVML)
    said = Evidence(source, None, f"nvmlDeviceGetCount: {listed}")
    message = f"{names(ids)} {'is' if len(ids) == 1 else 'are'} {text}"
    nameless = [gpu.id for gpu in node.gpus if gpu.nvml_index is not None and gpu.pci is None]
    if nameless:  # a lost GPU may not even tell its address
        message += f" ({'one' if len(nameless) == 1 else len(nameless)} of them may be {names(nameless)})"
    return Finding(CODE, severity, ids, message, matters, because, remedy, (said,))
