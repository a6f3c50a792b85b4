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
    The attribute belongs to another driver's domain, or the request does not ask for NVIDIA's devices, or a
    ResourceSlice of the run shows that the installed version publishes it. Where `has()`,
    `'x' in`, `.?x` or a branch makes sure that the name is there, an attribute of another version is silent, or
    information where the selector is then never true; one of no version is a warning.

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

from gputopo.allocate.dra.published import DRIVER, NUMA
from gputopo.cel.references import Reference, left_without
from gputopo.rules.manifests import attribute_names as names
from gputopo.rules.manifests.asks import CLAIMS, WITH_SELECTORS, Constraint, Selector, asks, constraints, selectors
from gputopo.rules.manifests.fixes.nearest import meant
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.rules.manifests.slices_seen import seen
from gputopo.terms.edits import Edit, Mend, joined
from gputopo.terms.manifest import Manifest

CODE = "GT303"
SEVERITY = "error"
KINDS = WITH_SELECTORS
_RUNTIME = "a missing key is a runtime error on every device of the driver: the pod is not scheduled"
_REJECTED = "a device without the attribute is rejected, so that the claim is never satisfied"
_GUARDED = {
    False: "the selector is never true",
    True: "the selector is always true",
    None: "it is never there",
}


class _Wrong(NamedTuple):
    """`meant`: the attribute, DOMAIN/NAME, or "capacity/NAME", "attributes/NAME", that must be meant."""

    severity: str
    message: str
    remedy: str
    meant: str = ""
    why_not: str = ""


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    for selector, of_nvidia in selectors(manifest, context.together):
        yield from _of_selector(manifest, selector, of_nvidia, context)
    if manifest.kind not in CLAIMS:
        return
    asked = list(asks(manifest, context.together))
    for limit in constraints(manifest):
        covered = [ask.of_nvidia for ask in asked if limit.covers(ask)]
        wrong = _of_constraint(limit, covered, context)
        if wrong is not None:
            path = (*limit.path, limit.key)
            mend = Mend((), wrong.why_not)
            if wrong.meant:
                mend = manifest.rewrite(path, [Edit(0, len(limit.attribute), wrong.meant)])
            yield problem(CODE, wrong.severity, manifest, path, wrong.message, _REJECTED, wrong.remedy, None, mend)


def _of_selector(manifest: Manifest, selector: Selector, of_nvidia: bool, context: Context) -> Iterator[Problem]:
    by_name: dict[tuple[str, str, str | None], list[Reference]] = {}
    for one in selector.references:
        by_name.setdefault((one.kind, one.domain, one.name), []).append(one)
    for (kind, domain, name), reads in by_name.items():
        wrong = _of_reference(reads[0], of_nvidia, context)
        if wrong is None or name is None:
            continue
        remedy = _as_read(wrong.remedy)
        free = [one for one in reads if not one.guarded]
        for one in free:
            place = selector.place(manifest, one.line, one.column)
            mend = _mend(manifest, selector, [one], wrong)
            yield problem(CODE, wrong.severity, manifest, selector.path, wrong.message, _RUNTIME, remedy, place, mend)
        if free:
            continue
        left = left_without(selector.text, kind, domain, name)
        if wrong.severity == "error" or left is False:
            severity = "warning" if wrong.severity == "error" else "info"
            message = f"{wrong.message}: {_GUARDED[left]}"
            place = selector.place(manifest, reads[0].line, reads[0].column)
            mend = _mend(manifest, selector, reads, wrong)
            yield problem(CODE, severity, manifest, selector.path, message, "", remedy, place, mend)


def _as_read(remedy: str) -> str:
    """A standard attribute as a selector reads it.

    >>> _as_read("resource.kubernetes.io/numaNode (0.5)")
    "device.attributes['resource.kubernetes.io'].numaNode (0.5)"
    """
    prefix = f"{names.STANDARD}/"
    return f"device.attributes['{names.STANDARD}'].{remedy[len(prefix):]}" if remedy.startswith(prefix) else remedy


def _of_reference(one: Reference, of_nvidia: bool, context: Context) -> _Wrong | None:
    if one.name is None or f"{one.domain}/{one.name}" in seen(context.together, DRIVER):
        return None
    if "/" in one.domain:
        domain, _, name = one.domain.partition("/")
        message = f"{one.domain} is no domain: no device has {one.name} in it"
        return _Wrong("error", message, f"device.{one.kind}['{domain}'].{name}")
    if one.domain == DRIVER and one.kind == "capacity":
        return None if context.driver in names.capacity_lines(one.name) else _capacity(one.name, context)
    if one.kind != "attributes":
        return None
    return _attribute(one.domain, one.name, of_nvidia, context)


def _of_constraint(limit: Constraint, of_nvidia: list[bool], context: Context) -> _Wrong | None:
    attribute = limit.attribute
    domain, slash, name = attribute.partition("/")
    if not slash:
        meant = f"{DRIVER}/{attribute}" if names.ever(attribute) else ""
        meant = f"{names.STANDARD}/{attribute}" if attribute in names.STANDARD_NAMES else meant
        return _Wrong("error", f"{attribute} has no domain: the API server takes DOMAIN/NAME only", meant, meant)
    if attribute in seen(context.together, DRIVER):
        return None
    wrong = _attribute(domain, name, any(of_nvidia), context)
    if wrong is None or not names.is_nvlink(name) or limit.key != "matchAttribute" or not all(of_nvidia or [False]):
        return wrong
    # No attribute says NVLink; what tells the GPUs of a box apart is their NUMA node.
    if names.in_line(NUMA, context.driver) or not context.driver_said:
        remedy = f"{NUMA} ({names.lines_with(NUMA)}) for GPUs of one NUMA node; {wrong.remedy}"
        return wrong._replace(meant=NUMA, remedy=remedy)
    return wrong._replace(why_not=f"{context.driver_words} publishes no attribute that says which GPUs are near")


def _attribute(domain: str, name: str, of_nvidia: bool, context: Context) -> _Wrong | None:
    if domain == names.STANDARD and name not in names.STANDARD_NAMES:
        known = ", ".join(names.STANDARD_NAMES)
        near = meant(name, names.STANDARD_NAMES)
        severity = "error" if of_nvidia else "warning"
        return _Wrong(severity, f"{domain}/{name} is no standard attribute", f"there are {known}",
                      f"{domain}/{near}" if near else "")  # fmt: skip
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
                      f"device.capacity['{DRIVER}'].{name}", f"capacity/{name}")  # fmt: skip
    message = f"no version of NVIDIA's DRA driver publishes the attribute {name}"
    found = names.certain(name, context.driver, context.driver_said)
    return _Wrong("error", message, names.instead(name, context.driver), found)


def _capacity(name: str, context: Context) -> _Wrong:
    if names.is_capacity(name):
        message = f"{context.driver_words} does not publish the capacity {name}"
        return _Wrong("warning", message, f"published by {names.lines_with(name)}")
    message = f"no version of NVIDIA's DRA driver publishes the capacity {name}"
    if names.ever(name):
        said = f"device.attributes['{DRIVER}'].{name}"
        return _Wrong("error", message, f"it is an attribute: {said}", f"attributes/{name}")
    near = meant(name, names.CAPACITIES)
    return _Wrong("error", message, f"it publishes {', '.join(names.CAPACITIES)}", f"{DRIVER}/{near}" if near else "")


def _mend(manifest: Manifest, selector: Selector, reads: list[Reference], wrong: _Wrong) -> Mend:
    if not wrong.meant:
        return Mend((), wrong.why_not)
    return joined(renamed(manifest, selector, one, wrong.meant) for one in reads)


def renamed(manifest: Manifest, selector: Selector, one: Reference, target: str) -> Mend:
    """The edits that make a reference read another attribute, or a capacity of the same name."""
    domain, _, name = target.partition("/")
    kind, of_domain, of_name = one.spans.kind, one.spans.domain, one.spans.name
    if domain in ("attributes", "capacity"):
        edits = [(kind, domain)]
    else:
        edits = [(of_name, name)] + ([(of_domain, domain)] if domain != one.domain else [])
    made = []
    for span, new in edits:
        if span is None:
            return Mend((), "its domain stands in a variable" if span is not of_name else "")
        quote = selector.text[span[0]]
        made.append(Edit(*span, f"{quote}{new}{quote}" if quote in "'\"" else new))
    return manifest.rewrite(selector.path, made)
