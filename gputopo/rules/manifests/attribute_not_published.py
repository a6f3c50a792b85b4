"""GT303 attribute-not-published

What it says
    A selector or constraint names an attribute or capacity that NVIDIA's DRA driver does not publish: in no version,
    or not in the version that is meant (--driver-version; else the newest release).

Why it matters
    In a selector a missing key is no "no match" but a runtime error that keeps the whole pod from being scheduled. In
    a constraint every device without the attribute is rejected, so the claim is never satisfied.

What to do
    Use the name that the message gives, or install the version of the driver that publishes it.

When it is silent
    The attribute belongs to another driver's domain, or the request does not ask for NVIDIA's devices. That `has()`
    guards a name does not silence it: it is then a warning.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [of_class] = read('''apiVersion: resource.k8s.io/v1
    ... kind: DeviceClass
    ... metadata: {name: h100}
    ... spec: {selectors: [{cel: {expression: "device.attributes['gpu.nvidia.com'].model == 'H100'"}}]}
    ... ''')
    >>> [found] = check(of_class, Context())
    >>> found.place, found.message
    (Place(line=4, column=76), "no version of NVIDIA's DRA driver publishes the attribute model")
    >>> found.remedy
    'productName'
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gputopo.allocate.dra.published import DRIVER
from gputopo.cel.references import Reference
from gputopo.rules.manifests import attribute_names as names
from gputopo.rules.manifests.asks import CLAIMS, WITH_SELECTORS, asks, constraints, selectors
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest

CODE = "GT303"
SEVERITY = "error"
KINDS = WITH_SELECTORS
_RUNTIME = "a missing key is a runtime error on every device of the driver: the pod is not scheduled"
_REJECTED = "a device without the attribute is rejected, so that the claim is never satisfied"


class _Wrong(NamedTuple):
    severity: str
    message: str
    remedy: str


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    for selector, of_nvidia in selectors(manifest):
        for one in selector.references:
            wrong = _of_reference(one, of_nvidia, context)
            if wrong is not None:
                severity = "warning" if one.guarded else wrong.severity
                place = selector.place(manifest, one.line, one.column)
                because = "" if one.guarded else _RUNTIME
                yield problem(CODE, severity, manifest, selector.path, wrong.message, because, wrong.remedy, place)
    if manifest.kind not in CLAIMS:
        return
    asked = list(asks(manifest))
    for limit in constraints(manifest):
        of_nvidia = any(ask.of_nvidia for ask in asked if limit.covers(ask))
        wrong = _of_constraint(limit.attribute, of_nvidia, context)
        if wrong is not None:
            path = (*limit.path, limit.key)
            yield problem(CODE, wrong.severity, manifest, path, wrong.message, _REJECTED, wrong.remedy)


def _of_reference(one: Reference, of_nvidia: bool, context: Context) -> _Wrong | None:
    if one.name is None:
        return None
    if one.domain == DRIVER and one.kind == "capacity":
        return None if names.is_capacity(one.name) else _capacity(one.name, context)
    if one.kind != "attributes":
        return None
    return _attribute(one.domain, one.name, of_nvidia, context)


def _of_constraint(attribute: str, of_nvidia: bool, context: Context) -> _Wrong | None:
    domain, slash, name = attribute.partition("/")
    if not slash:
        return _Wrong("error", f"{attribute} has no domain: the API server takes DOMAIN/NAME only",
                      f"{DRIVER}/{attribute}" if names.ever(attribute) else "")  # fmt: skip
    return _attribute(domain, name, of_nvidia, context)


def _attribute(domain: str, name: str, of_nvidia: bool, context: Context) -> _Wrong | None:
    if domain == names.STANDARD and name not in names.STANDARD_NAMES:
        known = ", ".join(names.STANDARD_NAMES)
        return _Wrong("error", f"{domain}/{name} is no standard attribute", f"there are {known}")
    if domain == names.STANDARD:
        key = f"{domain}/{name}"
        if not of_nvidia:
            return None
    elif domain == DRIVER:
        key = name
    else:
        return None
    if names.in_line(key, context.driver):
        return None
    if names.ever(key):
        message = f"{context.driver_words} does not publish {key}"
        return _Wrong("warning", message, f"published by {names.lines_with(key)}")
    if names.is_capacity(name):
        return _Wrong("error", f"{name} is a capacity of NVIDIA's DRA driver, not an attribute",
                      f"device.capacity['{DRIVER}'].{name}")  # fmt: skip
    message = f"no version of NVIDIA's DRA driver publishes the attribute {name}"
    return _Wrong("error", message, names.instead(name, context.driver))


def _capacity(name: str, context: Context) -> _Wrong:
    message = f"no version of NVIDIA's DRA driver publishes the capacity {name}"
    if names.ever(name):
        return _Wrong("error", message, f"it is an attribute: device.attributes['{DRIVER}'].{name}")
    return _Wrong("error", message, f"it publishes {', '.join(names.CAPACITIES)}")
