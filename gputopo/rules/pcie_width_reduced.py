"""GT112 pcie-width-reduced

What it says
    A GPU's PCIe link runs with fewer lanes than the GPU and its slot both allow.

Why it matters
    Host-to-GPU bandwidth falls with the lanes: x8 is half of x16. NVLink is not affected.

What to do
    Reseat the card, check riser and cable, look for PCIe errors in `dmesg`; compare with
    `lspci -vv -s ADDRESS` (LnkSta against LnkCap).

When it is silent
    The width is min(GPU, slot), or unknown. The speed is never judged: idle GPUs lower it to save
    power, the width stays. Virtual machines and GPUs with a C2C link to the CPU report widths that mean
    nothing. Where the slot's own width is unknown it is a warning: the slot may have fewer lanes.

Example
    >>> from gputopo.topology.node import Bridge, Gpu, NodeTopology, Pcie
    >>> gpu = Gpu("GPU5", pci="0000:a8:00.0", parent="0000:a7:00.0", pcie=Pcie(5, 8, 5, 16))
    >>> slot = Bridge("0000:a7:00.0", None, "bridge", pcie=Pcie(5, 8, 5, 16))
    >>> [finding] = check(NodeTopology(gpus=(gpu,), bridges=(slot,)))
    >>> finding.severity, finding.message
    ('error', 'GPU5 runs PCIe x8; GPU and slot both allow x16')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import claimed
from gputopo.rules.wording import names
from gputopo.topology.node import Gpu, NodeTopology

CODE = "GT112"
SEVERITY = "error"

_WIDTHS = (1, 2, 4, 8, 12, 16, 32)  # others (0, 63, 255) are how a driver says that it does not know


def check(node: NodeTopology) -> Iterator[Finding]:
    if node.virtual:
        return
    slots = {b.id: b.pcie.max_width for b in node.bridges if b.pcie}
    alike: dict[tuple[int, int, bool], list[Gpu]] = {}
    for gpu in node.gpus:
        if gpu.pcie is None or gpu.c2c:
            continue
        now, own = gpu.pcie.width, gpu.pcie.max_width
        if now not in _WIDTHS or own not in _WIDTHS:
            continue
        slot = slots.get(gpu.parent or "")
        known = slot in _WIDTHS
        most = min(own, slot) if slot is not None and known else own
        if now < most:
            alike.setdefault((now, most, known), []).append(gpu)
    for (now, most, known), gpus in sorted(alike.items(), key=lambda item: item[0]):
        yield _finding(node, gpus, now, most, known)


def needs(node: NodeTopology) -> str | None:
    if not node.gpus or node.virtual or any(g.pcie and g.pcie.width for g in node.gpus):
        return None
    return "PCIe width of the GPUs (nvidia-smi -q -x, NVML or sysfs)"


def _finding(node: NodeTopology, gpus: list[Gpu], now: int, most: int, slot_known: bool) -> Finding:
    ids = tuple(g.id for g in gpus)
    runs = "runs" if len(ids) == 1 else "run"
    both = "GPU and slot both allow" if slot_known else "the GPU allows"
    unsure = "" if slot_known else " (lanes of the slot unknown)"
    return Finding(
        CODE,
        SEVERITY if slot_known else "warning",
        ids,
        f"{names(ids)} {runs} PCIe x{now}; {both} x{most}{unsure}",
        matters=f"host-GPU bandwidth is {now}/{most} of what it could be; NVLink is not affected",
        because="the link trained with fewer lanes: contact, riser or cable; width is not power-managed"
        if slot_known
        else "a slot with fewer lanes, or a link that trained badly; width is not power-managed",
        remedy=f"lspci -vv -s {gpus[0].pci or 'ADDRESS'} (LnkSta against LnkCap); reseat the card, check "
        "riser and cable",
        evidence=tuple(claimed(node, f"{g.id}: width x{now}, at most x{most}") for g in gpus),
    )
