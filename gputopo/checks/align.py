"""Which device of one node is which of another: by identity, or by shape where identities differ.

`by` says how: `uuid` (the same GPUs), `pci` (the same slots), `shape` (another machine, or one that was renumbered)
or `id` (as they are called). NUMA nodes and packages keep their numbers with the first two and `id`.

    >>> from gputopo.topology.node import Gpu
    >>> a = NodeTopology(gpus=(Gpu("GPU0", uuid="x"), Gpu("GPU1", uuid="y")))
    >>> b = NodeTopology(gpus=(Gpu("GPU0", uuid="y"), Gpu("GPU1", uuid="x")))
    >>> align(a, b).by, align(a, b).mapping["GPU0"]
    ('uuid', 'GPU1')
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from gputopo.checks.edges import numa_numbers, outlined
from gputopo.checks.matching import matched
from gputopo.fleet.shape import shape_of
from gputopo.topology.node import Gpu, Nic, NodeTopology

_SLOTS = 0.5  # of the fewer devices: with so many common addresses it is one machine


class Alignment(NamedTuple):
    """`mapping`: GPUs, NICs, NUMA nodes and packages of the one → of the other."""

    by: str
    mapping: dict[str, str]


def align(a: NodeTopology, b: NodeTopology, by: str = "") -> Alignment:
    """`by`: one of the words, or what the nodes themselves suggest."""
    chosen = by or _common(a, b)
    if chosen == "shape":
        return Alignment("shape", by_shape(a, b))
    mapping: dict[str, str] = {}
    if chosen == "uuid":
        # A card that was replaced is that of its slot; two of one UUID were redacted.
        for key in (_uuid, _pci, _id):
            mapping |= _rest(mapping, a.gpus, b.gpus, key)
    else:
        mapping |= _equal(a.gpus, b.gpus, _pci if chosen == "pci" else _id)
        mapping |= _rest(mapping, *_nameless(a.gpus, b.gpus, _pci), _id)
    nics_a, nics_b = a.nics or (), b.nics or ()
    found = _equal(nics_a, nics_b, _pci) if chosen != "id" else _equal(nics_a, nics_b, _id)
    found |= _rest(found, nics_a, nics_b, _device)
    found |= _rest(found, *_nameless(nics_a, nics_b, _pci, _device), _id)  # NIC0 of a matrix without its legend
    mapping |= found
    return Alignment(chosen, mapping | _same_homes(a, b, mapping))


def by_shape(a: NodeTopology, b: NodeTopology) -> dict[str, str]:
    """Exact where the two are of one shape in all that is compared, else what contradicts least."""
    one, other = outlined(a), outlined(b)
    marks = [{v.id: tuple(v.facets.items()) for v in each.vertices} for each in (one, other)]
    shapes = [shape_of(node, marks=said) for node, said in zip((a, b), marks)]
    if shapes[0].form == shapes[1].form:
        return dict(zip(shapes[0].order, shapes[1].order))
    return matched(one, other).mapping


def _common(a: NodeTopology, b: NodeTopology) -> str:
    if {gpu.uuid for gpu in a.gpus if gpu.uuid} & {gpu.uuid for gpu in b.gpus if gpu.uuid}:
        return "uuid"
    slots = [{gpu.pci for gpu in node.gpus if gpu.pci} for node in (a, b)]
    if all(slots) and len(slots[0] & slots[1]) > _SLOTS * min(map(len, slots)):
        return "pci"
    return "shape"


def _same_homes(a: NodeTopology, b: NodeTopology, mapping: dict[str, str]) -> dict[str, str]:
    """By their numbers. Where the nodes have other numbers, as after a change of NPS or SNC: where the devices went."""
    homes, others = _homes(a), _homes(b)
    if homes == others:
        return {id: id for id in homes}
    votes: dict[str, Counter[str]] = {}
    theirs: tuple[Gpu | Nic, ...] = (*b.gpus, *(b.nics or ()))
    there = {device.id: device for device in theirs}
    ours: tuple[Gpu | Nic, ...] = (*a.gpus, *(a.nics or ()))
    for device in ours:
        other = there.get(mapping.get(device.id, ""))
        for home in _near(device):
            votes.setdefault(home, Counter()).update(_near(other) if other is not None else ())
    found: dict[str, str] = {}
    for home in sorted(votes, key=lambda id: -sum(votes[id].values())):
        free = [one for one, _ in votes[home].most_common() if one[:3] == home[:3] and one not in found.values()]
        best = free[0] if free else ""
        found |= {home: best} if best else {}
    rest = {id: id for id in homes & others if id not in found and id not in found.values()}
    return found | rest


def _near(device: Gpu | Nic) -> tuple[str, ...]:
    return (*(f"NUMA{number}" for number in device.numa_nodes or ()), *(device.packages or ()))


def _homes(node: NodeTopology) -> set[str]:
    return {f"NUMA{number}" for number in numa_numbers(node)} | {one.id for one in node.packages or ()}


def _equal(
    a: tuple[Any, ...], b: tuple[Any, ...], key: Callable[[Any], str | None]
) -> dict[str, str]:  # fmt: skip
    """Of devices that one name of a kind tells apart on both sides."""
    sides: list[dict[str, str]] = []
    for devices in (a, b):
        names: dict[str, str] = {}
        for device in devices:
            said = key(device)
            if said is not None:
                names[said] = "" if said in names else device.id
        sides.append(names)
    return {id: sides[1][name] for name, id in sides[0].items() if id and sides[1].get(name)}


def _nameless(
    a: tuple[Any, ...], b: tuple[Any, ...], *keys: Callable[[Any], str | None]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:  # fmt: skip
    """Those of both sides that can be told apart by their place alone, since one side has no other name for them."""
    known = [all(any(key(one) for one in side) for side in (a, b)) for key in keys]
    named = [key for key, both in zip(keys, known) if both]
    left = tuple(one for one in a if not any(key(one) for key in named))
    return left, tuple(one for one in b if not any(key(one) for key in named))


def _rest(
    found: dict[str, str], a: tuple[Any, ...], b: tuple[Any, ...], key: Callable[[Any], str | None]
) -> dict[str, str]:  # fmt: skip
    """Of those that have no partner yet; a device that took another's slot is that slot's."""
    taken = set(found.values())
    left = tuple(one for one in a if one.id not in found)
    return _equal(left, tuple(one for one in b if one.id not in taken), key)


def _uuid(gpu: Gpu) -> str | None:
    return gpu.uuid


def _pci(device: Gpu | Nic) -> str | None:
    return device.pci


def _id(device: Gpu | Nic) -> str | None:
    return device.id


def _device(nic: Nic) -> str | None:
    return nic.device
