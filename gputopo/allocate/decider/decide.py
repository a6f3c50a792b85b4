"""Who decides? From a Pod, its Node and the DeviceClasses of the cluster.

Sources: HAMi 4707fb0 (pkg/scheduler/webhook.go: which pods its webhook takes over), Koordinator a7a1b76
(apis/extension/device_share.go, scheduler name koord-scheduler), volcano ed72c7c (resources
volcano.sh/vgpu-*), gpushare-scheduler-extender (aliyun.com/gpu-mem), ACK's documentation of
ack.node.gpu.schedule (closed source), KEP-5004 DRAExtendedResource (beta and on since 1.36, GA in 1.37; read
in v1.36.3 and v1.37.2, see by_class.py).

The claims of a pod are DRA's whatever else is true; for the extended resources one decides, the first
that the objects name: another scheduler by name, its own resource names, what the node is registered
with; without any of it the device plugin, or DRA where a DeviceClass takes the resource over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from gputopo.allocate.decider.asks import pod_annotations, pod_spec, whole_pod
from gputopo.allocate.decider.by_class import by_class, is_implicit, none_advertised
from gputopo.allocate.decider.decision import (
    ACK,
    DEVICE_PLUGIN,
    DRA,
    HAMI,
    KOORDINATOR,
    NOBODY,
    VOLCANO,
    Decision,
)
from gputopo.terms.kube_object import KubeObject, sequence, text

_HAMI_OWN = ("nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores")
_HAMI_NODE = "hami.io/node-nvidia-register"
_ACK_NODE = "ack.node.gpu.schedule"
_ACK_OURS = ("default", "")  # values with which the node's device plugin decides as everywhere
_DEFAULT_SCHEDULER = "default-scheduler"


def decide(
    pod: KubeObject | None, node: KubeObject | None = None, classes: Iterable[KubeObject] = (),
    k8s_version: tuple[int, int] | None = None, resource: str = "nvidia.com/gpu", devices: Iterable[KubeObject] = (),
) -> Decision:  # fmt: skip
    """pod None: a plain pod that asks for `resource`. devices: Device objects of Koordinator. Raises WrongShape."""
    asked = {name for name, amount in whole_pod(pod).items() if amount} if pod is not None else {resource}
    if pod is not None and not any(map(_is_gpu, asked)):
        if sequence(pod_spec(pod), "resourceClaims"):
            return Decision(DRA, "the pod has resourceClaims and no extended GPU resource")
        return Decision(NOBODY, "the pod asks for no GPU", simulated=False)
    scheduler = text(pod_spec(pod), "schedulerName", "spec.schedulerName") if pod is not None else ""
    notes = pod_annotations(pod) if pod is not None else {}
    found = (
        _by_scheduler(scheduler, asked)
        or _by_names(asked, notes)
        or _by_node(node, asked, scheduler)
        or by_class(classes, asked, node, k8s_version)
    )
    if found is not None:
        return found
    return _plugin(pod, node, scheduler, list(devices), asked)


def asks_for_gpus(pod: KubeObject) -> bool:
    """By an extended resource, or by claims that may be of GPUs. Raises WrongShape."""
    asked = whole_pod(pod)
    return any(_is_gpu(name) for name in asked if asked[name]) or bool(sequence(pod_spec(pod), "resourceClaims"))


def _is_gpu(name: str) -> bool:
    own = ("nvidia.com/", "koordinator.sh/gpu", "volcano.sh/vgpu", "volcano.sh/gpu", "aliyun.com/gpu", "amd.com/gpu")
    return name.startswith(own) or name == "dcu.com/gpu" or is_implicit(name)


def _by_scheduler(scheduler: str, asked: Collection[str]) -> Decision | None:
    if scheduler == "koord-scheduler":
        return Decision(KOORDINATOR, "schedulerName is koord-scheduler")
    if scheduler == "hami-scheduler":
        return Decision(HAMI, "schedulerName is hami-scheduler")
    if scheduler == "volcano" and any(name.startswith("volcano.sh/") for name in asked):
        return _volcano(asked)
    return None


def _volcano(asked: Collection[str]) -> Decision:
    own = sorted(name for name in asked if name.startswith("volcano.sh/"))[0]
    return Decision(
        VOLCANO, f"the pod asks for {own}; first fit over the device order, blind to NUMA and NVLink", simulated=False
    )


def _by_names(asked: Collection[str], notes: Mapping[str, str]) -> Decision | None:
    """Resource names and annotations that only one system knows."""
    for name in sorted(asked):
        if name.startswith("volcano.sh/"):
            return _volcano(asked)
        if name.startswith("koordinator.sh/gpu"):
            return Decision(KOORDINATOR, f"the pod asks for {name}")
        if name.startswith("aliyun.com/gpu"):
            return Decision(ACK, f"the pod asks for {name}; closed source, not simulated", simulated=False)
        if name in _HAMI_OWN:
            return Decision(HAMI, f"the pod asks for {name}")
    for key in sorted(notes):
        if key.startswith("scheduling.koordinator.sh/"):
            return Decision(KOORDINATOR, f"the pod has the annotation {key}")
        if key.startswith("hami.io/") or key in ("nvidia.com/numa-bind", "nvidia.com/vgpu-mode"):
            return Decision(HAMI, f"the pod has the annotation {key}")
    return None


def _by_node(node: KubeObject | None, asked: Collection[str], scheduler: str) -> Decision | None:
    if node is None or "nvidia.com/gpu" not in asked:
        return None
    mode = node.labels.get(_ACK_NODE, "")
    if mode not in _ACK_OURS:
        why = f"the node has the label {_ACK_NODE}={mode}; closed source, not simulated"
        return Decision(ACK, why, simulated=False)
    if _HAMI_NODE not in node.annotations:
        return None
    if scheduler in ("", _DEFAULT_SCHEDULER):
        return Decision(HAMI, f"the node is registered with HAMi ({_HAMI_NODE}), whose webhook takes over its pods")
    return Decision(
        HAMI, f"the node's device plugin is HAMi's ({_HAMI_NODE}), but {scheduler} chooses no devices for it",
        sure=False, settled_by="the pod as the API server has it, kubectl get pod -o yaml",
    )  # fmt: skip


def _plugin(
    pod: KubeObject | None, node: KubeObject | None, scheduler: str, devices: list[KubeObject], asked: Collection[str]
) -> Decision:  # fmt: skip
    name = sorted(filter(_is_gpu, asked))[0]
    if scheduler not in ("", _DEFAULT_SCHEDULER):
        return Decision(DEVICE_PLUGIN, f"{scheduler} chooses the node, the kubelet and its device plugin the {name}")
    if devices and (node is None or any(one.name == node.name for one in devices)):
        if pod is None:
            why = "the node has a Device object of Koordinator, which decides where schedulerName is koord-scheduler"
            return Decision(DEVICE_PLUGIN, why, sure=False, settled_by="--pod")
        return Decision(
            DEVICE_PLUGIN, "there is a Device object of Koordinator, but schedulerName is not koord-scheduler",
            sure=False, settled_by="the pod as the API server has it: a ClusterColocationProfile may set schedulerName",
        )  # fmt: skip
    if pod is None and node is None:
        return Decision(DEVICE_PLUGIN, "no Pod or Node object was given", sure=False, settled_by="--pod, --node")
    if node is not None and none_advertised(node, name):
        why = f"{name} with the default scheduler; the node advertises none of it now"
        return Decision(DEVICE_PLUGIN, why, sure=False, settled_by="--classes, a DeviceClass may take it over")
    given = {"pod": pod, "node": node}
    said = [what for what, object in given.items() if object is not None]
    silent = f"{' and '.join(said)} name{'s' if len(said) == 1 else ''} no other"
    missing = next((what for what, object in given.items() if object is None), None)
    why = f"{name} with the default scheduler; {silent}"
    if missing is None:
        return Decision(DEVICE_PLUGIN, why)
    return Decision(DEVICE_PLUGIN, why, sure=False, settled_by=f"--{missing}")
