"""Root complexes and switches as boxes: out of the chain of bridges above each device, or out of decided levels.

A bridge gets a box where devices part ways below it; a host bridge always. A run of bridges with nothing beside it is
one box, which names the bridge where it ends. The last bridges above a single device are its own ports, unless they
are a switch of its own: two ports in a tree of bridges (up and down), one element in NCCL's tree of switches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gputopo.reports.picture.device_cards import Cards
from gputopo.reports.picture.parts import Box, Card, cards
from gputopo.reports.views.words import Device, numbers, one_domain, short_pci
from gputopo.rules.wording import one_line
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import Bridge, NodeTopology

_DEEPEST = 64  # a saved file may hold a ring
_GROUPS = (PathLevel.PHB, PathLevel.PXB, PathLevel.PIX)
_MEANT = {
    PathLevel.PHB: "one root complex", PathLevel.PXB: "switches below one root", PathLevel.PIX: "one switch",
}  # fmt: skip


class _Placed(NamedTuple):
    device: Device
    chain: tuple[str, ...]  # bridges still above it, root first


class PciBoxes:
    def __init__(self, node: NodeTopology, cards: Cards, devices: Sequence[Device]) -> None:
        self._bridges = {bridge.id: bridge for bridge in node.bridges}
        self._cards = cards
        self._short = one_domain(node)
        self._order = {device.id: at for at, device in enumerate(devices)}
        self._near = {frozenset((pair.a, pair.b)): pair.pcie for pair in node.pairs if pair.pcie is not None}
        self._used: set[str] = set()

    def nest(self, devices: Sequence[Device]) -> tuple[Box | Card, ...]:
        """The devices of one NUMA node in their boxes, those with GPUs first."""
        placed = [_Placed(device, self.chain(device.parent)) for device in devices]
        loose = [one.device for one in placed if not one.chain]
        boxes = self._below([one for one in placed if one.chain])
        return self._sorted([*boxes, *self._by_level(loose, _GROUPS)])

    def chain(self, parent: str | None) -> tuple[str, ...]:
        """Bridges from the root to the one right above a device."""
        found: list[str] = []
        while parent is not None and parent not in found and len(found) < _DEEPEST:
            found.append(parent)
            bridge = self._bridges.get(parent)
            parent = bridge.parent if bridge is not None else None
        return tuple(reversed(found))

    def _below(self, placed: Sequence[_Placed]) -> list[Box | Card]:
        """What hangs below one point of the tree."""
        branches: dict[str, list[_Placed]] = {}
        own: list[tuple[Device, tuple[str, ...]]] = []
        made: list[Box | Card] = []
        for one in placed:
            if one.chain:
                branches.setdefault(one.chain[0], []).append(one)
            else:
                own.append((one.device, ()))
        for some in branches.values():
            if len(some) == 1 and not self._is_root(some[0].chain[0]):
                made += self._alone(some[0], own)
            else:
                made.append(self._run(some))
        return [*made, *self._cards.of(own)]

    def _run(self, some: Sequence[_Placed]) -> Box:
        """A box for the bridges that all of these have in common, down to where they part."""
        run: list[str] = []
        while all(one.chain for one in some) and len({one.chain[0] for one in some}) == 1:
            first = some[0].chain[0]
            if run and self._is_root(run[0]):
                break  # a root complex is a box of its own
            if len(some) == 1 and run:
                break
            run.append(first)
            some = [one._replace(chain=one.chain[1:]) for one in some]
        return self._box(run, self._sorted(self._below(some)))

    def _alone(self, one: _Placed, own: list[tuple[Device, tuple[str, ...]]]) -> list[Box | Card]:
        """One device below a run of bridges: a box where a switch of its own is among them."""
        switches = [id for id in one.chain if self._kind(id) == "switch"]
        needed = 2 if self._by_ports(one.chain) else 1
        if len(switches) < needed:
            own.append((one.device, one.chain))
            return []
        at = one.chain.index(switches[0])
        run, rest = one.chain[: at + 1], one.chain[at + 1 :]
        if needed == 1 and rest:  # NCCL's switches one below the other
            return [self._box(run, tuple(self._alone_or_card(one.device, rest)))]
        return [self._box(run, self._cards.of([(one.device, rest)]))]

    def _alone_or_card(self, device: Device, rest: tuple[str, ...]) -> list[Box | Card]:
        own: list[tuple[Device, tuple[str, ...]]] = []
        return self._alone(_Placed(device, rest), own) or list(self._cards.of(own))

    def _box(self, run: Sequence[str], inside: tuple[Box | Card, ...]) -> Box:
        last = run[-1]
        kind = self._kind(last)
        name = {"hostBridge": "root complex", "switch": "switch"}.get(kind, "bridge")
        bridge = self._bridges.get(last)
        what = one_line(f"{bridge.vendor or ''} {bridge.device or ''}") if bridge is not None else ""
        near = f"NUMA {numbers(bridge.numa_nodes)}" if bridge is not None and bridge.numa_nodes else ""
        about = ", ".join(part for part in (name, " > ".join(run), what, near) if part)
        short = one_line(short_pci(last, one_domain=self._short))
        id = last
        while id in self._used:  # devices of one root complex that are said to be near different NUMA nodes
            id += "'"
        self._used.add(id)
        return Box(kind if kind in ("hostBridge", "switch") else "bridge", id, name, (short,), inside,
                   bridges=tuple(run), about=about)  # fmt: skip

    def _kind(self, id: str) -> str:
        bridge: Bridge | None = self._bridges.get(id)
        return (bridge.kind if bridge is not None else None) or ("hostBridge" if id.startswith("pci") else "bridge")

    def _is_root(self, id: str) -> bool:
        return self._kind(id) == "hostBridge"

    def _by_ports(self, chain: Sequence[str]) -> bool:
        """Whether this tree lists ports (sysfs), not switches (NCCL): its roots are host bridges."""
        above = self._bridges.get(chain[0])
        seen = 0
        while above is not None and above.parent is not None and seen < _DEEPEST:
            if above.parent.startswith("pci"):
                return True
            above, seen = self._bridges.get(above.parent), seen + 1
        return above is not None and self._is_root(above.id)

    def _by_level(self, devices: Sequence[Device], levels: tuple[PathLevel, ...]) -> list[Box | Card]:
        """Groups of devices without a known bridge that are decided to be at a level or nearer, nested."""
        if not levels:
            return list(self._cards.of([(device, ()) for device in devices]))
        made: list[Box | Card] = []
        single: list[Device] = []
        for group in self._within(devices, levels[0]):
            if len(group) == 1:
                single += group
                continue
            inside = self._sorted(self._by_level(group, levels[1:]))
            if any(self._near.get(frozenset((one.id, other.id))) is levels[0] for one in group for other in group):
                meant = _MEANT[levels[0]]
                about = f"{meant}: {', '.join(one.id for one in group[:32])}; which bridge is not in the evidence"
                made.append(Box("level", f"{levels[0].name}:{group[0].id}", "", (), inside, seen=False, about=about))
            else:
                made += inside
        return [*made, *self._cards.of([(device, ()) for device in single])]

    def _within(self, devices: Sequence[Device], level: PathLevel) -> list[list[Device]]:
        groups: list[list[Device]] = []
        for device in devices:
            near = [
                group for group in groups
                if any((found := self._near.get(frozenset((device.id, one.id)))) is not None and found <= level
                       for one in group)
            ]  # fmt: skip
            merged = [one for group in near for one in group]
            groups = [group for group in groups if group not in near]
            groups.append([*merged, device])
        return [sorted(group, key=lambda one: self._order[one.id]) for group in groups]

    def _sorted(self, parts: Sequence[Box | Card]) -> tuple[Box | Card, ...]:
        """In the order of the GPUs in them; what has none behind, by its first device."""

        def place(part: Box | Card) -> tuple[bool, int]:
            mine = list(cards((part,)))
            gpus = [self._order[card.id] for card in mine if card.kind == "gpu"]
            return (not gpus, min(gpus or [self._order[card.id] for card in mine]))

        return tuple(sorted(parts, key=place))
