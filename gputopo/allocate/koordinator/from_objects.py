"""Koordinator's own objects as its scheduler reads them: the Device of a node, the pods bound to it.

Read at koordinator-sh/koordinator a7a1b76 (2026-07-24): apis/scheduling/v1alpha1/device_types.go,
pkg/scheduler/plugins/deviceshare/device_cache.go (buildDeviceResources, updateCacheUsed).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from gputopo.allocate.koordinator.devices import Device, Devices, Place, Resources
from gputopo.allocate.koordinator.partitions import Table
from gputopo.allocate.koordinator.table import ALLOCATED, PARTITIONS, decoded_mapping, field, partition_table
from gputopo.errors import GputopoError
from gputopo.terms.kube_object import (
    Body,
    KubeObject,
    WrongShape,
    boolean,
    integer,
    mapping,
    mappings,
    text,
    texts,
)
from gputopo.terms.quantity import quantity

POLICY = "node.koordinator.sh/gpu-partition-policy"


def honors(labels: Mapping[str, str]) -> bool:
    """Absent, Prefer and anything else are Prefer."""
    return labels.get(POLICY) == "Honor"


def table_of(device: KubeObject) -> Table | None:
    """The partition table annotation. Raises GputopoError where it does not decode."""
    return partition_table(device.annotations.get(PARTITIONS, ""), named(device))


def devices_of(device: KubeObject) -> Devices:
    """Every device of the object, nothing of it used. Raises GputopoError, WrongShape."""
    rows = mappings(device.spec, "devices", "spec.devices")
    return Devices(tuple(_device(row, f"spec.devices[{at}]") for at, row in enumerate(rows)))


def named(device: KubeObject) -> str:
    return f"{device.kind.lower()} {device.name}" if device.name else device.where


def _device(row: Body, place: str) -> Device:
    minor = integer(row, "minor", f"{place}.minor")
    if minor is None:
        raise WrongShape(f"{place} has no minor, which koord-scheduler cannot do without")
    healthy = boolean(row, "health", f"{place}.health") or False
    where = mapping(row, "topology", f"{place}.topology")
    topology = None
    if row.get("topology") is not None:
        numa = integer(where, "nodeID", f"{place}.topology.nodeID") or 0
        topology = Place(numa, text(where, "pcieID", f"{place}.topology.pcieID"))
    groups = tuple(
        (
            texts(group, "labels", f"{place}.vfGroups.labels"),
            tuple(text(one, "busID", f"{place}.vfGroups.vfs.busID") for one in mappings(group, "vfs", f"{place}.vfs")),
        )
        for group in mappings(row, "vfGroups", f"{place}.vfGroups")
    )
    return Device(
        kind=text(row, "type", f"{place}.type"),
        minor=minor,
        total=_resources(mapping(row, "resources", f"{place}.resources"), place) if healthy else {},
        place=topology,
        id=text(row, "id", f"{place}.id"),
        labels=texts(row, "labels", f"{place}.labels"),
        functions=groups,
    )


def _resources(body: Mapping[str, Any], place: str) -> Resources:
    try:
        return {name: quantity(amount) for name, amount in body.items()}
    except ValueError as error:
        raise WrongShape(f"{place}.resources: {error}") from None


def used_by(devices: Devices, pods: Iterable[KubeObject], node: str | None) -> Devices:
    """With what the pods of this node hold by their device-allocated annotation. node None: every pod counts."""
    used: dict[tuple[str, int], dict[str, Fraction]] = {
        key: dict(amounts) for key, amounts in devices.used.items()
    }
    functions = set(devices.used_functions)
    for pod in pods:
        if ALLOCATED not in pod.annotations or not holds(pod, node):
            continue
        body = decoded_mapping(pod.annotations[ALLOCATED], "device-allocated", named(pod))
        for kind in body:
            for row in mappings(body, kind, f"device-allocated.{kind}"):
                amounts = used.setdefault((kind, _minor(row, pod)), {})
                for name, amount in _resources(mapping(row, "resources"), "device-allocated").items():
                    amounts[name] = amounts.get(name, Fraction(0)) + amount
                for one in mappings(mapping(row, "extension"), "vfs"):
                    functions.add(text(one, "busID"))
    return devices._replace(used=used, used_functions=frozenset(functions))


def holds(pod: KubeObject, node: str | None) -> bool:
    """Bound to this node and not finished."""
    bound = text(pod.spec, "nodeName", "spec.nodeName")
    if text(pod.status, "phase", "status.phase") in ("Succeeded", "Failed") or not bound:
        return False
    return node is None or bound == node


def _minor(row: Any, pod: KubeObject) -> int:
    found = field(row, "minor")
    if isinstance(found, bool) or not isinstance(found, int):
        raise GputopoError("device-allocated: an entry has no whole number as its minor", named(pod))
    return found
