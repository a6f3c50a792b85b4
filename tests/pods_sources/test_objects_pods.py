"""What a Pod says: its containers, what they got and ask for, who made it, whether it lives."""

from __future__ import annotations

from typing import Any

import pytest

from gputopo.holdings import ClaimRecord, ContainerHolding, DeviceHeld, Owner
from gputopo.parsers.object_holdings import parse
from tests.pods_sources.objects import pod, said
from tests.pods_sources.samples import gpu, needs_samples, text
from tests.pods_sources.samples import pod as pod_uid

ID = "0123456789abcdef" * 4


def only(*objects: dict[str, Any]) -> ContainerHolding:
    [one] = said(*objects)
    [container] = one.containers
    return container


def test_init_sidecar_and_app_containers() -> None:
    spec = {"initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
            "containers": [{"name": "c"}, {"name": "d"}]}  # fmt: skip
    [one] = said(pod("a", "n1", spec=spec))
    assert [(each.container, each.kind) for each in one.containers] == [
        ("i", "init"), ("s", "sidecar"), ("c", "app"), ("d", "app"),
    ]  # fmt: skip


def test_what_it_asks_for_is_extended_resources_only() -> None:
    limits = {"cpu": "4", "memory": "8Gi", "hugepages-1Gi": "1Gi", "nvidia.com/gpu": "2", "rdma/hca": 1,
              "attachable.kubernetes.io/x": "1", "nvidia.com/mig-1g.10gb": "0"}  # fmt: skip
    one = only(pod("a", "n1", spec={"containers": [{"name": "c", "resources": {"limits": limits}}]}))
    assert one.requests == (("nvidia.com/gpu", 2), ("rdma/hca", 1))
    assert one.devices is None  # not: none


@pytest.mark.parametrize(
    ("id", "space"),
    [("GPU-a", "uuid"), ("GPU-a::3", "uuid"), ("MIG-a", "mig"), ("0000:3b:02.1", "pci"), ("hca-3", "other")],
)
def test_ids_of_a_device_plugin(id: str, space: str) -> None:
    assert only(pod("a", "n1", id)).devices == (DeviceHeld("nvidia.com/gpu", id, space, health="Healthy"),)


def test_claims_have_their_own_names_and_requests() -> None:
    """Given by name, made from a template, and for an extended resource."""
    status = {
        "resourceClaimStatuses": [{"name": "made", "resourceClaimName": "made-x2"}],
        "extendedResourceClaimStatus": {"resourceClaimName": "ext-y3", "requestMappings": [
            {"containerName": "c", "resourceName": "nvidia.com/gpu", "requestName": "container-0-request-0"}]},
    }  # fmt: skip
    spec = {
        "resourceClaims": [{"name": "mine", "resourceClaimName": "shared"},
                           {"name": "made", "resourceClaimTemplateName": "t"}, {"name": "later"}],
        "containers": [{"name": "c", "resources": {"claims": [{"name": "mine"}, {"name": "made", "request": "r"},
                                                              {"name": "later"}]}}],
    }  # fmt: skip
    one = only(pod("a", "n1", spec=spec, status=status))
    assert one.claims == (("shared", ""), ("made-x2", "r"), ("ext-y3", "container-0-request-0"))


def test_one_cdi_name_for_two_devices_is_not_believed() -> None:
    """1.32 to 1.36.2 give every device of a driver the CDI names of those before it."""
    status = {"containerStatuses": [{"name": "c", "allocatedResourcesStatus": [
        {"name": "claim:g", "resources": [{"resourceID": "k8s.d/claim=u-gpu-0"}] * 2},
        {"name": "nvidia.com/gpu", "resources": [{"resourceID": "GPU-a"}]}]}]}  # fmt: skip
    [one] = said(pod("a", "n1", status=status))
    assert [each.id for each in one.containers[0].devices or ()] == ["GPU-a"]
    assert [gap.subjects for gap in one.gaps] == [("ml/a/c",)]


@pytest.mark.parametrize(
    ("id", "space"), [("k8s.gpu.nvidia.com/claim=u-gpu-0", "cdi"), ("gpu.nvidia.com/node-a/gpu-0", "dra")]
)
def test_a_device_of_a_claim_by_its_cdi_name_or_by_driver_pool_and_device(id: str, space: str) -> None:
    status = {"containerStatuses": [{"name": "c", "allocatedResourcesStatus": [
        {"name": "claim:g/r", "resources": [{"resourceID": id, "health": "Unknown"}]}]}]}  # fmt: skip
    assert only(pod("a", "n1", status=status)).devices == (DeviceHeld("claim:g/r", id, space, health="Unknown"),)


def test_a_pod_that_ended_holds_nothing_and_one_without_a_node_is_only_mentioned() -> None:
    ended = [pod(f"e{at}", "n1", "GPU-a", status={"phase": phase}) for at, phase in enumerate(("Succeeded", "Failed"))]
    waits = pod("w", None, status={"phase": "Pending"})
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "w.1"}, "reason": "FailedScheduling",
             "message": "0/5 nodes are available: 5 Insufficient nvidia.com/gpu.",
             "involvedObject": {"kind": "Pod", "namespace": "ml", "name": "w", "uid": "uid-w"}}  # fmt: skip
    [one] = said(*ended, waits, event)
    assert one.containers == ()
    assert [each.phase for each in one.pods or ()] == ["Succeeded", "Failed"]
    [gap] = one.gaps
    assert (gap.subjects, gap.attribute) == (("ml/w",), "node")
    assert gap.reason.startswith("1 pod waits for a node and holds nothing: 0/5 nodes are available")


def test_what_identifies_it_elsewhere() -> None:
    """A mirror pod is known to the kubelet by its hash, a container to the runtime by its id."""
    note = {"annotations": {"kubernetes.io/config.hash": "a" * 32, "kubernetes.io/config.mirror": "a" * 32}}
    running = {"running": {"startedAt": "2026-01-01T00:00:09Z"}}
    states = [{"name": "c", "containerID": f"containerd://{ID}", "state": running}]
    status = {"qosClass": "Guaranteed", "startTime": "2026-01-01T00:00:00Z", "containerStatuses": states}
    [one] = said(pod("a", "n1", metadata={"labels": {"app": "x"}, **note}, status=status))
    [record] = one.pods or ()
    assert (record.config_hash, record.qos, record.labels) == ("a" * 32, "Guaranteed", (("app", "x"),))
    assert (record.admitted, record.started) == ("2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z")
    assert (one.containers[0].container_id, one.containers[0].running) == (ID, True)
    assert not one.pods_complete
    assert not one.containers_complete


@pytest.mark.parametrize(
    ("labels", "owner"),
    [
        ({"batch.kubernetes.io/job-name": "j"}, Owner("Job", "j")),
        ({"jobset.sigs.k8s.io/jobset-name": "s"}, Owner("JobSet", "s")),
        ({"ray.io/cluster": "r"}, Owner("RayCluster", "r")),
        ({"volcano.sh/job-name": "v"}, Owner("Job", "v")),
        ({"kueue.x-k8s.io/pod-group-name": "g"}, Owner("PodGroup", "g")),
        ({"leaderworkerset.sigs.k8s.io/name": "w", "leaderworkerset.sigs.k8s.io/group-index": "1"},
         Owner("LeaderWorkerSet", "w-1")),
        ({"training.kubeflow.org/job-name": "t", "training.kubeflow.org/operator-name": "pytorchjob-controller"},
         Owner("PyTorchJob", "t")),
    ],
)  # fmt: skip
def test_the_job_above_the_controller_is_told_by_its_label(labels: dict[str, str], owner: Owner) -> None:
    reference = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "u1", "controller": True}
    [one] = said(pod("a", "n1", metadata={"labels": labels, "ownerReferences": [reference]}))
    assert (one.pods or ())[0].owners == (Owner("StatefulSet", "s", "u1"), owner)


@pytest.mark.parametrize(
    ("reason", "message", "refused"),
    [
        ("TopologyAffinityError", "Resources cannot be allocated with Topology locality", True),
        ("OutOfnvidia.com/gpu", "Node didn't have enough resource: nvidia.com/gpu", True),
        ("SomethingNew", "Pod was rejected: why ever", True),
        ("Evicted", "The node was low on resource: memory", False),
        ("", "", False),
    ],
)
def test_a_refusal_of_the_kubelet_is_told_from_other_ends(reason: str, message: str, refused: bool) -> None:
    [one] = said(pod("a", "n1", status={"phase": "Failed", "reason": reason, "message": message}))
    assert (one.pods or ())[0].rejected == ((reason, message) if refused else None)


@needs_samples
def test_the_samples_say_what_their_readme_says() -> None:
    [one] = parse(text("pod.device-plugin.json"))
    [held] = one.containers
    [record] = one.pods or ()
    assert (one.node, held.namespace, held.pod, held.uid, record.qos) == (
        "node-a", "ml", "cross-numa-0", pod_uid(2), "Guaranteed",
    )  # fmt: skip
    assert [(each.id, each.health, each.numa_nodes) for each in held.devices or ()] == [
        (gpu(3), "Healthy", None), (gpu(5), "Healthy", None), (gpu(4), "Unhealthy", None),
    ]  # fmt: skip
    claim = "cccccccc-0000-4000-8000-000000000001"
    [one] = parse(text("pod.dra.json"))
    assert [each.id for each in one.containers[0].devices or ()] == [
        f"k8s.gpu.nvidia.com/claim={claim}-gpu-0", f"k8s.gpu.nvidia.com/claim={claim}-gpu-5",
    ]  # fmt: skip
    assert one.containers[0].claims == (("trainer-gpus-x7k2p", ""),)
    [one] = parse(text("resourceclaim.json"))
    devices = tuple(("gpus", DeviceHeld("claim:trainer-gpus-x7k2p/gpus", f"gpu.nvidia.com/node-a/{name}", "dra"))
                    for name in ("gpu-0", "gpu-5"))  # fmt: skip
    assert (one.node, one.claims) == (
        "node-a", (ClaimRecord("ml", "trainer-gpus-x7k2p", claim, devices, (pod_uid(8),)),),
    )  # fmt: skip
    [one] = parse(text("pod.dra-extended-resource.json"))
    assert one.containers[0].devices is None
    assert one.containers[0].claims == (("ext-0-extended-resources-8x2bd", "container-0-request-0"),)
    for name, reason in (("topology", "TopologyAffinityError"), ("unexpected", "UnexpectedAdmissionError")):
        [one] = parse(text(f"pod.rejected-{name}.json"))
        [record] = one.pods or ()
        assert one.containers == ()
        assert record.rejected is not None
        assert record.rejected[0] == reason
