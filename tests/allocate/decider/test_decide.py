"""Who decides which GPUs a pod gets, one row a case."""

from __future__ import annotations

import pytest

from gputopo.allocate.decider import decide
from gputopo.allocate.decider.asks import containers, whole_pod
from gputopo.terms.kube_object import KubeObject, WrongShape


def pod(
    asks: dict[str, object] | None = None, scheduler: str = "",
    annotations: dict[str, str] | None = None, **spec: object,
) -> KubeObject:  # fmt: skip
    limits = {"nvidia.com/gpu": 4} if asks is None else asks
    body = {"containers": [{"name": "main", "resources": {"limits": limits}}], **spec}
    if scheduler:
        body["schedulerName"] = scheduler
    return KubeObject({"kind": "Pod", "metadata": {"name": "p", "annotations": annotations or {}}, "spec": body}, "pod")


def node(
    labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, gpus: str | None = "8",
    version: str = "v1.36.2",
) -> KubeObject:  # fmt: skip
    allocatable = {} if gpus is None else {"nvidia.com/gpu": gpus}
    status = {"allocatable": allocatable, "nodeInfo": {"kubeletVersion": version}}
    metadata = {"name": "n", "labels": labels or {}, "annotations": annotations or {}}
    return KubeObject({"kind": "Node", "metadata": metadata, "status": status}, "node")


HAMI_NODE = node(annotations={"hami.io/node-nvidia-register": "[]"})
CLASS = KubeObject(
    {"kind": "DeviceClass", "metadata": {"name": "gpu.nvidia.com"}, "spec": {"extendedResourceName": "nvidia.com/gpu"}}
)


@pytest.mark.parametrize(
    ("asking", "on", "who"),
    [
        (pod(), node(), "device plugin"),
        (pod(), None, "device plugin"),
        (pod({"cpu": "4"}), node(), "nobody"),
        (pod({"nvidia.com/gpu": 0}), node(), "nobody"),
        (pod({"cpu": "4"}, resourceClaims=[{"name": "gpu"}]), node(), "DRA"),
        (pod(scheduler="koord-scheduler"), node(), "Koordinator"),
        (pod({"koordinator.sh/gpu-core": 50, "koordinator.sh/gpu-memory-ratio": 50}), None, "Koordinator"),
        (pod(annotations={"scheduling.koordinator.sh/gpu-partition-spec": "{}"}), None, "Koordinator"),
        (pod(scheduler="hami-scheduler"), node(), "HAMi"),
        (pod({"nvidia.com/gpu": 1, "nvidia.com/gpumem": 3000}), node(), "HAMi"),
        (pod(annotations={"nvidia.com/numa-bind": "true"}), node(), "HAMi"),
        (pod(), HAMI_NODE, "HAMi"),
        (pod(scheduler="volcano"), HAMI_NODE, "HAMi"),
        (pod({"volcano.sh/vgpu-number": 2, "volcano.sh/vgpu-memory": 3000}, scheduler="volcano"), None, "Volcano"),
        (pod({"volcano.sh/vgpu-number": 2}), None, "Volcano"),
        (pod(scheduler="volcano"), node(), "device plugin"),
        (pod({"aliyun.com/gpu-mem": 8}), node(), "ACK"),
        (pod(), node({"ack.node.gpu.schedule": "topology"}), "ACK"),
        (pod(), node({"ack.node.gpu.schedule": "default"}), "device plugin"),
        (pod(scheduler="koord-scheduler"), HAMI_NODE, "Koordinator"),
    ],
)
def test_who_decides(asking: KubeObject, on: KubeObject | None, who: str) -> None:
    assert decide(asking, on).who == who


@pytest.mark.parametrize(
    ("on", "version", "who", "sure"),
    [
        (node(gpus=None), None, "DRA", True),
        (node(gpus="0"), None, "DRA", True),
        (node(gpus="8"), None, "device plugin", True),
        (node(gpus="0.0"), None, "DRA", True),
        (node(gpus=None, version="v1.35.6"), None, "DRA", False),  # a kubelet may be older than its scheduler
        (node(gpus=None, version="v1.35.6"), (1, 35), "device plugin", True),
        (node(gpus=None, version="v1.35.6"), (1, 36), "DRA", True),
        (node(gpus=None, version=""), None, "DRA", False),
        (None, (1, 37), "DRA", False),
        (None, (1, 34), "device plugin", True),
        (None, None, "DRA", False),
    ],
)
def test_a_device_class_takes_the_resource_over(
    on: KubeObject | None, version: tuple[int, int] | None, who: str, sure: bool
) -> None:
    found = decide(pod(), on, [CLASS], version)
    assert (found.who, found.sure) == (who, sure)


def device_class(name: str, created: str | None = None) -> KubeObject:
    metadata = {"name": name, "creationTimestamp": created}
    return KubeObject({"metadata": metadata, "spec": {"extendedResourceName": "nvidia.com/gpu"}})


def test_of_two_classes_the_newer_counts_and_of_equally_old_ones_the_first_by_name() -> None:
    old, new = device_class("a", "2026-01-01T00:00:00Z"), device_class("b", "2026-02-01T00:00:00Z")
    for classes in ([old, new], [new, old]):
        assert decide(pod(), node(gpus="0"), classes).reason.startswith("DeviceClass b ")
    for classes in ([device_class("a"), device_class("b")], [device_class("b"), device_class("a")]):
        assert decide(pod(), node(gpus="0"), classes).reason.startswith("DeviceClass a ")


def test_every_device_class_has_an_implicit_name() -> None:
    asking = pod({"deviceclass.resource.kubernetes.io/gpu.nvidia.com": 1})
    assert (decide(asking, node()).who, decide(asking, node()).sure) == ("DRA", True)
    assert decide(asking, None, k8s_version=(1, 35)).who == "device plugin"


def test_a_node_that_advertises_none_leaves_a_device_class_possible() -> None:
    found = decide(pod(), node(gpus="0"))
    assert (found.who, found.sure, found.settled_by) == (
        "device plugin", False, "--classes, a DeviceClass may take it over",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("mechanism", "other"), [("device-plugin", True), ("kubelet", True), ("koordinator", True), ("hami", False)]
)
def test_an_answer_of_another_mechanism_is_a_hypothetical_one(mechanism: str, other: bool) -> None:
    assert decide(pod(), HAMI_NODE).is_other(mechanism) is other


def test_a_device_class_for_another_resource_changes_nothing() -> None:
    other = CLASS._replace(body={**CLASS.body, "spec": {"extendedResourceName": "example.com/gpu"}})
    assert decide(pod(), node(gpus=None), [other]).who == "device plugin"


def test_what_is_not_sure_says_what_would_settle_it() -> None:
    found = decide(None)
    assert not found.sure
    assert (found.line, found.settled_by) == (
        "device plugin, probably: no Pod or Node object was given", "--pod, --node",
    )  # fmt: skip
    assert decide(pod()).settled_by == "--node"
    assert decide(None, node()).settled_by == "--pod"
    device = KubeObject({"kind": "Device", "metadata": {"name": "n"}})
    assert not decide(pod(), node(), devices=[device]).sure
    assert decide(pod(), node(), devices=[device._replace(body={"metadata": {"name": "other"}})]).sure


def test_the_pod_of_a_workload() -> None:
    template = {"metadata": {"annotations": {"nvidia.com/vgpu-mode": "hami-core"}}, "spec": pod().spec}
    job = KubeObject({"kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template}})
    assert decide(job, node()).who == "HAMi"


def test_the_sum_of_a_pod_is_containers_and_sidecars_or_the_largest_init_container() -> None:
    def container(name: str, gpus: int, **more: object) -> dict[str, object]:
        return {"name": name, "resources": {"limits": {"nvidia.com/gpu": gpus}}, **more}

    body = {
        "initContainers": [container("a", 1, restartPolicy="Always"), container("b", 4)],
        "containers": [container("c", 1), container("d", 2)],
    }
    asking = KubeObject({"kind": "Pod", "spec": body})
    assert [one.kind for one in containers(asking)] == ["sidecar", "init", "app", "app"]
    assert whole_pod(asking) == {"nvidia.com/gpu": 5}  # 4 of the init container and 1 of the sidecar before it
    body["initContainers"] = [container("b", 4), container("a", 2, restartPolicy="Always")]
    assert whole_pod(asking) == {"nvidia.com/gpu": 5}  # 2 + 1 + 2; the init container runs before the sidecar


def test_an_amount_that_is_none_is_refused() -> None:
    with pytest.raises(WrongShape, match=r"resources\.limits\.nvidia\.com/gpu: 'four' is not a quantity"):
        whole_pod(pod({"nvidia.com/gpu": "four"}))
