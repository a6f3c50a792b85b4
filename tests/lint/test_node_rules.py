"""What the rules over nodes say: labels of GPU Feature Discovery and ACK's modes."""

from __future__ import annotations

import pytest

from tests.lint.test_pod_rules import lint, places, resources

H100 = "NVIDIA-H100-80GB-HBM3"


def node(labels: str = "", capacity: str = "", allocatable: str = "", annotations: str = "") -> str:
    return (
        "apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n"
        f"  labels: {{{labels}}}\n  annotations: {{{annotations}}}\n"
        f"status:\n  capacity: {{{capacity}}}\n  allocatable: {{{allocatable}}}\n"
    )


def gfd(
    count: int = 8, replicas: int | None = 1, strategy: str | None = "none", product: str = H100, more: str = ""
) -> str:
    said = {"count": count, "replicas": replicas, "sharing-strategy": strategy, "product": product}
    pairs = [f'nvidia.com/gpu.{name}: "{value}"' for name, value in said.items() if value is not None]
    return ", ".join([*pairs, *([more] if more else [])])


def gpus(number: int) -> str:
    return f'cpu: "64", nvidia.com/gpu: "{number}"'


MIXED = 'nvidia.com/mig.strategy: mixed, nvidia.com/mig-1g.10gb.count: "7", nvidia.com/mig-1g.10gb.replicas: "1"'
MIG_PRODUCT = f"{H100}-MIG-1g.10gb"


@pytest.mark.parametrize(
    "text",
    [
        node(gfd(), gpus(8), gpus(8)),
        node(gfd(more='nvidia.com/gpu.memory: "81559", nvidia.com/gpu.present: "true"'), gpus(8)),
        node(gfd(replicas=4, strategy="time-slicing", product=f"{H100}-SHARED"), gpus(32), gpus(32)),
        node(gfd(2, 10, "mps", f"{H100}-SHARED", 'nvidia.com/mps.capable: "true"'), gpus(20)),
        node(gfd(replicas=4, strategy="time-slicing"), "nvidia.com/gpu.shared: 32, nvidia.com/gpu: 0"),  # renamed
        node(gfd(), "cpu: 64"),  # the DRA driver hands them out
        node(gfd(7, product=MIG_PRODUCT, more="nvidia.com/mig.strategy: single"), gpus(7)),
        node(gfd(8, 0, more=MIXED), "nvidia.com/gpu: 7, nvidia.com/mig-1g.10gb: 7, nvidia.com/mig-3g.40gb: 0"),
        node(gfd(1, product="NVIDIA-GH200-480GB", more='nvidia.com/gpu.memory: "97871"'), gpus(1)),
        node(gfd(), gpus(80), annotations="hami.io/node-handshake: Reported"),
        node(gfd(more="ack.node.gpu.schedule: topology"), "nvidia.com/gpu: 0, aliyun.com/gpu: 8"),
        node('nvidia.com/gpu.count: "8"', gpus(16)),  # how often they are shared is not said
        node(),
    ],
)
def test_labels_that_agree(text: str) -> None:
    assert lint(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (node(gfd(), gpus(4)), "gpu.count 8, and the capacity is 4"),
        (node(gfd(), gpus(0)), "gpu.count 8, and the capacity is 0"),
        (node(gfd(), gpus(32)), "gpu.count 8, and the capacity is 32"),
        (node(gfd(replicas=4, strategy="mps", product=f"{H100}-SHARED"), gpus(8)), "make 32, and the capacity is 8"),
        (node(gfd(replicas=4, product=f"{H100}-SHARED")), "sharing-strategy is none"),
        (node(gfd(strategy="time-slicing")), "replicas is 1"),
        (node(gfd(strategy="shared")), "sharing-strategy is shared"),
        (node(gfd(product=f"{H100}-SHARED")), "ends with -SHARED"),
        (node(gfd(2, 10, "mps", f"{H100}-SHARED", 'nvidia.com/mps.capable: "false"')), "mps.capable is false"),
        (node(gfd(more="nvidia.com/mig.strategy: singel")), "mig.strategy is singel"),
        (node(gfd(0, 0, "", f"{H100}-MIG-INVALID", "nvidia.com/mig.strategy: single")), "do not fit strategy single"),
        (node(gfd(7, product=MIG_PRODUCT, more="nvidia.com/mig.strategy: mixed")), "names a MIG profile"),
        (node(gfd(7, product=MIG_PRODUCT)), "names a MIG profile"),
        (node(gfd(more="nvidia.com/mig.strategy: single"), "nvidia.com/mig-1g.10gb: 7"), "serves nvidia.com/mig-1g"),
        (node(gfd(8, 0, more=MIXED), "nvidia.com/mig-1g.10gb: 14"), "mig-1g.10gb.count 7, and the capacity is 14"),
        (node(gfd(more='nvidia.com/gpu.memory: "80"')), "gpu.memory 80 is in MiB"),
        (node(gfd(more='nvidia.com/gpu.memory: "85899345920"')), "gpu.memory 85899345920 is in MiB"),
        (node(gfd(more="nvidia.com/gpu.memory: 80Gi")), "no whole number"),
        (node(gfd(more='nvidia.com/gpu.present: "false"')), "gpu.present is false"),
        (node("", gpus(8), gpus(7)), "1 of 8 nvidia.com/gpu are not healthy"),
        (node("", gpus(8), gpus(0)), "none of 8 nvidia.com/gpu is allocatable"),
    ],
)
def test_labels_that_do_not(text: str, expected: str) -> None:
    [found] = lint(text)
    assert (found.rule, found.severity) == ("GT370", "warning")
    assert expected in found.message


def test_the_place_is_that_of_the_label() -> None:
    labels = "    nvidia.com/gpu.count: '8'\n    nvidia.com/gpu.replicas: '1'\n"
    text = f"apiVersion: v1\nkind: Node\nmetadata:\n  labels:\n{labels}"
    assert places(text + "status:\n  capacity:\n    nvidia.com/gpu: '4'\n") == [("GT370", 5, 27)]


@pytest.mark.parametrize("value", ["true", "8", "[a]"])
def test_a_label_is_a_string(value: str) -> None:
    [found] = lint(node(f"nvidia.com/gpu.present: {value}"))
    assert (found.rule, found.severity, found.place) == ("GT370", "error", (5, 36))


def test_a_node_of_another_api_is_none() -> None:
    assert lint("apiVersion: example.com/v1\nkind: Node\nmetadata: {labels: {nvidia.com/gpu.count: 8}}\n") == []


@pytest.mark.parametrize(
    ("labels", "capacity", "expected"),
    [
        ("ack.node.gpu.schedule: default", gpus(8), []),
        ("ack.node.gpu.schedule: cgpu, ack.node.gpu.placement: spread", "aliyun.com/gpu-mem: 640", []),
        ("ack.node.gpu.schedule: topology", "aliyun.com/gpu: 8, nvidia.com/gpu: 0", []),
        ("ack.node.gpu.schedule: disabled", "", []),
        ("ack.node.gpu.schedule: mig", gpus(8), []),
        ('gpushare: "true"', "aliyun.com/gpu-mem: 640", []),  # of the open gpushare-device-plugin too
        ('cgpu: "true", ack.node.gpu.schedule: cgpu', "", []),
        ("ack.node.gpu.schedule: toplogy", "", [("warning", "no mode that ACK documents")]),
        ("ack.node.gpu.schedule: Topology", "", [("warning", "no mode that ACK documents")]),
        ("ack.node.gpu.schedule: egpu_x", "", [("info", "no mode that ACK documents")]),
        ("ack.node.gpu.schedule: share, ack.node.gpu.placement: pack", "", [("warning", "placement is pack")]),
        ("ack.node.gpu.schedule: topology, ack.node.gpu.placement: spread", "", [("info", "has no effect")]),
        ("ack.node.gpu.schedule: topology", gpus(8), [("info", "nvidia.com/gpu is 8")]),
        ('cgpu: "true", ack.node.gpu.schedule: topology', "", [("warning", "two modes")]),
        ('cgpu: "true"', "", [("info", "Basic Edition")]),
    ],
)
def test_modes_of_ack(labels: str, capacity: str, expected: list[tuple[str, str]]) -> None:
    found = lint(node(labels, capacity))
    assert [(one.rule, one.severity) for one in found] == [("GT371", severity) for severity, _ in expected]
    assert all(part in one.message for one, (_, part) in zip(found, expected))


GPU_POD = resources("{limits: {nvidia.com/gpu: 2}}")
TOPOLOGY = "---\n" + node("ack.node.gpu.schedule: topology, pool: train", "aliyun.com/gpu: 8")
TAINTED = "spec: {taints: [{key: gpu, value: only, effect: NoSchedule}]}\n"
AFFINITY = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [train]}]}]}}}"  # noqa: E501


@pytest.mark.parametrize(
    ("spec", "others", "expected"),
    [
        ("nodeSelector: {ack.node.gpu.schedule: topology}", "", True),
        ("nodeSelector: {ack.node.gpu.schedule: default}", "", False),
        ("nodeSelector: {ack.node.gpu.schedule: mig}", "", False),
        ("nodeSelector: {pool: train}", TOPOLOGY, True),
        ("nodeName: a", TOPOLOGY, True),
        (AFFINITY, TOPOLOGY, True),
        ("nodeSelector: {pool: other}", TOPOLOGY, False),
        ("restartPolicy: Never", TOPOLOGY, False),  # it can go to any node of the cluster
        ("nodeSelector: {pool: train}", TOPOLOGY + TAINTED, False),
        ("nodeSelector: {pool: train}\n  tolerations: [{operator: Exists}]", TOPOLOGY + TAINTED, True),
        ("nodeSelector: {pool: train}\n  tolerations: [{key: gpu, value: only}]", TOPOLOGY + TAINTED, True),
        ("nodeSelector: {pool: train}\n  tolerations: [{key: gpu, value: x}]", TOPOLOGY + TAINTED, False),
        ("nodeSelector: {pool: train}", TOPOLOGY + TOPOLOGY.replace("topology", "default"), False),
        ("nodeSelector: {pool: train}", TOPOLOGY + "---\n" + node("pool: train"), False),  # perhaps not of ACK
    ],
)
def test_a_pod_that_asks_for_the_resource_of_another_mode(spec: str, others: str, expected: bool) -> None:
    found = [one for one in lint(f"{GPU_POD}  {spec}\n{others}") if one.path.startswith("spec.containers")]
    assert [(one.rule, one.severity, *one.place) for one in found] == (
        [("GT371", "warning", 8, 26)] if expected else []
    )


def test_a_pod_that_asks_for_what_mode_topology_serves() -> None:
    pod = GPU_POD.replace("nvidia.com", "aliyun.com")
    assert lint(f"{pod}  nodeSelector: {{ack.node.gpu.schedule: topology}}\n") == []
    assert lint(f"{pod}  nodeSelector: {{pool: train}}\n{TOPOLOGY}") == []
    [found] = lint(f"{pod}  nodeSelector: {{ack.node.gpu.schedule: default}}\n")
    assert (found.rule, found.remedy) == ("GT371", "nvidia.com/gpu")


@pytest.mark.parametrize(
    "body",
    [
        "metadata: 3\n", "metadata: {labels: [1], annotations: 3, name: [a]}\nstatus: 3\n",
        "status: {capacity: [1], allocatable: {nvidia.com/gpu: [1], 3: x}}\n", "spec: {taints: [3, {effect: [1]}]}\n",
        "metadata: {annotations: {hami.io/node-nvidia-register: '[[[', volcano.sh/node-vgpu-register: ',:,'}}\n",
    ],
)  # fmt: skip
def test_other_shapes_do_not_raise(body: str) -> None:
    lint(f"apiVersion: v1\nkind: Node\n{body}---\n{GPU_POD}  nodeSelector: {{a: b}}\n")
