"""ResourceSlice and DeviceClass objects as records.

    >>> body = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": {
    ...     "driver": "d", "pool": {"name": "p", "resourceSliceCount": 1}, "nodeName": "n",
    ...     "devices": [{"name": "a", "attributes": {"x": {"int": 1}}, "capacity": {"memory": {"value": "1Gi"}}}]}}
    >>> slice_of(KubeObject(body)).devices[0].attributes
    {'x': Attribute(kind='int', value=1)}
"""

from __future__ import annotations

from typing import Any

from gputopo.allocate.dra import fields
from gputopo.allocate.dra.fields import quantity_of, strings
from gputopo.allocate.dra.objects import (
    Attribute,
    Capacity,
    Counters,
    Device,
    DeviceClass,
    RequestPolicy,
    Slice,
    Taint,
)
from gputopo.terms.kube_object import Body, KubeObject, WrongShape, boolean, integer, mapping, mappings, text

_SCALARS: dict[str, type | tuple[type, ...]] = {"string": str, "int": int, "bool": bool, "version": str}
_OF_BASIC = ("attributes", "capacity", "consumesCounters", "taints")


def slice_of(one: KubeObject) -> Slice:
    """Raises WrongShape."""
    version = fields.version_of(one)
    spec = one.spec
    pool = mapping(spec, "pool", "spec.pool")
    count = integer(pool, "resourceSliceCount", "spec.pool.resourceSliceCount")
    return Slice(
        name=one.name,
        driver=text(spec, "driver", "spec.driver"),
        pool=text(pool, "name", "spec.pool.name"),
        generation=integer(pool, "generation", "spec.pool.generation") or 0,
        slice_count=count if count is not None else 0,
        node_name=text(spec, "nodeName", "spec.nodeName") or None,
        node_selector=fields.node_selector(spec, "nodeSelector", "spec.nodeSelector"),
        all_nodes=bool(boolean(spec, "allNodes", "spec.allNodes")),
        per_device=boolean(spec, "perDeviceNodeSelection", "spec.perDeviceNodeSelection"),
        shared_counters=tuple(
            _counters(each, "name", f"spec.sharedCounters[{place}]")
            for place, each in enumerate(mappings(spec, "sharedCounters", "spec.sharedCounters"))
        ),
        devices=tuple(
            _device(each, version, f"spec.devices[{place}]")
            for place, each in enumerate(mappings(spec, "devices", "spec.devices"))
        ),
    )


def _device(body: Body, version: str, path: str) -> Device:
    name = text(body, "name", f"{path}.name")
    if version == "v1beta1":
        fields.refuse(body, _OF_BASIC, path, "in v1beta1 it stands under basic")
        body, path = mapping(body, "basic", f"{path}.basic"), f"{path}.basic"
    elif "basic" in body:
        raise WrongShape(f"{path}.basic: no such field in {version}; its fields stand directly under the device")
    conditions, failures = "bindingConditions", "bindingFailureConditions"
    attributes = mapping(body, "attributes", f"{path}.attributes")
    capacity = mapping(body, "capacity", f"{path}.capacity")
    return Device(
        name=name,
        attributes={key: _attribute(each, f"{path}.attributes.{key}") for key, each in attributes.items()},
        capacity={key: _capacity(capacity, key, f"{path}.capacity.{key}") for key in capacity},
        consumes=tuple(
            _counters(each, "counterSet", f"{path}.consumesCounters[{place}]")
            for place, each in enumerate(mappings(body, "consumesCounters", f"{path}.consumesCounters"))
        ),
        taints=tuple(_taint(each, f"{path}.taints") for each in mappings(body, "taints", f"{path}.taints")),
        node_name=text(body, "nodeName", f"{path}.nodeName") or None,
        node_selector=fields.node_selector(body, "nodeSelector", f"{path}.nodeSelector"),
        all_nodes=bool(boolean(body, "allNodes", f"{path}.allNodes")),
        allow_multiple=boolean(body, "allowMultipleAllocations", f"{path}.allowMultipleAllocations"),
        binds_to_node=bool(boolean(body, "bindsToNode", f"{path}.bindsToNode")),
        binding_conditions=strings(body, conditions, f"{path}.{conditions}") if body.get(conditions) else None,
        binding_failure_conditions=strings(body, failures, f"{path}.{failures}") if body.get(failures) else None,
    )


def _attribute(body: Any, path: str) -> Attribute:
    if not isinstance(body, dict):
        raise WrongShape(f"{path} is no mapping of a type to a value")
    known = [key for key in body if key.removesuffix("s") in _SCALARS and body[key] is not None]
    if len(known) > 1:
        raise WrongShape(f"{path} has several types: {', '.join(known)}")
    if not known:
        return Attribute("", None)
    kind, value = known[0], body[known[0]]
    if not kind.endswith("s"):
        return Attribute(kind, _scalar(value, kind, path))
    if not isinstance(value, list):
        raise WrongShape(f"{path}.{kind} is no list")
    return Attribute(kind, tuple(_scalar(each, kind[:-1], path) for each in value))


def _scalar(value: Any, kind: str, path: str) -> Any:
    if not isinstance(value, _SCALARS[kind]) or (kind == "int" and isinstance(value, bool)):
        raise WrongShape(f"{path}.{kind} has a value of another type")
    return value


def _capacity(body: Body, key: str, path: str) -> Capacity:
    """`{value, requestPolicy}`; the v1alpha3 form, a bare quantity, is not in the API any more."""
    own = mapping(body, key, path)
    policy = None
    if own.get("requestPolicy") is not None:
        policy = _policy(mapping(own, "requestPolicy", f"{path}.requestPolicy"), f"{path}.requestPolicy")
    return Capacity(quantity_of(own.get("value", "0"), f"{path}.value"), policy)


def _policy(body: Body, path: str) -> RequestPolicy:
    span = mapping(body, "validRange", f"{path}.validRange")
    valid = body.get("validValues")
    if valid is not None and not isinstance(valid, list):
        raise WrongShape(f"{path}.validValues is no list")
    least, most, step, default = (
        quantity_of(of[key], f"{path}.{key}") if of.get(key) is not None else None
        for of, key in ((span, "min"), (span, "max"), (span, "step"), (body, "default"))
    )
    return RequestPolicy(
        default=default,
        valid_values=None if valid is None else tuple(quantity_of(one, f"{path}.validValues") for one in valid),
        has_range=body.get("validRange") is not None,
        minimum=least,
        maximum=most,
        step=step,
    )


def _counters(body: Body, name: str, path: str) -> Counters:
    counters = mapping(body, "counters", f"{path}.counters")
    return Counters(
        text(body, name, f"{path}.{name}"),
        {
            key: quantity_of(mapping(counters, key, where).get("value", "0"), where)
            for key in counters
            for where in (f"{path}.counters.{key}",)
        },
    )


def _taint(body: Body, path: str) -> Taint:
    return Taint(*(text(body, key, f"{path}.{key}") for key in ("key", "value", "effect")))


def class_of(one: KubeObject) -> DeviceClass:
    """Raises WrongShape."""
    fields.version_of(one)
    return DeviceClass(one.name, fields.selectors(one.spec, "spec"), fields.configs(one.spec, "spec"))
