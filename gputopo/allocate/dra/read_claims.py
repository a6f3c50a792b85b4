"""ResourceClaim and ResourceClaimTemplate objects as records, and what allocated claims hold.

The API server's defaults are applied: `allocationMode: ExactCount`, `count: 1`, `operator: Equal`.

    >>> body = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": {
    ...     "devices": {"requests": [{"name": "g", "deviceClassName": "gpu.nvidia.com"}]}}}
    >>> claim_of(KubeObject(body)).requests[0].exactly.number
    1
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gputopo.allocate.dra import fields
from gputopo.allocate.dra.amount import Amount, plain
from gputopo.allocate.dra.fields import quantities, strings
from gputopo.allocate.dra.objects import (
    ALL,
    EXACT_COUNT,
    Allocated,
    Ask,
    Claim,
    ClaimRequest,
    Constraint,
    DeviceId,
    Toleration,
)
from gputopo.terms.kube_object import Body, KubeObject, WrongShape, boolean, integer, mapping, mappings, text

_OF_ASK = ("deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")


def claim_of(one: KubeObject, name: str = "") -> Claim:
    """Of a claim or a template. `name` replaces the object's. Raises WrongShape."""
    version = fields.version_of(one)
    spec = one.spec
    path = "spec.devices"
    if one.kind == "ResourceClaimTemplate":
        spec = mapping(spec, "spec", "spec.spec")
        path = "spec.spec.devices"
    devices = mapping(spec, "devices", path)
    requests = mappings(devices, "requests", f"{path}.requests")
    return Claim(
        name or one.name,
        one.namespace,
        tuple(_request(each, version, f"{path}.requests[{place}]") for place, each in enumerate(requests)),
        tuple(
            _constraint(each, f"{path}.constraints[{place}]")
            for place, each in enumerate(mappings(devices, "constraints", f"{path}.constraints"))
        ),
        fields.configs(devices, path),
    )


def _request(body: Body, version: str, path: str) -> ClaimRequest:
    name = text(body, "name", f"{path}.name")
    listed = mappings(body, "firstAvailable", f"{path}.firstAvailable")
    if version == "v1beta1":
        fields.refuse(body, ("exactly",), path, "in v1beta1 its fields stand directly under the request")
        exactly, where = body, path
    else:
        fields.refuse(body, _OF_ASK, path, f"in {version} it stands under exactly")
        exactly, where = mapping(body, "exactly", f"{path}.exactly"), f"{path}.exactly"
    return ClaimRequest(
        name,
        _ask(exactly, name, where),
        tuple(
            _ask(each, text(each, "name", f"{path}.firstAvailable.name"), f"{path}.firstAvailable[{place}]")._replace(
                admin_access=None
            )
            for place, each in enumerate(listed)
        ),
    )


def _ask(body: Body, name: str, path: str) -> Ask:
    mode = text(body, "allocationMode", f"{path}.allocationMode") or EXACT_COUNT
    count = integer(body, "count", f"{path}.count")
    if count is not None and count < 1 and mode != ALL:
        raise WrongShape(f"{path}.count is {count}; it must be greater than zero")
    capacity = None
    if body.get("capacity") is not None:
        own = mapping(body, "capacity", f"{path}.capacity")
        capacity = quantities(mapping(own, "requests", f"{path}.capacity.requests"), f"{path}.capacity.requests")
    return Ask(
        name=name,
        device_class=text(body, "deviceClassName", f"{path}.deviceClassName"),
        mode=mode,
        number=1 if count is None else count,
        selectors=fields.selectors(body, path),
        admin_access=boolean(body, "adminAccess", f"{path}.adminAccess"),
        tolerations=tuple(
            _toleration(each, f"{path}.tolerations") for each in mappings(body, "tolerations", f"{path}.tolerations")
        ),
        capacity=capacity,
    )


def _toleration(body: Body, path: str) -> Toleration:
    key, operator, value, effect = (
        text(body, name, f"{path}.{name}") for name in ("key", "operator", "value", "effect")
    )
    return Toleration(key, operator, value, effect, body if operator else {**body, "operator": "Equal"})


def _constraint(body: Body, path: str) -> Constraint:
    return Constraint(
        strings(body, "requests", f"{path}.requests"),
        text(body, "matchAttribute", f"{path}.matchAttribute") or None,
        text(body, "distinctAttribute", f"{path}.distinctAttribute") or None,
    )


def allocated_of(claims: Iterable[KubeObject], consumable: bool) -> Allocated:
    """What claims with an allocation hold; admin access holds nothing. Raises WrongShape."""
    devices: set[DeviceId] = set()
    shared: set[DeviceId] = set()
    capacity: dict[DeviceId, dict[str, Amount]] = {}
    path = "status.allocation.devices"
    for claim in claims:
        fields.version_of(claim)
        found = mapping(mapping(claim.status, "allocation", "status.allocation"), "devices", path)
        for one in mappings(found, "results", f"{path}.results"):
            if boolean(one, "adminAccess", f"{path}.results.adminAccess"):
                continue
            id = DeviceId(*(text(one, key, f"{path}.results.{key}") for key in ("driver", "pool", "device")))
            if not consumable or not one.get("shareID"):
                devices.add(id)
                continue
            shared.add(id)
            held = mapping(one, "consumedCapacity", f"{path}.results.consumedCapacity")
            if held:
                _sum(capacity.setdefault(id, {}), quantities(held, f"{path}.results.consumedCapacity"))
    return Allocated(frozenset(devices), frozenset(shared), capacity)


def _sum(into: dict[str, Amount], more: Mapping[str, Amount]) -> None:
    for name, one in more.items():
        known = into.get(name)
        into[name] = one if known is None else Amount(plain(known.number + one.number), known.form)


def is_allocated(one: KubeObject) -> bool:
    return bool(one.status.get("allocation"))
