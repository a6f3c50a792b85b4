"""Which bridges lead to a function: from the `Bus:` lines, or from a tree of lspci in the same text.

A bus is a root's where it is bus 00, or where a function on it says so: a host bridge, a root port, an
endpoint integrated into the root complex. A bus that no bridge of the text leads to may also be behind a
bridge that the text leaves out, so nothing is said of what is above it.
"""

from __future__ import annotations

from gputopo.parsers.lspci_vvv import details
from gputopo.parsers.lspci_vvv.listing import Function
from gputopo.parsers.pci_tree import Tree
from gputopo.terms.unknown import Unknown

_MOST_LEVELS = 256  # there are no more buses in a domain
_TREE = "lspci -tv, or lspci -vvv of the whole machine"


class Chains:
    """Answers for the functions of one listing."""

    def __init__(self, functions: list[Function], drawn: tuple[Tree, ...]) -> None:
        self.bridge_of: dict[tuple[int, int], Function | None] = {}
        self.roots = {function.bus for function in functions if _is_on_root(function)}
        for function in functions:
            behind = details.secondary(function)
            if behind is not None:
                # two bridges that lead to one bus: not one machine, so neither counts
                self.bridge_of[behind] = None if behind in self.bridge_of else function
        self.tree = _tree_of(functions, drawn)

    def above(self, function: Function) -> str | Unknown:
        """Label of what is directly above it; known also where the rest of the way is not."""
        bridge = self.bridge_of.get(function.bus)
        if bridge is not None:
            return bridge.label
        chain = self.of(function)
        return chain if isinstance(chain, Unknown) else chain[-1]

    def part(self, function: Function) -> tuple[str, ...]:
        """The bridges that the text shows above it where they do not reach a root, the highest first."""
        if not isinstance(self.of(function), Unknown):
            return ()
        return tuple(reversed(self._bridges(function)[0]))

    def of(self, function: Function) -> tuple[str, ...] | Unknown:
        """Labels of what is above it, root first."""
        if function.label in self.tree:
            return self.tree[function.label]
        above, bus = self._bridges(function)
        if bus[1] == 0 or bus in self.roots:
            return (f"pci{bus[0]:04x}:{bus[1]:02x}", *reversed(above))
        return Unknown("no root port and no tree in this text leads to its bus", _TREE)

    def _bridges(self, function: Function) -> tuple[list[str], tuple[int, int]]:
        """(labels of what is above it, the nearest first; the bus that no bridge of the text leads to)"""
        above: list[str] = []
        bus = function.bus
        while len(above) < _MOST_LEVELS:
            bridge = self.bridge_of.get(bus)
            if bridge is None:
                break
            above.append(bridge.label)
            bus = bridge.bus
        return above, bus


def _is_on_root(function: Function) -> bool:
    port = details.port(function) or ""
    if function.class_code == 0x0600 or port.startswith(("Root Port", "Root Complex")):
        return True
    return function.class_code == 0x0604 and not port and "Root Port" in function.name


def _tree_of(functions: list[Function], drawn: tuple[Tree, ...]) -> dict[str, tuple[str, ...]]:
    """A tree in the same text, if it knows every function of this listing."""
    labels = {function.label for function in functions}
    for tree in drawn:
        chains = {function.label: function.chain for function in tree.functions if function.chain is not None}
        if labels <= chains.keys():
            return chains
    return {}
