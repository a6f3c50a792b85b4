"""Values of a topology file as NCCL reads them: C's strtol, bus ids as numbers, texts compared by prefix.

Source: NVIDIA/nccl src/graph/xml.h (kvConvertToInt), topo.cc (the tables), src/misc/utils.cc (busIdToInt64).

    >>> whole("0x1f"), whole("12 lanes"), whole("none"), whole(None, 7)
    (31, 12, 0, 7)
    >>> hex(bus_number("0000:0f:00.0")), hex(bus_number("fffffff:ffff:ff"))
    ('0xf000', '0xfffffffffffff')
    >>> lane_speed("32.0 GT/s PCIe"), lane_speed("32 GT/s"), lane_speed("64 GT/s"), lane_speed("")
    (240, 240, 60, 60)
    >>> device_kind("0x030200"), device_kind("0x0c0330")
    ('gpu', 'switch')
"""

from __future__ import annotations

import re

from gputopo.records import NcclElement

_NUMBER = re.compile(r"\s*([+-]?)(?:0[xX]([0-9a-fA-F]+)|(0[0-7]*)|([1-9][0-9]*))")
_NOT_HEX = re.compile(r"[^0-9a-fA-F.:]")
_LONGEST = 20  # digits: longer is no number of a machine
_KINDS = (
    ("0x060400", "switch"),
    ("0x080100", "switch"),  # ConnectX-8 data direct
    ("0x068000", "nvswitch"),
    ("0x068001", "cpu"),  # POWER's NVLink bridge
    ("0x03", "gpu"),
    ("0x02", "nic"),
)
# 100 Mb/s of one lane.
_LANE = (
    ("2.5 GT/s", 15),
    ("5 GT/s", 30),
    ("8 GT/s", 60),
    ("16 GT/s", 120),
    ("32 GT/s", 240),
    ("5.0 GT/s PCIe", 30),
    ("8.0 GT/s PCIe", 60),
    ("16.0 GT/s PCIe", 120),
    ("32.0 GT/s PCIe", 240),
    ("64.0 GT/s PCIe", 480),
)
_GEN3 = 60


class RefusalError(Exception):
    """NCCL stops here; never leaves nccl/. `code` is its ncclResult_t: 3 internal, 4 argument, 5 usage."""

    def __init__(self, reason: str, line: int | None = None, code: int = 3) -> None:
        super().__init__(reason, line, code)
        self.reason = reason
        self.line = line
        self.code = code


def whole(text: str | None, default: int = 0) -> int:
    """As `strtol(text, NULL, 0)`: 0x is hexadecimal, a leading 0 octal, what follows is passed over, no number is 0."""
    if text is None:
        return default
    found = _NUMBER.match(text)
    if found is None or len(found[0]) > _LONGEST:
        return 0
    sign, base16, base8, base10 = found.groups()
    value = int(base16, 16) if base16 else int(base8, 8) if base8 else int(base10)
    return -value if sign == "-" else value


def hexadecimal(text: str) -> int:
    """As `strtoull(text, NULL, 16)`."""
    found = re.match(r"\s*(?:0[xX])?([0-9a-fA-F]{1,16})", text)
    return int(found[1], 16) if found else 0


def needed(element: NcclElement, name: str) -> str:
    """An attribute that NCCL does not go on without."""
    value = element.get(name)
    if value is None:
        raise RefusalError(f"Attribute {name} of node {element.tag} not found", element.line)
    return value


def bus_number(busid: str) -> int:
    """A bus id as one hexadecimal number, `0000:0f:00.0` → 0xf000; the rest after a stranger's letter is lost."""
    digits = _NOT_HEX.split(busid, maxsplit=1)[0].replace(".", "").replace(":", "")[:16]
    return int(digits, 16) & ((1 << 56) - 1) if digits else 0


def device_kind(pci_class: str) -> str:
    """switch · nvswitch · cpu · gpu · nic; what NCCL does not know is a switch."""
    return next((kind for text, kind in _KINDS if pci_class.startswith(text)), "switch")


def lane_speed(text: str) -> int:
    """100 Mb/s of one lane; what NCCL does not know is Gen3."""
    return next((speed for known, speed in _LANE if text.startswith(known)), _GEN3)


def pcie_gbps(element: NcclElement) -> float:
    """Of a `<pci>`, GB/s in one direction."""
    width = whole(needed(element, "link_width")) or 16
    return width * lane_speed(needed(element, "link_speed")) / 80


def device_number(element: NcclElement) -> int:
    """Vendor, device and both of the subsystem in one number, as NCCL knows Broadcom's switches."""
    names = ("vendor", "device", "subsystem_vendor", "subsystem_device")
    return sum(whole(element.get(name)) << shift for name, shift in zip(names, (48, 32, 16, 0)))
