"""The pods of one job: their GPUs work as one set, whichever pods hold them.

Replicas of a Deployment or a DaemonSet are not one job. Controllers of ranks are: see `JOBS`.
"""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.holdings import Owner
from gputopo.pods.model import Container, Device, OwnerSet, Pod
from gputopo.pods.placed import placed
from gputopo.topology.gpu_sets import Sight

JOBS = frozenset({
    "Job", "StatefulSet", "LeaderWorkerSet", "PyTorchJob", "TFJob", "MPIJob", "JAXJob", "XGBoostJob", "PaddleJob",
    "TrainJob", "RayCluster", "RayJob", "RayService", "JobSet", "NeuronJob", "AppWrapper", "PodGroup",
})  # fmt: skip


def owner_sets(pods: Sequence[Pod], containers: Sequence[Container], sight: Sight) -> tuple[OwnerSet, ...]:
    """One for each job with GPUs on the node, also where it has one pod."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for at, pod in enumerate(pods):
        owner = job_of(pod.owners)
        if owner is not None and pod.placed.gpus != ():
            found.setdefault((owner.kind, pod.namespace or "", owner.name), []).append(at)
    return tuple(
        OwnerSet(kind, namespace or None, name, tuple(own), placed(_devices(own, pods, containers), sight))
        for (kind, namespace, name), own in found.items()
    )


def job_of(owners: Sequence[Owner]) -> Owner | None:
    """The topmost that is a job."""
    return next((one for one in reversed(owners) if one.kind in JOBS), None)


def _devices(own: Sequence[int], pods: Sequence[Pod], containers: Sequence[Container]) -> list[Device]:
    devices = []
    for at in own:
        gpus = pods[at].placed.gpus
        for place in pods[at].containers:
            devices += [one for one in containers[place].devices if gpus is None or one.gpu in gpus or one.gpu is None]
    return list(dict.fromkeys(devices))
