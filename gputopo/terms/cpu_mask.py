"""A CPU mask as Linux and NCCL print it: hexadecimal words of 32 bits, the highest first.

    >>> str(cpus_of("ff,00000000")), str(cpus_of("1")), str(cpus_of("no mask"))
    ('32-39', '0', '')
"""

from __future__ import annotations

from gputopo.terms.cpu_set import CpuSet

_DIGITS_MOST = 4096


def cpus_of(mask: str) -> CpuSet:
    """Empty for what is no mask."""
    digits = "".join(part.rjust(8, "0") for part in mask.split(","))
    try:
        return CpuSet(int(digits, 16)) if 0 < len(digits) <= _DIGITS_MOST else CpuSet(0)
    except ValueError:
        return CpuSet(0)
