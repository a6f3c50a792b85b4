"""Bridges above listed devices: which are ports of a PCIe switch, and how they are linked.

The PCI Express capability says what a port is (express.py), but only root reads so far. So makers
of switches and the shape of the chain stand in: below a root port, a bridge right under a bridge
means an upstream port and its downstream port.

    >>> sorted(paired([("pci0000:17", "0000:17:00.0", "0000:18:00.0", "0000:19:08.0")]))
    ['0000:18:00.0', '0000:19:08.0']
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gputopo.parsers.sysfs_root.express import port_type
from gputopo.parsers.sysfs_root.locality import Machine, near_nodes
from gputopo.parsers.sysfs_root.pci import HOST_BRIDGE, Function
from gputopo.records import BridgeRecord
from gputopo.terms.unknown import Said

_SWITCH_PORTS = (5, 6)
# PLX, Broadcom, Microchip (PMC-Sierra), IDT: their bridges are switches, except PLX's three bridges
# to conventional PCI. TI's 8232/8233 is the switch that QEMU plays (x3130-upstream, xio3130-downstream).
_SWITCH_VENDORS = frozenset((0x10B5, 0x1000, 0x11F8, 0x111D))
_SWITCH_PARTS = frozenset(((0x104C, 0x8232), (0x104C, 0x8233)))
_NOT_SWITCHES = frozenset(((0x10B5, 0x8111), (0x10B5, 0x8112), (0x10B5, 0x8114)))


def bridge_records(
    chains: Sequence[tuple[str, ...]], by_label: dict[str, Function], machine: Machine
) -> tuple[BridgeRecord, ...]:
    """One record an element of the chains, parents first."""
    parents: dict[str, str | None] = {}
    for chain in chains:
        for place, label in enumerate(chain):
            parents.setdefault(label, chain[place - 1] if place else None)
    pairs = paired(chains)
    return tuple(
        _record(label, parent, by_label, label in pairs, above(label, parents, by_label), machine)
        for label, parent in parents.items()
    )


def above(label: str, parents: dict[str, str | None], by_label: dict[str, Function]) -> tuple[Function, ...]:
    """The functions above a bridge, nearest first."""
    found = []
    parent = parents.get(label)
    while parent is not None:
        function = by_label.get(parent)
        if function is not None:
            found.append(function)
        parent = parents.get(parent)
    return tuple(found)


def _record(
    label: str,
    parent: str | None,
    by_label: dict[str, Function],
    in_pair: bool,
    upward: tuple[Function, ...],
    machine: Machine,
) -> BridgeRecord:
    if HOST_BRIDGE.match(label):
        return BridgeRecord(label, parent, "hostBridge")
    function = by_label.get(label)
    if function is None:  # in the paths, without an entry of its own
        return BridgeRecord(label, parent, "bridge")
    nodes: Said[tuple[int, ...]] = near_nodes(function, machine, upward)[0]
    return BridgeRecord(
        label,
        parent,
        "switch" if _is_switch(function, in_pair) else "bridge",
        _hex(function.vendor),
        _hex(function.device),
        nodes,
        function.pcie(),
    )


def _hex(code: int | None) -> str | None:
    return None if code is None else f"0x{code:04x}"


def _is_switch(function: Function, in_pair: bool) -> bool:
    kind = port_type(function.config)
    if kind is not None:
        return kind in _SWITCH_PORTS
    vendor, device = function.vendor or 0, function.device or 0
    if (vendor, device) in _NOT_SWITCHES:
        return False
    return in_pair or vendor in _SWITCH_VENDORS or (vendor, device) in _SWITCH_PARTS


def paired(chains: Iterable[tuple[str, ...]]) -> frozenset[str]:
    """Bridges below a root port that follow each other as upstream and downstream port."""
    found: set[str] = set()
    for chain in chains:
        ports = chain[2:]  # without host bridge and root port
        for place in range(0, len(ports) - 1, 2):
            found.update(ports[place : place + 2])
    return frozenset(found)
