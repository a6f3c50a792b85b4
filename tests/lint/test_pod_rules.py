"""What the rules over pods say, and where. What the API server refuses was asked of kubernetes 1.36.3 itself."""

from __future__ import annotations

import pytest

from gputopo.parsers.manifests import read
from gputopo.rules.manifests.problem import Context, Problem
from gputopo.rules.manifests.run import run

POD = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    image: registry.example/c:1
"""
CLAIM = """---
apiVersion: resource.k8s.io/v1
kind: KIND
metadata: {name: NAME}
SPEC
"""
REQUESTS = "devices: {requests: [{name: big, exactly: {deviceClassName: gpu.nvidia.com}}, {name: nic, exactly: {deviceClassName: dra.net}}]}"  # noqa: E501


def lint(text: str, minor: int = 36) -> list[Problem]:
    manifests = read(text)
    return list(run(manifests, Context(minor=minor, together=manifests)))


def places(text: str, minor: int = 36) -> list[tuple[str, int, int]]:
    return [(one.rule, *one.place) for one in lint(text, minor)]


def resources(text: str) -> str:
    return f"{POD}    resources: {text}\n"


def claiming(request: str = "", more: str = "") -> str:
    """A pod with a claim from the template `two`, and perhaps with other resources."""
    entry = f"{{name: a{request and ', request: ' + request}}}"
    body = resources(f"{{{more}claims: [{entry}]}}")
    return f"{body}  resourceClaims: [{{name: a, resourceClaimTemplateName: two}}]\n"


def template(spec: str = REQUESTS) -> str:
    return (
        CLAIM.replace("KIND", "ResourceClaimTemplate")
        .replace("NAME", "two")
        .replace("SPEC", f"spec: {{spec: {{{spec}}}}}")
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{limits: {nvidia.com/gpu: 8}}", []),
        ('{limits: {nvidia.com/gpu: "8"}, requests: {nvidia.com/gpu: 8000m}}', []),
        ("{limits: {nvidia.com/gpu: 0, cpu: 500m}, requests: {cpu: 100m, memory: 1Gi}}", []),
        ("{limits: {hugepages-2Mi: 4Mi, ephemeral-storage: 1Gi, x.kubernetes.io/y: 500m}}", []),
        ("{limits: {nvidia.com/gpu: 0.5}}", [("must be an integer", 8, 42)]),
        ("{limits: {aliyun.com/gpu-mem: 1500m}}", [("must be an integer", 8, 46)]),
        ("{limits: {nvidia.com/gpu: -1}}", [("must be greater than or equal to 0", 8, 42)]),
        ("{limits: {nvidia.com/gpu: one}}", [("no quantity", 8, 42)]),
        ("{limits: {nvidia.com/gpu: true}}", [("no quantity", 8, 42)]),
        ("{requests: {nvidia.com/gpu: 1}}", [("Limit must be set for non overcommitable resources", 8, 28)]),
        ("{requests: {nvidia.com/gpu: null}}", [("Limit must be set", 8, 28)]),
        ("{limits: {rdma/hca: 1}, requests: {rdma/hca: 2}}", [("must be equal to rdma/hca limit of 1", 8, 61)]),
        ("{limits: {gpu: 1}}", [("must be a standard resource for containers", 8, 26)]),
        ("{limits: {NVIDIA.com/gpu: 1}}", [("doesn't follow extended resource name standard", 8, 26)]),
        ("{limits: {requests.nvidia.com/gpu: 1}}", [("doesn't follow extended resource name standard", 8, 26)]),
    ],
)
def test_a_request_that_the_api_server_refuses(text: str, expected: list[tuple[str, int, int]]) -> None:
    found = [one for one in lint(resources(text)) if one.rule == "GT360"]
    assert [tuple(one.place) for one in found] == [(line, column) for _, line, column in expected]
    assert all(part in one.message for one, (part, _, _) in zip(found, expected))
    assert all(one.severity == "error" for one in found)


@pytest.mark.parametrize(("minor", "expected"), [(36, [("GT360", 9, 24)]), (33, [])])
def test_gpus_of_a_whole_pod_are_refused_since_1_34(minor: int, expected: list[tuple[str, int, int]]) -> None:
    assert (
        places(POD + "  restartPolicy: Never\n  resources: {limits: {nvidia.com/gpu: 1, cpu: 1}}\n", minor) == expected
    )


WORKLOADS = {
    "Deployment": "spec: {template: {spec: {containers: [{name: c, resources: BODY}]}}}",
    "StatefulSet": "spec: {template: {spec: {initContainers: [{name: c, resources: BODY}]}}}",
    "DaemonSet": "spec: {template: {spec: {containers: [{name: c, resources: BODY}]}}}",
    "ReplicaSet": "spec: {template: {spec: {containers: [{name: c, resources: BODY}]}}}",
    "Job": "spec: {template: {spec: {containers: [{name: c, resources: BODY}]}}}",
    "CronJob": "spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: c, resources: BODY}]}}}}}",
    "PodTemplate": "template: {spec: {containers: [{name: c, resources: BODY}]}}",
}


@pytest.mark.parametrize("kind", WORKLOADS)
def test_the_pods_of_a_workload_are_looked_at(kind: str) -> None:
    text = f"apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: w}}\n{WORKLOADS[kind]}\n"
    assert places(text.replace("BODY", "{limits: {nvidia.com/gpu: 1}}")) == []
    assert [one[:2] for one in places(text.replace("BODY", "{requests: {nvidia.com/gpu: 1}}"))] == [("GT360", 4)]


def test_each_task_of_a_volcano_job_has_its_pods() -> None:
    task = "{template: {spec: {containers: [{resources: {limits: {nvidia.com/gpu: NUMBER}}}]}}}"
    text = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nspec:\n  tasks:\n"
    rows = "".join(f"  - {task.replace('NUMBER', number)}\n" for number in ("1", "0.5"))
    assert places(text + rows) == [("GT360", 6, 75)]


@pytest.mark.parametrize(
    ("entries", "claims", "expected"),
    [
        ("{name: a, resourceClaimName: x}", "{name: a}", []),
        ("{name: a, resourceClaimName: x}", "{name: a, request: g}, {name: a, request: h}", []),
        ("{name: a, resourceClaimName: x}", "{name: b}", ["must be one of the names", "no container has"]),
        ("{name: a}", "{name: a}", ["must specify one of"]),
        ("{name: a, source: {resourceClaimName: x}}", "{name: a}", ["must specify one of"]),
        ("{name: a, resourceClaimName: x, resourceClaimTemplateName: y}", "{name: a}", ["at most one of"]),
        ("{name: a, resourceClaimName: x}, {name: a, resourceClaimName: y}", "{name: a}", ["a second claim a"]),
        ("{name: a, resourceClaimName: x}", "{name: a}, {name: a}", ["listed twice"]),
        ("{name: a, resourceClaimName: x}", "{name: a, request: g}, {name: a}", ["listed twice"]),
        ("{name: a, resourceClaimName: x}", "{name: a, request: g/h}", ["no DNS label"]),
        ("{resourceClaimName: x}", "{}", ["no name", "no name"]),
        ("{name: a, resourceClaimName: x}, {name: b, resourceClaimName: x}", "{name: a}", ["no container has"]),
    ],
)
def test_names_of_claims(entries: str, claims: str, expected: list[str]) -> None:
    text = f"{POD}    resources: {{claims: [{claims}]}}\n  resourceClaims: [{entries}]\n"
    found = lint(text)
    assert [one.rule for one in found] == ["GT361"] * len(expected)
    assert all(any(part in one.message for one in found) for part in expected)


@pytest.mark.parametrize(
    ("request_name", "expected"),
    [("big", []), ("nic", []), ("gpu", [("GT361", 8, 45)])],
)
def test_a_request_that_the_template_does_not_have(request_name: str, expected: list[tuple[str, int, int]]) -> None:
    pod = claiming(request_name)
    assert places(pod + template()) == expected
    assert places(pod) == []  # a template that is not among the files is not known
    assert places(pod.replace("resourceClaimTemplateName", "resourceClaimName") + template()) == []


def test_a_template_of_another_namespace_is_another() -> None:
    pod = claiming("gpu").replace("{name: p}", "{name: p, namespace: n}")
    assert places(pod + template()) == [("GT361", 8, 45)]
    assert places(pod + template().replace("{name: two}", "{name: two, namespace: m}")) == []


CLASS = """---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.nvidia.com}
spec:
  extendedResourceName: nvidia.com/gpu
  selectors: [{cel: {expression: "device.driver == 'gpu.nvidia.com'"}}]
"""


def test_two_allocators_on_one_pod() -> None:
    pod = claiming(more="limits: {nvidia.com/gpu: 1}, ")
    [found] = lint(pod + template())
    assert (found.rule, found.severity, found.place) == ("GT361", "warning", (8, 26))
    assert "two allocators" in found.message
    assert places(pod) == []  # what the claim asks for is not known
    assert places(pod + template(REQUESTS.replace("gpu.nvidia.com", "dra.cpu"))) == []
    assert places(pod + template() + CLASS) == []  # the DRA driver serves both


VISIBLE = "env: [{name: NVIDIA_VISIBLE_DEVICES, value: VALUE}]"
CUDA = "env: [{name: CUDA_VISIBLE_DEVICES, value: VALUE}]"
TWO = ", resources: {limits: {nvidia.com/gpu: 2}}"


@pytest.mark.parametrize(
    ("kind", "body", "value", "expected"),
    [
        ("Pod", VISIBLE + TWO, "all", "every GPU"),
        ("Pod", VISIBLE + TWO, "'0'", "sees 0"),
        ("Pod", VISIBLE + ", resources: {limits: {nvidia.com/mig-1g.10gb: 1}}", "none", "hides"),
        ("Pod", VISIBLE, "none", ""),
        ("Pod", VISIBLE, "all", "asks for none"),
        ("DaemonSet", VISIBLE, "all", ""),
        ("Pod", VISIBLE + ", securityContext: {privileged: true}", "all", ""),
        ("Pod", VISIBLE + ", resources: {limits: {volcano.sh/vgpu-number: 1}}", "all", ""),
        ("Pod", VISIBLE.replace("value: VALUE", "valueFrom: {configMapKeyRef: {name: x, key: y}}") + TWO, "", ""),
        ("Pod", VISIBLE + ", resources: {claims: [{name: a}]}", "all", ""),
        ("Pod", CUDA + TWO, "'0,1'", ""),
        ("Pod", CUDA + TWO, "'2,3'", "has 2"),
        ("Pod", CUDA, "'7'", ""),
    ],
)
def test_who_chooses_the_gpus(kind: str, body: str, value: str, expected: str) -> None:
    claims = ", resourceClaims: [{name: a, resourceClaimName: x}]" if "claims:" in body else ""
    spec = f"spec: {{containers: [{{name: c, {body.replace('VALUE', value)}}}]{claims}}}"
    if kind == "DaemonSet":
        spec = f"spec: {{template: {{{spec}}}}}"
    found = lint(f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: p}}\n{spec}\n")
    assert [(one.rule, one.severity) for one in found] == ([("GT362", "warning")] if expected else [])
    assert all(expected in one.message for one in found)


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/dev/nvidia0", [("GT362", 8, 40)]), ("/dev/nvidiactl", []), ("/dev", []), ("/data", [])],
)
def test_a_device_file_of_the_node(path: str, expected: list[tuple[str, int, int]]) -> None:
    assert places(f"{POD}  volumes: [{{name: v, hostPath: {{path: {path}}}}}]\n") == expected


KUBELET = "---\napiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nreservedSystemCPUs: '0'\ncpuManagerPolicy: POLICY\n"  # noqa: E501


@pytest.mark.parametrize(
    ("text", "policy", "expected"),
    [
        ("{limits: {nvidia.com/gpu: 1}}", "static", "BestEffort"),
        ("{limits: {nvidia.com/gpu: 1, cpu: 4, memory: 8Gi}, requests: {cpu: 2}}", "static", "Burstable"),
        ("{limits: {nvidia.com/gpu: 1, cpu: 4, memory: 8Gi}, requests: {cpu: 0}}", "static", "Burstable"),
        ("{limits: {nvidia.com/gpu: 1, cpu: 4, memory: 8Gi}}", "static", ""),
        ("{limits: {nvidia.com/gpu: 1, cpu: 3500m, memory: 8Gi}}", "static", "3500m is no whole number"),
        ("{limits: {nvidia.com/gpu: 1}}", "none", ""),
        ("{limits: {cpu: 4}}", "static", ""),
    ],
)
def test_cpus_beside_gpus(text: str, policy: str, expected: str) -> None:
    found = lint(resources(text) + KUBELET.replace("POLICY", policy))
    assert [(one.rule, one.severity, *one.place) for one in found] == ([("GT363", "info", 8, 5)] if expected else [])
    assert all(expected in one.message for one in found)


@pytest.mark.parametrize(
    "spec",
    [
        "3", "[1]", "{containers: {a: 1}}", "{containers: [3, null]}", "{containers: [{env: 3, resources: [1]}]}",
        "{containers: [{resources: {limits: 3, requests: [1], claims: {a: 1}}}], resourceClaims: 7}",
        "{containers: [{resources: {limits: {3: 1}}, env: [{name: 3, value: [1]}, 4]}], volumes: [{hostPath: 3}]}",
        "{resourceClaims: [3, {name: [1]}], nodeSelector: [1], affinity: 3, tolerations: {a: 1}, nodeName: 3}",
        "{nodeSelector: {a: 1}, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [1]}}}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["Pod", "Deployment", "CronJob"])
def test_other_shapes_do_not_raise(kind: str, spec: str) -> None:
    for text in (f"kind: {kind}\nspec: {spec}\n", f"kind: {kind}\nspec: {{template: {{spec: {spec}}}}}\n"):
        lint(text + "---\nkind: Node\napiVersion: v1\nspec: {taints: 3}\n" + template())
