"""The parts of `make e2e` that need no server; the servers need Go and some minutes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from e2e import answer, build, deploy, load, objects, roles, run
from e2e.command import Done

MADE = objects.cluster(4)
ROLE = """
kind: ClusterRole
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: reader}
rules:
- {apiGroups: ["", apps], resources: [pods, nodes], verbs: [get, list]}
- {nonResourceURLs: [/version], verbs: [get]}
"""


def items(**changed: list[str]) -> list[dict[str, Any]]:
    """As an answer that is right, but for the pods that are named."""
    found: dict[str, dict[str, Any]] = {}
    for pod in MADE.pods:
        node = found.setdefault(pod.body["spec"]["nodeName"], {"containers": [], "rejected": [], "fake": None})
        ids = changed.get(pod.body["metadata"]["name"].replace("-", "_"), list(pod.gpus))
        namespace, name = pod.key
        node["containers"].append({"namespace": namespace, "pod": name, "devices": [{"id": id} for id in ids]})
    fake = {"containers": [], "fake": "fake-gpu-operator", "rejected": [{"namespace": "infer", "name": "refused-0"}]}
    found["fake-000"] = fake
    return [{"node": node, "conflicts": [], **one} for node, one in found.items()]


def test_every_gpu_is_given_once() -> None:
    gpus = [gpu for pod in MADE.pods for gpu in pod.gpus]
    assert len(gpus) == len(set(gpus)) == 4 * 8
    assert len({pod.key for pod in MADE.pods}) == len(MADE.pods) == 40
    assert {pod.claim is not None for pod in MADE.pods if pod.gpus} == {True, False}


def test_an_answer_is_right_or_says_which_pod_is_wrong() -> None:
    assert list(answer.wrong(items(), MADE)) == []
    other = answer.wrong(items(plugin_gpu_000_1=["GPU-other"]), MADE)
    assert [line.partition(":")[0] for line in other] == ["infer/plugin-gpu-000-1"]
    assert len(list(answer.wrong(items(plugin_gpu_000_1=[], claim_gpu_001_0=["x"]), MADE))) == 2
    assert any("gpu-003 is missing" in line for line in answer.wrong(items()[:3], MADE))
    assert any("fake" in line for line in answer.wrong(items()[:4], MADE))


def test_a_role_is_taken_apart_into_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "rbac.yaml").write_text(ROLE)
    [role] = roles.read(tmp_path / "rbac.yaml")
    found = list(roles._permissions(role["rules"], ""))
    assert [str(one) for one in found] == [
        "get pods", "get nodes", "get pods.apps", "get nodes.apps",
        "list pods", "list nodes", "list pods.apps", "list nodes.apps", "get /version",
    ]  # fmt: skip
    assert found[-1].rule == {"nonResourceURLs": ["/version"], "verbs": ["get"]}


def test_a_missing_permission_is_named_by_its_verb_and_resource() -> None:
    listing = roles.Permission("", "pods", "list")
    for said, named in (
        ("may not list pods in all namespaces (403)", True), ("may not list podsets", False), ("", False),
        ("nodes are not known\nmay not list pods", True), ("no list of nodes", False),
    ):  # fmt: skip
        assert bool(run._names(Done(3, "", said, 0.0, 0.0, 0), listing)) == named


def test_without_go_or_a_role_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(build, "BUILD", tmp_path)
    assert run.main(["--only", "audit"]) == 2
    assert capsys.readouterr().err == "e2e: go is not installed\n"
    assert run.main(["--rbac", str(tmp_path / "none.yaml")]) == 2
    assert capsys.readouterr().err == f"e2e: there is no {tmp_path}/none.yaml\n"


class Server:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, Any]] = []

    def create(self, one: dict[str, Any]) -> dict[str, Any]:
        self.told.append(("POST", one["kind"], one))
        name = one["metadata"]["name"]
        return {"metadata": {"name": name, "uid": f"uid-of-{name}"}}

    def call(self, method: str, path: str, body: Any) -> dict[str, Any]:
        self.told.append((method, path, body))
        return {}


def test_a_pod_with_a_claim_is_put_there_as_its_controllers_would() -> None:
    pod = next(one for one in MADE.pods if one.claim is not None)
    server, names = Server(), {}  # type: ignore[var-annotated]
    load._pod(names, server, pod)  # type: ignore[arg-type]
    assert [what for _, what, _ in server.told[:2]] == ["ResourceClaim", "Pod"]
    reserved = server.told[2][2]["status"]["reservedFor"]
    assert reserved == [{"resource": "pods", "name": pod.key[1], "uid": f"uid-of-{pod.key[1]}"}]
    told = server.told[3][2]["status"]["containerStatuses"][0]["allocatedResourcesStatus"][0]["resources"]
    assert {names[one["resourceID"]] for one in told} == set(pod.gpus)
    assert all(f"claim=uid-of-{pod.key[1]}-gpus-gpu-" in one["resourceID"] for one in told)


def test_what_deploy_ships_is_complete_before_it_is_applied() -> None:
    """Placeholders are filled, a namespace comes before what is in it, and every set has a pod."""
    shipped = dict(deploy.sets())
    assert set(shipped) >= {"base", "job", "chart", "chart pods"}
    for made in shipped.values():
        kinds = [one["kind"] for one in made]
        assert "Namespace" not in kinds[1:]
        assert {"DaemonSet", "Job"} & set(kinds)
        assert not deploy.FOREIGN & set(kinds)
        assert "IMAGE" not in str(made)
        assert ": NODE" not in str(made)


def test_what_pod_security_minds_is_read_from_its_message() -> None:
    said = (
        'pods "a" is forbidden: violates PodSecurity "restricted:latest": restricted volume types (volumes "sys", '
        '"proc" use restricted volume type "hostPath"), runAsNonRoot != true (pod must not set x), runAsUser=0 (pod)'
    )
    assert deploy.violations(said) == {"restricted volume types", "runAsNonRoot != true", "runAsUser=0"}
