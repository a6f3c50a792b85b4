"""What a PCIe link can carry in one direction, by generation and lanes.

    >>> pcie_gbytes(4, 16), pcie_gbytes(5, 8), pcie_gbytes(None, 16)
    (31.508, 31.508, None)

Transfer rate less the encoding: 8b/10b to generation 2, 128b/130b to 5, 242 of 256 bytes of a FLIT in 6 (PCI Express
Base Specification 6.0, 4.2). What packets cost comes on top; nobody measures more than this.
"""

from __future__ import annotations

_GBYTES_A_LANE = {1: 0.25, 2: 0.5, 3: 0.98462, 4: 1.96923, 5: 3.93846, 6: 7.5625}


def pcie_gbytes(generation: int | None, lanes: int | None) -> float | None:
    """GB/s; None where a part is not known."""
    rate = _GBYTES_A_LANE.get(generation or 0)
    return round(rate * lanes, 3) if rate is not None and lanes else None
