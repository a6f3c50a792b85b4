"""Kind `sysfs-lstopo`: captured machines against lstopo's answer, read here from its XML.

lstopo is not the truth everywhere. Where it differs from the capture's own files, the rules
below say what is right; they look at the capture through the standard library's tarfile, so that
nothing of gputopo reads both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from gputopo.evidence.archive import open_archive
from gputopo.evidence.tree import find_root
from gputopo.parsers.sysfs_root import parse
from gputopo.records import NodeRecords
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.unknown import Unknown
from tests.lstopo import Capture, Function, Lstopo, recorded

# Types of objects, and other elements, in the recorded XML.
COMPARED = frozenset(("Machine", "Package", "NUMANode", "Bridge", "PCIDev", "NUMALatency"))
_NOT_IN_MODEL = "below a package, the model has CPU sets only"
IGNORED = {
    "Core": _NOT_IN_MODEL,
    "PU": _NOT_IN_MODEL,
    "Die": _NOT_IN_MODEL,
    "Group": _NOT_IN_MODEL,
    "L1Cache": _NOT_IN_MODEL,
    "L2Cache": _NOT_IN_MODEL,
    "L3Cache": _NOT_IN_MODEL,
    "L1iCache": _NOT_IN_MODEL,
    "OSDev": "names of block, net and RDMA devices: lstopo 2.9 shows those of some classes only",
    "Misc": "memory modules",
    "info": "DMI and processor names are of the machine that ran lstopo, or sanitised",
    "support": "what lstopo itself can do",
    "page_type": "huge pages",
    "cpukind": "kinds of cores",
    "memattr": "bandwidth and latency of memory",
}
_DISPLAY_VENDORS = ("102b", "1a03", "1013", "1234", "15ad", "1af4", "1b36", "1414")
_GB_A_LANE = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}


class LstopoCase(NamedTuple):
    name: str
    expected: dict[str, Any]  # type of object → what is recorded of it; see `recorded`
    archive: Path


def cases(path: Path) -> Iterator[LstopoCase]:
    """The captures of a folder that have an answer beside them."""
    for archive in sorted(path.glob("*.tar.xz")):
        name = archive.name.removesuffix(".tar.xz")
        xml = archive.with_name(f"{name}.lstopo.xml")
        if xml.exists():
            yield LstopoCase(name, recorded(ElementTree.parse(xml).getroot()), archive)


class Answer(NamedTuple):
    records: NodeRecords
    capture: Capture


def answer(case: LstopoCase) -> Answer:
    archive = open_archive(str(case.archive))
    root = None if archive is None else find_root(archive)
    assert root is not None, case.name
    [records] = parse(root)
    return Answer(records, Capture(case.archive))


def compare(expected: dict[str, Any], got: Answer) -> list[str]:
    machine = Lstopo(expected)
    return [
        *_packages(got.capture, machine, got.records),
        *_nodes(got.capture, machine, got.records),
        *_allowed(got.capture, machine, got.records),
        *_devices(got.capture, machine, got.records),
        *_links(machine, got.records),
    ]


def _differ(what: str, expected: object, got: object) -> list[str]:
    return [] if expected == got else [f"{what}: {expected} recorded, {got} read"]


def _packages(capture: Capture, machine: Lstopo, got: NodeRecords) -> list[str]:
    """A cgroup hides packages from lstopo; the capture has them all."""
    read = {package.number: package.cpus for package in got.packages or ()}
    found = _differ("packages", sorted(capture.packages()), sorted(read))
    for number, cpus in machine.packages.items():
        found += _differ(f"package {number}", cpus, read.pop(number, "absent"))
    for number, cpus_read in read.items():
        hidden = isinstance(cpus_read, CpuSet) and not cpus_read & machine.usable
        found += [] if hidden else [f"package {number}: not recorded, {cpus_read} read"]
    return found


def _nodes(capture: Capture, machine: Lstopo, got: NodeRecords) -> list[str]:
    read = {node.number: node for node in got.numa_nodes or ()}
    found = _differ("nodes", sorted(capture.nodes()), sorted(read))
    for number, (near, memory) in machine.nodes.items():
        if memory is None and number not in capture.nodes():
            continue  # made up, since a machine needs a node
        node = read.get(number)
        if node is None:
            found.append(f"node {number}: recorded, not read")
            continue
        own = capture.node_cpus(number)
        cpus = CpuSet() if own == CpuSet() else near  # lstopo gives a node without CPUs those near it
        found += _differ(f"node {number} CPUs", cpus, node.cpus)
        found += _differ(f"node {number} kind", "cpu" if cpus else "memory", node.kind)
        packages = tuple(sorted(number for number, own in machine.packages.items() if own & cpus))
        found += _differ(f"node {number} packages", packages, node.packages)
        found += _differ(f"node {number} memory", memory, node.memory_bytes)
        row = machine.distances.get(number)
        if row is not None:
            shown = node.distances if isinstance(node.distances, dict) else {}
            found += _differ(f"node {number} distances", row, {to: shown.get(to) for to in row})
    for number, node in read.items():
        if number not in machine.nodes:
            found += _only_in_capture(capture, machine, number, node.kind, node.cpus)
    return found


def _only_in_capture(capture: Capture, machine: Lstopo, number: int, kind: object, cpus: object) -> list[str]:
    """lstopo leaves out GPU memory, and what a cgroup hides; it makes up a node where none has a CPU list."""
    if number in capture.gpu_memory():
        return _differ(f"node {number} kind", "gpu-memory", kind)
    own = capture.node_cpus(number)
    if own is None:
        return [] if isinstance(cpus, Unknown) else [f"node {number}: CPUs are not in the capture, {cpus} read"]
    if own is not None and not own & machine.usable:
        return _differ(f"node {number} CPUs", own, cpus)
    return [f"node {number}: read, not recorded"]


def _allowed(capture: Capture, machine: Lstopo, got: NodeRecords) -> list[str]:
    """Of a version 1 cgroup lstopo reads what is configured; what is in effect may be less."""
    effective = [
        cpus & machine.cpus
        for place, text in capture.texts.items()
        if place.endswith("effective_cpus") and (cpus := CpuSet.parse_list(text)) is not None
    ]
    if got.system.allowed_cpus in effective:
        return []
    return _differ("allowed CPUs", machine.allowed, got.system.allowed_cpus)


def _devices(capture: Capture, machine: Lstopo, got: NodeRecords) -> list[str]:
    listed: list[Any] = [*(got.gpus or ()), *(got.nics or ()), *(got.nvme or ())]
    read = {str(device.pci): device for device in listed}
    found = []
    for kind, records in (("accelerator", got.gpus), ("NIC", got.nics), ("NVMe", got.nvme)):
        recorded = sorted(address for address, function in machine.functions.items() if _kind(function) == kind)
        shown = sorted(str(record.pci) for record in records or () if not isinstance(record.pci, Unknown))
        found += _differ(f"{kind} functions", recorded, shown)
    for address, function in machine.functions.items():
        if _kind(function) and address in read:
            found += _place(capture, machine, function, read[address])
    return found


def _kind(function: Function) -> str | None:
    if function.class_code == "0300" and function.vendor in _DISPLAY_VENDORS:
        return None
    if function.class_code[:2] in ("03", "12") or function.class_code == "0b40":
        return "accelerator"
    if function.class_code in ("0200", "0207", "0280", "0c06"):
        return "NIC"
    return "NVMe" if function.class_code == "0108" else None


def _place(capture: Capture, machine: Lstopo, function: Function, device: Any) -> list[str]:
    chain = capture.chain(function.address)
    if chain is None:
        problems = [] if isinstance(device.chain, Unknown) else [f"{function.address}: chain {device.chain} read"]
    elif set(chain[1:]) <= machine.bridges.keys():  # else lstopo lacks a bridge and makes up what is above
        problems = _differ(f"{function.address} chain", function.chain, device.chain)
    else:
        problems = _differ(f"{function.address} chain", chain, device.chain)
    got = None if device.numa_nodes is None or isinstance(device.numa_nodes, Unknown) else device.numa_nodes
    return problems + _differ(f"{function.address} NUMA nodes", _near_nodes(capture, machine, function), got)


def _near_nodes(capture: Capture, machine: Lstopo, function: Function) -> tuple[int, ...] | None:
    """Nodes with CPUs near the function; all of several are no answer.

    lstopo asks the root port only, so a function's own local CPUs win where they are fewer.
    """
    own = {number: cpus for number in machine.nodes if (cpus := capture.node_cpus(number))}
    near = function.near
    local = capture.local_cpus(function.address)
    if local is not None and local & machine.cpus and (local & machine.cpus) != machine.cpus:
        near = local
    nodes = tuple(sorted(number for number, cpus in own.items() if cpus & near))
    return None if not nodes or (len(nodes) > 1 and len(nodes) == len(own)) else nodes


def _links(machine: Lstopo, got: NodeRecords) -> list[str]:
    """Generation × lanes of bridges and GPUs, in lstopo's GB/s; 0 = not known."""
    found = []
    for bridge in got.bridges:
        if bridge.label in machine.bridges:
            found += _link(bridge.label, machine.bridges[bridge.label], bridge.pcie)
    for gpu in got.gpus or ():
        function = machine.functions.get(str(gpu.pci))
        if function is not None:
            found += _link(function.address, function.gb_per_s, gpu.pcie)
    return found


def _link(label: str, recorded: float, link: Any) -> list[str]:
    known = link is not None and link.generation is not None and link.width is not None
    read = _GB_A_LANE[link.generation] * link.width if known else 0.0
    return [] if abs(read - recorded) <= 0.01 * recorded else [f"{label} link: {recorded} GB/s recorded, {read} read"]
