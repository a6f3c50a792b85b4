"""ConfigMaps of run-ai/fake-gpu-operator: its pools, and the GPUs that it made up for one node.

    >>> data = {"topology.yml": "gpus: [{id: GPU-a, status: {allocatedBy: {namespace: d, pod: p, container: c}}}]"}
    >>> said = config_map({"kind": "ConfigMap", "metadata": {"name": "topology-n", "labels": {"node-name": "n"}},
    ...     "data": data})
    >>> said.name, said.devices[0].id, said.containers[0].pod
    ('n', 'GPU-a', 'p')

Source: run-ai/fake-gpu-operator 3a3f644 (2026-07-01) internal/common/topology/types.go, internal/common/constants.
"""

from __future__ import annotations

from gputopo.holdings import ContainerHolding, DeviceHeld
from gputopo.parsers.kube_objects import yaml_nodes
from gputopo.parsers.object_holdings.nodes import FAKE_OPERATOR, KWOK
from gputopo.parsers.object_holdings.said import FakePools, NodeSaid
from gputopo.terms.device_id import space_of
from gputopo.terms.fake_gpu_pools import KEY, KWOK_KEY, gpu_count, is_mock, is_new_form
from gputopo.terms.kube_object import Body, KubeObject, mapping, mappings, text

_GPU = "nvidia.com/gpu"
_PREFIX = "topology-"
BY = "ConfigMap"


def config_map(body: Body) -> NodeSaid | FakePools | None:
    """`None`: it is not one of the operator's. Raises WrongShape, Unreadable."""
    own = KubeObject(body)
    written = mapping(body, "data").get(KEY)
    if not isinstance(written, str):
        return None
    inner = next((value for _, value in yaml_nodes(written)), None)
    if not isinstance(inner, dict):
        return None
    if "nodePools" in inner:
        return _pools(own, inner)
    if "gpus" not in inner:
        return None
    name = own.labels.get("node-name") or own.name.removeprefix(_PREFIX)
    kwok = own.annotations.get(KWOK_KEY) == "fake"
    devices: list[DeviceHeld] = []
    held: dict[tuple[str, str, str], list[DeviceHeld]] = {}
    for gpu in mappings(inner, "gpus"):
        id = text(gpu, "id")
        devices.append(DeviceHeld(_GPU, id, space_of(id)))
        holder = mapping(mapping(gpu, "status"), "allocatedBy")
        if text(holder, "pod"):
            key = (text(holder, "namespace"), text(holder, "pod"), text(holder, "container"))
            held.setdefault(key, []).append(DeviceHeld(_GPU, id, space_of(id), by=BY))
    containers = tuple(
        ContainerHolding(namespace or None, pod, None, container or None, devices=tuple(one))
        for (namespace, pod, container), one in held.items()
    )
    fake = f"{FAKE_OPERATOR} on {KWOK}" if kwok else FAKE_OPERATOR
    return NodeSaid(name, fake, kwok=kwok, devices=tuple(devices), containers=containers)


def _pools(own: KubeObject, inner: Body) -> FakePools:
    new_form = is_new_form(inner)
    pools = mapping(inner, "nodePools")
    counts = tuple(
        (str(name), None if new_form and is_mock(pool) else gpu_count(pool, new_form))
        for name, pool in pools.items()
        if isinstance(pool, dict)
    )
    return FakePools(own.name, text(inner, "nodePoolLabelKey"), counts)
