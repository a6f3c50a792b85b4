"""lstopo's XML and the raw files of a capture, read with the standard library alone.

Nothing of gputopo's readers is used, so that what they say can be held against it.
"""

from __future__ import annotations

import re
import tarfile
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from gputopo.terms.cpu_set import CpuSet

_FUNCTION = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_HOST = re.compile(r"pci[0-9a-f]{4,}:[0-9a-f]{2}\Z")


class Capture:
    """The raw files of a capture: text by path below the root, link targets, folders."""

    def __init__(self, archive: Path) -> None:
        self.texts: dict[str, str] = {}
        self.configs: dict[str, bytes] = {}  # config spaces, the part that everybody may read
        self.links: dict[str, str] = {}
        self.names: set[str] = set()
        with tarfile.open(archive) as tar:
            for member in tar:
                place = member.name.removeprefix("./").partition("/")[2].removeprefix("fsroot/")
                self.names.add(place)
                if member.issym():
                    self.links[place] = member.linkname
                elif member.isfile():
                    data = tar.extractfile(member)
                    assert data is not None
                    content = data.read(1 << 20)
                    if place.endswith("/config"):
                        self.configs[place] = content[:64]
                    self.texts[place] = content.split(b"\0")[0].decode("utf-8", "replace").strip()

    def node_cpus(self, number: int) -> CpuSet | None:
        folder = f"sys/devices/system/node/node{number}"
        mask = self.texts.get(f"{folder}/cpumap")
        if mask:
            return CpuSet.parse_mask(mask)
        listed = self.texts.get(f"{folder}/cpulist")
        return None if listed is None else CpuSet.parse_list(listed)

    def nodes(self) -> set[int]:
        """The nodes that are online; where no list was captured, those that have a folder."""
        online = CpuSet.parse_list(self.texts.get("sys/devices/system/node/online", ""))
        found = (re.match(r"sys/devices/system/node/node(\d+)(?:/|\Z)", name) for name in self.names)
        return set(online or ()) or {int(match[1]) for match in found if match}

    def packages(self) -> set[int]:
        ids = re.compile(r"sys/devices/system/cpu/cpu\d+/topology/physical_package_id\Z")
        return {int(text) for place, text in self.texts.items() if ids.match(place) and text != "-1"}

    def gpu_memory(self) -> set[int]:
        return {
            int(text.split()[1])
            for place, text in self.texts.items()
            if place.startswith("proc/driver/nvidia/gpus/") and place.endswith("/numa_status")
        }

    def device(self, address: str, name: str) -> str | None:
        return self.texts.get(self.place(address, name))

    def place(self, address: str, name: str) -> str:
        """Where a file of a function is."""
        entry = f"sys/bus/pci/devices/{address}"
        target = self.links.get(entry)
        folder = entry if target is None else "sys/" + target.lstrip("./").removeprefix("sys/")
        return f"{folder}/{name}"

    def chain(self, address: str) -> tuple[str, ...] | None:
        """The bridges above, from the text of the link; `None` where the entry is a plain folder."""
        target = self.links.get(f"sys/bus/pci/devices/{address}")
        if target is None:
            return None
        elements = target.split("/")
        start = max(place for place, element in enumerate(elements) if _HOST.match(element))
        return (elements[start], *(element for element in elements[start + 1 : -1] if _FUNCTION.match(element)))

    def local_cpus(self, address: str) -> CpuSet | None:
        mask = self.device(address, "local_cpus")
        if mask:
            return CpuSet.parse_mask(mask)
        listed = self.device(address, "local_cpulist")
        return CpuSet.parse_list(listed) if listed else None


class Function(NamedTuple):
    address: str
    class_code: str
    vendor: str
    chain: tuple[str, ...]
    near: CpuSet  # of the nearest ancestor that has CPUs
    gb_per_s: float


def recorded(root: ElementTree.Element) -> dict[str, Any]:
    """lstopo's XML by type of object; of what is not compared, how often it is there."""
    machine = root.find("object")
    assert machine is not None
    names = ("complete_cpuset", "cpuset", "allowed_cpuset")
    found: dict[str, Any] = {"Machine": {name: _mask(machine.attrib[name]) for name in names}}
    found |= {"Package": {}, "NUMANode": {}, "Bridge": {}, "PCIDev": {}, "NUMALatency": {}}
    _record(machine, (), found["Machine"]["complete_cpuset"], found)
    for element in root.iter():
        if element.tag == "distances2":
            found[element.attrib["name"]] = _distances(element)
        elif element.tag not in ("object", "topology", "indexes", "u64values", "memattr_value"):
            found[element.tag] = found.get(element.tag, 0) + 1
    return found


def _record(element: ElementTree.Element, chain: tuple[str, ...], near: CpuSet, found: dict[str, Any]) -> None:
    said, kind = element.attrib, element.attrib["type"]
    if "complete_cpuset" in said:
        near = _mask(said["complete_cpuset"])
    if kind == "Package":
        found[kind][int(said["os_index"])] = near
    elif kind == "NUMANode":
        memory = said.get("local_memory")
        found[kind][int(said["os_index"])] = (near, None if memory is None else int(memory))
    elif kind == "Bridge":
        chain = (*chain, _bridge(said, found[kind]))
    elif kind == "PCIDev":
        class_code, ids = said["pci_type"].split()[:2]
        speed = float(said["pci_link_speed"])
        found[kind][said["pci_busid"]] = Function(said["pci_busid"], class_code, ids[1:5], chain, near, speed)
    elif kind != "Machine":
        found[kind] = found.get(kind, 0) + 1
    for child in element.findall("object"):
        _record(child, chain, near, found)


def _bridge(said: dict[str, str], bridges: dict[str, float]) -> str:
    """The label of a bridge in a chain; host bridges have no address and no link."""
    if said["bridge_type"].startswith("0-"):
        domain, buses = said["bridge_pci"].split(":")
        return f"pci{domain}:{buses[1:3]}"
    bridges[said["pci_busid"]] = float(said["pci_link_speed"])
    return said["pci_busid"]


class Lstopo:
    """The recorded answer, with its types."""

    def __init__(self, expected: dict[str, Any]) -> None:
        self.cpus: CpuSet = expected["Machine"]["complete_cpuset"]
        self.usable: CpuSet = expected["Machine"]["cpuset"]
        self.allowed: CpuSet = expected["Machine"]["allowed_cpuset"]
        self.packages: dict[int, CpuSet] = expected["Package"]
        self.nodes: dict[int, tuple[CpuSet, int | None]] = expected["NUMANode"]
        self.bridges: dict[str, float] = expected["Bridge"]
        self.functions: dict[str, Function] = expected["PCIDev"]
        self.distances: dict[int, dict[int, int]] = expected["NUMALatency"]


def _mask(text: str) -> CpuSet:
    found = CpuSet.parse_mask(text)
    assert found is not None, text
    return found


def _distances(element: ElementTree.Element) -> dict[int, dict[int, int]]:
    numbers = [int(word) for part in element.findall("indexes") for word in (part.text or "").split()]
    values = [int(word) for part in element.findall("u64values") for word in (part.text or "").split()]
    size = len(numbers)
    rows = [values[start : start + size] for start in range(0, size * size, size)]
    return {number: dict(zip(numbers, row, strict=True)) for number, row in zip(numbers, rows, strict=True)}
