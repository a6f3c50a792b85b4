"""Who decides? From a Pod, its Node and the DeviceClasses of the cluster.

Sources: HAMi 4707fb0 (pkg/scheduler/webhook.go: which pods its webhook takes over), Koordinator a7a1b76
(apis/extension/device_share.go, scheduler name koord-scheduler), volcano ed72c7c (resources
volcano.sh/vgpu-*), gpushare-scheduler-extender (aliyun.com/gpu-mem), ACK's documentation of
ack.node.gpu.schedule (closed source), KEP-5004 DRAExtendedResource (beta and on since 1.36, GA in 1.37).

The claims of a pod are DRA's whatever else is true; for the extended resources one decides, the first
that the objects name: another scheduler by name, its own resource names, what the node is registered
with; without any of it the device plugin, or DRA where a DeviceClass takes the resource over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from gputopo.allocate.decider.asks import pod_annotations, pod_spec, whole_pod
from gputopo.terms.kube_object import KubeObject, mapping, sequence, text

DEVICE_PLUGIN, DRA, HAMI, VOLCANO, KOORDINATOR, ACK, NOBODY = (
    "device plugin", "DRA", "HAMi", "Volcano", "Koordinator", "ACK", "nobody",
)  # fmt: skip
EXTENDED_RESOURCE_SINCE = (1, 36)
_HAMI_OWN = ("nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores")
_HAMI_NODE = "hami.io/node-nvidia-register"
_ACK_NODE = "ack.node.gpu.schedule"
_ACK_OURS = ("default", "")  # values with which the node's device plugin decides as everywhere
_DEFAULT_SCHEDULER = "default-scheduler"


class Decision(NamedTuple):
    """`sure` False: the objects at hand leave another one possible; `settled_by` says what would tell."""

    who: str
    reason: str
    sure: bool = True
    settled_by: str = ""
    simulated: bool = True  # whether gputopo has a mechanism for it

    @property
    def line(self) -> str:
        """One line for the head of an answer.

        >>> Decision("DRA", "the pod has resourceClaims").line
        'DRA decides: the pod has resourceClaims'
        """
        doubt = "" if self.sure else f" (settle it: {self.settled_by})"
        verb = "decides" if self.sure else "probably decides"
        return f"{self.who} {verb}: {self.reason}{doubt}"


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
        or _by_class(classes, asked, node, k8s_version)
    )
    if found is not None:
        return found
    return _plugin(pod, node, scheduler, list(devices), asked)


def _is_gpu(name: str) -> bool:
    own = ("nvidia.com/", "koordinator.sh/gpu", "volcano.sh/vgpu", "volcano.sh/gpu", "aliyun.com/gpu", "amd.com/gpu")
    return name.startswith(own) or name == "dcu.com/gpu"


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


def _by_class(
    classes: Iterable[KubeObject], asked: Collection[str], node: KubeObject | None, version: tuple[int, int] | None
) -> Decision | None:  # fmt: skip
    """A DeviceClass with spec.extendedResourceName; a node whose device plugin has the resource keeps it."""
    named = {text(one.spec, "extendedResourceName", "spec.extendedResourceName"): one.name for one in classes}
    taken = sorted(name for name in asked if name in named)
    if not taken:
        return None
    known = version if version is not None else _kubelet_version(node)
    what = f"DeviceClass {named[taken[0]]} has extendedResourceName {taken[0]}"
    if node is not None and _advertised(node, taken[0]):
        return Decision(DEVICE_PLUGIN, f"{what}, but the node's device plugin advertises {taken[0]}")
    if known is None:
        return Decision(DRA, f"{what}, on Kubernetes 1.36 or newer", sure=False, settled_by="--k8s-version")
    if known < EXTENDED_RESOURCE_SINCE:
        return Decision(
            DEVICE_PLUGIN, f"{what}, but DRAExtendedResource is off by default before 1.36 (here {known[0]}.{known[1]})"
        )
    if node is None:
        return Decision(
            DRA, f"{what}, if no device plugin advertises it on the node", sure=False, settled_by="--node NODE.yaml"
        )
    return Decision(DRA, f"{what}, and no device plugin advertises it on the node")


def _advertised(node: KubeObject, resource: str) -> bool:
    amount = mapping(node.status, "allocatable", "status.allocatable").get(resource)
    return amount is not None and str(amount) != "0"


def _kubelet_version(node: KubeObject | None) -> tuple[int, int] | None:
    if node is None:
        return None
    said = text(mapping(node.status, "nodeInfo", "status.nodeInfo"), "kubeletVersion", "status.nodeInfo.kubeletVersion")
    parts = said.removeprefix("v").split(".")
    if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()):
        return None
    return int(parts[0]), int(parts[1])


def _plugin(
    pod: KubeObject | None, node: KubeObject | None, scheduler: str, devices: list[KubeObject], asked: Collection[str]
) -> Decision:  # fmt: skip
    name = sorted(filter(_is_gpu, asked))[0]
    if scheduler not in ("", _DEFAULT_SCHEDULER):
        return Decision(DEVICE_PLUGIN, f"{scheduler} chooses the node, the kubelet and its device plugin the {name}")
    if devices and (node is None or any(one.name == node.name for one in devices)):
        return Decision(
            DEVICE_PLUGIN, "there is a Device object of Koordinator, but schedulerName is not koord-scheduler",
            sure=False, settled_by="the pod as the API server has it: a ClusterColocationProfile may set schedulerName",
        )  # fmt: skip
    if pod is None and node is None:
        text_ = f"{name} with the default scheduler; no Pod or Node object was given"
        return Decision(DEVICE_PLUGIN, text_, sure=False, settled_by="--pod POD.yaml --node NODE.yaml")
    said = [what for what, object in (("pod", pod), ("node", node)) if object is not None]
    return Decision(DEVICE_PLUGIN, f"{name} with the default scheduler; {' and '.join(said)} name{_s(said)} no other")


def _s(said: list[str]) -> str:
    return "s" if len(said) == 1 else ""
