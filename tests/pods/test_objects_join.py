"""One node through podresources, the checkpoint and API objects; several nodes; which pods are asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gputopo.cli import run
from gputopo.holdings import ClaimRecord, ContainerHolding, DeviceHeld, DeviceName
from gputopo.topology.node import NodeTopology
from tests.pods.machines import container, devices, held, node, said, uuid
from tests.pods.test_verb import CSV, LSCPU, checkpoint, matrix
from tests.pods_sources.objects import listed, pod
from tests.pods_sources.test_objects_claims import claim, resource_slice
from tests.pods_sources.test_objects_nodes import config_map, event
from tests.pods_sources.test_objects_nodes import node as node_object

POD_UID = "uid-a"


def podresources(held: dict[str, list[int]], container: str = "c") -> str:
    """The kubelet's answer, each GPU on the NUMA node of its socket (zero left out, as protojson does)."""
    pods = [
        {"name": name, "namespace": "ml", "containers": [{"name": container, "devices": [
            {"resourceName": "nvidia.com/gpu", "deviceIds": [uuid(one)],
             "topology": {"nodes": [{"ID": "1"} if one // 2 else {}]}} for one in gpus]}]}
        for name, gpus in held.items()
    ]  # fmt: skip
    return json.dumps({"podResources": pods})


def objects(held: dict[str, list[int]], **more: Any) -> str:
    return listed(*(pod(name, "n1", *(uuid(one) for one in gpus), **more) for name, gpus in held.items()))


@pytest.fixture
def audit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def audited(*texts: str, options: tuple[str, ...] = (), topology: bool = True, code: int | None = None) -> Any:
        named = {f"text-{at}": text for at, text in enumerate(texts)}
        if topology:
            named |= {"topo.txt": matrix(), "gpus.csv": CSV, "lscpu.txt": LSCPU}
        for name, text in named.items():
            (tmp_path / name).write_text(text)
        got = run(["pods", *(str(tmp_path / name) for name in named), "-o", "json", *options])
        captured = capsys.readouterr()
        assert code is None or got == code, captured.err
        return json.loads(captured.out) if captured.out else captured.err

    return audited


def table(document: Any) -> list[tuple[Any, ...]]:
    """What of the audit must not depend on who said it: not UIDs and ids, which not every source has."""
    return [
        (one["container"], one["gpus"], one["numaNodes"], one["packages"], one["crossPackage"], one["crossNuma"],
         one["weakest"], one["better"])
        for one in document["containers"]
    ]  # fmt: skip


HELD = {"a": [0, 2], "b": [3]}


def test_one_node_through_three_sources_is_one_table(audit: Any) -> None:
    texts = (podresources(HELD), checkpoint({f"uid-{name}": gpus for name, gpus in HELD.items()}), objects(HELD))
    alone = [audit(text) for text in texts]
    assert table(alone[0])[0][:5] == ("c", ["GPU0", "GPU2"], [0, 1], ["PKG0", "PKG1"], True)
    assert table(alone[1]) == table(alone[0])
    assert table(alone[2]) == table(alone[0])
    together = audit(*texts)
    assert table(together) == table(alone[0])
    assert together["conflicts"] == []
    assert {tuple(one["sources"]) for one in together["containers"]} == {
        ("podresources", "kubelet-checkpoint", "kube-objects")
    }
    assert [(one["namespace"], one["pod"], one["podUID"]) for one in together["containers"]] == [
        ("ml", "a", "uid-a"), ("ml", "b", "uid-b"),
    ]  # fmt: skip
    assert [one["free"] for one in (*alone, together)] == [["GPU1"]] * 4


@pytest.mark.parametrize("liar", range(3))
def test_a_planted_disagreement_is_exactly_one_conflict(liar: int, audit: Any) -> None:
    truth, lie = {"a": [0, 2]}, {"a": [0, 3]}
    said_by = [lie if at == liar else truth for at in range(3)]
    by_uid = {f"uid-{name}": gpus for name, gpus in said_by[1].items()}
    found = audit(podresources(said_by[0]), checkpoint(by_uid), objects(said_by[2]))
    [conflict] = found["conflicts"]
    assert (conflict["subjects"], conflict["attribute"]) == (["ml/a/c"], "devices")
    assert {one["source"]: one["value"] for one in conflict["values"]} == {
        source: [f"GPU{gpu}" for gpu in who["a"]]
        for source, who in zip(("podresources", "kubelet-checkpoint", "kube-objects"), said_by)
    }
    assert conflict["used"] == [f"GPU{gpu}" for gpu in said_by[0]["a"]]  # the kubelet's own answer


def test_a_claim_through_its_status_and_the_pod_s_is_one_word() -> None:
    """The pod's status has CDI names, the claim driver/pool/device: without slices they agree already."""
    id, cdi = "gpu.nvidia.com/n1/gpu-3", "k8s.gpu.nvidia.com/claim=c1-gpu-3"
    given = (DeviceHeld("claim:g", cdi, "cdi"),)
    asks = ContainerHolding("ml", "a", POD_UID, "c", devices=given, claims=(("two", ""),))
    record = ClaimRecord("ml", "two", "c1", (("r", DeviceHeld("claim:two/r", id, "dra")),), (POD_UID,))
    names = (DeviceName(cdi, "cdi", dra=id),)
    spoken = said("kube-objects", asks, claims=(record,), names=names)
    assert held(spoken, on=NodeTopology()).conflicts == ()
    resolved = held(spoken)
    assert (resolved.conflicts, resolved.containers[0].placed.gpus) == ((), ("GPU0",))  # minor 3
    other = ClaimRecord("ml", "two", "c1", (("r", DeviceHeld("claim:two/r", "gpu.nvidia.com/n1/gpu-0", "dra")),), ())
    assert len(held(said("kube-objects", asks, claims=(other,), names=names)).conflicts) == 1


def test_slices_decide_numa_and_mig_without_a_topology(audit: Any) -> None:
    """A real claim is reserved to the pod: its device is the slice's, whatever its name counts."""
    spec = {"resourceClaims": [{"name": "g", "resourceClaimName": "two"}],
            "containers": [{"name": "c", "resources": {"claims": [{"name": "g"}]}}]}  # fmt: skip
    mine = claim(node="n1")
    mine["status"]["reservedFor"] = [{"resource": "pods", "name": "a", "uid": "uid-a"}]
    attributes = {"uuid": {"string": uuid(2)}, "resource.kubernetes.io/numaNode": {"int": 1}}
    texts = (listed(pod("a", "n1", spec=spec), mine, resource_slice(attributes)),)
    [one] = audit(*texts, topology=False)["containers"]
    assert (one["gpus"], one["numaNodes"]) == (None, [1])
    [one] = audit(*texts)["containers"]
    assert (one["gpus"], one["packages"]) == (["GPU2"], ["PKG1"])


@pytest.mark.parametrize("style", ["{}-4", "{}-_-4"])
def test_an_id_that_only_counts_yields_to_the_scheduler_s_word(style: str) -> None:
    """HAMi's plugin gives what the annotation says, whichever ids the kubelet chose."""
    counts = DeviceHeld("nvidia.com/gpu", style.format(uuid(3)), "uuid")
    kubelet = said("podresources", container("a", None, "main", devices=(counts,)), containers_complete=True)
    share = "3000 MiB, 30 %"
    wrote = DeviceHeld("nvidia.com/gpu", uuid(1), "uuid", by="annotation", share=share)
    scheduler = said("kube-objects", container("a", "u", "main", devices=(wrote,)))
    found = held(kubelet, scheduler)
    assert (found.containers[0].placed.gpus, found.conflicts, found.free) == (("GPU1",), (), ("GPU0", "GPU2", "GPU3"))
    alone = held(kubelet)
    assert (alone.containers[0].placed.gpus, alone.free) == (None, None)
    assert "the pod's annotation says which" in " ".join((alone.unknown[0].reason, alone.unknown[0].settled_by))


@pytest.mark.parametrize(
    ("id", "space", "gpu", "mig"),
    [
        (f"{uuid(1)}::7", "uuid", "GPU1", None),
        (f"{uuid(1)}/7", "uuid", "GPU1", None),
        ("nvidia0", "other", "GPU3", None),  # minor 0
        ("nvidia0/gi7", "other", "GPU3", "nvidia0/gi7"),
        ("nvidia3/vgpu1", "other", "GPU0", None),
    ],
)
def test_ids_of_plugins_that_share_a_gpu(id: str, space: str, gpu: str, mig: str | None) -> None:
    [one] = held(said("podresources", container("a", None, "m", devices=(DeviceHeld("x/gpu", id, space),)))).containers
    assert (one.devices[0].gpu, one.devices[0].mig) == (gpu, mig)


def test_shares_of_one_gpu_are_no_gpu_in_two_pods(audit: Any) -> None:
    def hami(name: str, cores: int) -> dict[str, Any]:
        note = {"annotations": {"hami.io/vgpu-devices-allocated": f"{uuid(0)},NVIDIA,3000,{cores}:;"}}
        return pod(name, "n1", metadata=note)

    assert [one["rule"] for one in audit(listed(hami("a", 30), hami("b", 30)))["findings"]] == []
    rules = [one["rule"] for one in audit(listed(hami("a", 100), hami("b", 30)))["findings"]]
    assert rules == ["GT411"]


def test_gpus_of_which_no_source_says_which_are_not_taken_for_free(audit: Any) -> None:
    """Before 1.36 a pod says how many it asks for: then it is not known which are free, unless none can be."""
    def asks(count: int) -> dict[str, Any]:
        limits = {"nvidia.com/gpu": str(count)}
        return pod("b", "n1", spec={"containers": [{"name": "c", "resources": {"limits": limits}}]})

    known = pod("a", "n1", uuid(0))
    document = audit(listed(known, asks(2)))
    assert document["free"] is None
    assert [(one["subjects"], one["attribute"]) for one in document["unknown"]] == [(["ml/b/c"], "gpu")]
    assert "podresources socket" in document["unknown"][0]["settledBy"]
    assert audit(listed(known, asks(3)))["free"] == []
    with_kubelet = audit(listed(known, asks(2)), podresources({"a": [0], "b": [1, 2]}))
    assert (with_kubelet["free"], with_kubelet["unknown"]) == (["GPU3"], [])


def test_each_node_has_its_own_audit_and_nodes_without_gpus_are_left_out(audit: Any) -> None:
    texts = (listed(pod("a", "n1", uuid(0)), pod("b", "n2", uuid(9)), pod("web", "cpu")), listed(node_object("n2")))
    document = audit(*texts, topology=False)
    assert [(one["node"], [each["pod"] for each in one["containers"]]) for one in document["items"]] == [
        ("n1", ["a"]), ("n2", ["b"]),
    ]  # fmt: skip
    assert [[each["id"] for each in one["sources"]] for one in document["items"]] == [
        ["kube-objects"], ["kube-objects", "kube-objects-2"],
    ]  # fmt: skip
    one = audit(*texts, options=("--node", "n1"))
    assert (one["node"], one["containers"][0]["gpus"]) == ("n1", ["GPU0"])
    assert "nothing is said of node n7" in audit(*texts, topology=False, options=("--node", "n7"), code=2)
    assert "which of 3 nodes a topology among the sources is of is not said" in audit(*texts, code=2)


def test_namespace_and_labels_choose_pods_and_free_stays_right(audit: Any) -> None:
    def labelled(name: str, namespace: str, gpu: int, **labels: str) -> dict[str, Any]:
        return pod(name, "n1", uuid(gpu), metadata={"namespace": namespace, "labels": labels})

    text = listed(labelled("a", "ml", 0, app="x"), labelled("b", "ml", 1, app="y"), labelled("c", "web", 2, app="x"))
    for options, names in (
        ((), ["a", "b", "c"]), (("-A",), ["a", "b", "c"]), (("-n", "ml"), ["a", "b"]), (("-l", "app=x"), ["a", "c"]),
        (("-n", "ml", "-l", "app!=x"), ["b"]), (("-n", "none"), []),
    ):  # fmt: skip
        document = audit(text, options=options)
        assert [one["pod"] for one in document["containers"]] == names
        assert [one["name"] for one in document["pods"]] == names
        assert document["free"] == ["GPU3"]


def test_a_pod_that_shares_a_gpu_with_the_chosen_one_is_shown(audit: Any) -> None:
    text = listed(pod("a", "n1", uuid(0)), pod("thief", "n1", uuid(0), metadata={"namespace": "x"}), pod("c", "n1"))
    document = audit(text, options=("-n", "ml"))
    assert [one["pod"] for one in document["containers"]] == ["a", "thief"]
    assert [one["rule"] for one in document["findings"]] == ["GT411"]


def test_a_fake_node_is_never_read_off_a_real_machine(audit: Any) -> None:
    made_up = "gpus: [{id: GPU-x, status: {allocatedBy: {namespace: ml, pod: a, container: c}}}, {id: GPU-y}]"
    text = listed(
        node_object("n1", 2, labels={"run.ai/fake.gpu": "true", "run.ai/simulated-gpu-node-pool": "default"}),
        config_map("topology-n1", made_up, labels={"node-name": "n1"}),
        config_map("topology", "nodePoolLabelKey: run.ai/simulated-gpu-node-pool\nnodePools: {default: {gpuCount: 4}}"),
    )
    document = audit(text)
    assert (document["fake"], document["held"], document["free"]) == ("fake-gpu-operator", ["GPU0"], ["GPU1"])
    assert document["containers"][0]["packages"] is None
    found = {one["rule"]: one for one in document["findings"]}
    assert set(found) == {"GT422", "GT423"}
    assert found["GT423"]["message"] == "n1: nvidia.com/gpu is 2, pool default says 4"
    assert found["GT423"]["remedy"].startswith("delete ConfigMap topology-n1 and restart deployment status-updater")


def test_a_refused_pod_and_one_that_is_gone_are_findings(audit: Any) -> None:
    failed = pod("now", "n1", status={"phase": "Failed", "reason": "TopologyAffinityError", "message": "m"})
    gone = event("UnexpectedAdmissionError", source={"host": "n1"}, lastTimestamp="2026-01-01T00:00:00Z")
    document = audit(listed(failed, gone))
    assert [(one["name"], one["reason"]) for one in document["rejected"]] == [
        ("now", "TopologyAffinityError"), ("gone", "UnexpectedAdmissionError"),
    ]  # fmt: skip
    assert [one["rule"] for one in document["findings"]] == ["GT420", "GT420"]


def test_a_claim_for_an_extended_resource_that_is_not_there_is_asked_for(audit: Any) -> None:
    status = {"extendedResourceClaimStatus": {"resourceClaimName": "ext-y3", "requestMappings": [
        {"containerName": "c", "resourceName": "nvidia.com/gpu", "requestName": "r"}]}}  # fmt: skip
    limits = {"nvidia.com/gpu": "2"}
    spec = {"containers": [{"name": "c", "resources": {"limits": limits}}]}
    [note] = audit(listed(pod("a", "n1", spec=spec, status=status)))["unknown"]
    assert note["reason"].startswith("its claim ext-y3 is not among the sources")


def test_init_and_app_containers_that_share_devices_are_no_double_allocation() -> None:
    rows = (container("a", "u", "i", 0, kind="init"), container("a", "u", "c", 0, 1, kind="app"))
    found = held(said("kube-objects", *rows))
    assert [one.kind for one in found.containers] == ["init", "app"]
    assert (found.pods[0].placed.gpus, found.free) == (("GPU0", "GPU1"), ("GPU2", "GPU3"))
    assert node().gpus[0].uuid == devices(0)[0].id
