"""GT380 node-resource-topology

What it says
    A NodeResourceTopology that the API server refuses, or of which schedulers do not read what it means to say: a
    Topology Manager policy or scope that is none, topologyPolicies that disagree with the attributes, a zone that is
    passed over, costs and amounts that cannot be.

Why it matters
    A policy that is not understood counts as none: the scheduler then places pods that the kubelet rejects with
    TopologyAffinityError. A zone that is passed over has no GPUs for it.

What to do
    In v1alpha2 write attributes topologyManagerPolicy and topologyManagerScope with the kubelet's own words, and name
    zones node-0, node-1, ... with type: Node. topologyPolicies is deprecated there and read only where the attributes
    say nothing.

When it is silent
    Policy, scope and zones are those that node-feature-discovery writes. Attributes of other names are not looked at,
    nor whether the amounts are those of the node.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [own] = read('''apiVersion: topology.node.k8s.io/v1alpha2
    ... kind: NodeResourceTopology
    ... metadata: {name: a}
    ... attributes: [{name: topologyManagerPolicy, value: single-numa}]
    ... zones: [{name: node-0, type: Node}]
    ... ''')
    >>> [(found.place.line, found.message) for found in check(own, Context())]
    [(4, 'topologyManagerPolicy "single-numa" is no policy of the kubelet: schedulers pass it over')]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gputopo.rules.manifests import numa_zones
from gputopo.rules.manifests.crd_shape import Fields, ListOf, misfits
from gputopo.rules.manifests.fault import Fault
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.kube_object import type_name
from gputopo.terms.manifest import Manifest, Path

CODE = "GT380"
SEVERITY = "warning"
KINDS = ("NodeResourceTopology",)
_GROUP = "topology.node.k8s.io"
_VERSIONS = ("v1alpha1", "v1alpha2")
_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
_SCOPES = ("container", "pod")
_MOST_NODES = re.compile(r"[+-]?\d{1,18}")
# k8stopologyawareschedwg/noderesourcetopology-api 7f99f9c (2026-07-15): types.go, manifests/crd.yaml
_NAMED = {"name": "string", "value": "string"}
_RESOURCE = {"name": "string", "capacity": "quantity", "allocatable": "quantity", "available": "quantity"}
_ZONE = Fields(
    {
        "name": "string", "type": "string", "parent": "string",
        "costs": ListOf(Fields({"name": "string", "value": "integer"}, ("name", "value"))),
        "attributes": ListOf(Fields(_NAMED, ("name", "value"))),
        "resources": ListOf(Fields(_RESOURCE, tuple(_RESOURCE))),
    },
    ("name", "type"),
)  # fmt: skip
_BODY = {
    "topologyPolicies": ListOf("string"), "zones": ListOf(_ZONE),
    "attributes": ListOf(Fields(_NAMED, ("name", "value"))),
}  # fmt: skip
_REFUSES = "the API server refuses it"
# What scheduler-plugins and KAI make of the old field. None and unknown words count as policy none.
_OLD = {
    "SingleNUMANodeContainerLevel": ("single-numa-node", "container"),
    "SingleNUMANodePodLevel": ("single-numa-node", "pod"),
    "RestrictedContainerLevel": ("restricted", "container"),
    "RestrictedPodLevel": ("restricted", "pod"),
    "BestEffortContainerLevel": ("best-effort", "container"),
    "BestEffortPodLevel": ("best-effort", "pod"),
    "None": ("none", "container"),
}
_HALF_KNOWN = ("Restricted", "BestEffort")


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    body = manifest.object.body
    said = body.get("apiVersion")
    group, _, version = said.rpartition("/") if isinstance(said, str) else ("", "", "")
    if group != _GROUP or version not in _VERSIONS:
        message = f"apiVersion is {type_name(said) if said is not None else 'missing'}: {_REFUSES}"
        yield problem(CODE, "error", manifest, ("apiVersion",), message, "", f"{_GROUP}/v1alpha2")
        return
    required = ("topologyPolicies", "zones") if version == "v1alpha1" else ("zones",)
    wrong = list(misfits(body, Fields(_BODY, required), ()))
    for path, message in wrong:
        yield problem(CODE, "error", manifest, path, f"{message}: {_REFUSES}")
    if wrong:
        return
    if version == "v1alpha1" and body.get("attributes"):
        message = "attributes has no effect: v1alpha1 has no such field, the API server drops it"
        place = manifest.key(("attributes",))
        yield problem(CODE, "warning", manifest, ("attributes",), message, "", f"{_GROUP}/v1alpha2", place)
        body = {**body, "attributes": []}
    for fault in (*_policy(body), *numa_zones.faults(body["zones"])):
        yield fault.problem(CODE, manifest)


def _policy(body: dict[str, Any]) -> Iterator[Fault]:
    attributes = body.get("attributes") or []
    read: dict[str, tuple[str, Path]] = {}
    for place, one in enumerate(attributes):
        path: Path = ("attributes", place, "value")
        for name, known, what in (
            ("topologyManagerPolicy", _POLICIES, "policy"), ("topologyManagerScope", _SCOPES, "scope"),
        ):  # fmt: skip
            if one["name"] == name and one["value"] in known:
                read[name] = (one["value"], path)
            elif one["name"] == name:
                yield _unknown_word(path, name, one["value"], known, what)
        if one["name"] == "topologyManagerMaxNUMANodes" and not _counts(one["value"]):
            message = f'topologyManagerMaxNUMANodes "{one["value"]}" is not a number above 1: 8 is taken'
            yield Fault("warning", path, message)
    yield from _old_field(body.get("topologyPolicies") or [], read)


def _unknown_word(path: Path, name: str, value: str, known: tuple[str, ...], what: str) -> Fault:
    from difflib import get_close_matches

    near = get_close_matches(value.lower().replace("_", "-"), known, 1, 0.6)
    message = f'{name} "{value}" is no {what} of the kubelet: schedulers pass it over'
    return Fault("warning", path, message, "", near[0] if near else f"one of {', '.join(known)}")


def _counts(value: str) -> bool:
    return _MOST_NODES.fullmatch(value) is not None and int(value) > 1


def _old_field(policies: list[str], read: dict[str, tuple[str, Path]]) -> Iterator[Fault]:
    if not policies:
        return
    path: Path = ("topologyPolicies", 0)
    first = policies[0]
    if len(policies) > 1:
        message = "of topologyPolicies only the first is read"
        yield Fault("warning", ("topologyPolicies", 1), message)
    policy = read.get("topologyManagerPolicy")
    scope = read.get("topologyManagerScope")
    if policy is None and first in _HALF_KNOWN:
        message = f"topologyPolicies {first} is read as {first}ContainerLevel by KAI and as none by scheduler-plugins"
        yield Fault("warning", path, message, "", f"{first}ContainerLevel or {first}PodLevel")
    elif first not in _OLD and first not in _HALF_KNOWN:
        from difflib import get_close_matches

        near = get_close_matches(first, _OLD, 1, 0.6)
        message = f'topologyPolicies "{first}" is no policy: it counts as none'
        yield Fault("warning", path, message, "", near[0] if near else "")
    elif policy is not None and first in _OLD:
        old_policy, old_scope = _OLD[first]
        disagrees = old_policy != policy[0] or (old_policy != "none" and scope is not None and old_scope != scope[0])
        if disagrees:
            words = policy[0] + (f" with scope {scope[0]}" if scope is not None else "")
            message = f"topologyPolicies {first} disagrees with the attributes, which say {words} and are believed"
            yield Fault("warning", path, message)
