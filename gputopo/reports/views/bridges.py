"""Where a device hangs: its host bridge and its switch, out of the chain of bridges above it."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from gputopo.reports.views.words import devices
from gputopo.topology.node import Bridge, NodeTopology


class Above(NamedTuple):
    root: str | None  # host bridge, `pciDDDD:BB`
    switch: str | None


class Bridges:
    def __init__(self, node: NodeTopology) -> None:
        self._bridges = {bridge.id: bridge for bridge in node.bridges}
        parents = [bridge.parent for bridge in node.bridges] + [device.parent for device in devices(node)]
        self._children = Counter(parent for parent in parents if parent is not None)

    def above(self, parent: str | None) -> Above:
        """The host bridge and the switch a device shares with others, or its nearest switch.

        A switch is an upstream port with downstream ports below it, each one bridge to sysfs: the
        port right above a device is its own, the one above that is what neighbours share.
        """
        chain = self._chain(parent)
        if not chain:
            return Above(parent, None) if parent is not None and parent.startswith("pci") else Above(None, None)
        last = chain[-1]
        root = last.id if last.kind == "hostBridge" or last.id.startswith("pci") else None
        if root is None and last.parent is not None and last.parent.startswith("pci"):
            root = last.parent
        return Above(root, self._switch(chain))

    def _chain(self, parent: str | None) -> list[Bridge]:
        """Bridges from the device upwards."""
        chain: list[Bridge] = []
        while parent is not None and parent in self._bridges and len(chain) < 64:  # a saved file may hold a ring
            chain.append(self._bridges[parent])
            parent = chain[-1].parent
        return chain

    def _switch(self, chain: list[Bridge]) -> str | None:
        switches = [bridge for bridge in chain if bridge.kind == "switch"]
        for bridge in switches:
            if self._children[bridge.id] > 1:
                return bridge.id
        if not switches:
            return None
        nearest = switches[0]
        if len(switches) > 1 and nearest.parent == switches[1].id:
            return switches[1].id
        return nearest.id
