"""GT371 ack-gpu-mode

What it says
    A label by which ACK chooses how a node hands out its GPUs has a value that it does not know, or no effect; or a pod
    asks for the resource of another mode than its nodes have.

Why it matters
    A node has one mode. In mode topology it serves aliyun.com/gpu and nvidia.com/gpu is 0: a pod that asks for
    nvidia.com/gpu there stays pending.

What to do
    Ask for the resource of the node's mode, or choose nodes of mode default. A mode is changed with the node pool, not
    with `kubectl label`; mode mig cannot be changed.

When it is silent
    The values are ACK's, and what a pod asks for is what the nodes that it chooses serve. A pod that chooses no node
    (nodeName, nodeSelector, required affinity) is not judged, and modes mig and disabled are not.

    Source: Alibaba Cloud's documentation of ACK, "labels used by ACK to control GPUs" (2025-11 and 2026-03: the values,
    one mode a node, the resources of all other modes become 0; aliyun.com/gpu of topology, aliyun.com/gpu-mem of
    sharing), "schedule GPUs using DRA" (`disabled`), "upgrade cGPU Basic Edition" (cgpu=true, gpushare=true). ACK
    itself is closed.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [pod] = read('''apiVersion: v1
    ... kind: Pod
    ... metadata: {name: p}
    ... spec:
    ...   nodeSelector: {ack.node.gpu.schedule: topology}
    ...   containers:
    ...   - name: c
    ...     resources: {limits: {nvidia.com/gpu: 2}}
    ... ''')
    >>> [(found.place, found.message) for found in check(pod, Context())]
    [(Place(line=8, column=26), 'nvidia.com/gpu is not served by nodes of mode topology, which the pod chooses')]
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.manifests.objects.node_parts import CAPACITY, LABELS, NodePart, node_part
from gputopo.rules.manifests.objects.node_selection import chosen
from gputopo.rules.manifests.objects.pod_parts import (
    POD_KINDS,
    Amount,
    PodPart,
    amounts,
    containers,
    mapping_of,
    pod_parts,
    text_of,
)
from gputopo.rules.manifests.objects.together import nodes
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest

CODE = "GT371"
SEVERITY = "warning"
KINDS = ("Node", *POD_KINDS)
MODE, PLACEMENT = "ack.node.gpu.schedule", "ack.node.gpu.placement"
_SHARING = ("cgpu", "core_mem", "share", "mps")
_MODES = ("default", *_SHARING, "topology", "mig", "disabled")
_PLACEMENTS = ("binpack", "spread")
_OLD = {"cgpu": "cgpu", "gpushare": "share"}
# Resource → the modes that serve it, of those whose resources are documented.
_SERVED = {"nvidia.com/gpu": ("default",), "aliyun.com/gpu": ("topology",), "aliyun.com/gpu-mem": _SHARING}
_JUDGED = ("default", *_SHARING, "topology")
_ONE = "a node has one mode; the resources of the others are 0"


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    if manifest.kind == "Node":
        node = node_part(manifest)
        if node is not None:
            yield from _mode(manifest, node)
            yield from _placement(manifest, node)
            yield from _old_labels(manifest, node)
        return
    for part in pod_parts(manifest):
        yield from _asked_of_another_mode(manifest, part, context)


def _mode(manifest: Manifest, node: NodePart) -> Iterator[Problem]:
    mode = node.labels.get(MODE)
    if mode is None:
        return
    if mode not in _MODES:
        near = _nearest(mode)
        severity = SEVERITY if near else "info"
        message = f"{MODE} is {mode}, no mode that ACK documents"
        remedy = near or f"{', '.join(_MODES[:-1])}"
        yield problem(CODE, severity, manifest, (*LABELS, MODE), message, "", remedy)
    for name, modes in _SERVED.items():
        if mode in _JUDGED and mode not in modes and node.capacity.get(name):
            message = f"{name} is {node.capacity[name]}, and the node's {MODE} is {mode}"
            because = f"{_ONE}: the label was changed, or another plugin than ACK's serves it"
            yield problem(CODE, "info", manifest, (*CAPACITY, name), message, because)


def _placement(manifest: Manifest, node: NodePart) -> Iterator[Problem]:
    placement, mode = node.labels.get(PLACEMENT), node.labels.get(MODE, "default")
    path = (*LABELS, PLACEMENT)
    if placement is not None and placement not in _PLACEMENTS:
        message = f"{PLACEMENT} is {placement}"
        yield problem(CODE, SEVERITY, manifest, path, message, "", " or ".join(_PLACEMENTS))
    elif placement is not None and mode in _MODES and mode not in _SHARING:
        message = f"{PLACEMENT} has no effect in mode {mode}"
        because = f"it says how shared GPUs are filled: {', '.join(_SHARING)}"
        yield problem(CODE, "info", manifest, path, message, because, "", manifest.key(path))


def _old_labels(manifest: Manifest, node: NodePart) -> Iterator[Problem]:
    mode = node.labels.get(MODE)
    for label, same in _OLD.items():
        path = (*LABELS, label)
        if node.labels.get(label) != "true" or mode == same:
            continue
        if mode is not None:
            message = f"two modes: {label} is true, and {MODE} is {mode}"
            yield problem(CODE, SEVERITY, manifest, path, message, _ONE, f"one of them; {label} is {MODE}: {same}")
        elif label == "cgpu":
            message = "cgpu is the label of cGPU Basic Edition"
            because = f"the edition of today reads {MODE}"
            yield problem(CODE, "info", manifest, path, message, because, f"{MODE}: {same}", manifest.key(path))


def _nearest(mode: str) -> str:
    from difflib import get_close_matches

    if mode.lower() in _MODES:
        return mode.lower()
    near = get_close_matches(mode.lower(), _MODES, 1, 0.8)
    return near[0] if near else ""


def _asked_of_another_mode(manifest: Manifest, part: PodPart, context: Context) -> Iterator[Problem]:
    asked = _asked(part)
    if not asked:
        return
    said = text_of(mapping_of(part.spec, "nodeSelector"), MODE)
    modes = {"": said} if said else _modes_of_nodes(part, context)
    if not modes or any(mode not in _JUDGED for mode in modes.values()):
        return
    for name, one in asked.items():
        if any(mode in _SERVED[name] for mode in modes.values()):
            continue
        if said:
            message = f"{name} is not served by nodes of mode {said}, which the pod chooses"
        else:
            where = ", ".join(f"{node} ({mode})" for node, mode in list(modes.items())[:3])
            message = f"none of the nodes that the pod can go to serves {name}: {where}"
        instead = next((resource for resource, served in _SERVED.items() if {*modes.values()} <= {*served}), "")
        place = manifest.key(one.path)
        yield problem(CODE, SEVERITY, manifest, one.path, message, _ONE, instead, place)


def _asked(part: PodPart) -> dict[str, Amount]:
    found: dict[str, Amount] = {}
    for container in containers(part):
        for name, one in (amounts(container, "requests") | amounts(container, "limits")).items():
            if name in _SERVED and one.number:
                found.setdefault(name, one)
    return found


def _modes_of_nodes(part: PodPart, context: Context) -> dict[str, str]:
    """Node → its mode; empty where one of them has none, since such a node need not be of ACK."""
    found: dict[str, str] = {}
    if not any(MODE in node.labels for _, node in nodes(context)):
        return {}
    for node in chosen(part, context):
        if MODE not in node.labels:
            return {}
        found[node.name] = node.labels[MODE]
    return found
