"""A cluster is asked through the official client: pages, refusals, silence; each is one line, in time."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import yaml

pytest.importorskip("kubernetes")

from gputopo.cli import run
from gputopo.evidence.live import kube_api, kube_child
from gputopo.evidence.live.command import EXITED, Done
from gputopo.evidence.live.kube_api import Answer, Asked, read_answer
from gputopo.evidence.live.kube_lists import LISTS
from gputopo.parsers.object_holdings import parse
from tests.pods_sources.api_server import DRA, ApiServer, kubeconfig, serving
from tests.pods_sources.objects import pod
from tests.pods_sources.test_objects_claims import claim, resource_slice
from tests.pods_sources.test_objects_nodes import config_map, node

PODS, NODES, CLAIMS, SLICES = "/api/v1/pods", "/api/v1/nodes", f"{DRA}/resourceclaims", f"{DRA}/resourceslices"
EVENTS = "/api/v1/events"
RBAC = Path(__file__).parents[2] / "deploy" / "rbac.yaml"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    empty: dict[str, list[dict[str, Any]]] = {PODS: [], NODES: [], CLAIMS: [], SLICES: [], EVENTS: []}
    with serving(ApiServer(empty)) as one:
        yield one


def asked(server: ApiServer, folder: Path, timeout: float = 5.0, **fields: Any) -> Answer:
    """The question as the child asks it, in this process."""
    asks = Asked(**{"kubeconfig": kubeconfig(folder, server.address), **fields})._asdict()
    with (folder / "out").open("wb+") as out:
        kube_child.answer(asks, monotonic() + timeout, out.fileno())
        out.seek(0)
        return read_answer(Done(out.read(), EXITED, 0), timeout)


def test_every_page_is_read(server: ApiServer, tmp_path: Path) -> None:
    server.lists[PODS] = [pod(f"p{at}", f"n{at % 3}", f"GPU-{at}") for at in range(25)]
    server.most = 10
    answer = asked(server, tmp_path)
    assert answer.trouble is None
    assert {name: len(pages) for name, pages in answer.lists}["pods"] == 3
    [piece] = answer.pieces()
    assert (piece.name, piece.where) == (server.address, "live")
    found = parse((piece.data or b"").decode())
    assert sorted(held.pod or "" for one in found for held in one.containers) == sorted(f"p{at}" for at in range(25))
    assert server.authorization == {"Bearer abc"}
    assert [query.get("continue") for path, query in server.asked if path == PODS] == [None, "10", "20"]


def test_a_list_that_grew_old_between_pages_is_read_anew(server: ApiServer, tmp_path: Path) -> None:
    server.lists[PODS] = [pod(f"p{at}", "n1", f"GPU-{at}") for at in range(15)]
    server.most, server.gone = 10, 1
    [piece] = asked(server, tmp_path).pieces()
    [one] = parse((piece.data or b"").decode())
    assert len(one.containers) == 15


def test_claims_and_slices_come_along(server: ApiServer, tmp_path: Path) -> None:
    server.lists |= {CLAIMS: [claim(node="n1")], SLICES: [resource_slice({"uuid": {"string": "GPU-a"}})]}
    [piece] = asked(server, tmp_path).pieces()
    [one] = parse((piece.data or b"").decode())
    assert (one.claims[0].name, "GPU-a" in [name.uuid for name in one.names]) == ("two", True)


def test_environments_and_bookkeeping_stay_where_they_are(server: ApiServer, tmp_path: Path) -> None:
    body = pod("a", "n1", "GPU-a")
    body["spec"]["containers"][0] |= {"env": [{"name": "TOKEN", "value": "s3cret"}], "args": ["s3cret"]}
    body["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "s3cret"}
    body["metadata"]["managedFields"] = [{"a": "s3cret"}]
    server.lists[PODS] = [body]
    [piece] = asked(server, tmp_path).pieces()
    assert b"s3cret" not in (piece.data or b"")
    assert b"GPU-a" in (piece.data or b"")


def test_one_node_and_one_namespace_are_asked_for_as_such(server: ApiServer, tmp_path: Path) -> None:
    base = "/api/v1/namespaces/ml%2F..%2Fx"
    asked(server, tmp_path, node="n1")
    assert dict(server.asked)[PODS]["fieldSelector"] == "spec.nodeName=n1"
    assert dict(server.asked)[NODES]["fieldSelector"] == "metadata.name=n1"
    answer = asked(server, tmp_path, namespace="ml/../x")
    assert f"{base}/pods" in [path for path, _ in server.asked]
    assert answer.trouble is not None
    assert answer.trouble.text == "the API server cannot list pods in namespace ml/../x (404)"


def test_a_cluster_without_dra_has_no_claims_and_that_is_a_note(server: ApiServer, tmp_path: Path) -> None:
    server.groups = {}
    answer = asked(server, tmp_path)
    assert answer.trouble is None
    assert {note.text for note in answer.notes if "resource.k8s.io" in note.text} == {
        "the API server has no resourceclaims of resource.k8s.io",
        "the API server has no resourceslices of resource.k8s.io",
    }
    assert not [path for path, _ in server.asked if path.startswith(DRA)]


def test_an_older_version_is_asked_where_it_is_the_newest_served(server: ApiServer, tmp_path: Path) -> None:
    server.groups = {"resource.k8s.io": ["v1beta1"]}
    server.lists["/apis/resource.k8s.io/v1beta1/resourceclaims"] = [claim(node="n1")]
    server.lists["/apis/resource.k8s.io/v1beta1/resourceslices"] = []
    [piece] = asked(server, tmp_path).pieces()
    assert parse((piece.data or b"").decode())[0].claims[0].name == "two"


def test_config_maps_are_asked_for_where_a_node_is_fake(server: ApiServer, tmp_path: Path) -> None:
    path = "/api/v1/namespaces/gpu-operator/configmaps"
    server.lists[path] = [config_map("topology-n1", "gpus: [{id: GPU-a}]", labels={"node-name": "n1"})]
    asked(server, tmp_path)
    assert path not in [each for each, _ in server.asked]
    server.lists[NODES] = [node(labels={"run.ai/fake.gpu": "true"})]
    [piece] = asked(server, tmp_path).pieces()
    [one] = parse((piece.data or b"").decode())
    assert [each.id for each in one.allocatable or ()] == ["GPU-a"]


@pytest.mark.parametrize("path", [NODES, CLAIMS, SLICES, EVENTS])
def test_what_is_forbidden_beside_pods_is_a_note_that_names_it(path: str, server: ApiServer, tmp_path: Path) -> None:
    server.lists[PODS] = [pod("a", "n1", "GPU-a")]
    server.status[path] = 403
    answer = asked(server, tmp_path)
    assert answer.trouble is None
    [note] = [note for note in answer.notes if note.kind == kube_child.FORBIDDEN]
    assert note.text.startswith(f"may not list {path.rpartition('/')[2]}")


@pytest.mark.parametrize(
    ("path", "status", "kind", "text"),
    [
        (PODS, 403, kube_child.FORBIDDEN, "may not list pods in all namespaces (403)"),
        ("/apis", 401, kube_child.UNKNOWN_USER, "the API server does not know who asks (401)"),
        (PODS, 500, kube_child.REFUSED, "the API server answered 500 to list pods in all namespaces: no such luck"),
        (NODES, 401, kube_child.UNKNOWN_USER, "the API server does not know who asks (401)"),
    ],
)
def test_refusals(path: str, status: int, kind: str, text: str, server: ApiServer, tmp_path: Path) -> None:
    server.status[path] = status
    trouble = asked(server, tmp_path).trouble
    assert trouble is not None
    assert (trouble.kind, trouble.text) == (kind, text)
    assert trouble.hint


@pytest.mark.parametrize("raw", [b"<html>log in</html>", b"[]", b"", b"[" * 100_000, b"{}"])
def test_what_is_no_api_server(raw: bytes, server: ApiServer, tmp_path: Path) -> None:
    server.raw = raw
    trouble = asked(server, tmp_path).trouble
    assert trouble is not None
    assert (trouble.kind, trouble.text) == (kube_child.NOT_AN_API, "what answers is not a Kubernetes API server")


def test_nobody_listens(server: ApiServer, tmp_path: Path) -> None:
    gone = ApiServer({})
    with serving(gone):
        pass
    trouble = asked(gone, tmp_path).trouble
    assert trouble is not None
    assert (trouble.kind, trouble.text) == (
        kube_child.NOBODY, "the API server cannot be reached: connection refused",
    )  # fmt: skip


def test_silence_ends_in_time(server: ApiServer, tmp_path: Path) -> None:
    server.silent.add(PODS)
    start = monotonic()
    trouble = asked(server, tmp_path, timeout=0.3).trouble
    assert monotonic() - start < 2
    assert trouble is not None
    assert trouble.text == "the API server did not answer list pods within 0.3 s"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"kubeconfig": "/nowhere/kubeconfig"}, "there is no kubeconfig (/nowhere/kubeconfig)"),
        ({"context": "nonesuch"}, "the kubeconfig cannot be used: ConfigException"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used(
    fields: dict[str, Any], text: str, server: ApiServer, tmp_path: Path
) -> None:
    trouble = asked(server, tmp_path, **fields).trouble
    assert trouble is not None
    assert trouble.kind == kube_child.NO_CONFIG
    assert trouble.text.startswith(text)


def test_without_the_package_it_is_said_how_to_get_it(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    trouble = asked(server, tmp_path).trouble
    assert trouble is not None
    assert trouble.kind == kube_child.NO_PACKAGE
    assert "pip install 'gputopo[kube]'" in trouble.hint


def test_the_verb(server: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Through the child process, to the end; the folder in which the client keeps keys is gone after it."""
    server.lists[PODS] = [pod("a", "n1", "GPU-a"), pod("b", "n2", "GPU-b")]
    server.lists[NODES] = [node("n1"), node("n2"), {**node("cpu-only"), "status": {}}]
    server.status[EVENTS] = 403
    config = kubeconfig(tmp_path, server.address)
    assert run(["pods", "--kube", "--kubeconfig", config, "-o", "json"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert [one["node"] for one in document["items"]] == ["n1", "n2"]
    assert document["items"][0]["sources"][0]["name"] == server.address
    assert captured.err == (
        "gputopo: may not list events in all namespaces (403): why pods that are gone were refused is not known\n"
    )
    assert run(["pods", "--kube", "--kubeconfig", config, "-o", "json", "-q", "--node", "n2"]) == 0
    captured = capsys.readouterr()
    assert (json.loads(captured.out)["node"], captured.err) == ("n2", "")


def test_the_verb_when_it_is_refused(server: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server.status[PODS] = 403
    assert run(["pods", "--kube", "--kubeconfig", kubeconfig(tmp_path, server.address)]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    what, hint = captured.err.splitlines()
    assert what == f"gputopo: error: may not list pods in all namespaces (403) ({server.address})"
    assert "deploy/rbac.yaml" in hint


def test_a_credential_plugin_that_hangs_dies_in_time(server: ApiServer, tmp_path: Path) -> None:
    plugin = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "sleep", "args": ["60"],
                       "interactiveMode": "Never"}}  # fmt: skip
    start = monotonic()
    answer = kube_api.ask(Asked(kubeconfig=kubeconfig(tmp_path, server.address, plugin)), 0.8)
    assert monotonic() - start < 3
    assert answer.trouble is not None
    assert answer.trouble.kind == kube_child.SILENT


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--kubeconfig", "f"], "--kubeconfig is for --kube"), (["--context", "c"], "--context is for --kube"),
        (["--kube", "--socket", "/s"], "--kube and the kubelet of this node are two questions"),
        (["--kube", "-n", "a", "-A"], "-n and -A exclude each other"),
        (["--kube", "-l", "a in b"], "no label selector: a in b"),
    ],
)  # fmt: skip
def test_options_that_contradict_each_other(
    arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["pods", *arguments]) == 2
    assert what in capsys.readouterr().err


def test_the_role_grants_what_is_asked_and_nothing_else() -> None:
    granted = {
        (group, resource, body["metadata"].get("namespace", ""))
        for body in yaml.safe_load_all(RBAC.read_text())
        if body["kind"] in ("ClusterRole", "Role")
        for rule in body["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert granted == {(one.group, one.plural, one.namespace) for one in LISTS}
    rules = [rule for body in yaml.safe_load_all(RBAC.read_text()) for rule in body.get("rules", ())]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"list"}
