"""What a kubelet says of the pods on one machine: its podresources List, its checkpoint, and the objects of the API.

List as protojson prints it (grpcurl): zeros left out, so that NUMA node 0 is `{}`; an entry a device, pods by name
without UID. The checkpoint is version 2 (kubelet 1.20 and later), pods by UID without name. Its checksum is FNV-1a over
a dump of Go values, which cannot be made here; it is 0.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from tests.machines.machine import Machine

RESOURCE = "nvidia.com/gpu"


class Pod(NamedTuple):
    name: str
    namespace: str
    container: str
    gpus: tuple[int, ...]  # NVML indices, in the order in which the device plugin was asked for them
    started: str  # RFC 3339
    owner: tuple[str, str]  # kind, name
    number: int  # of its UID

    @property
    def uid(self) -> str:
        return f"aaaaaaaa-0000-4000-8000-{self.number:012d}"


def render_podresources(machine: Machine, pods: Sequence[Pod]) -> str:
    return _json({"podResources": [_resources(machine, pod) for pod in pods]})


def _resources(machine: Machine, pod: Pod) -> dict[str, Any]:
    devices = []
    for number in pod.gpus:
        gpu = machine.gpus[number]
        node = {"ID": str(gpu.numa)} if gpu.numa else {}
        devices.append({"resourceName": RESOURCE, "deviceIds": [gpu.uuid], "topology": {"nodes": [node]}})
    return {
        "name": pod.name,
        "namespace": pod.namespace,
        "containers": [{"name": pod.container, "devices": devices}],
    }


def render_checkpoint(machine: Machine, pods: Sequence[Pod]) -> str:
    entries = []
    for pod in pods:
        nodes: dict[str, list[str]] = {}
        for number in pod.gpus:
            nodes.setdefault(str(machine.gpus[number].numa), []).append(machine.gpus[number].uuid)
        entries.append(
            {
                "PodUID": pod.uid,
                "ContainerName": pod.container,
                "ResourceName": RESOURCE,
                "DeviceIDs": dict(sorted(nodes.items())),
                "AllocResp": _answer([machine.gpus[number].uuid for number in pod.gpus]),
            }
        )
    registered = {RESOURCE: [gpu.uuid for gpu in machine.gpus]}
    data = {"PodDeviceEntries": entries, "RegisteredDevices": registered}
    return json.dumps({"Data": data, "Checksum": 0}, separators=(",", ":")) + "\n"


def _answer(uuids: Sequence[str]) -> str:
    """base64 of the plugin's ContainerAllocateResponse, deviceListStrategy envvar: one entry of `envs` (field 1)."""
    entry = _bytes(1, b"NVIDIA_VISIBLE_DEVICES") + _bytes(2, ",".join(uuids).encode())
    return base64.b64encode(_bytes(1, entry)).decode()


def _bytes(field: int, value: bytes) -> bytes:
    """Of a protobuf message: a field of wire type 2."""
    size, length = len(value), b""
    while size > 0x7F:
        length += bytes([size & 0x7F | 0x80])
        size >>= 7
    return bytes([field << 3 | 2]) + length + bytes([size]) + value


def render_list(machine: Machine) -> str:
    """nvidia-smi -L"""
    return "".join(f"GPU {gpu.number}: {gpu.name} (UUID: {gpu.uuid})\n" for gpu in machine.gpus)


def render_pods(pods: Sequence[Pod], node: str) -> str:
    """`kubectl get pods -o json`, of what the audit needs."""
    items = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": pod.name,
                "namespace": pod.namespace,
                "uid": pod.uid,
                "ownerReferences": [
                    {
                        "apiVersion": "batch/v1" if pod.owner[0] == "Job" else "apps/v1",
                        "kind": pod.owner[0],
                        "name": pod.owner[1],
                        "uid": f"bbbbbbbb-0000-4000-8000-{pod.number:012d}",
                        "controller": True,
                    }
                ],
            },
            "spec": {
                "nodeName": node,
                "containers": [{"name": pod.container, "resources": {"limits": {RESOURCE: str(len(pod.gpus))}}}],
            },
            "status": {"phase": "Running", "startTime": pod.started},
        }
        for pod in pods
    ]
    return _json({"apiVersion": "v1", "kind": "List", "items": items})


def _json(value: Any) -> str:
    return json.dumps(value, indent=1) + "\n"
