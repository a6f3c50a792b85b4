"""The pods of a manifest: the Pod itself, or the pod templates anywhere in a workload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gputopo.rules.manifests.objects.together import by_kind
from gputopo.terms.manifest import Manifest, Path

WORKLOADS = (
    "CronJob", "DaemonSet", "Deployment", "Job", "JobSet", "LeaderWorkerSet", "MPIJob", "PaddleJob", "PyTorchJob",
    "RayCluster", "RayJob", "ReplicaSet", "StatefulSet", "TFJob", "XGBoostJob",
)  # fmt: skip
KINDS = ("Pod", *WORKLOADS)
_DEEPEST = 12


class PodPart(NamedTuple):
    """`path` leads to what has `metadata` and `spec`; () is the manifest itself."""

    path: Path
    body: dict[str, Any]

    @property
    def annotations(self) -> dict[str, str]:
        return texts(self.body, "annotations")

    def annotation_path(self, name: str) -> Path:
        return (*self.path, "metadata", "annotations", name)

    @property
    def asked(self) -> frozenset[str]:
        """The names of the resources that its containers request or limit to more than 0."""
        spec = self.body["spec"]
        containers = [*_list(spec.get("containers")), *_list(spec.get("initContainers"))]
        parts = [one.get("resources") for one in containers if isinstance(one, dict)]
        found = [part.get(key) for part in parts if isinstance(part, dict) for key in ("limits", "requests")]
        return frozenset(
            str(name) for one in found if isinstance(one, dict) for name, amount in one.items() if str(amount) != "0"
        )


def texts(body: dict[str, Any], field: str) -> dict[str, str]:
    """Labels or annotations, those that are text."""
    metadata = body.get("metadata")
    found = metadata.get(field) if isinstance(metadata, dict) else None
    if not isinstance(found, dict):
        return {}
    return {str(name): value for name, value in found.items() if isinstance(value, str)}


def name_of(manifest: Manifest) -> str:
    metadata = manifest.object.body.get("metadata")
    found = metadata.get("name") if isinstance(metadata, dict) else None
    return found if isinstance(found, str) else ""


def group_of(manifest: Manifest) -> str:
    """Of apiVersion; "" for the core group."""
    found = manifest.object.body.get("apiVersion")
    return found.rpartition("/")[0] if isinstance(found, str) else ""


def spec_of(manifest: Manifest) -> dict[str, Any]:
    found = manifest.object.body.get("spec")
    return found if isinstance(found, dict) else {}


def of_kind(together: tuple[Manifest, ...], kind: str, group: str) -> list[Manifest]:
    """Of the manifests of a run. A run over thousands of nodes asks once a node."""
    return [one for one in by_kind(together).get(kind, ()) if group_of(one) == group]


def pods_of(manifest: Manifest) -> Iterator[PodPart]:
    yield from _within(manifest.object.body, (), 0)


def _within(value: Any, path: Path, depth: int) -> Iterator[PodPart]:
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for place, one in enumerate(value):
            yield from _within(one, (*path, place), depth + 1)
    elif isinstance(value, dict):
        spec = value.get("spec")
        if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
            yield PodPart(path, value)
            return
        for key, one in value.items():
            yield from _within(one, (*path, str(key)), depth + 1)


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []
