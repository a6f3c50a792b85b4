"""The `<pci>` elements of one host, each with what stands above it and what it can be."""

from __future__ import annotations

from typing import NamedTuple

from gputopo.parsers.xml_guard import Element
from gputopo.records import Pcie
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Said, Unknown

# GT/s of one lane → generation (PCI Express Base Specification). NCCL's own table is in lint.py.
_GENERATION = {"2.5": 1, "5": 2, "8": 3, "16": 4, "32": 5, "64": 6, "128": 7}
_DIGITS = 12


class Place(NamedTuple):
    """A `<pci>` element. A damaged file lets one be a NIC and a switch, so these are no alternatives."""

    element: Element
    busid: str
    pci: PciAddress | None
    numaid: str | None
    chain: tuple[str, ...]
    is_gpu: bool = False
    is_nic: bool = False
    is_switch: bool = False
    is_nvswitch: bool = False
    is_unclassified: bool = False
    is_left_out: bool = False  # class of a GPU, no <gpu>, in a file whose GPUs have one


class Host:
    """The `<cpu>` elements of one host_hash."""

    def __init__(self, root: Element, cpus: list[Element]) -> None:
        self.root = root
        self.cpus = cpus
        self.line = cpus[0].line if cpus else root.line
        inside = [element for cpu in cpus for element in cpu.walk()]
        self.has_gpu_elements = any(element.tag == "gpu" for element in inside)
        self.is_rccl = root.get("version") == "2" or any(
            element.tag == "xgmi" or "gcn" in element.attributes for element in inside
        )
        self.places: list[Place] = []
        for cpu in cpus:
            self._add(cpu, cpu.get("numaid"), (f"cpu:{cpu.get('numaid')}",))

    def _add(self, above: Element, numaid: str | None, chain: tuple[str, ...]) -> None:
        for element in above.named("pci"):
            place = self._place(element, numaid, chain)
            self.places.append(place)
            self._add(element, numaid, (*chain, place.busid))

    def _place(self, element: Element, numaid: str | None, chain: tuple[str, ...]) -> Place:
        text = (element.get("busid") or f"line {element.line}").strip().lower()
        pci = PciAddress.parse(text)
        place = Place(element, str(pci) if pci else text, pci, numaid, chain)
        pci_class = class_of(element)
        has_gpu, has_nic = bool(element.named("gpu")), bool(element.named("nic"))
        has_children = bool(element.named("pci"))
        gpu_class = pci_class is not None and pci_class.startswith(("03", "12"))
        is_nic = has_nic or (pci_class is not None and pci_class.startswith("02"))
        is_gpu = has_gpu or (gpu_class and not self.has_gpu_elements and not has_children)
        is_nvswitch = pci_class == "068000" and not has_children and not has_nic
        other = pci_class is not None and not gpu_class and not is_nic and not is_nvswitch and not has_gpu
        return place._replace(
            is_gpu=is_gpu,
            is_nic=is_nic,
            is_switch=has_children or other,
            is_nvswitch=is_nvswitch,
            is_unclassified=pci_class is None and not (has_gpu or has_nic or has_children),
            is_left_out=gpu_class and not is_gpu and not has_children and not has_nic,
        )


def class_of(element: Element, name: str = "class") -> str | None:
    """The six digits of a PCI class (`0x030200` → `030200`), or `None`."""
    text = (element.get(name) or "").strip().lower().removeprefix("0x")
    return text or None


def number(element: Element, name: str) -> int | None:
    """An attribute as a whole number, or `None`: absent, none, or longer than any that is written."""
    text = element.get(name) or ""
    if len(text) > _DIGITS:
        return None
    try:
        return int(text)
    except ValueError:
        return None


def numa_nodes(numaid: str | None) -> Said[tuple[int, ...]]:
    if numaid is not None and numaid.isdecimal() and len(numaid) <= _DIGITS:
        return (int(numaid),)
    if numaid == "-1":
        return Unknown("numaid -1: NCCL could not read the NUMA node (virtual machine, or no /sys)", "host's sysfs")
    return Unknown("<cpu> without numaid" if numaid is None else f"numaid {numaid!r} is no number")


def generation(speed: str) -> int | None:
    """`32.0 GT/s PCIe`, `32 GT/s` → 5."""
    rate, _, unit = speed.strip().partition(" ")
    return _GENERATION.get(rate.removesuffix(".0")) if unit.startswith("GT/s") else None


def pcie(element: Element) -> Said[Pcie]:
    """The link as the file says it: the lower end's maximum in old dumps, the current one in new dumps."""
    speed, width = element.get("link_speed"), element.get("link_width")
    if speed is None and width is None:
        return None
    lanes = number(element, "link_width")
    link = Pcie(generation(speed or ""), lanes if lanes and lanes > 0 else None)
    if link == Pcie():
        return Unknown(f"link_speed {speed!r}, link_width {width!r}")
    return link
