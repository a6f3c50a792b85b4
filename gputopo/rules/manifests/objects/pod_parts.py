"""The pods that a manifest stands for, with paths: a Pod itself, or the template that a workload makes pods of.

What is not of the API's shape is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from gputopo.rules.manifests.asks import value_at
from gputopo.terms.kube_object import Body
from gputopo.terms.manifest import Manifest, Path
from gputopo.terms.quantity import quantity

_TEMPLATES: dict[str, Path] = {
    "Pod": (),
    "PodTemplate": ("template",),
    "ReplicationController": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "Deployment": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
POD_KINDS = tuple(_TEMPLATES)
GPU, SHARED, MIG = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-"


class PodPart(NamedTuple):
    path: Path  # of what holds metadata and spec
    metadata: Body
    spec: Body
    namespace: str  # "" where the manifest leaves it to the command line

    @property
    def spec_path(self) -> Path:
        return (*self.path, "spec")


class Container(NamedTuple):
    path: Path
    body: Body

    @property
    def resources(self) -> Body:
        return mapping_of(self.body, "resources")


class Amount(NamedTuple):
    """Of a resource in limits or requests. number: None where the text is no quantity."""

    path: Path
    text: str
    number: Fraction | None


def pod_parts(manifest: Manifest) -> Iterator[PodPart]:
    """Volcano's Job (batch.volcano.sh) has one template a task."""
    namespace = text_of(mapping_of(manifest.object.body, "metadata"), "namespace")
    paths: list[Path] = [_TEMPLATES[manifest.kind]]
    if manifest.kind == "Job" and text_of(manifest.object.body, "apiVersion").startswith("batch.volcano.sh/"):
        tasks = value_at(manifest, ("spec", "tasks"))
        number = len(tasks) if isinstance(tasks, list) else 0
        paths = [("spec", "tasks", place, "template") for place in range(number)]
    for path in paths:
        found = value_at(manifest, path)
        if isinstance(found, dict):
            yield PodPart(path, mapping_of(found, "metadata"), mapping_of(found, "spec"), namespace)


def containers(part: PodPart) -> Iterator[Container]:
    """Init containers first."""
    for key in ("initContainers", "containers"):
        for path, body in listed(part.spec, key, part.spec_path):
            yield Container(path, body)


def amounts(container: Container, key: str) -> dict[str, Amount]:
    """Of `limits` or `requests`."""
    return {
        str(name): amount_of((*container.path, "resources", key, name), value)
        for name, value in mapping_of(container.resources, key).items()
    }


def amount_of(path: Path, value: object) -> Amount:
    """Null decodes as 0."""
    if value is None:
        return Amount(path, "null", Fraction(0))
    try:
        return Amount(path, str(value), quantity(value))
    except ValueError:
        return Amount(path, str(value), None)


def gpus_asked(container: Container) -> dict[str, Amount]:
    """What of NVIDIA's device plugin the container asks, more than none: resource → amount.

    A limit alone is a request too; a request alone is refused (GT360).
    """
    asked = amounts(container, "requests") | amounts(container, "limits")
    return {name: one for name, one in asked.items() if one.number and is_of_device_plugin(name)}


def is_of_device_plugin(name: str) -> bool:
    return name in (GPU, SHARED) or name.startswith(MIG)


def listed(body: Body, key: str, above: Path) -> Iterator[tuple[Path, Body]]:
    """The mappings of a list, with their paths."""
    found = body.get(key)
    for place, one in enumerate(found if isinstance(found, list) else ()):
        if isinstance(one, dict):
            yield (*above, key, place), one


def mapping_of(body: Any, key: str) -> Body:
    found = body.get(key) if isinstance(body, dict) else None
    return found if isinstance(found, dict) else {}


def text_of(body: Body, key: str) -> str:
    found = body.get(key)
    return found if isinstance(found, str) else ""
