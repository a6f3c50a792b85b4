"""GT381 kueue-topology

What it says
    A Topology or ResourceFlavor of Kueue that the API server refuses, a Node that is left out of a topology because it
    does not carry the label of every level, an annotation of a pod that asks for a level that there is not.

Why it matters
    Topology Aware Scheduling sees only the nodes that carry every level. The others get none of its pods, and nothing
    says so. A workload that asks for a level that its topology does not have is never admitted: "no requested topology
    level".

What to do
    Label the node with every level, or narrow the nodeLabels of the ResourceFlavor. kubernetes.io/hostname stands last
    or not at all. The annotations belong to the pod template, one of required, preferred and unconstrained.

When it is silent
    The objects are not in the files that are checked together: a node is compared with the topologies of the
    ResourceFlavors that match it. Without a ResourceFlavor a node that carries no level at all is only information.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> files = read('''apiVersion: kueue.x-k8s.io/v1beta2
    ... kind: Topology
    ... metadata: {name: racks}
    ... spec: {levels: [{nodeLabel: example.com/rack}, {nodeLabel: kubernetes.io/hostname}]}
    ... ---
    ... apiVersion: v1
    ... kind: Node
    ... metadata: {name: a, labels: {kubernetes.io/hostname: a}}
    ... ''')
    >>> [(found.place.line, found.message) for found in check(files[1], Context(together=files))]
    [(8, 'node a has no label example.com/rack: Kueue leaves it out of topology racks')]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gputopo.rules.manifests import kueue_annotations
from gputopo.rules.manifests.pod_metadata import KINDS as PODS
from gputopo.rules.manifests.pod_metadata import group_of, name_of, of_kind, spec_of
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.rules.manifests.topology_levels import (
    HOSTNAME,
    KUEUE,
    Topology,
    faults,
    matches,
    missing_levels,
    topologies,
)
from gputopo.terms.manifest import Manifest

CODE = "GT381"
SEVERITY = "warning"
KINDS = ("Node", "ResourceFlavor", "Topology", *PODS)
_REFUSES = "the API server refuses it"
_SERVED = ("v1beta1", "v1beta2")


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    if manifest.kind == "Node":
        yield from _node(manifest, context)
    elif manifest.kind in PODS:
        levels = {level for one in topologies(context.together, KUEUE).values() for level in one.levels}
        for fault in kueue_annotations.faults(manifest, levels):
            yield fault.problem(CODE, manifest)
    elif group_of(manifest) == KUEUE:
        yield from _version(manifest)
        if manifest.kind == "Topology":
            for path, message in faults(manifest):
                yield problem(CODE, "error", manifest, path, f"{message}: {_REFUSES}")
        else:
            yield from _flavor(manifest, context)


def _version(manifest: Manifest) -> Iterator[Problem]:
    version = str(manifest.object.body.get("apiVersion")).rpartition("/")[2]
    newest = f"{KUEUE}/{_SERVED[-1]}"
    if version == "v1beta1":
        message = "v1beta1 is deprecated: Kueue says so whenever it is applied"
        yield problem(CODE, "info", manifest, ("apiVersion",), message, "", newest)
    elif version == "v1alpha1" and manifest.kind == "Topology":
        message = "Kueue serves Topology v1alpha1 up to 0.13"
        yield problem(CODE, "warning", manifest, ("apiVersion",), message, "", newest)
    elif version not in _SERVED:
        message = f"{KUEUE} has no version {version} of {manifest.kind}: {_REFUSES}"
        yield problem(CODE, "error", manifest, ("apiVersion",), message, "", newest)


def _flavor(manifest: Manifest, context: Context) -> Iterator[Problem]:
    spec = spec_of(manifest)
    name = spec.get("topologyName")
    if not isinstance(name, str):
        return
    if not spec.get("nodeLabels"):
        message = f"topologyName without nodeLabels: {_REFUSES}"
        because = "at least one nodeLabel is required when topology is set"
        yield problem(CODE, "error", manifest, ("spec", "topologyName"), message, because, "spec.nodeLabels")
    known = topologies(context.together, KUEUE)
    if known and name not in known:
        message = f"no Topology of these files is named {name}"
        yield problem(CODE, "warning", manifest, ("spec", "topologyName"), message, "", ", ".join(known))


def _node(manifest: Manifest, context: Context) -> Iterator[Problem]:
    known = topologies(context.together, KUEUE)
    if not known or group_of(manifest):
        return
    flavors = of_kind(context.together, "ResourceFlavor", KUEUE)
    if not flavors:
        for topology in known.values():
            carries = len(topology.levels) - len(missing_levels(manifest, topology))
            named = HOSTNAME in topology.levels and HOSTNAME not in missing_levels(manifest, topology)
            yield from _left_out(manifest, topology, SEVERITY if carries > named else "info", "")
    said: set[str] = set()
    for flavor in flavors:
        labels, own = spec_of(flavor).get("nodeLabels"), known.get(str(spec_of(flavor).get("topologyName")))
        if own is None or own.name in said or not matches(manifest, _mapping(labels)):
            continue
        said.add(own.name)
        yield from _left_out(manifest, own, SEVERITY, f"ResourceFlavor {name_of(flavor)} matches it")


def _left_out(manifest: Manifest, topology: Topology, severity: str, because: str) -> Iterator[Problem]:
    missing = missing_levels(manifest, topology)
    if missing == [HOSTNAME]:
        severity, because = "info", "the kubelet adds it: only a node without a kubelet lacks it"
    if missing:
        labels = "label" if len(missing) == 1 else "labels"
        name = name_of(manifest)
        message = f"node {name} has no {labels} {', '.join(missing)}: Kueue leaves it out of topology {topology.name}"
        yield problem(CODE, severity, manifest, ("metadata", "labels"), message, because)


def _mapping(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}
