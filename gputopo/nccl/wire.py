"""What a wire carries in one direction, GB/s: of no use as an expectation, but nothing measured exceeds it.

NCCL's own figures per link are lower (`versions.nvlink_gbps`) and are no ceiling: H100 counts 371 there, and 480 is
measured. PCIe: `terms.pcie_rate`.

    >>> nvlink_wire(Gpu("GPU0", compute_capability="9.0"))
    26.5625
    >>> nvlink_wire(Gpu("GPU0")) is None
    True
"""

from __future__ import annotations

from gputopo.nccl.chips import capability
from gputopo.terms.pcie_rate import pcie_gbytes
from gputopo.topology.node import Gpu

# One NVLink by compute capability: facts/nccl.md §2.1 for 7.0, 8.0, 9.0, 10.0; NVLink 1 and the bridges of Turing and
# GA102 from NVIDIA's data sheets (P100 160, RTX 2080 Ti 100, A40 112.5 GB/s both ways).
_NVLINK = {60: 20.0, 70: 25.0, 75: 25.0, 80: 25.0, 86: 14.0625, 90: 26.5625, 100: 53.125, 103: 53.125}
_AMPERE = 80  # by its architecture alone: 8.0 with 25 or 8.6 with 14 GB/s


def nvlink_wire(gpu: Gpu) -> float | None:
    """By the chip, else what the driver prints of the links; `None` where neither is known."""
    known = capability(gpu)
    if known is not None and (known.basis != "architecture" or known.sm != _AMPERE):
        found = _NVLINK.get(known.sm)
        if found is not None:
            return found
    printed = [link.gbps for link in gpu.links if link.gbps is not None and link.state in (None, "active")]
    return max(printed) if printed else None


def pcie_wire(gpu: Gpu) -> float | None:
    """The fastest generation of the link (an idle one is slow), the lanes it has now."""
    link = gpu.pcie
    if link is None:
        return None
    return pcie_gbytes(link.max_generation or link.generation, link.width or link.max_width)
