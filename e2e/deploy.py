"""deploy/ against the API server: every manifest is taken as it is, with unknown fields refused, and pods are admitted.

Applied on the server's side, as `kubectl apply --server-side` does. Kinds of operators that are not here (PodMonitor,
PrometheusRule, NodeFeatureRule) are left to tests/deploy. Overlays need kubectl, which builds them; without it the
base, the job and the chart are tried, and a line says so. What Pod Security Admission says of a pod is what
deploy/README.md says of its privileges: nothing but the volumes of the host is more than `restricted` allows, and root
for --pods.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from e2e.api import Api, Refused

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
NAMESPACE = "gputopo"
FOREIGN = {"PodMonitor", "PrometheusRule", "NodeFeatureRule", "Kustomization"}
ROOT = {"overlays/pods", "chart pods"}
_STRICT = "gputopo-restricted"  # a namespace in which Pod Security Admission refuses
_PLACES = {": NODE\n": ": gpu-000\n", "IMAGE": "registry.example/gputopo:1"}
Object = dict[str, Any]


def deploy(api: Api) -> Iterator[str]:
    """What is wrong, one line each."""
    api.create({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "nvidia",
                "metadata": {"name": "nvidia"}})  # fmt: skip
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": _STRICT, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})  # fmt: skip
    count, pods, shipped = 0, {}, list(sets())
    for name, objects in shipped:
        for one in objects:
            try:
                applied = api.apply(one) if "name" in one["metadata"] else api.create(one)
            except Refused as error:
                yield f"deploy {name}: {one['kind']}: {error}"
                continue
            count += 1
            template = applied.get("spec", {}).get("template")
            if template:
                pods[name] = template["spec"]
    for name, spec in pods.items():
        yield from _admitted(api, name, spec)
    _say(f"{count} objects of {len(shipped)} sets applied, {len(pods)} pods tried")
    yield from (f"deploy {name}: there is no pod in it" for name, _ in shipped if name not in pods)


def sets() -> Iterator[tuple[str, list[Object]]]:
    """Name → objects, as somebody who follows deploy/README.md has them."""
    base = DEPLOY / "kubernetes/base"
    if shutil.which("kubectl") is None:
        _say("kubectl is not installed: the overlays are not tried")
        order = ("namespace", "serviceaccount", "daemonset", "networkpolicy")
        found = [one for name in order for one in _read((base / f"{name}.yaml").read_text())]
        for one in found:
            if one["kind"] != "Namespace":
                one["metadata"]["namespace"] = NAMESPACE
        yield "base", found
    else:
        for folder in ("base", "overlays/nvidia-runtime", "overlays/pods"):
            done = subprocess.run(["kubectl", "kustomize", DEPLOY / "kubernetes" / folder],
                                  capture_output=True, text=True, check=True)  # fmt: skip
            yield folder, sorted(_read(done.stdout), key=lambda one: one["kind"] != "Namespace")
    yield "job", _read((DEPLOY / "kubernetes/job.yaml").read_text())
    from tests.deploy.chart import rendered

    for name, values in (("chart", {}), ("chart pods", {"pods": {"enabled": True}})):
        made = rendered({"image": _PLACES["IMAGE"], **values}, name=name.replace(" ", "-"))
        yield name, sorted(made, key=lambda one: one["kind"] == "DaemonSet")


def _read(text: str) -> list[Object]:
    for placeholder, value in _PLACES.items():
        text = text.replace(placeholder, value)
    return [one for one in yaml.safe_load_all(text) if one and one["kind"] not in FOREIGN]


def _admitted(api: Api, name: str, spec: Object) -> Iterator[str]:
    """Whether the API server takes such a pod where it belongs, and refuses it elsewhere for what we say alone."""
    meta = {"generateName": "try-", "namespace": NAMESPACE}
    pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    try:
        api.create(pod)
    except Refused as error:
        yield f"deploy {name}: its pod is not admitted: {error}"
        return
    account = {"apiVersion": "v1", "kind": "ServiceAccount",
               "metadata": {"name": spec["serviceAccountName"], "namespace": _STRICT}}  # fmt: skip
    api.apply(account)
    try:
        api.create({**pod, "metadata": {**meta, "namespace": _STRICT}})
    except Refused as error:
        said = violations(str(error))
        wanted = {"restricted volume types", *(("runAsNonRoot != true", "runAsUser=0") if name in ROOT else ())}
        if said != wanted:
            yield f"deploy {name}: Pod Security finds {sorted(said)}, not {sorted(wanted)}: {error}"
    else:
        yield f"deploy {name}: a restricted namespace takes it, so it has no volume of the host"


def violations(message: str) -> set[str]:
    """What Pod Security Admission minds, each without the names in brackets behind it.

    >>> sorted(violations('violates PodSecurity \\"restricted\\": privileged (container \\"a\\"), runAsUser=0 (pod)'))
    ['privileged', 'runAsUser=0']
    """
    found = message.partition("PodSecurity")[2].partition(": ")[2]
    return {one.strip(" ,") for one in re.findall(r"([^()]*) \([^()]*\)", found)}


def _say(text: str) -> None:
    print(f"e2e: deploy: {text}", flush=True)
