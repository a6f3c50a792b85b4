"""Questions for the structured allocator: a cluster's slices, and the claims of a pod, for each of its nodes."""

from __future__ import annotations

from random import Random
from typing import Any

from conformance.questions.dra_pools import CPU, GPU, NET, NIC, NODES, PRODUCTS, ROOTS, STANDARD, TAINT, slices

BINDING = "DRADeviceBindingConditions+DRAResourceClaimDeviceStatus"
LISTS = "DRAListTypeAttributes"
STABLE = ("DRAAdminAccess", "DRADeviceTaints", "DRAPartitionableDevices", "DRAPrioritizedList")
DEFAULT = tuple(sorted((*STABLE, "DRAConsumableCapacity", BINDING)))
Question = dict[str, Any]

_CLASSES = {
    "gpu.nvidia.com": (f"device.driver == '{GPU}' && device.attributes['{GPU}'].type == 'gpu'",),
    "mig.nvidia.com": (f"device.driver == '{GPU}' && device.attributes['{GPU}'].type == 'mig'",),
    "rdma.dranet": (f"device.driver == '{NIC}'", f"device.attributes['{NIC}'].?rdma.orValue(false) == true"),
    "dra.cpu": (f"device.driver == '{CPU}'",),
    "rail": (f"device.driver == '{NET}'",),
    "network": (f"device.driver in ['{NIC}', '{NET}']",),
    "anything": (),
    "unguarded": (f"device.attributes['{GPU}'].type == 'gpu'",),  # an error on whatever has no type
}
_OF_DRIVER = {NIC: "rdma.dranet", CPU: "dra.cpu", NET: "rail"}
_SELECTORS = (
    f"device.attributes['{STANDARD}'].?numaNode.orValue(9) == 0",
    f"device.attributes['{STANDARD}'].?numaNode.orValue(9) == 1", f"has(device.attributes['{STANDARD}'].numaNode)",
    f"device.attributes['{STANDARD}'].numaNode == 1",
    f"device.attributes['{GPU}'].?productName.orValue('').contains('H100')",
    f"device.attributes['{GPU}'].productName == '{PRODUCTS[2]}'",
    f"device.attributes['{STANDARD}'].pcieRoot != '{ROOTS[0]}'",
    f"device.attributes['{GPU}'].healthy",
    f"device.attributes['{GPU}'].?index.orValue(0) > 1",
    f"device.capacity['{GPU}'].memory.isGreaterThan(quantity('40Gi'))",
    f"'memory' in device.capacity['{GPU}'] && device.capacity['{GPU}'].memory.compareTo(quantity('40Gi')) >= 0",
    f"device.attributes['{GPU}'].?profile.orValue('') == '1g.10gb'",
    f"device.attributes['{GPU}'].cudaComputeCapability.compareTo(semver('9.0.0')) == 0",
    "device.driver != 'dra.cpu'", "true", "false",
)  # fmt: skip
_LIST_SELECTORS = (
    f"device.attributes['{STANDARD}'].pcieRoot.includes('{ROOTS[1]}')",
    f"device.attributes['{GPU}'].?groups.orValue([0]).includes(1)",
)
_WRONG_SELECTORS = (
    "device.node == 'node-a'", "device.capacity['x'].y >= 80Gi", "device.driver", "",
    f"device.attributes['{GPU}'].model == 'H100'",
)  # fmt: skip
_ATTRIBUTES = (f"{STANDARD}/pcieRoot",) * 4 + (f"{STANDARD}/numaNode",) * 4 + (
    f"{GPU}/productName", f"{GPU}/parentUUID", f"{GPU}/type", f"{GPU}/index", f"{GPU}/healthy", f"{GPU}/groups",
    f"{NIC}/rdma", f"{NIC}/productName",
)  # fmt: skip


def scenarios(rng: Random, count: int) -> list[Question]:
    return [_scenario(rng, f"drawn-{number:05}") for number in range(count)]


def _scenario(rng: Random, name: str) -> Question:
    channel, features = _implementation(rng)
    nodes = list(NODES[: rng.choice((1, 1, 2))])
    lists = LISTS in features
    found = slices(rng, nodes, lists or rng.random() < 0.02)
    if not lists:
        _keep_one_list(found)
    held, consumed = _in_use(rng, found)
    classes = [_class(rng, one) for one in _CLASSES]
    asked = _asked(found)
    return {
        "name": name, "channel": channel, "features": features, "nodes": [_node(rng, one) for one in nodes],
        "slices": found, "deviceClasses": classes,
        "claims": [_claim(rng, number, features, asked) for number in range(rng.choice((1, 1, 1, 1, 2, 2)))],
        "alreadyAllocated": held, "allocatedCapacity": consumed,
    }  # fmt: skip


def _asked(found: list[Question]) -> list[str]:
    """Classes, as often as there are devices of each; one or two that may have none."""
    own = ["gpu.nvidia.com", "anything", "network"]
    for one in (one["spec"] for one in found):
        for device in one.get("devices", ()):
            kind = device.get("attributes", {}).get("type", {}).get("string", "gpu")
            own.append(_OF_DRIVER.get(one["driver"], f"{'mig' if kind == 'mig' else 'gpu'}.nvidia.com"))
    return own


def _implementation(rng: Random) -> tuple[str, list[str]]:
    """One of the three implementations and gates that it supports."""
    channel = rng.choice(("incubating",) * 6 + ("experimental",) * 3 + ("stable",))
    features = list(STABLE if channel == "stable" else DEFAULT)
    if channel == "experimental" and rng.random() < 0.8:
        features.append(LISTS)
    if rng.random() < 0.2:
        features = [gate for gate in features if rng.random() < 0.7]
    return channel, sorted(features)


def _node(rng: Random, name: str) -> Question:
    labels = {"kubernetes.io/hostname": name, **({"example.com/rail": "1"} if rng.random() < 0.5 else {})}
    return {"metadata": {"name": name, "labels": labels}}


def _in_use(rng: Random, found: list[Question]) -> tuple[list[Question], Question]:
    """Devices that other claims hold, alone or in part."""
    held: list[Question] = []
    consumed: Question = {}
    share = rng.choice((0, 0, 0.1, 0.3))
    for one in (one["spec"] for one in found):
        for device in one.get("devices", ()):
            driver, pool, name = one["driver"], one["pool"]["name"], device["name"]
            if rng.random() >= share:
                continue
            if device.get("allowMultipleAllocations"):
                consumed[f"{driver}/{pool}/{name}"] = {"memory": rng.choice(("10Gi", "20Gi", "40Gi"))}
            elif (row := {"driver": driver, "pool": pool, "device": name}) not in held:
                held.append(row)
    return held, consumed


def _keep_one_list(found: list[Question]) -> None:
    """Of two attributes of a type that the release does not take, Go's map order says which is named."""
    for one in found:
        for device in one["spec"].get("devices", ()):
            device.get("attributes", {}).pop("groups", None)


def _class(rng: Random, name: str) -> Question:
    spec: Question = {"selectors": [_cel(one) for one in _CLASSES[name]]} if _CLASSES[name] else {}
    if rng.random() < 0.1:
        spec["config"] = [{"opaque": {"driver": GPU, "parameters": {"class": name}}}]
    return {"metadata": {"name": name}, "spec": spec}


def _cel(expression: str) -> Question:
    return {"cel": {"expression": expression}}


def _claim(rng: Random, number: int, features: list[str], asked: list[str]) -> Question:
    requests = [_request(rng, f"r{place}", features, asked) for place in range(rng.choice((1, 1, 1, 1, 2, 2, 3)))]
    devices: Question = {"requests": requests}
    if rng.random() < 0.4:
        devices["constraints"] = [_constraint(rng, requests) for _ in range(rng.choice((1, 1, 2)))]
    if rng.random() < 0.15:
        config: Question = {"opaque": {"driver": GPU, "parameters": {"claim": number}}}
        if rng.random() < 0.6:
            config["requests"] = _names(rng, requests)
        devices["config"] = [config]
    return {"metadata": {"name": f"claim-{number}", "namespace": "default"}, "spec": {"devices": devices}, "status": {}}


def _request(rng: Random, name: str, features: list[str], asked: list[str]) -> Question:
    if rng.random() < (0.2 if "DRAPrioritizedList" in features else 0.03):
        subs = [{**_exactly(rng, features, asked), "name": f"s{place}"} for place in range(rng.randint(1, 3))]
        return {"name": name, "firstAvailable": subs}
    exactly = _exactly(rng, features, asked)
    if rng.random() < 0.06:
        exactly["adminAccess"] = True
    return {"name": name, "exactly": exactly}


def _exactly(rng: Random, features: list[str], asked: list[str]) -> Question:
    name = rng.choice(asked) if rng.random() < 0.98 else rng.choice(("unguarded", "absent.example.com"))
    count = rng.choice((1, 1, 1, 1, 2, 2, 3, 4))
    request: Question = {"deviceClassName": name, "allocationMode": "ExactCount", "count": count}
    if rng.random() < 0.1:
        request = {"deviceClassName": name, "allocationMode": "All"}
    elif rng.random() < 0.01:
        request["count"] = rng.choice((17, 32, 33, 40))
    if rng.random() < 0.25:
        request["selectors"] = [_cel(_selector(rng, features)) for _ in range(rng.choice((1, 1, 2)))]
    if rng.random() < 0.2:
        request["tolerations"] = [_toleration(rng) for _ in range(rng.choice((1, 1, 2)))]
    if rng.random() < (0.2 if "DRAConsumableCapacity" in features else 0.02):
        wanted = {"memory": rng.choice(("5Gi", "10Gi", "20Gi", "2500Mi", "40Gi", "41Gi"))}
        request["capacity"] = {"requests": wanted if rng.random() < 0.93 else {"cores": "4"}}
    return request


def _selector(rng: Random, features: list[str]) -> str:
    if rng.random() < 0.03:
        return rng.choice(_WRONG_SELECTORS)
    return rng.choice(_LIST_SELECTORS if LISTS in features and rng.random() < 0.3 else _SELECTORS)


def _toleration(rng: Random) -> Question:
    toleration: Question = {"operator": rng.choice(("Exists", "Equal"))}
    if toleration["operator"] == "Equal" or rng.random() < 0.7:
        toleration["key"] = rng.choice((TAINT, TAINT, "example.com/drain"))
    if toleration["operator"] == "Equal" and rng.random() < 0.8:
        toleration["value"] = rng.choice(("79", "48"))
    if rng.random() < 0.5:
        toleration["effect"] = rng.choice(("NoSchedule", "NoExecute"))
    return toleration


def _constraint(rng: Random, requests: list[Question]) -> Question:
    kind = "matchAttribute" if rng.random() < 0.75 else "distinctAttribute"
    constraint: Question = {kind: rng.choice(_ATTRIBUTES)}
    if rng.random() < 0.4:
        constraint["requests"] = _names(rng, requests)
    return constraint


def _names(rng: Random, requests: list[Question]) -> list[str]:
    """Of requests, sometimes of one subrequest."""
    chosen = rng.sample(requests, rng.randint(1, len(requests)))
    return [
        f"{one['name']}/{rng.choice(one['firstAvailable'])['name']}"
        if "firstAvailable" in one and rng.random() < 0.5 else one["name"]
        for one in chosen
    ]  # fmt: skip
