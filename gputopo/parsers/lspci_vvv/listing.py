"""The lines of lspci that begin a function, and what stands below each: one listing a machine.

>>> [[bridge, gpu]] = listings('''17:01.0 PCI bridge: PLX Technology, Inc. PEX 8747 (rev ca)
... \\tBus: primary=17, secondary=18, subordinate=18, sec-latency=0
...
... 18:00.0 3D controller [0302]: NVIDIA Corporation GV100GL [Tesla V100 PCIe 16GB] [10de:1db4] (rev a1)
... \\tLnkSta:\\tSpeed 8GT/s, Width x16''')
>>> gpu.label, hex(gpu.class_code), gpu.name
('0000:18:00.0', '0x302', 'NVIDIA Corporation GV100GL [Tesla V100 PCIe 16GB] [10de:1db4] (rev a1)')
>>> gpu.first(LINK).strip()
'LnkSta:\\tSpeed 8GT/s, Width x16'
"""

from __future__ import annotations

import re

from gputopo.parsers.limits import at_most_hits
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.pci_address import PciAddress

HEADER = re.compile(
    r"^(?:> ?){0,20}[ \t]?((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7])[ \t]{1,40}"
    r"((?:3D|[A-Z])[\w ./+()&,-]{1,60}?)?(?:[ \t]{0,40}\[?([0-9a-f]{4})\]?)?: ?([^\r\n]*)",
    re.MULTILINE,
)
LINK = re.compile(r"^[^\w\n]*LnkSta:[^\r\n]*", re.MULTILINE)
_END = re.compile(r"\n[> \t\r]*\n(?=[^\s>])")
# PCI Code and ID Assignment Specification; the words are pci.ids'. Only what a reader of topologies needs.
CLASSES = {
    "vga compatible controller": 0x0300,
    "xga compatible controller": 0x0301,
    "3d controller": 0x0302,
    "display controller": 0x0380,
    "processing accelerators": 0x1200,
    "co-processor": 0x0B40,
    "ethernet controller": 0x0200,
    "infiniband controller": 0x0207,
    "fabric controller": 0x0208,
    "network controller": 0x0280,
    "infiniband": 0x0C06,
    "non-volatile memory controller": 0x0108,
    "host bridge": 0x0600,
    "pci bridge": 0x0604,
    "bridge": 0x0680,
}
_NAME_MOST = 512  # of characters; the longest of pci.ids has 130
_BODY_MOST = 64 << 10  # `-xxxx` prints 4 KiB of config space as 13 KB of text
_BODIES_MOST = 8
_OUTPUTS_MOST = 500


class Function:
    """One function of a listing, with every text that stands below its address."""

    __slots__ = ("address", "bodies", "class_code", "class_name", "label", "line", "name")

    def __init__(self, address: PciAddress, code: int | None, class_name: str, name: str, line: int) -> None:
        self.address = address
        self.label = str(address)
        self.class_code = code
        self.class_name = class_name
        self.name = name
        self.line = line
        self.bodies: list[str] = []

    @property
    def bus(self) -> tuple[int, int]:
        return self.address.domain, self.address.bus

    def first(self, pattern: re.Pattern[str]) -> str | None:
        """The first hit in the text below, its first group if it has one."""
        for body in self.bodies:
            match = pattern.search(body)
            if match is not None:
                return match[1] if match.re.groups else match[0]
        return None

    def says(self, words: str) -> bool:
        return any(words in body for body in self.bodies)

    def only(self, pattern: re.Pattern[str]) -> str | None:
        """As `first`, but nothing where a text has two: lines of other functions were left out between."""
        for body in self.bodies:
            found = pattern.findall(body)
            if found:
                return str(found[0]) if len(found) == 1 else None
        return None


def listings(text: str) -> list[list[Function]]:
    """One list of functions a machine. The same machine printed twice (`-nn`, then `-vvv`) is one."""
    found: list[dict[PciAddress, Function]] = []
    for output in _outputs(_functions(text)):
        for known in found:
            if all(_is_same(known[place], function) for place, function in output.items() if place in known):
                for place, function in output.items():
                    _add(known, place, function)
                break
        else:
            found.append(output)
    return [list(known.values()) for known in found]


def _functions(text: str) -> list[Function]:
    found = []
    headers = list(at_most_hits(HEADER.finditer(text)))
    line, counted = 1, 0
    for at, match in enumerate(headers):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        end = headers[at + 1].start() if at + 1 < len(headers) else len(text)
        address = PciAddress.parse(match[1])
        words = (match[2] or "").strip()
        if address is None or not (words or match[3]):
            continue
        code = int(match[3], 16) if match[3] else CLASSES.get(words.lower())
        function = Function(address, code, words or f"[{match[3]}]", match[4][:_NAME_MOST].strip(), line)
        body = text[match.end() : min(end, match.end() + _BODY_MOST)]
        stop = _END.search(body)
        body = body[: stop.start()] if stop else body
        if body.strip():
            function.bodies.append(body)
        found.append(function)
    return found


def _outputs(functions: list[Function]) -> list[dict[PciAddress, Function]]:
    """An output names no address twice."""
    outputs: list[dict[PciAddress, Function]] = [{}]
    for function in functions:
        if function.address in outputs[-1]:
            if len(outputs) == _OUTPUTS_MOST:
                raise Unreadable(f"more than {_OUTPUTS_MOST} outputs of lspci in one text", function.line)
            outputs.append({})
        outputs[-1][function.address] = function
    return [output for output in outputs if output]


_NUMA = re.compile(r"\bNUMA node:? (\d{1,5})\b")


def _is_same(known: Function, other: Function) -> bool:
    """Names may differ by what was asked for (`-n`, `-nn`); classes and NUMA nodes of one machine may not."""
    if known.class_code is not None and other.class_code is not None and known.class_code != other.class_code:
        return False
    numa = known.first(_NUMA), other.first(_NUMA)
    if None not in numa and numa[0] != numa[1]:
        return False
    words, others = _words(known.name), _words(other.name)
    return words == others or not words or not others


def _words(name: str) -> str:
    """The name without what only some options print; "" where it is nothing but numbers."""
    plain = re.sub(r"\s*(\[[0-9a-f]{4}:[0-9a-f]{4}\]|\((rev|prog-if)[^)]*\))", "", name).strip()
    plain = re.sub(r"Device( [0-9a-f]{4})?$", "Device", plain)
    return "" if re.match(r"[0-9a-f]{4}:[0-9a-f]{4}$", plain) else plain


def _add(known: dict[PciAddress, Function], place: PciAddress, function: Function) -> None:
    if place not in known:
        known[place] = function
        return
    old = known[place]
    new = [body for body in function.bodies if body not in old.bodies]
    old.bodies = sorted([*old.bodies, *new], key=len, reverse=True)[:_BODIES_MOST]
    if old.class_code is None:
        old.class_code = function.class_code
    if "[" in function.name and len(function.name) > len(old.name):
        old.name = function.name
