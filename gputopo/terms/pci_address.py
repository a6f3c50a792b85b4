"""PCI addresses: `0000:0f:00.0`, in every spelling the sources use.

    >>> str(PciAddress.parse("00000000:0F:00.0"))       # NVML, nvidia-smi: 8 digits, upper case
    '0000:0f:00.0'
    >>> str(PciAddress.parse("0f:00.0"))                 # lspci on a machine with one domain
    '0000:0f:00.0'
    >>> str(PciAddress.parse("10000:00:04.0"))           # VMD and VM domains have five digits and more
    '10000:00:04.0'
    >>> PciAddress.parse("0000:0f:00.1").card            # NCCL folds the functions of one card
    '0000:0f:00'
    >>> PciAddress.parse("FFFFFFFF:FF:FF.0") is None     # the driver's way of saying "no address"
    True
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SPELLING = re.compile(
    r"\s*(?:(?:0x)?([0-9a-fA-F]{1,8}):)?([0-9a-fA-F]{1,4}):([0-9a-fA-F]{1,2})(?:\.([0-7]))?\s*\Z"
)


class PciAddress(NamedTuple):
    """Domain (PCI segment), bus, device, function. Orders as the kernel lists them."""

    domain: int
    bus: int
    device: int
    function: int

    @classmethod
    def parse(cls, text: str) -> PciAddress | None:
        """The address a text spells, or `None` where it spells none.

        A missing domain is domain 0: lspci leaves it out exactly then. All-ones and the odd
        `fffffff:ffff:ff` of NCCL mean "not visible" (NCCL src/graph/xml.cc), so they are `None`.
        """
        match = _SPELLING.match(text)
        if match is None:
            return None
        domain, bus, device, function = match.groups()
        if int(bus, 16) > 0xFF or int(device, 16) > 0x1F:
            return None  # ffff:ff:0N.0 (made-up switches of vendor files) is kept as text by the reader
        return cls(int(domain or "0", 16), int(bus, 16), int(device, 16), int(function or "0"))

    @property
    def card(self) -> str:
        """The address without its function: what NCCL calls a NIC's bus id."""
        return f"{self.domain:04x}:{self.bus:02x}:{self.device:02x}"

    def __str__(self) -> str:
        return f"{self.domain:04x}:{self.bus:02x}:{self.device:02x}.{self.function}"
