"""Devices into boxes: sockets, NUMA nodes, root complexes and switches as the evidence has them, nothing else.

Where a PCI tree was read, a box is a bridge of it. Where only letters are known (`topo -m`), a box is a group of
devices whose pairs are decided to be PIX, PXB or PHB: levels are an ultrametric, so that such groups nest. The
letters of a box are those of the pairs that meet in it and in no smaller one, taken from the pairs, not from the box.
"""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.reports.blocks import Title
from gputopo.reports.picture.device_cards import Cards
from gputopo.reports.picture.parts import LEVEL_ORDER, UNDECIDED, Box, Card, paths
from gputopo.reports.picture.pci_boxes import PciBoxes
from gputopo.reports.views.inspect_groups import FAR, Group, group_of, idle_numa_nodes, title
from gputopo.reports.views.words import Device, numbers
from gputopo.rules.wording import one_line
from gputopo.topology.node import NodeTopology, Pair

KINDS = ("gpus", "nics", "nvme")


def shown(node: NodeTopology, only: Sequence[str] = KINDS) -> tuple[Device, ...]:
    """The devices that are to be seen, in the node's order."""
    return (
        *(node.gpus if "gpus" in only else ()),
        *((node.nics or ()) if "nics" in only else ()),
        *((node.nvme or ()) if "nvme" in only else ()),
    )


def rooms(node: NodeTopology, devices: Sequence[Device]) -> tuple[Box, ...]:
    """Sockets with what is in them; where no source tells sockets, NUMA nodes; what has no known place comes last."""
    groups: dict[Group, list[Device]] = {}
    for device in devices:
        groups.setdefault(group_of(device), []).append(device)
    pci = PciBoxes(node, Cards(node), devices)
    by_socket: dict[tuple[str, ...], list[Box]] = {}
    for group in sorted(groups):
        by_socket.setdefault(group.packages, []).append(_numa_box(node, group, pci.nest(groups[group])))
    if node.packages is None:
        made = [box for boxes in by_socket.values() for box in boxes]
        known = [box for box in made if box.kind != "unknown"]
        return (*known, *_idle(node, groups), *(box for box in made if box.kind == "unknown"))
    for package in node.packages:
        by_socket.setdefault((package.id,), [])
    idle = {box.id: box for box in _idle(node, groups)}
    made = []
    for ids in sorted(by_socket, key=lambda ids: _socket_order(node, ids)):
        name = _socket_name(node, ids)
        own = [idle.pop(id) for id in list(idle) if id.startswith(f"{name} NUMA")]
        made.append(_socket(node, ids, name, [*by_socket[ids], *own]))
    return (*made, *idle.values())


def with_levels(rooms: tuple[Box, ...], pairs: Sequence[Pair]) -> tuple[tuple[Box, ...], tuple[str, ...]]:
    """Boxes with the letters of the pairs that meet in them, and the letters between rooms."""
    around = paths(rooms)
    meets: dict[str, set[str]] = {}
    outside: set[str] = set()
    for pair in pairs:
        first, second = around.get(pair.a), around.get(pair.b)
        if first is None or second is None:
            continue
        common = [one for one, other in zip(first, second) if one is other]
        level = pair.pcie.name if pair.pcie is not None else UNDECIDED
        (meets.setdefault(common[-1].id, set()) if common else outside).add(level)

    def lettered(box: Box) -> Box:
        inside = tuple(lettered(part) if isinstance(part, Box) else part for part in box.inside)
        return box._replace(inside=inside, levels=in_order(meets.get(box.id, ())))

    return tuple(lettered(room) for room in rooms), in_order(outside)


def in_order(levels: set[str] | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(level for level in LEVEL_ORDER if level in levels)


def _socket_order(node: NodeTopology, ids: tuple[str, ...]) -> tuple[int, int]:
    numbers_of = [package.number for package in node.packages or () if package.id in ids]
    return (min(numbers_of, default=FAR), len(ids))


def _socket_name(node: NodeTopology, ids: tuple[str, ...]) -> str:
    known = [package.number for package in node.packages or () if package.id in ids]
    return f"socket{'s' if len(known) > 1 else ''} {numbers(known)}" if known else "socket unknown"


def _socket(node: NodeTopology, ids: tuple[str, ...], name: str, inside: Sequence[Box]) -> Box:
    known = [package for package in node.packages or () if package.id in ids]
    if not known:
        return Box("unknown", "socket?" + "+".join(ids), name, (), tuple(inside), seen=False)
    model = one_line(f"{known[0].vendor or ''} {known[0].arch or ''}")
    return Box("package", "+".join(ids), name, (model,) if model else (), tuple(inside))


def _numa_box(node: NodeTopology, group: Group, inside: tuple[Box | Card, ...]) -> Box:
    parts = ["".join(span.text for span in part) for part in title(node, group).parts]
    told = [part for part in parts if not part.startswith("socket")] or ["NUMA unknown"]
    known = group.numa != (FAR,)
    id = f"NUMA{numbers(group.numa)}" if known else f"NUMA?{group.cpus}"
    id = "+".join([id, *group.packages]) if group.packages != ("~",) else id
    return Box("numa" if known else "unknown", id, told[0], tuple(told[1:]), inside, seen=known)


def _idle(node: NodeTopology, groups: dict[Group, list[Device]]) -> list[Box]:
    """NUMA nodes that no device is near, alike ones of one socket in one small box."""
    found = []
    for row in idle_numa_nodes(node, groups):
        if isinstance(row, Title):
            socket, numa, what = ("".join(span.text for span in part) for part in row.parts)
            found.append(Box("idle", f"{socket} {numa}".strip(), numa, (what,), ()))
    return found
