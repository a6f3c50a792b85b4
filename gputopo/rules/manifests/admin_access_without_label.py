"""GT315 admin-access-without-label

What it says
    A claim asks for adminAccess in a namespace that is not labelled for it, or in an alternative of firstAvailable,
    which does not have the field; or a Namespace has the label under the name or with the value of another release.

Why it matters
    From 1.34 on (with the gate DRAAdminAccess in 1.33) the API server refuses a claim or template with adminAccess
    unless its namespace has the label `resource.kubernetes.io/admin-access: "true"`; in 1.33 it was called
    `resource.k8s.io/admin-access`. With the gate off, as 1.32 and 1.33 have it, the field is dropped in silence, and
    the claim takes the device for itself.
    Source: k8s.io/kubernetes v1.33.13 to v1.37.2 pkg/registry/resource/utils.go (AuthorizedForAdmin) and
    k8s.io/api/resource/*/types.go (DRAAdminNamespaceLabelKey).

What to do
    Label the namespace: `kubectl label namespace NAME resource.kubernetes.io/admin-access=true`.

When it is silent
    The Namespace is among the files of the run and has the label. Where it is not among them the rule is information.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [claim] = read('''apiVersion: resource.k8s.io/v1
    ... kind: ResourceClaim
    ... metadata: {name: c, namespace: monitoring}
    ... spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com, adminAccess: true}}]}}
    ... ''')
    >>> [(found.severity, found.message) for found in check(claim, Context())]
    [('info', 'adminAccess needs the label resource.kubernetes.io/admin-access: "true" on namespace monitoring')]
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.manifests.asks import CLAIMS, asks, value_at
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest

CODE = "GT315"
SEVERITY = "error"
KINDS = (*CLAIMS, "Namespace")
_OLD, _NEW = "resource.k8s.io/admin-access", "resource.kubernetes.io/admin-access"
_ON_SINCE = 34  # the gate


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    key = _NEW if context.minor >= _ON_SINCE else _OLD
    if manifest.kind == "Namespace":
        yield from _of_namespace(manifest, context, key)
        return
    for ask in asks(manifest):
        path = (*ask.path, "adminAccess")
        if value_at(manifest, path) is not True:
            continue
        if "firstAvailable" in ask.path:
            message = "an alternative of firstAvailable has no adminAccess"
            yield problem(CODE, SEVERITY, manifest, path, message, "", "a request with exactly", manifest.key(path))
        elif context.minor < _ON_SINCE:
            message = f"1.{context.minor} drops adminAccess in silence unless its gate DRAAdminAccess is on"
            yield problem(CODE, "warning", manifest, path, message, "the claim then takes the device for itself")
        else:
            yield from _of_request(manifest, context, path, key)


def _of_request(manifest: Manifest, context: Context, path: tuple[str | int, ...], key: str) -> Iterator[Problem]:
    said = value_at(manifest, ("metadata", "namespace"))
    name = said if isinstance(said, str) else ""
    spaces = [one for one in context.together if one.kind == "Namespace"]
    own = [one for one in spaces if not name or value_at(one, ("metadata", "name")) == name]
    if any(_labels(one).get(key) == "true" for one in own):
        return
    where = f"namespace {name}" if name else "its namespace"
    severity = SEVERITY if name and own else "info"
    remedy = f'metadata.labels of the Namespace: {key}: "true"'
    yield problem(CODE, severity, manifest, path, f'adminAccess needs the label {key}: "true" on {where}', "", remedy)


def _of_namespace(manifest: Manifest, context: Context, key: str) -> Iterator[Problem]:
    other = _OLD if key == _NEW else _NEW
    labels = _labels(manifest)
    if other in labels and key not in labels:
        path = ("metadata", "labels", other)
        message = f"{other} has no effect in 1.{context.minor}: the label is {key}"
        yield problem(CODE, "warning", manifest, path, message, "", f'{key}: "true"', manifest.key(path))
    if key in labels and labels[key] != "true":
        message = f'{key} gives admin access with the value "true" only'
        yield problem(CODE, "warning", manifest, ("metadata", "labels", key), message, "", '"true"')


def _labels(manifest: Manifest) -> dict[str, object]:
    found = value_at(manifest, ("metadata", "labels"))
    return found if isinstance(found, dict) else {}
