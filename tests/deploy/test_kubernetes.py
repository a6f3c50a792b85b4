"""The manifests: little is asked for, nothing can be changed, and nothing is pulled from a place nobody chose."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.chart import CHART, rendered
from tests.deploy.kustomized import BUILDS, DEPLOY, built, needs_kubectl, of_kind

KUBERNETES = DEPLOY / "kubernetes"
MANIFESTS = sorted(path for path in KUBERNETES.rglob("*.yaml")) + sorted((DEPLOY / "prometheus").glob("*.yaml"))
BASE = yaml.safe_load((KUBERNETES / "base/daemonset.yaml").read_text())["spec"]["template"]["spec"]
JOB = yaml.safe_load((KUBERNETES / "job.yaml").read_text())["spec"]["template"]["spec"]


def pod_specs() -> dict[str, dict[str, Any]]:
    """Every pod we ship, by where it comes from."""
    found = {"base": BASE, "job": JOB}
    for name, values in (("plain", {}), ("pods", {"pods": {"enabled": True}})):
        chart = of_kind(rendered({"image": "IMAGE", **values}), "DaemonSet")
        found[f"chart {name}"] = chart["spec"]["template"]["spec"]
    if shutil.which("kubectl") is not None:
        for folder in BUILDS[1:3]:
            found[folder] = of_kind(built(folder), "DaemonSet")["spec"]["template"]["spec"]
    return found


SPECS = pod_specs()


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_it_is_yaml_with_a_kind(path: Path) -> None:
    for one in yaml.safe_load_all(path.read_text()):
        assert one["apiVersion"]
        assert one["kind"]


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_a_pod_may_read_and_nothing_else(spec: dict[str, Any]) -> None:
    assert spec["automountServiceAccountToken"] is False
    assert spec["serviceAccountName"] == "gputopo-node"
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"} & set(spec)
    [container] = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    assert container["image"] == "IMAGE"
    assert container["resources"]["limits"]["memory"]
    host = {volume["name"]: volume["hostPath"]["path"] for volume in spec["volumes"] if "hostPath" in volume}
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    assert all(mounts[name]["readOnly"] is True for name in host)
    assert all(mounts[name]["mountPath"] == f"/host{path}" for name, path in host.items())
    assert set(mounts) == {volume["name"] for volume in spec["volumes"]} == {*host, "tmp"}


@pytest.mark.parametrize("name", SPECS)
def test_root_is_only_who_reads_the_kubelet_s_files(name: str) -> None:
    spec = SPECS[name]
    paths = {volume["hostPath"]["path"] for volume in spec["volumes"] if "hostPath" in volume}
    assert paths - {"/var/lib/kubelet/pod-resources", "/var/lib/kubelet/device-plugins"} == {"/sys", "/proc"}
    pods = "--pods" in spec["containers"][0]["args"]
    assert pods == (len(paths) == 4) == (name in ("chart pods", "kubernetes/overlays/pods"))
    context = spec["securityContext"]
    assert (context["runAsNonRoot"], context["runAsUser"]) == ((False, 0) if pods else (True, 65532))


@needs_kubectl
@pytest.mark.parametrize("folder", BUILDS)
def test_kustomize_builds_it_into_one_namespace(folder: str) -> None:
    objects = built(folder)
    assert objects
    for one in objects:
        name = one["metadata"]["name"] if one["kind"] == "Namespace" else one["metadata"]["namespace"]
        assert name == "gputopo"


@needs_kubectl
def test_an_overlay_adds_to_the_base_and_takes_nothing_from_it() -> None:
    runtime = SPECS["kubernetes/overlays/nvidia-runtime"]
    [container] = runtime["containers"]
    assert runtime["runtimeClassName"] == "nvidia"
    assert {one["name"]: one.get("value") for one in container["env"]} == {
        "NODE_NAME": None, "NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "utility",
    }  # fmt: skip
    assert "nvidia.com/gpu" not in json.dumps(container["resources"])  # else a GPU would be taken from the jobs
    for folder in BUILDS[1:3]:
        assert SPECS[folder]["containers"][0]["args"][:6] == BASE["containers"][0]["args"]


def test_policy_service_account_and_monitor_mean_the_same_pods() -> None:
    base = KUBERNETES / "base"
    labels = yaml.safe_load((base / "daemonset.yaml").read_text())["spec"]["template"]["metadata"]["labels"]
    selectors = [
        yaml.safe_load((base / "daemonset.yaml").read_text())["spec"]["selector"],
        yaml.safe_load((base / "networkpolicy.yaml").read_text())["spec"]["podSelector"],
        yaml.safe_load((DEPLOY / "prometheus/podmonitor.yaml").read_text())["spec"]["selector"],
    ]
    assert [one["matchLabels"] for one in selectors] == [labels] * 3
    account = yaml.safe_load((base / "serviceaccount.yaml").read_text())
    assert account["metadata"]["name"] == BASE["serviceAccountName"] == JOB["serviceAccountName"]
    ports = {port["name"]: port["containerPort"] for port in BASE["containers"][0]["ports"]}
    policy = yaml.safe_load((base / "networkpolicy.yaml").read_text())["spec"]
    assert policy["ingress"] == [{"ports": [{"port": ports["metrics"], "protocol": "TCP"}]}]
    assert f"--listen=0.0.0.0:{ports['metrics']}" in BASE["containers"][0]["args"]
    kinds = {yaml.safe_load(path.read_text())["kind"] for path in base.glob("*.yaml")}
    assert not kinds & {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"}  # nothing is asked of the API


def test_the_debug_profile_is_neither_root_nor_privileged() -> None:
    """kubectl debug --custom takes a container without name, image, command, lifecycle and volume devices."""
    profile = json.loads((KUBERNETES / "node-debug.json").read_text())
    assert set(profile) == {"securityContext"}
    assert profile["securityContext"] == {
        **BASE["containers"][0]["securityContext"], **BASE["securityContext"], "runAsNonRoot": True,
    }  # fmt: skip


def placeless(spec: dict[str, Any]) -> dict[str, Any]:
    """As it is compared between the chart and kustomize: order of lists by name."""
    [container] = spec["containers"]
    by_name = {key: sorted(container[key], key=lambda one: one["name"]) for key in ("env", "volumeMounts")}
    volumes = sorted(spec["volumes"], key=lambda one: one["name"])
    return {**spec, "containers": [{**container, **by_name}], "volumes": volumes}


@needs_kubectl
@pytest.mark.parametrize(
    ("values", "folder"),
    [
        ({"nvidiaRuntime": {"enabled": False}}, "kubernetes/base"),
        ({}, "kubernetes/overlays/nvidia-runtime"),
        ({"pods": {"enabled": True}}, "kubernetes/overlays/pods"),
    ],
)
def test_the_chart_and_kustomize_make_the_same_pods(values: dict[str, Any], folder: str) -> None:
    ours = of_kind(rendered({"image": "IMAGE", **values}), "DaemonSet")["spec"]
    theirs = of_kind(built(folder), "DaemonSet")["spec"]
    assert placeless(ours["template"]["spec"]) == placeless(theirs["template"]["spec"])
    assert ours["updateStrategy"] == theirs["updateStrategy"]


def test_the_chart_needs_an_image_and_takes_what_it_is_given() -> None:
    with pytest.raises(ValueError, match="image: the image that"):
        rendered({})
    made = rendered({
        "image": "IMAGE", "imagePullSecrets": [{"name": "s"}], "priorityClassName": "p", "port": 1234, "interval": 5,
        "networkPolicy": {"enabled": False},
    }, name="x", namespace="y")  # fmt: skip
    assert sorted(one["kind"] for one in made) == ["DaemonSet", "ServiceAccount"]
    assert {one["metadata"]["namespace"] for one in made} == {"y"}
    spec = of_kind(made, "DaemonSet")["spec"]["template"]["spec"]
    assert (spec["imagePullSecrets"], spec["priorityClassName"]) == ([{"name": "s"}], "p")
    assert spec["containers"][0]["args"][2:4] == ["--listen=0.0.0.0:1234", "--interval=5"]
    assert spec["serviceAccountName"] == of_kind(made, "ServiceAccount")["metadata"]["name"] == "x-node"


@pytest.mark.skipif(shutil.which("helm") is None, reason="helm is not installed")
@pytest.mark.parametrize(
    ("options", "values"),
    [([], {}), (["--set", "pods.enabled=true,nvidiaRuntime.enabled=false,priorityClassName=x"],
               {"pods": {"enabled": True}, "nvidiaRuntime": {"enabled": False}, "priorityClassName": "x"})],
)  # fmt: skip
def test_helm_renders_what_we_render(options: list[str], values: dict[str, Any]) -> None:
    import subprocess

    done = subprocess.run(
        ["helm", "template", "gputopo", CHART, "-n", "gputopo", "--set", "image=IMAGE", *options],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    theirs = [one for one in yaml.safe_load_all(done.stdout) if one]
    ours = rendered({"image": "IMAGE", **values})
    assert sorted(theirs, key=str) == sorted(ours, key=str)
