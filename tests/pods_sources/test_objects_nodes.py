"""Nodes, fake ones above all, zones of NodeResourceTopology, and events of pods that are gone."""

from __future__ import annotations

from typing import Any

import pytest

from gputopo.parsers.object_holdings import parse
from tests.pods_sources.objects import pod, said
from tests.pods_sources.samples import SHARED, needs_samples

POOL = "run.ai/simulated-gpu-node-pool"


def node(name: str = "n1", gpus: int = 2, **metadata: Any) -> dict[str, Any]:
    amounts = {"cpu": "64", "nvidia.com/gpu": str(gpus), "ephemeral-storage": "1Gi"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, **metadata},
            "status": {"allocatable": amounts, "capacity": amounts}}  # fmt: skip


def config_map(name: str, text: str, **metadata: Any) -> dict[str, Any]:
    metadata = {"namespace": "gpu-operator", "name": name, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"topology.yml": text}}


def pools(text: str) -> dict[str, Any]:
    return config_map("topology", f"nodePoolLabelKey: {POOL}\nnodePools: {{default: {text}}}\n")


def of_node(*ids: str) -> dict[str, Any]:
    gpus = "".join(f"- {{id: {id}, status: {{allocatedBy: {{namespace: '', pod: ''}}}}}}\n" for id in ids)
    return config_map("topology-n1", f"gpus:\n{gpus}", labels={"node-name": "n1", "node-topology": "true"})


def test_what_the_kubelet_may_give_away() -> None:
    [one] = said(node())
    assert (one.node, one.capacity, one.fake) == ("n1", (("nvidia.com/gpu", 2),), "")


@pytest.mark.parametrize(
    ("metadata", "fake"),
    [
        ({"labels": {"run.ai/fake.gpu": "true"}}, "fake-gpu-operator"),
        ({"annotations": {"kwok.x-k8s.io/node": "fake"}}, "KWOK"),
        ({"labels": {"kwok.x-k8s.io/node": "fake"}}, "KWOK"),
        ({"labels": {"run.ai/fake.gpu": "true"}, "annotations": {"kwok.x-k8s.io/node": "fake"}},
         "fake-gpu-operator on KWOK"),
        ({"labels": {"type": "kwok", "run.ai/fake.gpu": "false"}}, ""),
    ],
)  # fmt: skip
def test_a_fake_node_is_called_fake(metadata: dict[str, Any], fake: str) -> None:
    [one] = said(node(**metadata), pod("a", "n1", "GPU-a"))
    assert one.fake == fake


def test_the_gpus_of_a_fake_node_are_those_of_its_config_map() -> None:
    held = "gpus: [{id: GPU-a, status: {allocatedBy: {namespace: d, pod: p, container: c}}}, {id: GPU-b}]"
    [one] = said(config_map("topology-n1", held))
    assert (one.node, one.fake) == ("n1", "fake-gpu-operator")
    assert [each.id for each in one.allocatable or ()] == ["GPU-a", "GPU-b"]
    [container] = one.containers
    assert (container.namespace, container.pod, container.container) == ("d", "p", "c")
    assert [(each.id, each.by) for each in container.devices or ()] == [("GPU-a", "ConfigMap")]


@pytest.mark.parametrize(
    ("pool", "own", "kind", "text"),
    [
        ("{gpuCount: 4}", None, "fake-pool-changed", "nvidia.com/gpu is 2, pool default says 4"),
        ("{gpu: {profile: t4}}", None, "fake-pool-changed", "nvidia.com/gpu is 2, pool default says 4"),
        ("{gpuCount: 4}", ("GPU-a", "GPU-b"), "fake-pool-changed", "nvidia.com/gpu is 2, pool default says 4"),
        ("{gpuCount: 1}", ("GPU-a",), "fake-plugin-behind",
         "nvidia.com/gpu is 2, ConfigMap topology-n1 lists 1"),
        ("{gpuCount: 2}", ("GPU-a", "GPU-b"), "", ""),
        ("{gpu: {backend: mock, profile: t4}}", None, "", ""),
        ("{gpu: {profile: mine}}", None, "", ""),
    ],
)  # fmt: skip
def test_another_count_than_the_pool_s_is_seen(pool: str, own: tuple[str, ...] | None, kind: str, text: str) -> None:
    objects = [node(labels={"run.ai/fake.gpu": "true", POOL: "default"}), pools(pool)]
    objects += [of_node(*own)] if own else []
    seen = [(one.kind, one.subjects, one.text) for record in said(*objects) for one in record.observations]
    assert seen == ([(kind, ("n1", "topology-n1"), text)] if kind else [])


def test_a_config_map_of_somebody_else_says_nothing() -> None:
    [one] = said(pod("a", "n1", "GPU-a"), config_map("topology", "a: b"), config_map("x", "- a"))
    assert (one.node, one.fake, one.observations) == ("n1", "", ())


def test_zones_say_the_policy_and_how_much_of_what_is_where() -> None:
    zone = {"name": "node-0", "type": "Node", "resources": [
        {"name": "nvidia.com/gpu", "capacity": "4", "allocatable": "4", "available": "1"},
        {"name": "cpu", "capacity": "56", "allocatable": "54", "available": "10"}]}  # fmt: skip
    body = {"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology", "metadata": {"name": "n1"},
            "attributes": [{"name": "topologyManagerPolicy", "value": "restricted"}], "zones": [zone]}  # fmt: skip
    [one] = said(body)
    assert one.policies == (("topology", "restricted"),)
    assert [each.text for each in one.observations] == ["node-0: 1 of 4 nvidia.com/gpu available"]


def event(reason: str, name: str = "gone", **more: Any) -> dict[str, Any]:
    about = {"kind": "Pod", "namespace": "ml", "name": name, "uid": f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{name}.1"}, "reason": reason, "message": "m",
            "involvedObject": about, **more}  # fmt: skip


def test_an_event_is_of_its_time_not_of_now() -> None:
    refused = event("TopologyAffinityError", source={"host": "n1"}, lastTimestamp="2026-01-01T00:00:00Z")
    now, then = said(pod("a", "n1", "GPU-a"), refused)
    assert (now.past, [one.pod for one in now.containers]) == (False, ["a"])
    assert (then.past, then.at, then.containers) == (True, "2026-01-01T00:00:00Z", ())
    [record] = then.pods or ()
    assert (record.name, record.rejected, record.admitted) == (
        "gone", ("TopologyAffinityError", "m"), "2026-01-01T00:00:00Z",
    )  # fmt: skip


def test_an_event_of_the_newer_api() -> None:
    body = event("UnexpectedAdmissionError", note="n", reportingInstance="n1", eventTime="2026-01-01T00:00:00.5Z")
    body["apiVersion"] = "events.k8s.io/v1"
    body["regarding"] = body.pop("involvedObject")
    del body["message"]
    [one] = said(body)
    assert (one.node, one.at) == ("n1", "2026-01-01T00:00:00.5Z")


def test_events_of_anything_else_and_of_pods_that_still_say_it_are_left() -> None:
    failed = pod("gone", "n1", status={"phase": "Failed", "reason": "TopologyAffinityError", "message": "m"})
    [one] = said(failed, event("TopologyAffinityError", source={"host": "n1"}), event("Pulled", "b"))
    assert not one.past
    assert len(one.pods or ()) == 1


@needs_samples
def test_the_sample_of_the_fake_gpu_operator() -> None:
    folder = SHARED / "data/kubernetes-samples"
    [one] = parse((folder / "fake-gpu-operator-topology.yaml").read_text())
    assert (one.node, one.fake, len(one.allocatable or ())) == ("node-a", "fake-gpu-operator on KWOK", 2)
    first, second = parse((folder / "nrt.yaml").read_text())
    assert dict(first.policies) == {"topology": "single-numa-node", "topologyScope": "container"}
    assert [each.text for each in first.observations] == [
        "node-0: 1 of 4 nvidia.com/gpu available", "node-1: 3 of 4 nvidia.com/gpu available",
    ]  # fmt: skip
    assert second.node == "node-b"
