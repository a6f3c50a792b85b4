r"""`lspci`, `-nn`, `-v` to `-vvv`: one function a paragraph, with class, name, and below it its registers.

    >>> [node] = parse('''00:01.0 PCI bridge: Intel Corporation Sky Lake-E PCI Express Root Port A (rev 04)
    ... \tBus: primary=00, secondary=17, subordinate=17, sec-latency=0
    ... \tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
    ...
    ... 17:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB] (rev a1)
    ... \tNUMA node: 0
    ... \tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported
    ... \tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x8 (downgraded)
    ... \tKernel driver in use: nvidia''')
    >>> gpu = node.gpus[0]
    >>> gpu.name, gpu.driver, gpu.numa_nodes, gpu.chain
    ('GA100 [A100 PCIe 40GB]', 'nvidia', (0,), ('pci0000:00', '0000:00:01.0'))
    >>> gpu.pcie
    Pcie(generation=1, width=8, max_generation=4, max_width=16)
    >>> [(seen.kind, seen.subjects) for seen in node.observations]
    [('link-downgraded', ('0000:17:00.0',)), ('acs-enabled', ('0000:00:01.0',))]

lspci leaves the domain out where the whole machine is in domain 0. What other users than root cannot
read it prints as `Capabilities: <access denied>`.
"""

from __future__ import annotations

from gputopo.parsers.lspci_vvv.listing import CLASSES, HEADER, listings
from gputopo.parsers.lspci_vvv.records import kind_of, records_of
from gputopo.parsers.pci_tree import trees
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import NodeRecords


def sniff(text: str) -> bool:
    """Whether a text holds a line of lspci that names a device or a bridge."""
    for match in HEADER.finditer(text):
        code = int(match[3], 16) if match[3] else CLASSES.get((match[2] or "").strip().lower())
        if code is not None and (code in CLASSES.values() or match[2]):
            return True
    return False


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One `NodeRecords` a machine. Raises `Unreadable`."""
    found = [functions for functions in listings(text) if any(kind_of(function) for function in functions)]
    if not found:
        raise Unreadable("no GPU, NIC, disk or bridge among these lines of lspci", hint="lspci -nn")
    drawn = trees(text) if "-[" in text else ()
    return tuple(records_of(functions, drawn) for functions in found)
