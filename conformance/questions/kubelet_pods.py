"""Nodes with many pods that come, end and go, for what can be read of them afterwards: kind pods.

Devices are named as NVIDIA's plugin does (GPUs, MIG devices, time-sliced replicas), claims as its DRA driver.
"""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID

from conformance.questions.kubelet_devices import POLICIES

Question = dict[str, Any]
GPU, MIG, NIC = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "rdma/hca"

# sockets, NUMA nodes of each, cores of each node, threads of each core
_MACHINES = ((1, 1, 32, 2), (2, 1, 24, 2), (2, 1, 56, 2), (2, 1, 32, 1), (2, 2, 16, 2), (1, 2, 32, 2))
_STRATEGIES: tuple[list[str], ...] = (["envvar"], ["cdi-cri"], ["envvar", "cdi-cri"], ["volume-mounts"], [])
_MEMORY = ("1Gi", "2Gi", "4Gi", "1500Mi", "16Gi")
_NAMESPACES = ("train", "infer", "default")
_DRIVERS = ("gpu.nvidia.com", "dra.cpu", "nic.example.com")


def pods(rng: Random, containers: int) -> list[Question]:
    """As many nodes as it takes to have so many containers asked for."""
    questions: list[Question] = []
    while containers > 0:
        questions.append(_node(rng, f"pods-{len(questions):04}"))
        containers -= size(questions[-1])
    return questions


def size(question: Question) -> int:
    return max(1, sum(len(step.get("containers", ())) for step in question["steps"]))


def _node(rng: Random, name: str) -> Question:
    sockets, per_socket, cores, threads = rng.choice(_MACHINES)
    nodes = sockets * per_socket
    resources = _resources(rng, nodes)
    steps, claims = _life(rng, resources)
    return {
        "id": name, "kind": "pods",
        "machine": {
            "sockets": sockets, "numa_per_socket": per_socket, "cores_per_numa": cores, "threads": threads,
            "mem_mib_per_numa": 262144,
            "distances": [[10 if a == b else 21 for b in range(nodes)] for a in range(nodes)],
        },
        "cpu_policy": rng.choice(("static", "static", "static", "none")), "cpu_options": {}, "reserved_cpus": "0",
        "mem_policy": rng.choice(("Static", "None")), "mem_reserved_mib_per_numa": 1024,
        "policy": rng.choice(POLICIES), "scope": rng.choice(("container", "pod")), "options": {},
        "resources": resources, "claims": claims, "steps": steps,
    }  # fmt: skip


def _uuid(rng: Random) -> str:
    return str(UUID(int=rng.getrandbits(128), version=4))


def _resources(rng: Random, nodes: int) -> dict[str, Question]:
    count = rng.choice((4, 8, 8, 16))
    places = [_place(rng, number, count, nodes) for number in range(count)]
    gpus = [f"GPU-{_uuid(rng)}" for _ in range(count)]
    shape = rng.random()
    if shape < 0.6:
        devices = {id: {"numa": place} for id, place in zip(gpus, places)}
    else:  # time-slicing
        devices = {f"{id}::{copy}": {"numa": place} for id, place in zip(gpus, places) for copy in range(4)}
    found = {GPU: _offered(rng, devices, rng.choice(_STRATEGIES))}
    if rng.random() < 0.25:
        found[MIG] = _offered(rng, {f"MIG-{_uuid(rng)}": {"numa": rng.choice(places)} for _ in range(7)}, ["envvar"])
    if rng.random() < 0.4:
        found[NIC] = _offered(rng, {f"mlx5_{number}": {"numa": place} for number, place in enumerate(places)}, [])
    return found


def _place(rng: Random, number: int, count: int, nodes: int) -> list[int] | None:
    """Evenly over the NUMA nodes; now and then none, none at all in the list, or several."""
    if rng.random() < 0.9:
        return [number * nodes // count]
    return rng.choice((None, [], list(range(nodes))))


def _offered(rng: Random, devices: dict[str, Question], strategies: list[str]) -> Question:
    for one in devices.values():
        if rng.random() < 0.03:
            one["healthy"] = False
    return {"preferred": rng.choice(("first", "last")), "strategies": strategies, "devices": devices}


def _life(rng: Random, resources: dict[str, Question]) -> tuple[list[Question], list[Question]]:
    """Pods are added, end, and go; a StatefulSet's comes again under its name; a device may fail."""
    steps: list[Question] = []
    claims: list[Question] = []
    there: list[Question] = []
    left_names: list[tuple[str, str]] = []
    for number in range(rng.randint(8, 36)):
        chance = rng.random()
        if there and chance < 0.2:
            gone = there.pop(rng.randrange(len(there)))
            how = rng.choice(("del", "del", "end"))
            steps.append({"op": how, "uid": gone["uid"], **({"lost": True} if rng.random() < 0.3 else {})})
            if how == "del":
                left_names.append((gone["namespace"], gone["name"]))
        elif chance < 0.24:
            resource = rng.choice(sorted(resources))
            few = rng.sample(sorted(resources[resource]["devices"]), rng.randint(0, 2))
            steps.append({"op": "health", "resource": resource, "unhealthy": few})
        else:
            again = bool(left_names) and rng.random() < 0.5
            namespace, name = left_names.pop() if again else (rng.choice(_NAMESPACES), f"worker-{number}")
            pod = _pod(rng, namespace, name, resources, claims)
            steps.append(pod)
            there.append(pod)
    return steps, claims


def _pod(
    rng: Random, namespace: str, name: str, resources: dict[str, Question], claims: list[Question]
) -> Question:  # fmt: skip
    pod: Question = {"op": "add", "uid": _uuid(rng), "namespace": namespace, "name": name}
    kinds = ["init"] * rng.choice((0, 0, 0, 1)) + ["sidecar"] * rng.choice((0, 0, 1)) + ["app"] * rng.choice((1, 1, 2))
    if rng.random() < 0.25:
        pod["claims"] = {f"use-{at}": _claim(rng, pod, claims) for at in range(rng.choice((1, 1, 2)))}
    guaranteed = rng.random() < 0.8
    pod["containers"] = [
        _container(rng, f"{kind}-{at}", kind, guaranteed, resources, sorted(pod.get("claims", ())))
        for at, kind in enumerate(kinds)
    ]
    return pod


def _container(
    rng: Random, name: str, kind: str, guaranteed: bool, resources: dict[str, Question], claims: list[str]
) -> Question:  # fmt: skip
    limits = {"cpu": rng.choice(("1", "1", "2", "4", "500m")), "memory": rng.choice(_MEMORY)}
    if rng.random() < 0.6:
        for resource in rng.sample(sorted(resources), rng.randint(1, len(resources))):
            limits[resource] = str(rng.choice((1, 1, 1, 2, 2, 4)))
    one: Question = {"name": name, "kind": kind, "limits": limits}
    if not guaranteed:
        one["requests"] = {**limits, "cpu": "100m"}
    if claims and rng.random() < 0.8:
        one["claims"] = rng.sample(claims, rng.randint(1, len(claims)))
    return one


def _claim(rng: Random, pod: Question, claims: list[Question]) -> str:
    """The name of a ResourceClaim of the pod's namespace that is reserved for it, now and then for others too."""
    user = {"name": pod["name"], "uid": pod["uid"]}
    # The kubelet prepares no pod that has one claim under two names ("skipped 1 ResourceClaims").
    known = [one for one in claims if one["namespace"] == pod["namespace"] and user not in one["pods"]]
    if known and rng.random() < 0.2:
        claim = rng.choice(known)
        claim["pods"].append(user)
        return str(claim["name"])
    uid, name = _uuid(rng), f"claim-{len(claims)}"
    drivers = rng.sample(_DRIVERS, rng.choice((1, 1, 2)))
    devices = [_claimed(rng, driver, uid, at) for driver in drivers for at in range(rng.choice((1, 1, 2, 4)))]
    claims.append(
        {"name": name, "namespace": pod["namespace"], "uid": uid, "devices": devices, "pods": [user]}
    )  # fmt: skip
    return name


def _claimed(rng: Random, driver: str, claim: str, at: int) -> Question:
    device = f"gpu-{at}" if driver == "gpu.nvidia.com" else f"device-{at}"
    return {
        "request": rng.choice(("one", "two")), "driver": driver, "pool": "node-a", "device": device,
        "share": _uuid(rng) if rng.random() < 0.1 else None,
        "cdi": [f"k8s.{driver}/claim={claim}-{device}"] if rng.random() < 0.8 else [],
    }  # fmt: skip
