"""The PCI attributes of hwloc's objects: address, class, vendor, link.

>>> link_text = "15.753846"                    # GB/s, one direction; 0 = not known
>>> [(c.generation, c.width) for c in candidates(float(link_text))]
[(3, 16), (4, 8), (5, 4), (6, 2)]
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.parsers.xml_guard import Element
from gputopo.records import Pcie
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Said, Unknown

# GB/s of a lane after encoding: 8b/10b to generation 2, 128b/130b to 5; hwloc goes on with it for 6.
_LANE = {1: 0.25, 2: 0.5, 3: 8 / 8.125, 4: 16 / 8.125, 5: 32 / 8.125, 6: 64 / 8.125}
_WIDTHS = (1, 2, 4, 8, 16)
# Display controllers of BMCs and hypervisors (class 0x0300): Matrox, ASPEED, Cirrus, QEMU, VMware, virtio,
# Red Hat, Hyper-V.
_DISPLAYS = ("102b", "1a03", "1013", "1234", "15ad", "1af4", "1b36", "1414")


class Pci(NamedTuple):
    """`pci_busid="0000:34:00.0" pci_type="0302 [10de:1db8] [10de:131d] a1"`; vendor 0000 = not known."""

    address: PciAddress
    pci_class: str
    vendor: str | None
    device: str
    subtype: str | None

    @classmethod
    def of(cls, element: Element) -> Pci | None:
        address = PciAddress.parse(element.get("pci_busid") or "")
        if address is None:
            return None
        words = (element.get("pci_type") or "").lower().split()
        pci_class = words[0] if words else ""
        vendor, _, device = (words[1] if len(words) > 1 else "").strip("[]").partition(":")
        known = None if vendor in ("", "0000", "ffff") else vendor
        return cls(address, pci_class, known, device, element.get("subtype"))

    @property
    def is_accelerator(self) -> bool:
        if self.pci_class == "0300":
            return self.vendor not in _DISPLAYS
        return self.pci_class.startswith(("03", "12")) or self.pci_class == "0b40"

    @property
    def is_nvswitch(self) -> bool:
        """As hwloc's NVML backend marks the far ends of NVLinks (topology-nvml.c), or class 0x0680 of NVIDIA."""
        return self.subtype == "NVSwitch" or (self.pci_class == "0680" and self.vendor == "10de")


def host_bridge_label(element: Element) -> str | None:
    """`bridge_pci="0000:[2b-3b]"` → `pci0000:2b`, as the kernel names it."""
    domain, _, buses = (element.get("bridge_pci") or "").partition(":")
    first = buses.strip("[]").partition("-")[0]
    try:
        return f"pci{int(domain, 16):04x}:{int(first, 16):02x}"
    except ValueError:
        return None


def candidates(gigabytes: float) -> tuple[Pcie, ...]:
    """The generations and widths that give this rate (within the rounding of the text)."""
    return tuple(
        Pcie(generation, width)
        for generation, lane in _LANE.items()
        for width in _WIDTHS
        if abs(lane * width - gigabytes) < 0.001 * gigabytes
    )


def link_of(element: Element, by_nvml: bool = False) -> Said[Pcie]:
    """The link where the rate leaves one answer; hwloc writes lanes × rate of a lane alone.

    by_nvml: hwloc's NVML backend has overwritten the rate with the device's maximum and counts every
    generation from 3 on as 3 (topology-nvml.c).
    """
    text = element.get("pci_link_speed")
    try:
        rate = float(text or "0")
    except ValueError:
        return Unknown(f"pci_link_speed {text!r} is no number")
    if not 0 < rate < 1000:
        return None
    found = candidates(rate)
    if by_nvml and any(link.generation is not None and link.generation >= 3 for link in found):
        return Unknown(f"{text} GB/s by hwloc's NVML backend, which counts generations above 3 as 3")
    if len(found) == 1:
        return found[0]
    if not found:
        return Unknown(f"{text} GB/s is no PCIe rate")
    choices = " or ".join(f"PCIe {link.generation} x{link.width}" for link in found)
    return Unknown(f"{text} GB/s is {choices}", "lspci -vvv")
