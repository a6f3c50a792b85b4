"""GT360 gpu-request-refused

What it says
    A container asks for a GPU, or for another extended resource, in a way that the API server does not take.

Why it matters
    The object is refused when it is applied, a workload with such a template too.

What to do
    Write a whole number below `limits`; the request then follows from it. A part of a GPU is had through MIG,
    time-slicing or MPS of the device plugin, or through a scheduler that hands out parts (HAMi, Volcano, Koordinator).

When it is silent
    Every extended resource is a whole number, has a limit, and its request, where there is one, equals it. Whether a
    node has the resource is not looked at, nor CPU and memory.

    Source: kubernetes v1.36.3 pkg/apis/core/validation/validation.go (validateResourceRequirements,
    ValidateResourceQuantityValue), pkg/apis/core/helper/helpers.go (IsExtendedResourceName), the same in v1.32 to
    v1.37.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [pod] = read('''apiVersion: v1
    ... kind: Pod
    ... metadata: {name: p}
    ... spec:
    ...   containers:
    ...   - name: c
    ...     resources: {limits: {nvidia.com/gpu: 0.5}}
    ... ''')
    >>> [(found.place, found.message) for found in check(pod, Context())]
    [(Place(line=7, column=42), 'nvidia.com/gpu is 0.5: must be an integer')]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from gputopo.rules.manifests.objects.pod_parts import (
    POD_KINDS,
    Amount,
    Container,
    PodPart,
    amounts,
    containers,
    mapping_of,
    pod_parts,
)  # fmt: skip
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest, Path

CODE = "GT360"
SEVERITY = "error"
KINDS = POD_KINDS
_REFUSED = "the API server refuses the pod"
_STANDARD = ("cpu", "memory", "ephemeral-storage")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_QUOTA = "requests."  # a name is also looked at as a quota would name it
_POD_LEVEL = 34  # from this release on the field is not dropped by default


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    for part in pod_parts(manifest):
        for container in containers(part):
            yield from _container(manifest, container)
        yield from _whole_pod(manifest, part, context.minor)


def _container(manifest: Manifest, container: Container) -> Iterator[Problem]:
    limits, requests = amounts(container, "limits"), amounts(container, "requests")
    for name, one in (*limits.items(), *requests.items()):
        wrong_name = _wrong_name(name)
        if wrong_name:
            yield problem(CODE, SEVERITY, manifest, one.path, wrong_name, _REFUSED, "", manifest.key(one.path))
        elif is_extended(name):
            message, remedy = _wrong_number(one)
            if message:
                yield problem(CODE, SEVERITY, manifest, one.path, f"{name} is {one.text}: {message}", _REFUSED, remedy)
    for name, one in requests.items():
        if is_extended(name) and not _wrong_name(name):
            yield from _against_limit(manifest, name, one, limits.get(name))


def _against_limit(manifest: Manifest, name: str, one: Amount, limit: Amount | None) -> Iterator[Problem]:
    if limit is None:
        message = f"{name} is requested without a limit: Limit must be set for non overcommitable resources"
        remedy = f"limits: {{{name}: {one.text}}}; the request then follows from it"
        yield problem(CODE, SEVERITY, manifest, one.path, message, _REFUSED, remedy, manifest.key(one.path))
    elif one.number is not None and limit.number is not None and _rounded(one.number) != _rounded(limit.number):
        message = f"the request of {one.text} must be equal to {name} limit of {limit.text}"
        yield problem(CODE, SEVERITY, manifest, one.path, message, _REFUSED, "leave the request out")


def _whole_pod(manifest: Manifest, part: PodPart, minor: int) -> Iterator[Problem]:
    """spec.resources, which has CPU, memory and huge pages only."""
    if minor < _POD_LEVEL:
        return
    seen: set[str] = set()
    for key in ("limits", "requests"):
        for name in mapping_of(mapping_of(part.spec, "resources"), key):
            if is_extended(str(name)) and name not in seen:
                seen.add(name)
                path: Path = (*part.spec_path, "resources", key, name)
                message = f"{name} is no resource of a whole pod: cpu, memory and hugepages-* are"
                remedy = "ask for it in the container"
                yield problem(CODE, SEVERITY, manifest, path, message, _REFUSED, remedy, manifest.key(path))


def is_extended(name: str) -> bool:
    """Whether a resource is counted, not shared: it has a domain, and not one of Kubernetes.

    >>> [name for name in ("nvidia.com/gpu", "cpu", "hugepages-2Mi", "x.kubernetes.io/y") if is_extended(name)]
    ['nvidia.com/gpu']
    """
    return "/" in name and "kubernetes.io/" not in name


def _wrong_name(name: str) -> str:
    if "/" not in name:
        standard = name in _STANDARD or name.startswith("hugepages-")
        return "" if standard else f"{name} must be a standard resource for containers"
    if not is_extended(name):
        return ""
    prefix, _, last = name.partition("/")
    quota = _QUOTA + prefix
    qualified = _PREFIX.fullmatch(quota) and len(quota) <= 253 and _NAME.fullmatch(last) and len(last) <= 63
    wrong = name.startswith(_QUOTA) or not qualified
    return f"{name} doesn't follow extended resource name standard" if wrong else ""


def _wrong_number(one: Amount) -> tuple[str, str]:
    """(what is wrong, what to write instead)"""
    if one.number is None:
        return "no quantity", "a whole number"
    if one.number < 0:
        return "must be greater than or equal to 0", ""
    if _rounded(one.number) % 1000:
        return "must be an integer", "a whole number; parts of a GPU come from MIG, time-slicing or MPS"
    return "", ""


def _rounded(number: Fraction) -> int:
    """Thousandths, rounded up, as the API server keeps what it decodes."""
    return -((-number * 1000).__floor__())
