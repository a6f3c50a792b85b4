"""What a Pod asks for: by container, and for the whole pod as the scheduler adds it up.

Of an extended resource the request equals the limit (kubernetes pkg/apis/core/validation), and the API
server fills in the one that is missing; so the limit is read first. The pod's sum is that of
k8s.io/component-helpers/resource.PodRequests: containers and sidecars together, or the largest init
container with the sidecars started before it, whichever is more.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from gputopo.terms.kube_object import Body, KubeObject, WrongShape, mapping, mappings, text
from gputopo.terms.quantity import quantity

Asked = Mapping[str, Fraction]


class Container(NamedTuple):
    name: str
    kind: str  # "init" | "sidecar" | "app"
    asks: Asked


def containers(pod: KubeObject) -> tuple[Container, ...]:
    """Init containers first, in the order of the manifest. Raises WrongShape."""
    spec = pod_spec(pod)
    found = []
    for body in mappings(spec, "initContainers"):
        kind = "sidecar" if text(body, "restartPolicy") == "Always" else "init"
        found.append(Container(text(body, "name"), kind, _asks(body)))
    found += [Container(text(body, "name"), "app", _asks(body)) for body in mappings(spec, "containers")]
    return tuple(found)


def pod_spec(pod: KubeObject) -> Body:
    """Of a Pod, or of the template of a workload (Deployment, Job, StatefulSet, DaemonSet, CronJob …)."""
    return _of_template(pod).spec


def pod_annotations(pod: KubeObject) -> dict[str, str]:
    return _of_template(pod).annotations


def _of_template(pod: KubeObject) -> KubeObject:
    """A CronJob's is that of the jobs that it makes (batch/v1 CronJobSpec.jobTemplate)."""
    spec = pod.spec
    if pod.kind == "CronJob":
        spec = mapping(mapping(spec, "jobTemplate", "spec.jobTemplate"), "spec", "spec.jobTemplate.spec")
    template = mapping(spec, "template", "spec.template") if pod.kind != "Pod" else {}
    return KubeObject(template, pod.where) if template else pod


def _asks(container: Body) -> Asked:
    resources = mapping(container, "resources")
    found: dict[str, Fraction] = {}
    for part in ("requests", "limits"):
        for name, amount in mapping(resources, part, f"resources.{part}").items():
            try:
                found[name] = quantity(amount)
            except ValueError as error:
                raise WrongShape(f"resources.{part}.{name}: {error}") from None
    return found


def whole_pod(pod: KubeObject) -> Asked:
    """What the pod as one asks for; nothing is left out for being 0."""
    total: dict[str, Fraction] = {}
    sidecars: dict[str, Fraction] = {}
    largest: dict[str, Fraction] = {}
    for container in containers(pod):
        if container.kind == "init":
            for name in {*container.asks, *sidecars}:
                now = container.asks.get(name, Fraction(0)) + sidecars.get(name, Fraction(0))
                largest[name] = max(largest.get(name, now), now)
            continue
        for name, amount in container.asks.items():
            total[name] = total.get(name, Fraction(0)) + amount
            if container.kind == "sidecar":
                sidecars[name] = sidecars.get(name, Fraction(0)) + amount
    return {name: max(total.get(name, Fraction(0)), largest.get(name, Fraction(0))) for name in {*total, *largest}}
