"""Small clusters for the allocator's tests: written as Kubernetes objects in short, read by the real readers."""

from __future__ import annotations

from typing import Any

from gputopo.allocate.dra.behaviour import Behaviour, of
from gputopo.allocate.dra.objects import Allocated, DeviceId, KubeNode, World
from gputopo.allocate.dra.read_claims import claim_of
from gputopo.allocate.dra.read_slices import class_of, slice_of
from gputopo.allocate.dra.selectors import Selectors, cel
from gputopo.terms.kube_object import KubeObject

DRIVER = "drv.example.com"
HOW = of((1, 36, 3))


def selectors(how: Behaviour = HOW) -> Selectors:
    return cel(how.release, False)


def device(name: str, /, **fields: Any) -> dict[str, Any]:
    """Numbers, texts and flags as attributes; other fields as the API has them."""
    own = {"consumesCounters", "taints", "capacity", "bindingConditions", "allowMultipleAllocations", "nodeName"}
    kinds = {bool: "bool", int: "int", str: "string"}
    attributes = {key: {kinds[type(value)]: value} for key, value in fields.items() if key not in own}
    return {"name": name, "attributes": attributes, **{key: value for key, value in fields.items() if key in own}}


def slice_(name: str, devices: list[dict[str, Any]], /, **spec: Any) -> dict[str, Any]:
    pool = {"name": spec.pop("pool", "p"), "generation": spec.pop("generation", 1),
            "resourceSliceCount": spec.pop("slices", 1)}  # fmt: skip
    return {"metadata": {"name": name}, "spec": {"driver": spec.pop("driver", DRIVER), "nodeName": "n", "pool": pool,
                                                  "devices": devices, **spec}}  # fmt: skip


def request(name: str, count: int = 1, /, **fields: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": "any", "count": count, **fields}}


def claim(name: str, requests: list[dict[str, Any]], *constraints: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"devices": {"requests": requests, "constraints": list(constraints)}}}


def same(attribute: str, *requests: str) -> dict[str, Any]:
    return {"matchAttribute": f"{DRIVER}/{attribute}", "requests": list(requests)}


def different(attribute: str, *requests: str) -> dict[str, Any]:
    return {"distinctAttribute": f"{DRIVER}/{attribute}", "requests": list(requests)}


def world(slices: list[dict[str, Any]], claims: list[dict[str, Any]], *held: str, pool: str = "p") -> World:
    any_class = {"metadata": {"name": "any"}, "spec": {}}
    return World(
        KubeNode("n", {"zone": "a"}),
        tuple(slice_of(_object(one, "ResourceSlice")) for one in slices),
        {"any": class_of(_object(any_class, "DeviceClass"))},
        tuple(claim_of(_object(one, "ResourceClaim")) for one in claims),
        Allocated(frozenset(DeviceId(DRIVER, pool, name) for name in held)),
    )


def _object(body: dict[str, Any], kind: str) -> KubeObject:
    return KubeObject({"apiVersion": "resource.k8s.io/v1", "kind": kind, **body})
