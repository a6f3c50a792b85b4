"""Who made a pod: its controller, and above that the job by whose labels an operator knows its pods.

A controller's own owner is in no pod: of a PyTorchJob of Kubeflow's Trainer the pod names the Job only, of a
LeaderWorkerSet a StatefulSet. Their operators leave a label, read here (kubernetes batch/v1 job-name labels; jobset
api/jobset/v1alpha2; lws api/leaderworkerset/v1; training-operator pkg/apis/kubeflow.org/v1 common_types.go; kuberay
controllers/ray/utils/constant.go; volcano apis batch/v1alpha1 labels.go; kueue pkg/controller/jobs/pod).

    >>> [(one.kind, one.name) for one in owners({"labels": {"ray.io/cluster": "tp8"}})]
    [('RayCluster', 'tp8')]
"""

from __future__ import annotations

from gputopo.holdings import Owner
from gputopo.terms.kube_object import Body, mappings, text, texts

_LWS, _LWS_GROUP = "leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index"
_TRAINING, _OPERATOR = "training.kubeflow.org/job-name", "training.kubeflow.org/operator-name"
_OF_OPERATOR = {
    "pytorchjob-controller": "PyTorchJob", "tfjob-controller": "TFJob", "mpijob-controller": "MPIJob",
    "xgboostjob-controller": "XGBoostJob", "paddlejob-controller": "PaddleJob", "jaxjob-controller": "JAXJob",
    "mpi-operator": "MPIJob",
}  # fmt: skip
_TRAINING_KINDS = frozenset(_OF_OPERATOR.values())
# Label: kind. Nearest to the pod first.
_LABELS = (
    ("batch.kubernetes.io/job-name", "Job"),
    ("jobset.sigs.k8s.io/jobset-name", "JobSet"),
    ("trainer.kubeflow.org/trainjob-name", "TrainJob"),
    ("ray.io/cluster", "RayCluster"),
    ("volcano.sh/job-name", "Job"),
    ("kueue.x-k8s.io/pod-group-name", "PodGroup"),
    ("scheduling.x-k8s.io/pod-group", "PodGroup"),
    ("pod-group.scheduling.sigs.k8s.io", "PodGroup"),
)


def owners(metadata: Body) -> tuple[Owner, ...]:
    """Nearest first. Raises WrongShape."""
    references = mappings(metadata, "ownerReferences", "metadata.ownerReferences")
    controller = [one for one in references if one.get("controller") is True] or references[:1]
    found = [Owner(text(one, "kind"), text(one, "name"), text(one, "uid")) for one in controller]
    labels = texts(metadata, "labels", "metadata.labels")
    kinds = {one.kind for one in found}
    for label, kind in _LABELS:
        if labels.get(label) and kind not in kinds:
            found.append(Owner(kind, labels[label]))
    job = _OF_OPERATOR.get(labels.get(_OPERATOR, ""))
    if job and labels.get(_TRAINING) and not kinds & _TRAINING_KINDS:
        found.append(Owner(job, labels[_TRAINING]))
    if labels.get(_LWS):
        found.append(Owner("LeaderWorkerSet", _group(labels)))
    return tuple(found)


def _group(labels: dict[str, str]) -> str:
    """One replica of a LeaderWorkerSet is the set that works together; its leader pod has this name."""
    index = labels.get(_LWS_GROUP, "")
    return f"{labels[_LWS]}-{index}" if index else labels[_LWS]
