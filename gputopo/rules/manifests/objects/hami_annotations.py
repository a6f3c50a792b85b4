"""What HAMi's scheduler makes of the annotations of a node and of a pod.

Source: Project-HAMi/HAMi 4707fb0 (2026-08-21): pkg/device/nvidia/device.go (GetNodeDevices, CheckHealth, assertNuma,
cordonedDevices), pkg/device/devices.go (CheckHealth), pkg/scheduler/policy/gpu_policy.go (Less),
pkg/device-plugin/nvidiadevice/nvinternal (register.go, rm/devices.go: one device a slot). The register annotation of
NVIDIA GPUs is JSON since v2.8.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gputopo.allocate.hami.devices import (
    ALLOCATED,
    CORDON,
    REGISTER,
    SCORE,
    Gpu,
    held,
    pair_scores,
    parse_bool,
    registered,
)
from gputopo.allocate.hami.order import POLICIES, TOPOLOGY
from gputopo.allocate.hami.request import COUNT, NUMA_BIND, POLICY
from gputopo.errors import GputopoError
from gputopo.rules.manifests.objects.node_parts import NodePart, whole

HANDSHAKE = "hami.io/node-handshake"
NODE = "hami.io/vgpu-node"
OF_PODS = {POLICY, NUMA_BIND, ALLOCATED}
_NONE = "HAMi's scheduler knows no GPU of this node"


class Said(NamedTuple):
    annotation: str
    severity: str
    message: str
    because: str = ""
    remedy: str = ""


def gpus_of(node: NodePart) -> tuple[Gpu, ...]:
    """Empty where the annotation is not there, or does not decode."""
    try:
        return registered(node.annotations[REGISTER], "")[0] if REGISTER in node.annotations else ()
    except GputopoError:
        return ()


def of_node(node: NodePart) -> Iterator[Said]:
    if REGISTER not in node.annotations:
        return
    try:
        gpus, form = registered(node.annotations[REGISTER], "")
    except GputopoError as error:
        yield Said(REGISTER, "error", error.what, _NONE)
        return
    if form == "csv":
        message = "node-nvidia-register has the form of HAMi before v2.8.0"
        because = f"since then it is JSON, and of this {_NONE}"
        yield Said(REGISTER, "info", message, because, "device plugin and scheduler of one release")
    if not gpus:
        yield Said(REGISTER, "warning", "node-nvidia-register lists no GPU", _NONE)
        return
    yield from _handshake(node)
    yield from _devices(gpus, node)
    yield from _scores(gpus, node)


def _handshake(node: NodePart) -> Iterator[Said]:
    text = node.annotations.get(HANDSHAKE, "")
    if text.startswith("Deleted"):
        yield Said(HANDSHAKE, "warning", "HAMi has taken the node's GPUs away", "its device plugin did not report")
    elif "Requesting_" in text and node.allocatable and not node.allocatable.get(COUNT):
        because = f"{COUNT} is not allocatable: 60 s after this HAMi's scheduler drops the node's GPUs"
        yield Said(HANDSHAKE, "warning", "HAMi's scheduler waits for the device plugin", because)


def _devices(gpus: Sequence[Gpu], node: NodePart) -> Iterator[Said]:
    ids = [gpu.id for gpu in gpus]
    for id in dict.fromkeys(one for one in ids if ids.count(one) > 1):
        yield Said(REGISTER, "error", f"{id} is registered {ids.count(id)} times")
    for gpu in gpus:
        if not gpu.healthy:
            yield Said(REGISTER, "warning", f"{gpu.id} is not healthy: HAMi gives it to no pod")
    for one in node.annotations.get(CORDON, "").split(","):
        if one.strip() and one.strip() not in ids:
            message = f"{one.strip()} is cordoned, and the node has no such GPU"
            yield Said(CORDON, "warning", message, "", "a UUID of node-nvidia-register")
    if any(gpu.mode != "hami-core" for gpu in gpus):
        return  # instances of MIG are counted in other ways
    slots, capacity = sum(gpu.slots for gpu in gpus), node.capacity.get(COUNT)
    if capacity is not None and capacity != slots:
        message = f"{len(gpus)} GPUs with {slots} slots are registered, and the capacity {COUNT} is {capacity}"
        yield Said(REGISTER, "warning", message, "HAMi's device plugin serves one device a slot")
    count = whole(node.labels.get("nvidia.com/gpu.count"))
    if count is not None and count != len(gpus):
        message = f"{len(gpus)} GPUs are registered, and nvidia.com/gpu.count is {count}"
        yield Said(REGISTER, "info", message, "the others are filtered in HAMi's configuration, or one of both is old")


def _scores(gpus: Sequence[Gpu], node: NodePart) -> Iterator[Said]:
    if SCORE not in node.annotations:
        return
    try:
        scores = pair_scores(node.annotations[SCORE], "")
    except GputopoError as error:
        yield Said(SCORE, "error", error.what, _NONE)
        return
    ids = {gpu.id for gpu in gpus}
    without = sorted(id for id in ids if not ids - {id} <= scores.get(id, {}).keys())
    if without and len(ids) > 1:
        message = f"{', '.join(without)}: scores of pairs are missing"
        yield Said(SCORE, "warning", message, "topology-aware counts such a pair as 0, the least")


def of_pod(annotations: dict[str, str], nodes: Sequence[NodePart]) -> Iterator[Said]:
    """nodes: those of the files that HAMi has registered and that the pod can be on."""
    policy = annotations.get(POLICY)
    if policy is not None:
        words = [word.strip() for word in policy.split(",")] if "," in policy else [policy]
        for word in words:
            if word not in POLICIES:
                taken = "is taken as spread" if len(words) == 1 else "has no effect"
                yield Said(POLICY, "warning", f"{POLICY} {word or repr(word)} {taken}", "", ", ".join(POLICIES))
        if TOPOLOGY in words and nodes and not any(SCORE in node.annotations for node in nodes):
            message = f"topology-aware has nothing to go by on {_names(nodes)}: {SCORE} is missing"
            because = "all pairs of GPUs are then alike; the device plugin writes it with ENABLE_TOPOLOGY_SCORE=true"
            yield Said(POLICY, "warning", message, because)
    bind = annotations.get(NUMA_BIND)
    if bind is not None and parse_bool(bind) is None:
        yield Said(NUMA_BIND, "warning", f"{NUMA_BIND} {bind} is no boolean: nothing is bound", "", '"true"')
    elif bind is not None and parse_bool(bind) and nodes:
        listed = [gpus_of(node) for node in nodes]
        if all(len(gpus) > 1 and not any(gpu.numa for gpu in gpus) for gpus in listed):
            message = f"{NUMA_BIND} separates nothing on {_names(nodes)}: every GPU is registered with NUMA node 0"
            yield Said(NUMA_BIND, "info", message, "HAMi writes 0, or nothing, for an unknown NUMA node too")
    yield from _held(annotations, nodes)


def _held(annotations: dict[str, str], nodes: Sequence[NodePart]) -> Iterator[Said]:
    if ALLOCATED not in annotations:
        return
    try:
        devices = held(annotations[ALLOCATED], "")
    except GputopoError as error:
        yield Said(ALLOCATED, "error", error.what)
        return
    own = [node for node in nodes if node.name == annotations.get(NODE)]
    ids = {gpu.id for node in own for gpu in gpus_of(node)}
    for id in dict.fromkeys(id for id, _, _ in devices):
        if ids and id not in ids:
            yield Said(ALLOCATED, "warning", f"the pod holds {id}, and node {own[0].name} does not register it")


def _names(nodes: Sequence[NodePart]) -> str:
    return ", ".join(node.name for node in nodes[:3]) + (", ..." if len(nodes) > 3 else "")
