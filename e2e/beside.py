"""What other systems put beside the pods of a cluster, each of which our role names: topology of a node by NFD and by
Koordinator, a node that the fake-gpu-operator makes up, a pod that its kubelet refused and one that no node took.
"""

from __future__ import annotations

import time

from e2e.api import Api, Refused, collection
from e2e.objects import GPU, Object, gpu

FAKE_NODE = "fake-000"
REJECTED = ("infer", "refused-0")
_NAMESPACE = "gpu-operator"
_KNOWN_WITHIN = 30.0  # s
_REFUSAL = "Pod was rejected: Resources cannot be allocated with Topology locality"
_DEFINITIONS = (
    ("topology.node.k8s.io", "v1alpha2", "NodeResourceTopology"),
    ("scheduling.koordinator.sh", "v1alpha1", "Device"),
)
_PLURALS = {"NodeResourceTopology": "noderesourcetopologies", "Device": "devices"}


def load(api: Api, node: str) -> None:
    """`node` is one with a device plugin. Raises Refused, TimeoutError."""
    for group, version, kind in _DEFINITIONS:
        api.create(_definition(group, version, kind))
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}})
    for one in (_fake_node(), _fake_topology(), *_events(node)):
        api.create(one)
    for one in (_zones(node), _devices(node)):
        _create_once_known(api, one)
    status = {"phase": "Failed", "reason": "TopologyAffinityError", "message": _REFUSAL}
    pod = _refused_pod(node)
    api.create(pod)
    api.call("PATCH", f"{collection(pod)}/{REJECTED[1]}/status", {"status": status})


def _create_once_known(api: Api, one: Object) -> None:
    """The API server takes a moment to serve a kind that was defined just now."""
    group, _ = one["apiVersion"].split("/")
    end = time.monotonic() + _KNOWN_WITHIN
    while True:
        try:
            api.call("POST", f"/apis/{one['apiVersion']}/{_PLURALS[one['kind']]}", one)
            return
        except Refused as refused:
            if ": 404:" not in str(refused):
                raise
            if time.monotonic() > end:
                raise TimeoutError(f"{one['kind']} of {group} is not served after {_KNOWN_WITHIN:g} s") from None
            time.sleep(0.1)


def _definition(group: str, version: str, kind: str) -> Object:
    """Any content is accepted: what is tested is who may read it."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": _PLURALS[kind], "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    metadata: Object = {"name": f"{_PLURALS[kind]}.{group}"}
    if group.endswith(".k8s.io"):  # a group of the community has to name its review
        metadata["annotations"] = {"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/1870"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata,
        "spec": {
            "group": group, "scope": "Cluster", "names": names,
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }  # fmt: skip


def _zones(node: str) -> Object:
    resources = [{"name": GPU, "capacity": "4", "allocatable": "4", "available": "0"}]
    zones = [{"name": f"node-{at}", "type": "Node", "resources": resources} for at in range(2)]
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology", "metadata": {"name": node},
        "attributes": [{"name": "topologyManagerPolicy", "value": "best-effort"}], "zones": zones,
    }  # fmt: skip


def _devices(node: str) -> Object:
    devices = [
        {"type": "gpu", "id": gpu(node, at), "minor": at, "health": True,
         "topology": {"socketID": -1, "nodeID": at // 4, "pcieID": f"pci0000:{0x15 + 0x10 * at:02x}"}}
        for at in range(8)
    ]  # fmt: skip
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device", "metadata": {"name": node},
        "spec": {"devices": devices},
    }  # fmt: skip


def _fake_node() -> Object:
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "110", GPU: "2"}
    labels = {"run.ai/fake.gpu": "true", "run.ai/simulated-gpu-node-pool": "default"}
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": FAKE_NODE, "labels": labels},
        "status": {"capacity": amounts, "allocatable": amounts},
    }  # fmt: skip


def _fake_topology() -> Object:
    nobody = "{allocatedBy: {namespace: '', pod: '', container: ''}}"
    gpus = "".join(f"- id: {gpu(FAKE_NODE, at)}\n  status: {nobody}\n" for at in range(2))
    text = f"gpuMemory: 40960\ngpuProduct: NVIDIA-A100-SXM4-40GB\ngpus:\n{gpus}migStrategy: mixed\n"
    return {
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": f"topology-{FAKE_NODE}", "namespace": _NAMESPACE,
                     "labels": {"node-topology": "true", "node-name": FAKE_NODE}},
        "data": {"topology.yml": text},
    }  # fmt: skip


def _refused_pod(node: str) -> Object:
    limits = {GPU: "4"}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": REJECTED[0], "name": REJECTED[1]},
        "spec": {"nodeName": node, "containers": [
            {"name": "main", "image": "registry.example/team/main:1", "resources": {"limits": limits}}]},
    }  # fmt: skip


def _events(node: str) -> tuple[Object, ...]:
    return (
        _event("default-scheduler", "FailedScheduling", "no-room-0", "0/51 nodes are available: 51 Insufficient "
               "nvidia.com/gpu.", None),
        _event("kubelet", "TopologyAffinityError", REJECTED[1], _REFUSAL, node),
    )  # fmt: skip


def _event(by: str, reason: str, pod: str, message: str, node: str | None) -> Object:
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{pod}.1", "namespace": REJECTED[0]},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": REJECTED[0], "name": pod},
        "reason": reason, "message": message, "type": "Warning", "count": 1,
        "source": {"component": by, **({"host": node} if node else {})},
        "firstTimestamp": "2026-01-05T08:00:00Z", "lastTimestamp": "2026-01-05T08:00:00Z",
    }  # fmt: skip
