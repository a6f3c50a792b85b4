r"""What `-v` to `-vvv` print below a function: link, NUMA node, ports, access control, virtual functions.

    >>> text = '''LnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
    ... LnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)'''
    >>> link(text.split("\n")[0], text.split("\n")[1])
    Pcie(generation=4, width=8, max_generation=5, max_width=16)
    >>> flags("SrcValid+ TransBlk- ReqRedir+ CmpltRedir-")
    ('SrcValid+', 'ReqRedir+')

Only root reads past byte 64 of config space; others get `Capabilities: <access denied>` there.
"""

from __future__ import annotations

import re

from gputopo.parsers.lspci_vvv.listing import Function
from gputopo.records import Pcie
from gputopo.terms.pci_address import PciAddress

_LINK_CAP = re.compile(r"^[^\w\n]*LnkCap:[^\r\n]*", re.MULTILINE)
_LINK_NOW = re.compile(r"^[^\w\n]*LnkSta:[^\r\n]*", re.MULTILINE)
_SPEED, _WIDTH = re.compile(r"Speed ([\d.]+) ?GT/s"), re.compile(r"Width x(\d+)")
_NUMA = re.compile(r"\bNUMA node:? (\d{1,5})\b")
_GROUP = re.compile(r"\bIOMMU group:? ([\w-]+)")
_DRIVER = re.compile(r"^[^\w\n]*Kernel driver in use: (\S+)", re.MULTILINE)
_SLOT = re.compile(r"^[^\w\n]*Physical Slot: ([^\r\n]+)", re.MULTILINE)
_BUS = re.compile(r"^[^\w\n]*Bus: primary=([0-9a-f]{2}), secondary=([0-9a-f]{2})", re.MULTILINE)
_ACS = re.compile(r"^[^\w\n]*ACSCtl:[ \t]*([^\r\n]*)", re.MULTILINE)
_ATS = re.compile(r"^[^\w\n]*ATSCtl:[ \t]*(Enable[+-])", re.MULTILINE)
_PORT = re.compile(r"\bExpress \(v\d\) ([A-Z][A-Za-z -]*?)(?: \(|,|$)", re.MULTILINE)
_VFS = re.compile(r"Number of VFs: (\d+)")
_VF_PLACE = re.compile(r"VF offset: (\d+), stride: (\d+)")
# PCIe base specification, "Link Capabilities": GT/s per lane of each generation.
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}
_LANES = frozenset((1, 2, 4, 8, 12, 16, 32))
DENIED = "<access denied>"


def pcie(function: Function) -> Pcie | None:
    """The link; `None` where nothing is printed of it, or more than one function can have."""
    found = link(function.only(_LINK_CAP) or "", function.only(_LINK_NOW) or "")
    return None if found == Pcie() else found


def link(most: str, now: str) -> Pcie:
    return Pcie(_generation(now), _lanes(now), _generation(most), _lanes(most))


def _generation(line: str) -> int | None:
    match = _SPEED.search(line)
    try:
        return _GENERATIONS.get(float(match[1])) if match else None
    except ValueError:
        return None


def _lanes(line: str) -> int | None:
    match = _WIDTH.search(line)
    width = int(match[1]) if match and len(match[1]) < 4 else None
    return width if width in _LANES else None


def downgraded(function: Function) -> str | None:
    """The status line where lspci itself calls it downgraded; an idle GPU's speed is."""
    line = function.only(_LINK_NOW)
    return line.strip() if line and "(downgraded)" in line else None


def numa_nodes(function: Function) -> tuple[int, ...] | None:
    """lspci prints the node only where the kernel knows it."""
    number = function.first(_NUMA)
    return None if number is None else (int(number),)


def iommu_group(function: Function) -> str | None:
    return function.first(_GROUP)


def driver(function: Function) -> str | None:
    return function.first(_DRIVER)


def slot(function: Function) -> str | None:
    text = function.first(_SLOT)
    return text.strip() if text else None


def secondary(function: Function) -> tuple[int, int] | None:
    """The bus behind a bridge; bus 0 there means that the bridge is not set up."""
    for body in function.bodies:
        match = _BUS.search(body)
        if match is not None:
            number = int(match[2], 16)
            return (function.address.domain, number) if number else None
    return None


def port(function: Function) -> str | None:
    """`Root Port`, `Upstream Port`, `Downstream Port`, `Endpoint` … of the PCI Express capability."""
    return function.first(_PORT)


def acs(function: Function) -> str | None:
    """The access control word as printed."""
    text = function.only(_ACS)
    return text.strip() if text else None


def ats(function: Function) -> str | None:
    return function.only(_ATS)


def flags(control: str) -> tuple[str, ...]:
    """Those of the ACS flags that are on."""
    return tuple(word for word in control.split() if word.endswith("+"))


def virtual_functions(function: Function) -> tuple[PciAddress, ...]:
    """Addresses of its virtual functions: first offset and stride count in routing ids (SR-IOV 1.1)."""
    count, place = function.only(_VFS), None
    for body in function.bodies:
        place = place or _VF_PLACE.search(body)
    if count is None or place is None or len(count) > 5 or max(map(len, place.groups())) > 5:
        return ()
    own = function.address
    start = (own.bus << 8) + (own.device << 3) + own.function + int(place[1])
    ids = (start + number * int(place[2]) for number in range(min(int(count), 65_535)))
    return tuple(PciAddress(own.domain, id >> 8, id >> 3 & 0x1F, id & 7) for id in ids if id < 1 << 16)
