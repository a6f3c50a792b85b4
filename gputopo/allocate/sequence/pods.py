"""Pods and workloads of a manifest as the events of a sequence, in the order of the file.

A workload stands for its pods: `replicas` of a Deployment, StatefulSet or ReplicaSet, `parallelism` of a Job.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gputopo.allocate.decider.asks import whole_pod
from gputopo.allocate.sequence.events import Start
from gputopo.terms.kube_object import KubeObject, integer, mapping

MOST_PODS = 64
_COUNTS = {
    "Deployment": "replicas", "StatefulSet": "replicas", "ReplicaSet": "replicas",
    "ReplicationController": "replicas", "Job": "parallelism",
}  # fmt: skip


def starts_of(objects: Iterable[KubeObject], resource: str) -> tuple[Start, ...]:
    """Those that ask for the resource. Raises WrongShape."""
    return tuple(start for one in objects for start in _starts(one, resource))


def _starts(one: KubeObject, resource: str) -> Iterator[Start]:
    if one.kind != "Pod" and not mapping(one.spec, "template"):
        return
    size = whole_pod(one).get(resource, 0)
    if not size or size != int(size):
        return
    owner = f"{one.namespace}/{one.name}" if one.namespace else one.name
    count = _pods(one)
    for number in range(count):
        yield Start(owner if count == 1 else f"{owner}-{number}", int(size))


def _pods(one: KubeObject) -> int:
    """1 where the API's default is 1."""
    key = _COUNTS.get(one.kind)
    said = integer(one.spec, key, f"spec.{key}") if key is not None else None
    return 1 if said is None else min(max(said, 0), MOST_PODS + 1)  # enough to say that it is too many
