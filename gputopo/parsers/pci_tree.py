r"""The tree that `lspci -t` draws: which function hangs below which bridge. Shared by the readers of lspci.

    >>> [tree] = trees(r'''-[0000:00]-+-00.0
    ...            +-01.0-[01-04]----00.0-[02-04]--+-00.0-[03]----00.0
    ...            |                               \-01.0-[04]--
    ...            \-1f.0''')
    >>> tree.roots, tree.whole
    (('0000:00',), True)
    >>> [(function.label, function.parent) for function in tree.functions][3:5]
    [('0000:02:00.0', '0000:01:00.0'), ('0000:03:00.0', '0000:02:00.0')]
    >>> tree.functions[4].chain
    ('pci0000:00', '0000:00:01.0', '0000:01:00.0', '0000:02:00.0')

The drawing (pciutils, ls-tree.c): `-[DDDD:BB]-` is a root bus, `01.0-[04-0c]-` a bridge and the buses
behind it, `+-` a function on the bus opened in this column, `\-` the last one of it. A column is taken
for what was opened there only while the bars left of it, the bus ranges and the order of the functions
agree: of a tree with lines left out (`| grep NVIDIA`), a line may belong to a branch that is not printed.
Where a branch ends without its `\-`, lines were left out: from there on a line that no bus range confirms
is placed by its column, and marked as supposed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gputopo.parsers.limits import lines_of
from gputopo.terms.pci_address import PciAddress

LINE = re.compile(
    r"^(?:> ?)*[ |\t\xa0]*(?:-?[+\\]?-\[[0-9a-f]{4,8}:[0-9a-f]{2}\]-|[+\\]-[01][0-9a-f]\.[0-7](?:[-\s]|$)|-?[+\\]-\[)",
    re.MULTILINE,
)
_BUSES = re.compile(r"\[(?:([0-9a-f]{4,8}):)?([0-9a-f]{2})(?:-([0-9a-f]{2}))?\]")
_FUNCTION = re.compile(r"([01][0-9a-f])\.([0-7])")
_LINE_MOST = 2048  # of characters: a tree of 20 levels takes 400, and a name
_QUOTE = re.compile(r"^(?:> ?)+")


class TreeFunction(NamedTuple):
    label: str  # `0001:c7:00.0`; without the domain or the bus where the text does not tell
    address: PciAddress | None
    parent: str | None  # label of the bridge above; None: on a root bus, or not known (see chain)
    chain: tuple[str, ...] | None  # root first; None = not known
    name: str  # "" without -v, and of every bridge
    line: int
    is_bridge: bool
    is_supposed: bool = False  # placed by its column in a tree with lines left out


class Tree(NamedTuple):
    functions: tuple[TreeFunction, ...]
    roots: tuple[str, ...]  # `0001:c3`
    empty_buses: tuple[str, ...]
    line: int
    whole: bool  # every branch that is opened is closed, nothing is out of place
    named: bool


class _Bus:
    """A bus, what leads to it, and the last function seen on it."""

    __slots__ = ("bars", "chain", "domain", "is_supposed", "is_sure", "last", "number", "parent", "subordinate")

    def __init__(
        self, domain: int | None, number: int, subordinate: int | None, chain: tuple[str, ...] | None,
        parent: str | None,
    ) -> None:  # fmt: skip
        self.domain = domain
        self.number = number
        self.subordinate = subordinate  # None: not printed
        self.chain = chain
        self.parent = parent
        self.last = (-1, -1)
        self.bars: frozenset[int] = frozenset()
        self.is_sure = True  # no line is known to be left out since it was opened
        self.is_supposed = False  # the bridge to it is

    @property
    def label(self) -> str:
        return f"{self.number:02x}" if self.domain is None else f"{self.domain:04x}:{self.number:02x}"


class _Top:
    """The column of the root buses."""

    bars: frozenset[int] = frozenset()
    is_sure = True


def trees(text: str) -> tuple[Tree, ...]:
    """Every tree in a text; the line that opens with `-` begins one."""
    found: list[Tree] = []
    for lines in _split(text):
        reader = _Reader(lines)
        for number, line in lines:
            reader.read(number, line)
        found.append(reader.tree())
    return tuple(found)


def _split(text: str) -> Iterator[list[tuple[int, str]]]:
    part: list[tuple[int, str]] = []
    for number, raw in enumerate(lines_of(text), 1):
        if not LINE.match(raw):
            continue
        line = _QUOTE.sub("", raw.rstrip("\r").replace("\xa0", " ")).expandtabs()[:_LINE_MOST]
        if not line.strip(" |"):
            continue  # the tree would begin behind the longest line
        if line.lstrip(" ")[:1] == "-" and part:
            yield part
            part = []
        part.append((number, line))
    if part:
        yield part


class _Reader:
    """One pass over the lines of one tree."""

    def __init__(self, lines: list[tuple[int, str]]) -> None:
        self.first = lines[0][0]
        self.functions: list[TreeFunction] = []
        self.roots: list[str] = []
        self.named = False
        self.whole = lines[0][1].lstrip(" ")[:1] == "-"
        self.open: dict[int, _Bus | _Top] = {}
        self.buses: list[_Bus] = []
        # A root's `+` never stands in column 0: a text that was stripped lost the blank of its first line.
        first = lines[0][1]
        self.stripped = first[:1] in "+\\" and not any(line[:1] in "|+\\" for _, line in lines[1:])
        if not self.whole and (first.lstrip(" |")[:3] in ("+-[", "\\-[")):
            self.open[len(first) - len(first.lstrip(" |")) + self.stripped] = _Top()

    def tree(self) -> Tree:
        occupied = {bus.label for bus in self.buses if bus.last != (-1, -1)}
        occupied |= {bus.label for bus in self.open.values() if isinstance(bus, _Bus)}  # cut before its first
        empty = tuple(bus.label for bus in self.buses if bus.label not in occupied)
        whole = self.whole and not self.open
        return Tree(tuple(self.functions), tuple(self.roots), empty, self.first, whole, self.named)

    def read(self, number: int, line: str) -> None:
        if self.stripped and number == self.first:
            line = " " + line
        at = len(line) - len(line.lstrip(" |"))
        bars = frozenset(place for place in range(at) if line[place] == "|")
        for column in [c for c in self.open if c > at or (c < at and c not in bars)]:
            self.open.pop(column, None)
            self.whole = False  # its last function was not printed
            for left in self.open.values():
                left.is_sure = False
        here: _Bus | _Top | None
        if line[at : at + 1] == "-":
            self.open.clear()
            here = _Top()
            at += 1
            if line[at : at + 1] in ("+", "\\"):
                if line[at] == "+":
                    self.open[at] = here
                at += 2
        else:
            here = self.open.get(at)
            if here is not None and not bars <= here.bars:
                here = None
            if line[at] == "\\":
                self.open.pop(at, None)
            at += 2
        self._along(number, line, at, here, bars)

    def _along(self, number: int, line: str, at: int, here: _Bus | _Top | None, bars: frozenset[int]) -> None:
        """Follow one line to its end: buses, the bridges to them, at last a function."""
        branched = False
        while at < len(line):
            if line[at] == "-":
                at += 1
            elif line[at] in "+\\" and not branched:
                branched = True
                if here is not None:
                    here.bars = bars | frozenset(self.open)
                    if line[at] == "+":
                        self.open[at] = here
                at += 2
            elif match := _BUSES.match(line, at):
                here = self._bus(here, match, None)
                at = match.end()
                branched = False
            elif match := _FUNCTION.match(line, at):
                bus = here if isinstance(here, _Bus) else None
                at = match.end()
                behind = _BUSES.match(line, at + 1) if line[at : at + 2] == "-[" else None
                bus = self._checked(bus, int(match[1], 16), int(match[2]), behind)
                name = "" if behind else line[at:].strip()
                function = self._function(bus, match[0], number, name, behind)
                self.functions.append(function)
                self.named = self.named or bool(name)
                if behind is None:
                    return
                here = self._bus(bus, behind, function)
                at = behind.end()
                branched = False
            else:
                return

    def _checked(self, bus: _Bus | None, device: int, function: int, behind: re.Match[str] | None) -> _Bus | None:
        """The bus, unless the order of functions or the range of buses says that it is another one."""
        if bus is None:
            self.whole = False
            return None
        fits = (device, function) > bus.last
        if behind is not None and (secondary := int(behind[2], 16)) and bus.subordinate is not None:
            fits = fits and bus.number < secondary <= bus.subordinate
            if behind[3]:
                fits = fits and int(behind[3], 16) <= bus.subordinate
        if not fits:
            self.whole = False
            return None
        bus.last = (device, function)
        return bus

    def _function(
        self, bus: _Bus | None, place: str, line: int, name: str, behind: re.Match[str] | None
    ) -> TreeFunction:  # fmt: skip
        if bus is None:
            return TreeFunction(f"?:{place}", None, None, None, name, line, behind is not None)
        label = f"{bus.label}:{place}"
        address = PciAddress.parse(label) if bus.domain is not None else None
        confirmed = bus.is_sure or (behind is not None and bus.subordinate is not None)
        supposed = bus.is_supposed or not confirmed
        return TreeFunction(label, address, bus.parent, bus.chain, name, line, behind is not None, supposed)

    def _bus(self, above: _Bus | _Top | None, match: re.Match[str], bridge: TreeFunction | None) -> _Bus:
        number = int(match[2], 16)
        subordinate = int(match[3], 16) if match[3] else number
        domain = int(match[1], 16) if match[1] else above.domain if isinstance(above, _Bus) else None
        if bridge is not None:
            known = bridge.chain is not None and bridge.address is not None
            chain = (*bridge.chain, bridge.label) if known and bridge.chain is not None else None
            bus = _Bus(domain, number, subordinate, chain, bridge.label if bridge.address else None)
            bus.is_supposed = bridge.is_supposed
        elif isinstance(above, _Bus):  # a second bus behind one bridge
            bus = _Bus(domain, number, above.subordinate, above.chain, above.parent)
            bus.is_supposed = above.is_supposed
            if above in self.buses and above.last == (-1, -1):
                self.buses.remove(above)
        elif isinstance(above, _Top):
            bus = _Bus(domain, number, None, (f"pci{match[1]}:{match[2]}",), None)
            self.roots.append(bus.label)
        else:
            bus = _Bus(domain, number, None, None, None)
        if number or bridge is None:
            self.buses.append(bus)
        return bus
