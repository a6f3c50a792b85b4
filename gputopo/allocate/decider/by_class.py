"""Does a DeviceClass take an extended resource over from the device plugin (KEP-5004, DRAExtendedResource)?

Source: kubernetes v1.36.3 and v1.37.2. The scheduler decides node by node
(pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go filterExtendedResources,
noderesources/fit.go shouldDelegateResourceToDRA): a resource that a DeviceClass names and of which the
node's allocatable is 0 or absent goes to DRA; with more than 0 the device plugin keeps it. The feature is
beta and on since 1.36, GA and locked since 1.37 (pkg/features/kube_features.go). Of two classes with one
extendedResourceName the newer counts, then the name that sorts first; every class also has the implicit
name deviceclass.resource.kubernetes.io/NAME (k8s.io/dynamic-resource-allocation
deviceclass/extendedresourcecache).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gputopo.allocate.decider.decision import DEVICE_PLUGIN, DRA, Decision
from gputopo.terms.kube_object import KubeObject, WrongShape, mapping, text
from gputopo.terms.quantity import quantity

SINCE = (1, 36)
IMPLICIT = "deviceclass.resource.kubernetes.io/"
Version = tuple[int, int]


def is_implicit(resource: str) -> bool:
    return resource.startswith(IMPLICIT)


def by_class(
    classes: Iterable[KubeObject], asked: Collection[str], node: KubeObject | None, version: Version | None
) -> Decision | None:  # fmt: skip
    """`None`: no DeviceClass names what is asked for. version: of the cluster; the node's kubelet says at least it."""
    implicit = sorted(filter(is_implicit, asked))
    if implicit:
        return _since(f"{implicit[0]} names a DeviceClass", node, version)
    named = _by_resource(classes)
    taken = sorted(name for name in asked if name in named)
    if not taken:
        return None
    name = taken[0]
    what = f"DeviceClass {named[name].name} has extendedResourceName {name}"
    if node is not None and _advertised(node, name):
        return Decision(DEVICE_PLUGIN, f"{what}, but the node's device plugin advertises {name}")
    found = _since(what, node, version)
    if found.who != DRA or not found.sure:
        return found
    if node is None:
        unless = f"{what}, unless a device plugin advertises it on the node"
        return Decision(DRA, unless, sure=False, settled_by="--node")
    return Decision(DRA, f"{what}, and no device plugin advertises it on the node")


def _since(what: str, node: KubeObject | None, version: Version | None) -> Decision:
    """A kubelet is never newer than its cluster, but may be older by up to three releases."""
    kubelet = _kubelet_version(node)
    if version is None and (kubelet is None or kubelet < SINCE):
        known = "" if kubelet is None else f" (the node's kubelet is {kubelet[0]}.{kubelet[1]})"
        return Decision(DRA, f"{what}, on Kubernetes 1.36 or newer{known}", sure=False, settled_by="--k8s-version")
    if version is not None and version < SINCE:
        off = f"DRAExtendedResource is off by default before 1.36 (here {version[0]}.{version[1]})"
        return Decision(DEVICE_PLUGIN, f"{what}, but {off}")
    return Decision(DRA, what)


def _by_resource(classes: Iterable[KubeObject]) -> dict[str, KubeObject]:
    """Each resource's class: the newest, of equally old ones the first by name."""
    found: dict[str, KubeObject] = {}
    for one in sorted(classes, key=lambda one: one.name, reverse=True):
        name = text(one.spec, "extendedResourceName", "spec.extendedResourceName")
        if name and (name not in found or _created(found[name]) <= _created(one)):
            found[name] = one
    return found


def _created(one: KubeObject) -> str:
    """RFC 3339 in UTC, as the API server writes it: text order is time order."""
    return text(mapping(one.body, "metadata"), "creationTimestamp", "metadata.creationTimestamp")


def _advertised(node: KubeObject, resource: str) -> bool:
    amount = mapping(node.status, "allocatable", "status.allocatable").get(resource)
    try:
        return amount is not None and quantity(amount) > 0
    except ValueError as error:
        raise WrongShape(f"status.allocatable.{resource}: {error}") from None


def none_advertised(node: KubeObject, resource: str) -> bool:
    """Whether the node says what it has, and this is not among it."""
    return bool(mapping(node.status, "allocatable", "status.allocatable")) and not _advertised(node, resource)


def _kubelet_version(node: KubeObject | None) -> Version | None:
    if node is None:
        return None
    said = text(mapping(node.status, "nodeInfo", "status.nodeInfo"), "kubeletVersion", "status.nodeInfo.kubeletVersion")
    parts = said.removeprefix("v").split(".")
    if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()):
        return None
    return int(parts[0]), int(parts[1])
