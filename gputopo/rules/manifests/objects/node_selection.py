"""Which of the nodes of the files a pod can be bound to by what it says itself: its node, selector and tolerations.

Source: k8s.io/component-helpers/scheduling/corev1 (GetRequiredNodeAffinity, tolerations), kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.allocate.dra.failure import Failure
from gputopo.allocate.dra.fields import node_selector
from gputopo.allocate.dra.node_selector import matches
from gputopo.allocate.dra.objects import KubeNode, NodeSelector
from gputopo.rules.manifests.objects.node_parts import NodePart
from gputopo.rules.manifests.objects.pod_parts import PodPart, listed, mapping_of, text_of
from gputopo.rules.manifests.objects.together import nodes
from gputopo.rules.manifests.problem import Context
from gputopo.terms.kube_object import Body, WrongShape
from gputopo.terms.manifest import Manifest

_KEEPS_OFF = ("NoSchedule", "NoExecute")
_AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"


def chooses(part: PodPart) -> bool:
    name, labels = text_of(part.spec, "nodeName"), mapping_of(part.spec, "nodeSelector")
    return bool(name or labels) or _affinity(part.spec) is not None


def chosen(part: PodPart, context: Context) -> Iterator[NodePart]:
    """Nodes of the files; none where the pod does not choose (no nodeName, nodeSelector or required affinity)."""
    if not chooses(part):
        return
    name, labels = text_of(part.spec, "nodeName"), mapping_of(part.spec, "nodeSelector")
    affinity = _affinity(part.spec)
    for one, node in nodes(context):
        if name and node.name != name:
            continue
        selected = all(node.labels.get(key) == value for key, value in labels.items())
        selected = selected and (affinity is None or _holds(affinity, KubeNode(node.name, node.labels)))
        if selected and (name or _tolerated(one, part.spec)):
            yield node


def _affinity(spec: Body) -> NodeSelector | None:
    try:
        return node_selector(mapping_of(mapping_of(spec, "affinity"), "nodeAffinity"), _AFFINITY, _AFFINITY)
    except WrongShape:
        return None


def _holds(selector: NodeSelector, node: KubeNode) -> bool:
    try:
        return matches(selector, node)
    except Failure:
        return False


def _tolerated(node: Manifest, spec: Body) -> bool:
    taints = [one for _, one in listed(mapping_of(node.object.body, "spec"), "taints", ("spec",))]
    tolerations = [one for _, one in listed(spec, "tolerations", ())]
    return all(
        any(_tolerates(toleration, taint) for toleration in tolerations)
        for taint in taints
        if text_of(taint, "effect") in _KEEPS_OFF
    )


def _tolerates(toleration: Body, taint: Body) -> bool:
    effect, key = text_of(toleration, "effect"), text_of(toleration, "key")
    if effect and effect != text_of(taint, "effect"):
        return False
    if key and key != text_of(taint, "key"):
        return False
    operator = text_of(toleration, "operator") or "Equal"
    return operator == "Exists" or (bool(key) and text_of(toleration, "value") == text_of(taint, "value"))
