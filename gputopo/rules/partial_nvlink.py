"""GT111 partial-nvlink

What it says
    A GPU has fewer active NVLinks than another GPU of the same model on this node, or none.

Why it matters
    A ring or tree is as fast as its slowest member: on a board where all GPUs share NVLink, one GPU
    without it takes the whole job down to PCIe, and NCCL or the fabric may refuse to start.

What to do
    `nvidia-smi nvlink -s -i N` and `dmesg | grep -i xid` (74 is NVLink); drain the node, reset the GPU,
    and replace the board or bridge if it comes again.

When it is silent
    All GPUs of the model have equally many active links, also when that is fewer than the hardware has
    (H100 NVL bridges use 12 of 18). GPUs with MIG devices are left out: MIG turns NVLink off. Different
    or unknown models are not compared, except on an NVSwitch fabric. For bridged PCIe cards it is a
    warning, and information where the number of cards is odd, since a bridge joins two. Link counts that
    are only added up from a matrix are not compared without a switch: the matrix may not show all GPUs.

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology, NvLinks
    >>> def b200(number, active):
    ...     return Gpu(f"GPU{number}", name="NVIDIA B200", nvlinks=NvLinks(active, 18, None))
    >>> [finding] = check(NodeTopology(gpus=(b200(0, 18), b200(1, 18), b200(2, 18), b200(3, 0))))
    >>> finding.severity, finding.message
    ('error', 'GPU3 has no active NVLink; its peers (NVIDIA B200) have 18')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import claimed
from gputopo.rules.wording import names, one_line
from gputopo.topology.node import Gpu, NodeTopology

CODE = "GT111"
SEVERITY = "error"

# A100, H100 and H200 also exist as cards with bridges; other bridged cards have at most 4 links.
_BRIDGED_NAMES = ("PCIE", " NVL")
_BRIDGED_LINKS = 4


def check(node: NodeTopology) -> Iterator[Finding]:
    by_model: dict[str | None, list[Gpu]] = {}
    for gpu in node.gpus:
        if not gpu.mig and gpu.nvlinks is not None and gpu.nvlinks.active is not None:
            by_model.setdefault(gpu.name, []).append(gpu)
    for model, gpus in by_model.items():
        most = max(_active(g) for g in gpus)
        full = [g for g in gpus if _active(g) == most]
        if not _comparable(model, full):
            continue
        for active in sorted({_active(g) for g in gpus} - {most}):
            few = [g for g in gpus if _active(g) == active]
            yield _finding(node, model, few, active, most, _severity(model, gpus, few, full))


def needs(node: NodeTopology) -> str | None:
    nvidia = [g for g in node.gpus if g.vendor in (None, "nvidia")]
    if len(nvidia) < 2 or any(g.nvlinks and g.nvlinks.active is not None for g in nvidia):
        return None
    return "active NVLinks of each GPU (nvidia-smi nvlink -s, or NVML)"


def _active(gpu: Gpu) -> int:
    return (gpu.nvlinks.active if gpu.nvlinks else None) or 0


def _comparable(model: str | None, full: list[Gpu]) -> bool:
    """Whether a lower count of a GPU means something, next to these that have the most links."""
    by_switch = any(g.nvlinks and g.nvlinks.via == "switch" for g in full)
    counted_by_link = any((g.nvlinks and g.nvlinks.total is not None) or g.links for g in full)
    return by_switch or (model is not None and counted_by_link)


def _severity(model: str | None, gpus: list[Gpu], few: list[Gpu], full: list[Gpu]) -> str:
    if any(g.nvlinks and g.nvlinks.via == "switch" for g in full):
        # Without names the odd one out may be another model that never had NVLink, unless all are of one architecture.
        same = len({g.compute_capability or "" for g in gpus}) == 1 and bool(gpus[0].compute_capability)
        return SEVERITY if model is not None or same else "warning"
    name = (model or "").upper()
    few_links = max(_active(g) for g in full) <= _BRIDGED_LINKS
    if "SXM" in name or not (few_links or any(word in name for word in _BRIDGED_NAMES)):
        return SEVERITY
    alone = len(few) == 1 and _active(few[0]) == 0 and len(gpus) % 2 == 1
    return "info" if alone else "warning"


def _finding(node: NodeTopology, model: str | None, few: list[Gpu], active: int, most: int, severity: str) -> Finding:
    ids = tuple(g.id for g in few)
    peers = f"its peers ({one_line(model)})" if model else "the other GPUs"
    count = f"only {active} active NVLinks" if active else "no active NVLink"
    return Finding(
        CODE,
        severity,
        ids,
        f"{names(ids)} {'has' if len(ids) == 1 else 'have'} {count}; {peers} have {most}",
        matters="a collective is as fast as its slowest member; with this GPU it may fall back to PCIe",
        because="inactive links: a fault of the GPU, the board or the fabric, or a bridge that is missing or "
        "not fully seated",
        remedy=f"nvidia-smi nvlink -s -i {ids[0].removeprefix('GPU')}; dmesg | grep -i xid; drain the node "
        "and reset the GPU",
        evidence=tuple(claimed(node, f"{g.id}: {active} active NVLinks") for g in few),
    )
