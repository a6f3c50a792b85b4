"""PCI functions and the bridges above them, out of `sys/bus/pci/devices`.

An entry is a link, and its target is the tree:
`sys/devices/pci0000:17/0000:17:00.0/0000:18:00.0/0000:19:08.0/0000:1b:00.0` = host bridge, root
port, switch upstream port, switch downstream port, device. The host bridge is the *last* element
`pciDDDD:BB`: below Hyper-V it follows `LNXSYSTM:00/…/VMBUS:01/<guid>`, on Arm `platform/…`, and a
VMD controller has a second one behind itself. An entry that is a plain folder (some captures) has
no known place; an element without an entry of its own is a bridge of which nothing else is known.

    >>> chain_of("sys/devices/LNXSYSTM:00/VMBUS:01/4f6f-guid/pci0001:00/0001:00:00.0")
    ('pci0001:00',)
    >>> chain_of("sys/devices/pci0000:17/0000:17:00.0/0000:18:00.0")
    ('pci0000:17', '0000:17:00.0')
    >>> generation("8 GT/s"), generation("16.0 GT/s PCIe"), generation("Unknown"), lanes("255")
    (3, 4, None, None)
"""

from __future__ import annotations

import re

from gputopo.parsers.sysfs_root.express import link_codes
from gputopo.parsers.sysfs_root.read import Tree, hexadecimal, integer, last_name, line
from gputopo.records import Pcie
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Said, Unknown

DEVICES = "sys/bus/pci/devices"
HOST_BRIDGE = re.compile(r"pci[0-9a-f]{4,}:[0-9a-f]{2}\Z")
_FUNCTION = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]\Z")
# PCIe base specification, "Link Capabilities": GT/s per lane of each generation.
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}
_LANES = frozenset((1, 2, 4, 8, 12, 16, 32))  # 0 = no link, 255 = the register reads all ones


class Function:
    """One entry of `sys/bus/pci/devices`; its files are read when asked for."""

    __slots__ = ("_chain", "_class", "_vendor", "address", "path", "tree")

    def __init__(self, tree: Tree, name: str, address: PciAddress) -> None:
        self.tree = tree
        self.address = address
        self.path = f"{DEVICES}/{name}"
        self._class: int | None = -1
        self._vendor: int | None = -1
        self._chain: Said[tuple[str, ...]] = None

    @property
    def label(self) -> str:
        return str(self.address)

    @property
    def class_code(self) -> int | None:
        """The upper 16 bits: 0x0302 of `0x030200`."""
        if self._class == -1:
            code = hexadecimal(self.tree, f"{self.path}/class")
            self._class = None if code is None or code > 0xFFFFFF else code >> 8
        return self._class

    @property
    def vendor(self) -> int | None:
        if self._vendor == -1:
            self._vendor = hexadecimal(self.tree, f"{self.path}/vendor")
        return self._vendor

    @property
    def device(self) -> int | None:
        return hexadecimal(self.tree, f"{self.path}/device")

    @property
    def driver(self) -> str | None:
        return last_name(self.tree.resolve(f"{self.path}/driver")) if self.has_link("driver") else None

    @property
    def numa_node(self) -> int | None:
        """The number in the file, -1 included; `None` where there is none."""
        return integer(line(self.tree, f"{self.path}/numa_node"))

    @property
    def chain(self) -> tuple[str, ...] | Unknown:
        """Labels of the bridges above it, host bridge first."""
        if self._chain is None:
            self._chain = self._find_chain()
        return self._chain

    def _find_chain(self) -> tuple[str, ...] | Unknown:
        if not self.tree.is_link(self.path):
            return Unknown(
                f"{self.path} is a plain folder: its place in the PCI tree was not captured",
                "a capture that keeps links: hwloc-gather-topology --io",
            )
        place = self.tree.resolve(self.path)
        if place is None:
            return Unknown(f"{self.path} points to a folder that was not captured")
        found = chain_of(place)
        return Unknown(f"{place} holds no host bridge (pciDDDD:BB)") if found is None else found

    def has_link(self, name: str) -> bool:
        return self.tree.is_link(f"{self.path}/{name}")

    def names(self, folder: str = "") -> tuple[str, ...]:
        return self.tree.names(f"{self.path}/{folder}" if folder else self.path) or ()

    @property
    def config(self) -> bytes:
        return self.tree.read(f"{self.path}/config") or b""

    def pcie(self) -> Pcie | None:
        """The link, from the kernel's files (4.13 and later) or from config space where root read it."""
        link = Pcie(
            generation(line(self.tree, f"{self.path}/current_link_speed")),
            lanes(line(self.tree, f"{self.path}/current_link_width")),
            generation(line(self.tree, f"{self.path}/max_link_speed")),
            lanes(line(self.tree, f"{self.path}/max_link_width")),
        )
        if link != Pcie():
            return link
        codes = link_codes(self.config)
        return None if codes is None else _link_of(codes)


def functions(tree: Tree) -> tuple[Function, ...] | None:
    """Every PCI function, by address; `None` where PCI was not captured or does not exist."""
    names = tree.names(DEVICES)
    if names is None:
        return None
    found = {address: name for name in names if (address := function_address(name)) is not None}
    return tuple(Function(tree, found[address], address) for address in sorted(found))


def function_address(name: str) -> PciAddress | None:
    """The address that a folder's name is: `0000:17:00.0`, `10000:e0:01.0`."""
    return PciAddress.parse(name) if _FUNCTION.match(name) else None


def function_in(place: str | None) -> PciAddress | None:
    """The last PCI function on a path, or `None`: a software device."""
    for element in reversed((place or "").split("/")):
        address = function_address(element)
        if address is not None:
            return address
    return None


def chain_of(place: str) -> tuple[str, ...] | None:
    """The labels between the last host bridge (included) and the device (not included)."""
    elements = place.split("/")
    for start in range(len(elements) - 1, -1, -1):
        if HOST_BRIDGE.match(elements[start]):
            above = (function_address(element) for element in elements[start + 1 : -1])
            return (elements[start], *(str(address) for address in above if address is not None))
    return None


def generation(speed: str | None) -> int | None:
    """`8 GT/s` (kernels to 5.6) and `8.0 GT/s PCIe` (later) → 3; "Unknown speed" → `None`."""
    words = (speed or "").split()
    if len(words) < 2 or words[1] != "GT/s":
        return None
    try:
        return _GENERATIONS.get(float(words[0]))
    except ValueError:
        return None


def _link_of(codes: tuple[int, int, int, int]) -> Pcie | None:
    """Registers → link; the speed codes of the specification are the generations."""
    speed, width, most_speed, most_width = codes
    link = Pcie(
        speed if 1 <= speed <= 7 else None,
        width if width in _LANES else None,
        most_speed if 1 <= most_speed <= 7 else None,
        most_width if most_width in _LANES else None,
    )
    return None if link == Pcie() else link


def lanes(width: str | None) -> int | None:
    """`16`, and the `x16` of old kernels."""
    found = integer((width or "").removeprefix("x"))
    return found if found in _LANES else None
