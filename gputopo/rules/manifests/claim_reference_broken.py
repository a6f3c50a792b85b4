"""GT361 claim-reference-broken

What it says
    A pod refers to a ResourceClaim, or to a request in it, that it does not have; or two allocators hand it GPUs.

Why it matters
    A name that is not there is refused by the API server. A request that is not there is not: the container starts
    without the devices. NVIDIA's device plugin and its DRA driver do not know of each other: they can give one GPU
    twice.

What to do
    Name an entry of spec.resourceClaims, and in each entry either a claim or a template. Ask for all GPUs of a node in
    one way.

When it is silent
    The names agree. A claim or template that is not among the files is not looked for, and what it asks is not known.
    GPUs of both kinds are fine where a DeviceClass of the files hands nvidia.com/gpu out too (extendedResourceName).

    Source: kubernetes v1.36.3 pkg/apis/core/validation/validation.go (validatePodResourceClaim,
    validateResourceClaimNames, the same in v1.32 to v1.37), pkg/kubelet/cm/dra/claiminfo.go (cdiDevicesAsList: devices
    of no request of that name are none); kubernetes-sigs/dra-driver-nvidia-gpu
    deployments/helm/dra-driver-nvidia-gpu/templates/validation.yaml (not beside the device plugin on one node).

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [pod] = read('''apiVersion: v1
    ... kind: Pod
    ... metadata: {name: p}
    ... spec:
    ...   resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
    ...   containers:
    ...   - name: c
    ...     resources: {claims: [{name: gpus}]}
    ... ''')
    >>> [(found.place, found.message) for found in check(pod, Context())]
    [(Place(line=8, column=33), 'claim gpus must be one of the names in pod.spec.resourceClaims: gpu'),
     (Place(line=5, column=20), 'no container has the devices of claim gpu')]
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gputopo.rules.manifests.asks import asks
from gputopo.rules.manifests.objects.pod_parts import (
    POD_KINDS,
    PodPart,
    containers,
    gpus_asked,
    listed,
    mapping_of,
    pod_parts,
    text_of,
)  # fmt: skip
from gputopo.rules.manifests.objects.together import of_kind
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.kube_object import Body
from gputopo.terms.manifest import Manifest, Path

CODE = "GT361"
SEVERITY = "error"
KINDS = POD_KINDS
_REFUSED = "the API server refuses the pod"
_NAMES = {"resourceClaimName": "ResourceClaim", "resourceClaimTemplateName": "ResourceClaimTemplate"}
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONGEST = 63


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    for part in pod_parts(manifest):
        entries = list(listed(part.spec, "resourceClaims", part.spec_path))
        yield from _entries(manifest, entries)
        used: set[str] = set()
        for container in containers(part):
            claims = list(listed(container.resources, "claims", (*container.path, "resources")))
            used |= {text_of(one, "name") for _, one in claims}
            yield from _names(manifest, claims, entries)
            yield from _requests(manifest, claims, entries, part, context)
        yield from _unused(manifest, entries, used)
        yield from _two_allocators(manifest, part, entries, context)


def _entries(manifest: Manifest, entries: list[tuple[Path, Body]]) -> Iterator[Problem]:
    seen: set[str] = set()
    for path, body in entries:
        name = text_of(body, "name")
        if not name:
            yield problem(CODE, SEVERITY, manifest, path, "the claim has no name", _REFUSED, "name: ...")
        elif name in seen:
            yield problem(CODE, SEVERITY, manifest, (*path, "name"), f"a second claim {name}", _REFUSED)
        seen.add(name)
        given = [key for key in _NAMES if body.get(key) is not None]
        if len(given) == 2:
            message = "at most one of resourceClaimName and resourceClaimTemplateName may be specified"
            yield problem(CODE, SEVERITY, manifest, path, message, _REFUSED, "", manifest.key((*path, given[1])))
        elif not given:
            message = "must specify one of resourceClaimName, resourceClaimTemplateName"
            remedy = "since 1.31 the name stands in the entry itself, not below source" if "source" in body else ""
            yield problem(CODE, SEVERITY, manifest, path, message, _REFUSED, remedy)


def _names(manifest: Manifest, claims: list[tuple[Path, Body]], entries: list[tuple[Path, Body]]) -> Iterator[Problem]:
    known = sorted({name for _, body in entries if (name := text_of(body, "name"))})
    seen: list[tuple[str, str]] = []
    for path, body in claims:
        name, request = text_of(body, "name"), text_of(body, "request")
        if not name:
            yield problem(CODE, SEVERITY, manifest, path, "the claim has no name", _REFUSED, "name: ...")
            continue
        if request and not (_LABEL.fullmatch(request) and len(request) <= _LONGEST):
            message = f"request {request} is no DNS label"
            remedy = request.partition("/")[0] if "/" in request else ""
            yield problem(CODE, SEVERITY, manifest, (*path, "request"), message, _REFUSED, remedy)
        if any(one == name and ("" in (other, request) or other == request) for one, other in seen):
            again = f"{name}, request {request}," if request else name
            yield problem(CODE, SEVERITY, manifest, path, f"claim {again} is listed twice", _REFUSED)
        seen.append((name, request))
        if name not in known:
            there = f": {', '.join(known)}" if known else " which is empty"
            message = f"claim {name} must be one of the names in pod.spec.resourceClaims{there}"
            yield problem(CODE, SEVERITY, manifest, (*path, "name"), message, _REFUSED)


def _requests(
    manifest: Manifest, claims: list[tuple[Path, Body]], entries: list[tuple[Path, Body]], part: PodPart,
    context: Context,
) -> Iterator[Problem]:  # fmt: skip
    for path, body in claims:
        name, request = text_of(body, "name"), text_of(body, "request")
        if not request or not _LABEL.fullmatch(request):
            continue
        for target in _targets(entries, name, part, context):
            there = sorted({ask.name.partition("/")[0] for ask in asks(target)})
            if there and request not in there:
                what = f"{target.kind} {_name(target)}"
                message = f"{what} has no request {request}: the container gets no device of it"
                remedy = f"there are {', '.join(there)}" if len(there) > 1 else there[0]
                yield problem(CODE, SEVERITY, manifest, (*path, "request"), message, "nothing refuses it", remedy)
                break


def _unused(manifest: Manifest, entries: list[tuple[Path, Body]], used: set[str]) -> Iterator[Problem]:
    for path, body in entries:
        name = text_of(body, "name")
        if name and name not in used:
            message = f"no container has the devices of claim {name}"
            because = "they are allocated to the pod all the same"
            remedy = f"resources.claims: [{{name: {name}}}] in the container that uses them"
            yield problem(CODE, "info", manifest, (*path, "name"), message, because, remedy, manifest.at(path))


def _two_allocators(
    manifest: Manifest, part: PodPart, entries: list[tuple[Path, Body]], context: Context
) -> Iterator[Problem]:
    plain = next((one for container in containers(part) for one in gpus_asked(container).values()), None)
    if plain is None or any(_hands_out(one, str(plain.path[-1])) for one in of_kind(context, "DeviceClass")):
        return
    for _, body in entries:
        name = text_of(body, "name")
        if any(ask.of_nvidia for target in _targets(entries, name, part, context) for ask in asks(target)):
            message = f"{plain.path[-1]} beside claim {name} of GPUs: two allocators hand out the GPUs of one node"
            because = "the device plugin and the DRA driver do not know of each other: one GPU may be given twice"
            remedy = "ask for all of them by claims, or for none"
            place = manifest.key(plain.path)
            yield problem(CODE, "warning", manifest, plain.path, message, because, remedy, place)
            return


def _hands_out(one: Manifest, resource: str) -> bool:
    """A class that serves the extended resource: then both ways are the DRA driver's."""
    return text_of(mapping_of(one.object.body, "spec"), "extendedResourceName") == resource


def _targets(entries: list[tuple[Path, Body]], name: str, part: PodPart, context: Context) -> Iterator[Manifest]:
    """The claims and templates of the files that an entry of this name can mean."""
    for _, body in entries:
        for key, kind in _NAMES.items():
            wanted = text_of(body, key)
            if text_of(body, "name") != name or not wanted:
                continue
            for one in of_kind(context, kind):
                own = text_of(mapping_of(one.object.body, "metadata"), "namespace")
                near = not own or not part.namespace or own == part.namespace
                if _name(one) == wanted and near:
                    yield one


def _name(manifest: Manifest) -> str:
    return text_of(mapping_of(manifest.object.body, "metadata"), "name")
