"""What the annotations of a pod say to koord-scheduler, field by field, as Go decodes them.

Read at koordinator-sh/koordinator a7a1b76 (2026-07-24): apis/extension/device_share.go,
pkg/scheduler/plugins/deviceshare/{utils,device_cache,devicehandler_default,device_allocator,allocator_gpu}.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gputopo.allocate.koordinator.table import ALLOCATED, HINT, JOINT, SPEC
from gputopo.terms.json_spots import Spot
from gputopo.terms.kube_object import type_name
from gputopo.terms.quantity import quantity

# DeviceResourceNames
_GPU_NAMES = {
    "nvidia.com/gpu", "amd.com/gpu", "dcu.com/gpu", "koordinator.sh/gpu", "koordinator.sh/gpu.shared",
    "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory", "koordinator.sh/gpu-memory-ratio", "huawei.com/npu-core",
    "huawei.com/npu-cpu", "huawei.com/npu-dvpp",
}  # fmt: skip
_TYPES = ("gpu", "rdma", "fpga")
_SCOPES = ("Device", "PCIe", "NUMANode", "Node")
_STRATEGIES = ("ApplyForAll", "RequestsAsCount")
_EXCLUSIVE = ("DeviceLevel", "PCIeLevel")
_FIELDS = {
    SPEC: ("allocatePolicy", "ringBusBandwidth"),
    JOINT: ("deviceTypes", "requiredScope"),
    HINT: ("selector", "vfSelector", "allocateStrategy", "requiredTopologyScope", "exclusivePolicy"),
    ALLOCATED: ("minor", "resources", "id", "extension"),
}


class Fault(NamedTuple):
    severity: str
    start: int  # in the text of the annotation
    message: str
    remedy: str = ""
    because: str = ""


class _Fields:
    """The members of an object as a Go struct takes them: fields in any case, an exact one first."""

    def __init__(self, spot: Spot, known: tuple[str, ...]) -> None:
        self.spot, self.known = spot, known
        self.members: dict[str, Spot] = {}
        self.unknown = []
        for key, member in spot.members.items():
            name = next((one for one in known if one.lower() == key.lower()), None)
            if name is None:
                self.unknown.append(key)
            elif name not in self.members or key == name:
                self.members[name] = member

    def faults(self) -> Iterator[Fault]:
        for key in self.unknown:
            message = f"{key} has no effect: there is no such field"
            yield Fault("warning", self.spot.keys[key], message, _near(key, self.known))

    def get(self, name: str) -> Spot | None:
        """null is as if absent."""
        found = self.members.get(name)
        return None if found is None or found.value is None else found


def asked(names: Iterable[str]) -> frozenset[str]:
    """The types of devices that a pod's resources ask for."""
    found = {"gpu" for one in names if one in _GPU_NAMES}
    return frozenset(found | {one for one in ("rdma", "fpga") if f"koordinator.sh/{one}" in names})


def faults(name: str, root: Spot, types: frozenset[str]) -> Iterator[Fault]:
    if root.value is None:
        return
    if not isinstance(root.value, dict):
        yield Fault("error", root.start, f"{name.rpartition('/')[2]} is {type_name(root.value)}, not a mapping")
    elif name == SPEC:
        yield from _spec(_Fields(root, _FIELDS[SPEC]))
    elif name == JOINT:
        yield from _joint(_Fields(root, _FIELDS[JOINT]), types)
    elif name == HINT:
        for kind, hint in root.members.items():
            yield from _hint(kind, hint, root.keys[kind])
    else:
        for kind, rows in root.members.items():
            yield from _allocated(kind, rows)


def _spec(fields: _Fields) -> Iterator[Fault]:
    yield from fields.faults()
    yield from _word(fields, "allocatePolicy", ("Restricted", "BestEffort"), "it is read as BestEffort")
    ring = fields.get("ringBusBandwidth")
    if ring is not None and not _is_quantity(ring.value):
        yield Fault("error", ring.start, f"ringBusBandwidth is {type_name(ring.value)}, not a quantity", "200Gi")


def _joint(fields: _Fields, types: frozenset[str]) -> Iterator[Fault]:
    yield from fields.faults()
    yield from _word(fields, "requiredScope", ("SamePCIe",), "nothing is required")
    listed = fields.get("deviceTypes")
    if listed is None:
        return
    if not isinstance(listed.value, list):
        yield Fault("error", listed.start, f"deviceTypes is {type_name(listed.value)}, not a list")
        return
    wrong = [one for one in listed.members.values() if one.value is not None and not isinstance(one.value, str)]
    for one in wrong:
        yield Fault("error", one.start, f"deviceTypes has {type_name(one.value)}, not a string")
    if wrong:
        return
    for one in listed.members.values():
        if one.value not in _TYPES:
            yield Fault(
                "warning", one.start, f'deviceTypes "{one.value}" is passed over', _near(str(one.value), _TYPES)
            )
    together = [one for one in listed.value if one in types]
    if len(together) < 2 and all(one in _TYPES for one in listed.value):
        of = f"only {together[0]}" if together else "none"
        message = f"device-joint-allocate has no effect: of its types the pod asks for {of}"
        yield Fault("warning", listed.start, message)


def _hint(kind: str, hint: Spot, key: int) -> Iterator[Fault]:
    if kind not in _TYPES:
        yield Fault("warning", key, f'device-allocate-hint "{kind}" is no type of device', _near(kind, _TYPES))
    if hint.value is None:
        return
    if not isinstance(hint.value, dict):
        yield Fault("error", hint.start, f'"{kind}" is {type_name(hint.value)}, not a mapping')
        return
    fields = _Fields(hint, _FIELDS[HINT])
    yield from fields.faults()
    yield from _word(fields, "requiredTopologyScope", _SCOPES, "it bounds nothing")
    yield from _word(fields, "allocateStrategy", _STRATEGIES, "it has no effect")
    yield from _word(fields, "exclusivePolicy", _EXCLUSIVE, "it has no effect")
    for name in ("selector", "vfSelector"):
        found = fields.get(name)
        if found is not None and not isinstance(found.value, dict):
            yield Fault("error", found.start, f"{name} is {type_name(found.value)}, not a label selector")
    yield from _without_effect(kind, fields)


def _without_effect(kind: str, fields: _Fields) -> Iterator[Fault]:
    scope, exclusive, strategy = (
        fields.get(name) for name in ("requiredTopologyScope", "exclusivePolicy", "allocateStrategy")
    )
    if scope is not None and kind in ("rdma", "fpga"):
        yield Fault("warning", scope.start, f"requiredTopologyScope has no effect on {kind}: it is read of gpu only")
    if strategy is not None and kind == "gpu" and strategy.value == "RequestsAsCount":
        yield Fault("warning", strategy.start, "allocateStrategy RequestsAsCount has no effect on gpu")
    if exclusive is None:
        return
    if exclusive.value == "PCIeLevel":
        because = "koord-scheduler computes which devices remain and drops the result"
        yield Fault("warning", exclusive.start, "exclusivePolicy PCIeLevel has no effect", "", because)
    elif exclusive.value == "DeviceLevel":
        counted = strategy is not None and strategy.value == "RequestsAsCount"
        if kind == "gpu" or not counted:
            where = "on gpu" if kind == "gpu" else "without allocateStrategy RequestsAsCount"
            yield Fault("warning", exclusive.start, f"exclusivePolicy DeviceLevel has no effect {where}")


def _allocated(kind: str, rows: Spot) -> Iterator[Fault]:
    """What the scheduler wrote; a pod that carries it is bound to it."""
    if rows.value is None:
        return
    if not isinstance(rows.value, list):
        yield Fault("error", rows.start, f'"{kind}" is {type_name(rows.value)}, not a list')
        return
    for row in rows.members.values():
        if row.value is None:
            continue
        if not isinstance(row.value, dict):
            yield Fault("error", row.start, f'"{kind}" has {type_name(row.value)}, not a mapping')
            continue
        fields = _Fields(row, _FIELDS[ALLOCATED])
        minor, resources = fields.get("minor"), fields.get("resources")
        if minor is not None and not _is_whole(minor.value):
            yield Fault("error", minor.start, f"minor is {type_name(minor.value)}, not a whole number")
        if resources is not None and not isinstance(resources.value, dict):
            yield Fault("error", resources.start, f"resources is {type_name(resources.value)}, not a mapping")
        for name, amount in (resources.members if resources is not None else {}).items():
            if amount.value is not None and not _is_quantity(amount.value):
                yield Fault("error", amount.start, f"{name} is {type_name(amount.value)}, not a quantity")


def _word(fields: _Fields, name: str, known: tuple[str, ...], read_as: str) -> Iterator[Fault]:
    found = fields.get(name)
    if found is None:
        return
    if not isinstance(found.value, str):
        yield Fault("error", found.start, f"{name} is {type_name(found.value)}, not a string")
    elif found.value and found.value not in known:
        message = f'{name} "{found.value}" is not known: {read_as}'
        yield Fault("warning", found.start, message, _near(found.value, known) or ", ".join(known))


def _near(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    lower = {one.lower(): one for one in known}
    near = get_close_matches(word.lower(), lower, 1, 0.7)
    return lower[near[0]] if near else ""


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_quantity(value: Any) -> bool:
    try:
        quantity(value)
    except ValueError:
        return False
    return True
