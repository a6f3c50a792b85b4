"""Packages, NUMA nodes and the system, out of hwloc's tree of objects."""

from __future__ import annotations

from typing import NamedTuple

from gputopo.parsers.hwloc_xml.distances import latencies
from gputopo.parsers.xml_guard import Element
from gputopo.records import Assumption, NumaNodeRecord, PackageRecord, SystemRecord
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.unknown import Said, Unknown

_PACKAGES = ("Package", "Socket")  # Socket until hwloc 1.10
# Memory that is a NUMA node and never has CPUs (hwloc doc/hwloc.doxy, "Memory Tiers"; topology-linux.c).
_MEMORY_ONLY = ("NVM", "SPM", "CXL-DRAM", "CXL-NVM", "CXL-SPM")
_GPU_MEMORY = "GPUMemory"
_VIRTUAL_MAKERS = ("QEMU", "VMware, Inc.", "Xen", "innotek GmbH", "oVirt", "Bochs")
_VIRTUAL_WORDS = {"KVM", "HVM", "VirtualBox", "Virtual"}  # "CloudStack KVM Hypervisor", "Virtual Machine"


class NumaNode(NamedTuple):
    """A NUMANode object. `near`: the CPUs hwloc writes; `own`: those of the node itself, where certain."""

    number: int
    element: Element
    near: CpuSet
    own: CpuSet | None
    shared_with: tuple[int, ...] = ()


class Machine:
    """What hwloc's tree says of CPUs and memory."""

    def __init__(self, root: Element) -> None:
        self.root = root
        self.version = root.get("version") or "1.0"
        machines = [child for child in root.children if child.tag == "object"]
        self.top = machines[0] if machines else root
        objects = [element for element in root.walk() if element.tag == "object"]
        self.objects = objects
        self.infos = infos_of(root) | infos_of(self.top)  # 3.0 writes them below <topology>
        self._packages = [(n, e) for e in objects if e.get("type") in _PACKAGES if (n := os_index(e)) is not None]
        self.nodes = _nodes([element for element in objects if element.get("type") == "NUMANode"])

    def system(self) -> SystemRecord:
        infos = self.infos
        maker, product = infos.get("DMISysVendor", "").strip(), infos.get("DMIProductName", "").strip()
        virtual = maker in _VIRTUAL_MAKERS or bool(_VIRTUAL_WORDS & set(product.split()))
        return SystemRecord(
            name=infos.get("HostName") or None,
            product=product or None,
            kernel=infos.get("OSRelease") or None,
            virtual=True if virtual else None,
            allowed_cpus=bitmap(self.top, "allowed_cpuset"),
        )

    def packages(self) -> tuple[PackageRecord, ...]:
        records = []
        for number, element in self._packages:
            cpus = cpus_of(element)
            infos = self.infos | infos_of(element)
            records.append(
                PackageRecord(
                    number,
                    cpus=cpus,
                    numa_nodes=self.nodes_of(cpus) if cpus is not None else None,
                    vendor=infos.get("CPUVendor"),
                    family=_number(infos.get("CPUFamilyNumber")),
                    model=_number(infos.get("CPUModelNumber")),
                    arch=infos.get("Architecture"),
                )
            )
        return tuple(records)

    def numa_nodes(self) -> tuple[NumaNodeRecord, ...]:
        distances = latencies(self.root, [node.element for node in self.nodes])
        return tuple(self._numa_node(node, distances) for node in self.nodes)

    def assumptions(self) -> tuple[Assumption, ...]:
        """Which of several nodes with the same CPUs has them."""
        supposed = [node.number for node in self.nodes if node.shared_with and node.own is not None]
        if not supposed:
            return ()
        text = (
            f"lstopo writes the CPUs near them to NUMA nodes {', '.join(map(str, supposed))}; they have none of their "
            "own: a node with a lower number has these CPUs, and Linux numbers nodes with CPUs first"
        )
        return (Assumption(tuple(f"NUMA{number}" for number in supposed), text),)

    def _numa_node(self, node: NumaNode, distances: dict[int, dict[int, int]]) -> NumaNodeRecord:
        subtype = node.element.get("subtype")
        if node.own is None:
            cpus: Said[CpuSet] = Unknown(_shared(node), "sysfs")
            kind: Said[str] = None
            packages: Said[tuple[int, ...]] = None
        else:
            cpus = node.own
            kind = "cpu" if node.own else ("gpu-memory" if subtype == _GPU_MEMORY else "memory")
            packages = self._packages_of(node.own)
        return NumaNodeRecord(
            node.number,
            kind=kind,
            cpus=cpus,
            packages=packages,
            memory_bytes=_number(node.element.get("local_memory")),
            distances=distances.get(node.number),
        )

    def _packages_of(self, cpus: CpuSet) -> tuple[int, ...] | None:
        if not self._packages:
            return None
        return tuple(number for number, element in self._packages if (cpus_of(element) or CpuSet()) & cpus)

    def nodes_of(self, cpus: CpuSet) -> Said[tuple[int, ...]]:
        """The NUMA nodes whose own CPUs are among these."""
        unsure = [node for node in self.nodes if node.own is None and node.near & cpus]
        if unsure:
            return Unknown(_shared(unsure[0]), "sysfs")
        found = tuple(node.number for node in self.nodes if node.own is not None and node.own & cpus)
        return found or Unknown("no NUMA node of the file has these CPUs")

    def locality(self, holder: Element | None) -> Said[tuple[int, ...]]:
        """NUMA nodes of a device below this object, the nearest one with a cpuset."""
        if holder is None or not self.nodes:
            return None
        cpus = cpus_of(holder)
        if not cpus:
            return Unknown("the object above the device has no CPUs")
        nodes = self.nodes_of(cpus)
        if holder is self.top and isinstance(nodes, tuple) and len([n for n in self.nodes if n.own]) > 1:
            return Unknown("the device hangs on the whole machine, not on a NUMA node")
        return nodes


def _nodes(elements: list[Element]) -> tuple[NumaNode, ...]:
    """A CPU has one node; hwloc gives a node without CPUs those near it. Where sets overlap, whose are they?

    Of nodes with the same CPUs the one with the lowest number has them: Linux numbers nodes in the order of ACPI's
    SRAT and reads the entries of processors before those of memory (drivers/acpi/numa/srat.c, acpi_numa_init). That
    is an assumption (`shared_with`, `own` empty). Sets that overlap in part are not told apart (`own` is `None`).
    """
    found: dict[int, NumaNode] = {}
    for element in elements:
        number, near = os_index(element), cpus_of(element)
        if number is None or near is None or number in found:
            continue
        memory_only = element.get("subtype") in (*_MEMORY_ONLY, _GPU_MEMORY)
        found[number] = NumaNode(number, element, near, CpuSet() if memory_only else near)
    claims = [node for _, node in sorted(found.items()) if node.own]
    unsure = _overlapping_in_part(claims)
    taken = CpuSet()
    for node in claims:
        others = _overlapping(claims, node)
        if node.number in unsure:
            found[node.number] = node._replace(own=None, shared_with=others)
        elif node.near & taken:
            found[node.number] = node._replace(own=CpuSet(), shared_with=others)
        taken |= node.near
    return tuple(node for _, node in sorted(found.items()))


def _overlapping_in_part(claims: list[NumaNode]) -> set[int]:
    unsure: set[int] = set()
    taken = CpuSet()
    for node in claims:
        if node.near & taken and not node.near <= taken:
            unsure.update((node.number, *_overlapping(claims, node)))
        taken |= node.near
    return unsure


def _overlapping(claims: list[NumaNode], node: NumaNode) -> tuple[int, ...]:
    return tuple(other.number for other in claims if other.number != node.number and other.near & node.near)


def _shared(node: NumaNode) -> str:
    others = ", ".join(map(str, node.shared_with))
    return f"lstopo writes the same CPUs to NUMA node {node.number} and {others}: one has none of its own"


def infos_of(element: Element) -> dict[str, str]:
    return {info.get("name") or "": info.get("value") or "" for info in element.named("info")}


def os_index(element: Element) -> int | None:
    return _number(element.get("os_index"))


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 20 else None


def bitmap(element: Element, name: str) -> CpuSet | None:
    """`0x000000ff,,0xff000000`: 32-bit words, a zero word may be empty. An endless set (`0xf...f`) is none."""
    text = element.get(name)
    return CpuSet.parse_mask(text) if text else None


def cpus_of(element: Element) -> CpuSet | None:
    """All CPUs of an object, those included that a cgroup hides."""
    complete = bitmap(element, "complete_cpuset")
    return complete if complete is not None else bitmap(element, "cpuset")
