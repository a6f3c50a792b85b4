"""GT313 attribute-of-another-driver

What it says
    A constraint or a selector uses an attribute that the driver of the request does not publish: numaNode has another
    name in other drivers, and no driver publishes the attributes of another one's domain.

Why it matters
    A constraint rejects every device that lacks the attribute, so that the claim is never satisfied. In a selector a
    missing key is a runtime error that keeps the pod from being scheduled.

What to do
    Tie devices of two drivers together by what both publish: resource.kubernetes.io/pcieRoot for GPUs and NICs,
    dra.net/numaNode for dranet, the SR-IOV driver and the CPU driver.

When it is silent
    Nothing says whose devices are asked for: neither the class (also a DeviceClass of the same run) nor a test of
    device.driver. ResourceSlices of the run decide for their driver. Without them NVIDIA's own and the standard
    attributes of its devices are the matter of GT303; which version of another driver runs is not known, so what a
    newer one publishes is information only, the rest a warning.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [claim] = read('''apiVersion: resource.k8s.io/v1
    ... kind: ResourceClaim
    ... metadata: {name: c}
    ... spec:
    ...   devices:
    ...     requests:
    ...     - {name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}
    ...     - {name: nic, exactly: {deviceClassName: dra.net}}
    ...     constraints: [{matchAttribute: dra.net/numaNode}]
    ... ''')
    >>> [(found.severity, found.message, found.remedy) for found in check(claim, Context())]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('error', 'request gpu: gpu.nvidia.com publishes nothing in the domain dra.net',
      'resource.kubernetes.io/pcieRoot')]
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.allocate.dra.published import DRIVER, NUMA, ROOT
from gputopo.rules.manifests import attribute_names, drivers_publish
from gputopo.rules.manifests.asks import CLAIMS, Ask, Constraint, asks, constraints
from gputopo.rules.manifests.drivers_publish import Absent
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.rules.manifests.slices_seen import near, seen
from gputopo.terms.manifest import Manifest

CODE = "GT313"
SEVERITY = "warning"
KINDS = CLAIMS
_REJECTED = "a device without the attribute is rejected, so that the claim is never satisfied"
_RUNTIME = "a missing key is a runtime error on every device of the driver: the pod is not scheduled"
_GATE = "needs the gate DRAListTypeAttributes, alpha since 1.36"
Covered = list[tuple[Ask, str]]  # a request and its driver, "" where that is not known


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    asked = [(ask, _driver(ask)) for ask in asks(manifest, context.together)]
    for limit in constraints(manifest):
        yield from _of_constraint(manifest, context, limit, [one for one in asked if limit.covers(one[0])])
    for ask, driver in asked:
        yield from _of_selectors(manifest, context, ask, driver)


def _driver(ask: Ask) -> str:
    """The one driver whose devices are asked for; "" where that is not known."""
    return next(iter(ask.drivers)) if len(ask.drivers) == 1 else ""


def _of_constraint(manifest: Manifest, context: Context, limit: Constraint, covered: Covered) -> Iterator[Problem]:
    path = (*limit.path, limit.key)
    drivers = frozenset(driver for _, driver in covered)
    for ask, driver in covered:
        why = _absent(context, driver, limit.attribute)
        if why is not None:
            other = drivers_publish.common(drivers) if len(drivers) > 1 else ""
            own = drivers_publish.OWN_NUMA.get(driver, "") if drivers == {driver} and limit.attribute == NUMA else ""
            remedy = other if other != limit.attribute else own
            message = f"request {ask.name}: {why.words}"
            yield problem(CODE, why.severity, manifest, path, message, _REJECTED, remedy or own)
        elif _is_listed(context, driver, limit.attribute):
            message = f"request {ask.name}: {_listed(driver)}"
            yield problem(CODE, SEVERITY, manifest, path, message, _GATE)


def _of_selectors(manifest: Manifest, context: Context, ask: Ask, driver: str) -> Iterator[Problem]:
    for selector in ask.selectors:
        for one in selector.references:
            if one.kind != "attributes" or one.name is None or one.guarded or "/" in one.domain:
                continue
            attribute = f"{one.domain}/{one.name}"
            place = selector.place(manifest, one.line, one.column)
            why = _absent(context, driver, attribute)
            if why is not None:
                own = drivers_publish.OWN_NUMA.get(driver, "") if attribute == NUMA else ""
                domain, _, name = own.partition("/")
                remedy = f"device.attributes['{domain}'].{name}" if own else ""
                message = f"{attribute}: {why.words}"
                yield problem(CODE, why.severity, manifest, selector.path, message, _RUNTIME, remedy, place)
            elif _is_listed(context, driver, attribute):
                yield problem(CODE, SEVERITY, manifest, selector.path, _listed(driver), _GATE, "", place)


def _absent(context: Context, driver: str, attribute: str) -> Absent | None:
    """By the slices of the run, else by what is known of the driver."""
    shown = seen(context.together, driver) if driver else frozenset()
    if not shown:
        return drivers_publish.absent(driver, attribute)
    if attribute in shown or (driver == DRIVER and not _expected(context, attribute)):
        return None
    other = near(shown, attribute)
    return Absent(SEVERITY, f"no device of {driver} in the slices has it" + (f", they have {other}" if other else ""))


def _expected(context: Context, attribute: str) -> bool:
    """Whether NVIDIA's version should publish it: of what it should not, GT303 speaks."""
    return attribute_names.in_line(attribute.removeprefix(f"{DRIVER}/"), context.driver)


def _is_listed(context: Context, driver: str, attribute: str) -> bool:
    return attribute == ROOT and driver in drivers_publish.LISTED and not seen(context.together, driver)


def _listed(driver: str) -> str:
    return f"{driver} publishes pcieRoot as a list, and only with {drivers_publish.LISTED[driver]}"
