"""What describes a node: its Node object with the registers of vGPU schedulers in it, Koordinator's Device, and the
NodeResourceTopology of NFD or the fake-gpu-operator.

    >>> said = node({"metadata": {"name": "n", "labels": {"run.ai/fake.gpu": "true"}},
    ...     "status": {"allocatable": {"nvidia.com/gpu": "2"}}})
    >>> said.fake, said.counts
    ('fake-gpu-operator', (('nvidia.com/gpu', 2),))

HAMi registers an unknown NUMA node as 0, and so does koordlet (facts: kubernetes-systems.md §3), so 0 is not believed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from gputopo.holdings import DeviceHeld, DeviceName
from gputopo.parsers.object_holdings.said import NodeSaid
from gputopo.records import Observation
from gputopo.terms.device_id import space_of
from gputopo.terms.fake_gpu_pools import FAKE_LABEL, KWOK_KEY
from gputopo.terms.kube_object import Body, KubeObject, boolean, integer, mapping, mappings, text
from gputopo.terms.quantity import quantity

FAKE_OPERATOR, KWOK = "fake-gpu-operator", "KWOK"
_HAMI, _VOLCANO = "hami.io/node-nvidia-register", "volcano.sh/node-vgpu-register"
_HAMI_NUMA, _HAMI_INDEX = 5, 7  # fields of a device in the form of older releases
_DIGITS = 6
_POLICIES = {"topologyManagerPolicy": "topology", "topologyManagerScope": "topologyScope"}
_DOMAIN_OF_KUBELET = "kubernetes.io"


def node(body: Body) -> NodeSaid:
    """Raises WrongShape."""
    own = KubeObject(body)
    kwok = own.annotations.get(KWOK_KEY) == "fake"
    fake = FAKE_OPERATOR if own.labels.get(FAKE_LABEL) == "true" else ""
    if kwok or own.labels.get(KWOK_KEY) == "fake":
        fake = f"{fake} on {KWOK}" if fake else KWOK
    names: list[DeviceName] = []
    for key, reader in ((_HAMI, _hami), (_VOLCANO, _rows)):
        try:
            names += reader(own.annotations.get(key, ""))
        except (ValueError, TypeError, AttributeError, RecursionError):
            continue  # lint judges it
    devices = tuple(DeviceHeld("nvidia.com/gpu", one.id, "uuid", one.numa_nodes) for one in names) or None
    counts = {
        name: amount
        for name, amount in _amounts(mapping(own.status, "allocatable", "status.allocatable"))
        if "/" in name and not name.partition("/")[0].endswith(_DOMAIN_OF_KUBELET)
    }
    labels = tuple(own.labels.items()) if fake else ()
    return NodeSaid(own.name, fake, labels, kwok, tuple(counts.items()), tuple(names), devices)


def _amounts(body: Body) -> Iterator[tuple[str, int]]:
    for name, amount in body.items():
        try:
            yield name, int(quantity(amount))
        except ValueError:
            continue


def _hami(value: str) -> Iterator[DeviceName]:
    if value.lstrip()[:1] not in ("[", "{"):
        yield from _rows(value)
        return
    for one in json.loads(value):
        index, numa = one.get("index", 0), one.get("numa", 0)
        yield _registered(one["id"], index if type(index) is int else None, numa if type(numa) is int else 0)


def _rows(value: str) -> Iterator[DeviceName]:
    """UUID,count,MiB,…: a device; HAMi's of older releases have the NUMA node and, later, the index behind."""
    for row in value.split(":"):
        fields = row.split(",")
        if len(fields) > _HAMI_NUMA:
            numa = _whole(fields, _HAMI_NUMA) if len(fields) > _HAMI_NUMA + 1 else None  # Volcano's six have no NUMA
            yield _registered(fields[0], _whole(fields, _HAMI_INDEX), numa or 0)


def _whole(fields: Sequence[str], at: int) -> int | None:
    field = fields[at] if at < len(fields) else ""
    return int(field) if field.isascii() and field.isdecimal() and len(field) < _DIGITS else None


def _registered(id: str, index: int | None, numa: int) -> DeviceName:
    return DeviceName(str(id), "uuid", str(id), nvml_index=index, numa_nodes=(numa,) if numa > 0 else None)


def koordinator(body: Body) -> NodeSaid:
    """A Device of scheduling.koordinator.sh, which has the name of its node. Raises WrongShape."""
    own = KubeObject(body)
    names: list[DeviceName] = []
    devices: list[DeviceHeld] = []
    for one in mappings(own.spec, "devices", "spec.devices"):
        kind, id, minor = text(one, "type"), text(one, "id"), integer(one, "minor")
        place = mapping(one, "topology")
        numa = integer(place, "nodeID")
        where = (numa,) if numa is not None and numa > 0 else None
        pci = text(place, "busID") or None
        if kind != "gpu":
            continue
        if minor is not None:
            names.append(DeviceName(str(minor), "minor", id or None, pci, minor=minor, numa_nodes=where))
        if id:
            names.append(DeviceName(id, space_of(id), id, pci, minor=minor, numa_nodes=where))
            if boolean(one, "health") is not False:
                devices.append(DeviceHeld("koordinator.sh/gpu", id, space_of(id), where))
    return NodeSaid(own.name, names=tuple(names), devices=tuple(devices) or None)


def node_resource_topology(body: Body) -> NodeSaid:
    """Counts in each zone; which device is in which zone it does not say. Raises WrongShape."""
    own = KubeObject(body)
    found: dict[str, str] = {}
    for one in mappings(body, "attributes"):
        word = _POLICIES.get(text(one, "name"))
        if word and text(one, "value"):
            found[word] = text(one, "value")
    seen = []
    for zone in mappings(body, "zones"):
        for one in mappings(zone, "resources"):
            name = text(one, "name")
            if "/" in name:
                amounts = dict(_amounts({key: one.get(key) for key in ("available", "allocatable")}))
                if len(amounts) == 2:
                    said = f"{text(zone, 'name')}: {amounts['available']} of {amounts['allocatable']} {name} available"
                    seen.append(Observation("zone-resources", (own.name, text(zone, "name")), said))
    return NodeSaid(own.name, policies=tuple(found.items()), observations=tuple(seen))
