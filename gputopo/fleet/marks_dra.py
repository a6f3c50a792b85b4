"""What an answer of `allocate dra` can depend on beside the wiring: the devices, as the claim can see them.

An identity (UUID, PCI address, number, name of a root) is looked at only where an expression of the claim or
of its class names it; of an attribute that only constraints name it matters which devices share a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gputopo.allocate.dra.objects import Allocated, Claim, Device, DeviceClass, DeviceId, KubeNode, Slice
from gputopo.allocate.dra.published import ROOT, Published
from gputopo.fleet.marks import Marks

# Attributes that name a device and nothing else; those of other drivers are compared as they are.
_NAMES = frozenset((
    "uuid", "parentUUID", "index", "minor", "pcieBusID", "pciBusID", "pciAddress", "pciAddr", "parentPCIAddress",
    "serial", "pcieRoot",
))  # fmt: skip
_LOOPS = re.compile(r"\.(all|exists|exists_one|existsOne|filter|map|transformList|transformMap)\s*\(")


class Reads(NamedTuple):
    """What is read of devices: the text of all expressions, and the attributes that constraints name."""

    expressions: str
    constraints: frozenset[str]

    def shows(self, attribute: str) -> bool:
        """Whether an expression can see the value. A loop over all attributes sees each of them."""
        return bool(_LOOPS.search(self.expressions) or re.search(rf"\b{re.escape(attribute)}\b", self.expressions))


def reads(claims: Iterable[Claim], classes: Mapping[str, DeviceClass]) -> Reads:
    texts, names = [], []
    for claim in claims:
        for request in claim.requests:
            for ask in request.first_available or (request.exactly,):
                of_class = classes.get(ask.device_class)
                selectors = (*ask.selectors, *(of_class.selectors if of_class is not None else ()))
                texts += [selector.expression or "" for selector in selectors]
        names += [one.match_attribute or one.distinct_attribute or "" for one in claim.constraints]
    return Reads("\n".join(texts), frozenset(_bare(name) for name in names))


def of_published(
    fine: Published, coarse: Published, read: Reads, allocated: Allocated, frame: object
) -> Marks:  # fmt: skip
    """Of what the driver would publish; `coarse` and `fine`: the two readings of which GPUs share a PCIe root."""
    marks: dict[str, list[object]] = {}
    for own in fine.slices:
        for device in own.devices:
            id = own.id_of(device)
            seen = tuple(sorted(_seen(device, read, skip=(ROOT,)).items()))
            marks.setdefault(fine.gpus[id], []).append((seen, id in allocated.devices))
    for many in marks.values():
        many.sort(key=repr)
    roots = [_roots(one) for one in (fine, coarse)]
    ties = {
        (a, b): tuple(root.get(a) == root.get(b) for root in roots) for a in marks for b in marks if a != b
    }  # fmt: skip
    if read.shows(_bare(ROOT)):
        for gpu, many in marks.items():
            many.append(tuple(root.get(gpu) for root in roots))
    unread = tuple(name for name in sorted(fine.unknown) if read.shows(_bare(name)) or _bare(name) in read.constraints)
    return Marks(marks, ties, (frame, fine.line, unread))


def of_slices(
    slices: Sequence[Slice], joined: Mapping[DeviceId, str], read: Reads, allocated: Allocated, node: KubeNode
) -> Marks:
    """Of slices as they are: their order is the order of the search, so each device keeps its place."""
    marks: dict[str, list[object]] = {}
    pools = {pool: at for at, pool in enumerate(sorted({(own.driver, own.pool) for own in slices}))}
    equal: dict[tuple[str, object], int] = {}
    frame: list[object] = []
    for own in slices:
        devices = []
        for at, device in enumerate(own.devices):
            id = own.id_of(device)
            seen = _seen(device, read, equal=equal)
            held = (id in allocated.devices, id in allocated.shared, allocated.capacity.get(id))
            rest = device._replace(attributes={}, capacity={}, node_name=_here(device.node_name, node))
            devices.append((rest, sorted(seen.items()), held))
            if id in joined:
                marks.setdefault(joined[id], []).append((len(frame), at))
        rest_of_it = own._replace(name="", pool="", node_name=_here(own.node_name, node), devices=())
        frame.append((rest_of_it, pools[own.driver, own.pool], devices))
    selecting = any(own.node_selector or any(one.node_selector for one in own.devices) for own in slices)
    return Marks(marks, {}, (frame, (node.name, dict(node.labels)) if selecting else None))


def _here(name: str | None, node: KubeNode) -> str | None:
    """A node's name, but for which it is."""
    return None if name is None else "here" if name == node.name else "elsewhere"


def _seen(
    device: Device, read: Reads, *, skip: Sequence[str] = (), equal: dict[tuple[str, object], int] | None = None
) -> dict[str, object]:
    """The attributes and capacity that can matter. `equal`: numbers for values of which only equality matters."""
    found: dict[str, object] = {}
    for name, value in device.attributes.items():
        bare = _bare(name)
        if name in skip:
            continue
        if bare not in _NAMES or read.shows(bare):
            found[name] = value
        elif bare in read.constraints:
            found[name] = value if equal is None else equal.setdefault((name, value), len(equal))
    return {**found, "capacity": tuple(sorted(device.capacity.items(), key=repr))}


def _roots(known: Published) -> dict[str, object]:
    return {
        known.gpus[own.id_of(device)]: device.attributes.get(ROOT) for own in known.slices for device in own.devices
    }  # fmt: skip


def _bare(name: str) -> str:
    return name.rpartition("/")[2]
