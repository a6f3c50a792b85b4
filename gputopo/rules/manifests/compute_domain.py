"""GT317 compute-domain

What it says
    A ComputeDomain that the API server refuses or whose channel never comes; a claim for an IMEX channel that the
    driver does not prepare; a domain of more nodes than a clique has.

Why it matters
    The controller makes the ResourceClaimTemplate that the domain names; where one of that name is there already,
    making it fails again and again. A hand-written claim for a channel has to carry the UID of its domain, else its
    pods stay in ContainerCreating: "domainID cannot be empty", "ComputeDomain not found". NVLink memory does not reach
    from one clique to another.

What to do
    Let pods refer to the template that the ComputeDomain names, and write none. numNodes: 0, since 0.4.

When it is silent
    Everything is as the CRD and the driver take it. Cliques are compared with numNodes only where Node objects with the
    label nvidia.com/gpu.clique are among the files of the run.

    Source: kubernetes-sigs/dra-driver-nvidia-gpu, crds/resource.nvidia.com_computedomains.yaml,
    api/nvidia.com/resource/v1beta1/computedomainconfig.go, cmd/compute-domain-controller/resourceclaimtemplate.go,
    cmd/compute-domain-kubelet-plugin/device_state.go; release-25.3 to main 95932046.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [domain] = read('''apiVersion: resource.nvidia.com/v1beta1
    ... kind: ComputeDomain
    ... metadata: {name: d}
    ... spec: {channel: {resourceClaimTemplate: {name: imex}, allocationMode: all}}
    ... ''')
    >>> [found.message for found in check(domain, Context())]
    ['allocationMode is All or Single']
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gputopo.rules.manifests.asks import CLAIMS, value_at
from gputopo.rules.manifests.channel_claims import channel_claims
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest, Path

CODE = "GT317"
SEVERITY = "error"
KINDS = ("ComputeDomain", *CLAIMS, "Node")
_GROUP = "resource.nvidia.com"
_CLIQUE = "nvidia.com/gpu.clique"
_REQUIRED = ("25.3", "25.8", "25.12")  # where numNodes has no default
_CHANNEL: Path = ("spec", "channel")
_NODES: Path = ("spec", "numNodes")


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    if manifest.kind == "Node":
        yield from _of_node(manifest)
    elif manifest.kind in CLAIMS:
        yield from channel_claims(CODE, manifest, context)
    else:
        yield from _of_domain(manifest, context)


def _of_domain(manifest: Manifest, context: Context) -> Iterator[Problem]:
    said = manifest.object.body.get("apiVersion")
    if said != f"{_GROUP}/v1beta1":
        message = f"apiVersion is {said or 'missing'}; a ComputeDomain is of {_GROUP}/v1beta1"
        yield problem(CODE, SEVERITY, manifest, ("apiVersion",), message)
        return
    yield from _of_channel(manifest, context)
    yield from _of_number(manifest, context)


def _of_channel(manifest: Manifest, context: Context) -> Iterator[Problem]:
    template: Path = (*_CHANNEL, "resourceClaimTemplate")
    name = value_at(manifest, (*template, "name"))
    for path, kind in ((_CHANNEL, dict), (template, dict), ((*template, "name"), str)):
        if not isinstance(value_at(manifest, path), kind) or name == "":
            written = ".".join(map(str, path if name != "" else (*template, "name")))
            remedy = "channel: {resourceClaimTemplate: {name: NAME}}"
            yield problem(CODE, SEVERITY, manifest, path, f"{written} is required", "", remedy)
            return
    mode = value_at(manifest, (*_CHANNEL, "allocationMode"))
    path = (*_CHANNEL, "allocationMode")
    if mode is not None and context.driver == "25.3":
        message = f"{context.driver_words} has no allocationMode: every channel claim is for a single one"
        yield problem(CODE, "warning", manifest, path, message, "", "", manifest.key(path))
    elif mode is not None and mode not in ("All", "Single"):
        near = next((one for one in ("All", "Single") if str(mode).lower() == one.lower()), "")
        yield problem(CODE, SEVERITY, manifest, path, "allocationMode is All or Single", "", near)
    yield from _of_template(manifest, context, (*template, "name"), str(name))


def _of_template(manifest: Manifest, context: Context, path: Path, name: str) -> Iterator[Problem]:
    for one in context.together:
        same = value_at(one, ("metadata", "name")) == name and _namespace(one) == _namespace(manifest)
        if one.kind == "ResourceClaimTemplate" and same and not _made_by_controller(one):
            message = f"the controller cannot make the ResourceClaimTemplate {name}: there is one of that name already"
            yield problem(CODE, SEVERITY, manifest, path, message, "", "another name, or no template of your own")
            return


def _made_by_controller(template: Manifest) -> bool:
    labels = value_at(template, ("metadata", "labels"))
    return isinstance(labels, dict) and any(str(key).startswith(f"{_GROUP}/computeDomain") for key in labels)


def _namespace(manifest: Manifest) -> Any:
    return value_at(manifest, ("metadata", "namespace"))


def _of_number(manifest: Manifest, context: Context) -> Iterator[Problem]:
    number = value_at(manifest, _NODES)
    if number is None:
        if context.driver in _REQUIRED:
            message = f"{context.driver_words} requires numNodes"
            yield problem(CODE, SEVERITY, manifest, _NODES, message, "", "numNodes: 0")
        return
    if isinstance(number, bool) or not isinstance(number, int):
        yield problem(CODE, SEVERITY, manifest, _NODES, "numNodes is no whole number")
    elif number < 0 and context.driver not in _REQUIRED:
        yield problem(CODE, SEVERITY, manifest, _NODES, "numNodes is below 0", "", "numNodes: 0")
    elif number > 0:
        yield from _of_cliques(manifest, context, number)


def _of_cliques(manifest: Manifest, context: Context, number: int) -> Iterator[Problem]:
    counts: dict[str, int] = {}
    for one in context.together:
        clique = value_at(one, ("metadata", "labels", _CLIQUE)) if one.kind == "Node" else None
        if isinstance(clique, str):
            counts[clique] = counts.get(clique, 0) + 1
    largest = max(counts, key=lambda clique: counts[clique], default="")
    if largest and counts[largest] < number:
        message = f"numNodes is {number}, and no clique of the nodes given has more than {counts[largest]}"
        because = f"the largest is {largest}; NVLink memory does not reach from one clique to another"
        yield problem(CODE, "warning", manifest, _NODES, message, because, f"numNodes: {counts[largest]}, or 0")
    elif context.driver in ("0.4", "0.5"):
        message = f"numNodes is deprecated: {number} daemons are only what the status Ready waits for"
        yield problem(CODE, "info", manifest, _NODES, message, "", "numNodes: 0, unless IMEXDaemonsWithDNSNames is off")


def _of_node(manifest: Manifest) -> Iterator[Problem]:
    """GPU feature discovery writes CLUSTER_UUID.CLIQUE_ID (k8s-device-plugin internal/lm/imex.go)."""
    path: Path = ("metadata", "labels", _CLIQUE)
    clique = value_at(manifest, path)
    if isinstance(clique, str) and clique and not all(clique.rpartition(".")[::2]):
        message = f"{_CLIQUE} is {clique}, not CLUSTER_UUID.CLIQUE_ID"
        yield problem(CODE, "warning", manifest, path, message)
