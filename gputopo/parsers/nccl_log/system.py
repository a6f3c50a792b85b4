"""The node as NCCL prints it (`NCCL_DEBUG_SUBSYS=GRAPH`): `=== System : maxBw 48.0 totalBw 370.8 ===` and below.

    >>> said = SystemPrint("=== System : maxBw 48.0 totalBw 370.8 ===", 1)
    >>> for n, line in enumerate((
    ...     "CPU/0-0 (1/2/-1)",
    ...     "+ PCI[0.2] - PCI/0-65000 (104c823200000000)",
    ...     "             + PCI[48.0] - GPU/0-68000 (8)",
    ...     "                           + NVL[370.8] - NVS/0-0",
    ...     "+ SYS[16.0] - CPU/0-1",
    ...     "==========================================")):
    ...     said.add(line, n + 2)
    >>> made = said.record(Speaker("node-a", 7))
    >>> made.max_bw, made.whole, made.cpus[0].vendor, [(link.parent, link.kind, link.child) for link in made.links[:2]]
    (48.0, True, 2, [('CPU/0-0', 'PCI', 'PCI/0-65000'), ('PCI/0-65000', 'PCI', 'GPU/0-68000')])
    >>> str(address_of("GPU/0-68000")), str(address_of("GPU/1A000")), address_of("NET/0-c")
    ('0000:68:00.0', '0000:1a:00.0', None)

A child stands deeper than its parent (NCCL src/graph/topo.cc, ncclTopoPrintRec). Until 2.12 it is `maxWidth` and
`totalWidth`; ids have a system number in front since 2.21.
"""

from __future__ import annotations

import re

from gputopo.nccl_records import PathRecord, Speaker, SystemCpu, SystemLink, SystemRecord
from gputopo.terms.pci_address import PciAddress

LINES_MOST = 4_096
PATHS_MOST = 20_000
_HEAD = re.compile(r"max(?:Bw|Width) (\d{1,12}(?:\.\d+)?) total(?:Bw|Width) (\d{1,12}(?:\.\d+)?)")
_CPU = re.compile(r"(CPU/[\w-]+) \((-?\d+)/(-?\d+)/(-?\d+)\)")
_LINK = re.compile(r"( *)\+ ([A-Z0-9]{2,4})\[(\d{1,12}(?:\.\d+)?)\] - ([A-Z0-9]{3}/[\w-]+)(?: \(([^()]{0,80})\))?")
_FROM = re.compile(r"((?:GPU|NET)/[\w-]+) ?:")
_PATH = re.compile(r"([A-Z]{3}/[\w-]+) \((\d+)/(\d{1,12}(?:\.\d+)?)/([A-Z0-9]{3})\)")
_TARGETS = ("GPU", "NET")
_OF_DEVICE = ("GPU", "PCI", "NIC", "DEV")


def bus_id(value: int) -> PciAddress | None:
    """The address that NCCL writes as one number (src/misc/utils.cc, int64ToBusId): `51000` is 0000:51:00.0.

    >>> str(bus_id(0x51000)), str(bus_id(0x906000))
    ('0000:51:00.0', '0009:06:00.0')
    """
    return PciAddress.parse(f"{value >> 20:04x}:{value >> 12 & 0xFF:02x}:{value >> 4 & 0xFF:02x}.{value & 0xF:x}")


def address_of(node: str) -> PciAddress | None:
    """The PCI address in the name of a device of the printed system; None for other nodes."""
    kind, _, id = node.partition("/")
    if kind not in _OF_DEVICE:
        return None
    try:
        return bus_id(int(id.rpartition("-")[2][:16], 16))
    except ValueError:
        return None


class SystemPrint:
    """One system while it is printed."""

    __slots__ = ("bw", "cpus", "ended", "line", "links", "paths", "stack")

    def __init__(self, head: str, line: int) -> None:
        match = _HEAD.search(head)
        self.bw: tuple[float | None, float | None] = (float(match[1]), float(match[2])) if match else (None, None)
        self.line = line
        self.cpus: dict[str, SystemCpu] = {}
        self.links: list[SystemLink] = []
        self.paths: dict[tuple[str, str], PathRecord] = {}
        self.stack: list[tuple[int, str]] = []  # (indent of its +, name)
        self.ended = False

    def add(self, message: str, line: int) -> None:
        if message.startswith("====="):
            self.ended = True
            return
        if (match := _CPU.match(message)) is not None:
            self.cpus[match[1]] = SystemCpu(match[1], int(match[2]), int(match[3]), int(match[4]))
            self.stack = [(-1, match[1])]
        elif (match := _LINK.match(message)) is not None and len(self.links) < LINES_MOST:
            indent = len(match[1])
            while len(self.stack) > 1 and self.stack[-1][0] >= indent:
                self.stack.pop()
            if not self.stack:
                return
            parent = self.stack[-1][1]
            self.links.append(SystemLink(parent, match[2], float(match[3]), match[4], match[5] or "", line))
            if match[2] == "PCI":
                self.stack.append((indent, match[4]))

    def add_paths(self, message: str) -> None:
        """`GPU/0-26000 :GPU/0-26000 (0/5000.0/LOC) GPU/0-41000 (3/16.0/SYS) …`; NCCL cuts it at 1,024 characters."""
        head = _FROM.match(message)
        if head is None or len(self.paths) >= PATHS_MOST:
            return
        for match in _PATH.finditer(message, head.end()):
            if match[1].startswith(_TARGETS):
                path = PathRecord(head[1], match[1], int(match[2]), float(match[3]), match[4])
                self.paths.setdefault((head[1], match[1]), path)

    def record(self, speaker: Speaker) -> SystemRecord:
        max_bw, total_bw = self.bw
        return SystemRecord(
            max_bw, total_bw, tuple(self.cpus.values()), tuple(self.links), tuple(self.paths.values()), self.ended,
            speaker, self.line,
        )  # fmt: skip
