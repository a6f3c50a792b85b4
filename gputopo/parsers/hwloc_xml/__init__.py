"""hwloc's XML, as `lstopo --of xml` and hwloc-gather-topology write it: versions 1.x, 2.x and 3.0.

    >>> text = '''<?xml version="1.0" encoding="UTF-8"?>
    ... <!DOCTYPE topology SYSTEM "hwloc2.dtd">
    ... <topology version="2.0">
    ...   <object type="Machine" os_index="0" cpuset="0x000000ff" allowed_cpuset="0x0000000f">
    ...     <object type="Package" os_index="0" cpuset="0x000000ff" complete_cpuset="0x000000ff">
    ...       <object type="NUMANode" os_index="0" cpuset="0x000000ff" local_memory="135012352000"/>
    ...       <object type="Bridge" bridge_type="0-1" bridge_pci="0000:[17-1b]">
    ...         <object type="Bridge" bridge_type="1-1" pci_busid="0000:17:00.0" pci_type="0604 [8086:2030]">
    ...           <object type="PCIDev" pci_busid="0000:1b:00.0" pci_type="0302 [10de:1db8] [10de:131d] a1">
    ...             <object type="OSDev" name="nvml0" osdev_type="1"/>
    ...           </object>
    ...         </object>
    ...       </object>
    ...     </object>
    ...   </object>
    ... </topology>'''
    >>> [node] = parse(text)
    >>> gpu = node.gpus[0]
    >>> gpu.label, gpu.nvml_index, gpu.numa_nodes, gpu.chain
    ('0000:1b:00.0', 0, (0,), ('pci0000:17', '0000:17:00.0'))
    >>> node.system.allowed_cpus
    CpuSet('0-3')

What is written in hwloc's own words: bitmaps are 32-bit words, most significant first, and a zero word may
be empty; `complete_cpuset` is the object, `cpuset` what a cgroup leaves of it; a device is local to the
nearest object above it that has a cpuset (hwloc doc/hwloc.doxy, "I/O Devices").
"""

from __future__ import annotations

from gputopo.parsers.hwloc_xml.devices import Devices
from gputopo.parsers.hwloc_xml.machine import Machine
from gputopo.parsers.xml_guard import Element, documents
from gputopo.records import Gap, NodeRecords

_HEAD = 64 << 10
_NO_PCI = "the file holds no PCI devices: they were not asked for"


def sniff(text: str) -> bool:
    """Whether a text looks like hwloc's XML."""
    head = text[:_HEAD]
    at = head.find("<topology")
    return at >= 0 and "<object" in head[at:]


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One `NodeRecords` a `<topology>`. Raises `Unreadable`."""
    return tuple(_node(root) for root in documents(text, ("topology",)))


def _node(root: Element) -> NodeRecords:
    machine = Machine(root)
    devices = Devices(machine)
    asked = devices.has_pci
    gaps: tuple[Gap, ...] = ()
    if not asked and not devices.gpus:
        gaps = (Gap((), "gpus", _NO_PCI, "lstopo --whole-io --of xml", root.line),)
    return NodeRecords(
        "hwloc-xml",
        line=root.line,
        grain="sysfs",
        system=machine.system(),
        packages=machine.packages() or None,
        numa_nodes=machine.numa_nodes() or None,
        bridges=tuple(devices.bridges),
        nvswitches=tuple(devices.nvswitches) if asked else None,
        gpus=tuple(devices.gpus) if asked or devices.gpus else None,
        gpus_complete=asked,
        nics=tuple(devices.nics) if asked or devices.nics else None,
        nics_complete=asked,
        nvme=tuple(devices.nvme) if asked else None,
        gaps=gaps,
        assumptions=machine.assumptions(),
    )
