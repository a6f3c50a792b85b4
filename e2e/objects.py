"""A cluster of H100 nodes: half hand out GPUs by the device plugin, half by DRA. What who has is known beforehand.

Each node has ten pods: two of them hold two GPUs, four hold one, four hold none; of eight GPUs none is left. Objects
are as large as those of a cluster in use, since their size is what listing costs.
"""

from __future__ import annotations

import uuid
from typing import Any, NamedTuple

Object = dict[str, Any]
NAMESPACES = ("train", "infer")
DRIVER = "gpu.nvidia.com"
GPU = "nvidia.com/gpu"
CLAIM_UID = "CLAIM-UID"  # stands for what the API server will call the pod's claim
_COUNTS = (2, 1, 2, 1, 1, 1, 0, 0, 0, 0)  # GPUs of each pod of a node; pods of two cross the sockets
_ORDER = (0, 4, 1, 2, 5, 3, 6, 7)
_SINCE = "2026-01-05T08:00:00Z"
_NUMBERS = uuid.UUID("6f1d7c1e-0000-4000-8000-000000000000")


class PodOf(NamedTuple):
    """A pod, its state, the UUIDs of its GPUs, and those by the CDI names that its kubelet gives."""

    body: Object
    status: Object
    claim: Object | None
    allocation: Object | None
    gpus: tuple[str, ...]
    names: dict[str, str]

    @property
    def key(self) -> tuple[str, str]:
        return self.body["metadata"]["namespace"], self.body["metadata"]["name"]


class Cluster(NamedTuple):
    nodes: tuple[Object, ...]
    pods: tuple[PodOf, ...]
    slices: tuple[Object, ...]
    classes: tuple[Object, ...]
    names: dict[str, str]  # driver/pool/device → UUID


def cluster(nodes: int) -> Cluster:
    names: dict[str, str] = {}
    bodies, pods, slices = [], [], []
    for number in range(nodes):
        node = f"gpu-{number:03}"
        gpus = [gpu(node, at) for at in range(8)]
        by_claim = number % 2 == 1
        bodies.append(_node(node, by_claim))
        pods += _pods(node, gpus, by_claim)
        if by_claim:
            slices.append(_slice(node, gpus))
            names |= {f"{DRIVER}/{node}/gpu-{at}": one for at, one in enumerate(gpus)}
    return Cluster(tuple(bodies), tuple(pods), tuple(slices), (_device_class(),), names)


def gpu(node: str, at: int) -> str:
    return f"GPU-{uuid.uuid5(_NUMBERS, f'{node}/{at}')}"


def _node(name: str, by_claim: bool) -> Object:
    amounts = {"cpu": "192", "memory": "2113408Mi", "pods": "110", "ephemeral-storage": "3500Gi"}
    if not by_claim:
        amounts[GPU] = "8"
    labels = {
        "kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
        "nvidia.com/gpu.present": "true", "nvidia.com/gpu.count": "8", "nvidia.com/gpu.memory": "81559",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.family": "hopper",
        **{f"feature.node.kubernetes.io/cpu-cpuid.FEATURE{at}": "true" for at in range(40)},
    }  # fmt: skip
    images = [
        {"names": [f"registry.example/team/image-{at}@sha256:{at:064x}"], "sizeBytes": at << 30} for at in range(50)
    ]
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "status": {
            "capacity": amounts, "allocatable": amounts, "images": images,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": _SINCE}],
            "nodeInfo": {
                "kubeletVersion": "v1.37.2", "kernelVersion": "6.8.0", "osImage": "Ubuntu 24.04",
                "architecture": "amd64",
                "containerRuntimeVersion": "containerd://2.1.0", "operatingSystem": "linux", "kubeProxyVersion": "",
                "machineID": "", "systemUUID": "", "bootID": "",
            },
        },
    }  # fmt: skip


def _pods(node: str, gpus: list[str], by_claim: bool) -> list[PodOf]:
    free = [gpus[at] for at in _ORDER]
    found = []
    for number, count in enumerate(_COUNTS):
        own, free = tuple(free[:count]), free[count:]
        name = f"{'claim' if by_claim else 'plugin'}-{node}-{number}"
        namespace = NAMESPACES[number % 2]
        found.append(_pod(name, namespace, node, own, [gpus.index(one) for one in own], by_claim and count > 0))
    return found


def _pod(name: str, namespace: str, node: str, own: tuple[str, ...], places: list[int], by_claim: bool) -> PodOf:
    resources: Object = {"limits": {"cpu": "8", "memory": "64Gi"}, "requests": {"cpu": "8", "memory": "64Gi"}}
    spec: Object = {"nodeName": node, "tolerations": [{"operator": "Exists"}]}
    claim = allocation = None
    names: dict[str, str] = {}
    held: Object = {"name": GPU, "resources": [{"resourceID": one, "health": "Healthy"} for one in own]}
    if by_claim:
        resources["claims"] = [{"name": "gpus"}]
        spec["resourceClaims"] = [{"name": "gpus", "resourceClaimName": f"{name}-gpus"}]
        claim, allocation = _claim(f"{name}-gpus", namespace, node, places)
        names = {f"k8s.{DRIVER}/claim={CLAIM_UID}-gpu-{at}": one for at, one in zip(places, own)}
        held = {"name": "claim:gpus", "resources": [{"resourceID": one, "health": "Healthy"} for one in names]}
    elif own:
        resources["limits"][GPU] = resources["requests"][GPU] = str(len(own))
    spec["containers"] = [
        _container("main", resources),
        _container("sidecar", {"limits": {"cpu": "1", "memory": "1Gi"}}),
    ]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name.rpartition("-")[0], "controller": True,
             "uid": str(uuid.uuid5(_NUMBERS, name.rpartition("-")[0]))}  # fmt: skip
    body = {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}, "ownerReferences": [owner]},
        "spec": spec,
    }  # fmt: skip
    status: Object = {
        "phase": "Running", "startTime": _SINCE, "podIP": "10.1.2.3", "qosClass": "Guaranteed",
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": _SINCE} for kind in
                       ("PodScheduled", "Initialized", "ContainersReady", "Ready")],
        "containerStatuses": [
            _container_status("main", name, held if own else None), _container_status("sidecar", name),
        ],
    }  # fmt: skip
    return PodOf(body, status, claim, allocation, own, names)


def _container(name: str, resources: Object) -> Object:
    return {
        "name": name, "image": f"registry.example/team/{name}:1.2.3", "resources": resources,
        "command": ["torchrun", "--nnodes=1", "train.py"],
        "env": [{"name": f"SETTING_{at}", "value": f"value of the setting {at} of {name}"} for at in range(25)],
    }  # fmt: skip


def _container_status(name: str, pod: str, held: Object | None = None) -> Object:
    number = uuid.uuid5(_NUMBERS, f"{pod}/{name}").hex
    status = {
        "name": name, "image": f"registry.example/team/{name}:1.2.3", "imageID": f"sha256:{number}{number}",
        "containerID": f"containerd://{number}{number}", "ready": True, "restartCount": 0, "started": True,
        "state": {"running": {"startedAt": _SINCE}},
    }  # fmt: skip
    return status | ({"allocatedResourcesStatus": [held]} if held else {})


def _claim(name: str, namespace: str, node: str, places: list[int]) -> tuple[Object, Object]:
    """(the claim, its allocation)"""
    exactly = {"deviceClassName": DRIVER, "allocationMode": "ExactCount", "count": len(places)}
    claim = {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name, "namespace": namespace},
        "spec": {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}},
    }  # fmt: skip
    results = [{"request": "gpus", "driver": DRIVER, "pool": node, "device": f"gpu-{at}"} for at in places]
    on = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]}
    return claim, {"devices": {"results": results}, "nodeSelector": on}


def _slice(node: str, gpus: list[str]) -> Object:
    devices = [
        {
            "name": f"gpu-{at}",
            "attributes": {
                "type": {"string": "gpu"}, "uuid": {"string": one}, "minor": {"int": at}, "index": {"int": at},
                "productName": {"string": "NVIDIA H100 80GB HBM3"}, "architecture": {"string": "Hopper"},
                "brand": {"string": "Nvidia"}, "cudaComputeCapability": {"version": "9.0.0"},
                "driverVersion": {"version": "580.65.6"},
                "resource.kubernetes.io/pciBusID": {"string": f"0000:{0x19 + 0x10 * at:02x}:00.0"},
                "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{0x15 + 0x10 * at:02x}"},
            },
            "capacity": {"memory": {"value": "81559Mi"}},
        }
        for at, one in enumerate(gpus)
    ]  # fmt: skip
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"{node}-gpus"},
        "spec": {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices},
    }  # fmt: skip


def _device_class() -> Object:
    expression = f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type == 'gpu'"
    return {
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": DRIVER},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }  # fmt: skip
