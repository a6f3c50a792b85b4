"""GT370 node-labels-disagree

What it says
    The labels of GPU Feature Discovery on a node contradict each other, or what the node says it has.

Why it matters
    Pods are chosen to nodes by these labels. After a change of MIG or sharing they stay as they were until GPU Feature
    Discovery runs again, and a plugin that reads another configuration serves other resources than they say.

What to do
    Let GPU Feature Discovery and the device plugin read one configuration and restart both; labels written by hand go.

When it is silent
    Labels and capacity agree, or one of them is not there. A missing nvidia.com/gpu.clique is right on a node outside
    a multi-node NVLink domain. Counts are not compared where HAMi, ACK or a fake GPU operator makes the capacity.

    Source: NVIDIA/k8s-device-plugin v0.20.0 internal/lm (resource.go, mig-strategy.go, nvml.go); NVIDIA/gpu-operator
    controllers/nodelabeling_controller.go (gpu.present); kubernetes pkg/kubelet/cm/devicemanager (capacity is all
    devices, allocatable the healthy ones).

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [node] = read('''apiVersion: v1
    ... kind: Node
    ... metadata:
    ...   name: a
    ...   labels:
    ...     nvidia.com/gpu.count: "8"
    ...     nvidia.com/gpu.replicas: "4"
    ... status: {capacity: {nvidia.com/gpu: "8"}}
    ... ''')
    >>> [(found.place, found.message) for found in check(node, Context())]
    [(Place(line=6, column=27), 'nvidia.com/gpu.count 8 and 4 replicas of each make 32, and the capacity is 8')]
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.manifests.objects.gfd_labels import Contradiction, against_each_other, against_node
from gputopo.rules.manifests.objects.node_parts import ALLOCATABLE, ANNOTATIONS, LABELS, NodePart, node_part
from gputopo.rules.manifests.objects.pod_parts import mapping_of
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.kube_object import type_name
from gputopo.terms.manifest import Manifest

CODE = "GT370"
SEVERITY = "warning"
KINDS = ("Node",)


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    node = node_part(manifest)
    if node is None:
        return
    yield from _not_texts(manifest)
    for found in (*against_each_other(node), *against_node(node)):
        yield _said(manifest, found)
    yield from _unhealthy(manifest, node)


def _said(manifest: Manifest, found: Contradiction) -> Problem:
    return problem(CODE, SEVERITY, manifest, (*LABELS, found.label), found.message, found.because, found.remedy)


def _not_texts(manifest: Manifest) -> Iterator[Problem]:
    """`gpu.present: true` without quotes: the commonest fault of a Node that is written by hand."""
    metadata = mapping_of(manifest.object.body, "metadata")
    for above in (LABELS, ANNOTATIONS):
        for name, value in mapping_of(metadata, str(above[-1])).items():
            if value is not None and not isinstance(value, str):
                message = f"{name} is {type_name(value)}, not a string"
                remedy = f'"{str(value).lower()}", in quotes' if isinstance(value, (bool, int, float)) else ""
                because = "the API server refuses the object"
                yield problem(CODE, "error", manifest, (*above, name), message, because, remedy)


def _unhealthy(manifest: Manifest, node: NodePart) -> Iterator[Problem]:
    for name, number in node.allocatable.items():
        there = node.capacity.get(name)
        if there is None or number >= there or not name.startswith("nvidia.com/"):
            continue
        message = f"{there - number} of {there} {name} are not healthy"
        because = "capacity counts all devices of the plugin, allocatable the healthy ones; its log says why"
        if not number:
            message = f"none of {there} {name} is allocatable"
            because = "all are unhealthy, or no device plugin serves them any more: it is down, or MIG was changed"
        yield problem(CODE, SEVERITY, manifest, (*ALLOCATABLE, name), message, because)
