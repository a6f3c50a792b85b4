"""One node or several? Which records speak of the same node.

A UUID, a set of PCI addresses, a boot id or a node name says so; so does standing in one text,
unless that text holds the same command twice. Without identity, different formats are taken for
one node (build.py cancels that by one contradiction), the same format and command twice are two;
first inside each folder, archive or sample, then over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gputopo.records import NodeRecords
from gputopo.topology.ledger import Spoken


def group(
    spoken: Sequence[Spoken], pieces: Sequence[int], merge: bool = False, each: bool = False
) -> list[list[Spoken]]:
    """Groups in the order of their first source. pieces[i] = which text or tree spoken[i] stands in."""
    count = len(spoken)
    if merge or count < 2:
        return [list(spoken)] if spoken else []
    root = list(range(count))

    def find(place: int) -> int:
        while root[place] != place:
            place = root[place]
        return place

    def union(first: int, second: int) -> None:
        a, b = find(first), find(second)
        root[max(a, b)] = min(a, b)

    _same_text(spoken, pieces, union)
    if not each:
        marks = [_identity(one.records) for one in spoken]
        for first in range(count):
            for second in range(first + 1, count):
                if _same_identity(marks[first], marks[second]):
                    union(first, second)
        for room in (_folder, _source):  # of several folders each is a node, if it would be one alone
            rooms: dict[tuple[str, str], list[int]] = {}
            for place, one in enumerate(spoken):
                rooms.setdefault(room(one), []).append(place)
            for places in rooms.values():
                _without_identity(spoken, [(place, find(place)) for place in places], union)
        _without_identity(spoken, [(place, find(place)) for place in range(count)], union)
    groups: dict[int, list[Spoken]] = {}
    for place, one in enumerate(spoken):
        groups.setdefault(find(place), []).append(one)
    return list(groups.values())


def _folder(one: Spoken) -> tuple[str, str]:
    return one.source.name, one.source.where.rpartition("/")[0]


def _source(one: Spoken) -> tuple[str, str]:
    return one.source.name, ""


def _command(records: NodeRecords) -> tuple[str, str]:
    return records.format, records.command


def _same_text(spoken: Sequence[Spoken], pieces: Sequence[int], union: Callable[[int, int], None]) -> None:
    """Records of one text are one node; the same command again starts the next node of a log."""
    open_nodes: dict[int, tuple[int, set[tuple[str, str]]]] = {}
    order = sorted(range(len(spoken)), key=lambda place: (pieces[place], spoken[place].records.line))
    for place in order:
        command = _command(spoken[place].records)
        start = open_nodes.get(pieces[place])
        if start is None or command in start[1]:
            open_nodes[pieces[place]] = (place, {command})
        else:
            start[1].add(command)
            union(start[0], place)


def _identity(records: NodeRecords) -> dict[str, frozenset[str]]:
    keys = [key for gpu in records.gpus or () for key in gpu.keys]
    system = records.system
    return {
        "uuid": frozenset(key.value for key in keys if key.space == "uuid"),
        "pci": frozenset(key.value for key in keys if key.space == "pci"),
        "boot": frozenset([system.boot_id] if isinstance(system.boot_id, str) else []),
        "name": frozenset([system.name] if isinstance(system.name, str) else []),
    }


def _same_identity(first: dict[str, frozenset[str]], second: dict[str, frozenset[str]]) -> bool:
    for space in ("uuid", "boot", "name"):
        if first[space] and second[space]:
            return bool(first[space] & second[space])
    small, large = sorted((first["pci"], second["pci"]), key=len)
    return bool(small) and small <= large


def _without_identity(
    spoken: Sequence[Spoken], places: Sequence[tuple[int, int]], union: Callable[[int, int], None]
) -> None:  # fmt: skip
    """Join what is left only if no two parts hold the same command: then each part is a view of one node.

    places: (record, root of its group).
    """
    commands: dict[int, set[tuple[str, str]]] = {}
    for place, root in places:
        commands.setdefault(root, set()).add(_command(spoken[place].records))
    parts = list(commands.items())
    seen: set[tuple[str, str]] = set()
    for _, own in parts:
        if own & seen:
            return
        seen |= own
    for part, _ in parts[1:]:
        union(parts[0][0], part)
