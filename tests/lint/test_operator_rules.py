"""What the rules over the GPU operator's ClusterPolicy and over fake GPUs say, and where."""

from __future__ import annotations

import pytest

from gputopo.parsers.manifests import read
from gputopo.rules.manifests.run import kind_of
from tests.lint.test_node_rules import gpus, node
from tests.lint.test_pod_rules import lint, places

POLICY = "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: cluster-policy}\nspec:\n"
PLUGIN = """---
apiVersion: v1
kind: ConfigMap
metadata: {name: plugin}
data:
  whole: |
    version: v1
    flags: {migStrategy: none}
  mps: |
    version: v1
    sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""


def env(name: str, value: str) -> str:
    return f"  devicePlugin: {{env: [{{name: {name}, value: {value}}}]}}\n"


@pytest.mark.parametrize(
    "spec",
    [
        "  mig: {strategy: mixed}\n  cdi: {enabled: true, default: false}\n  driver: {rdma: {enabled: true}}\n",
        "  devicePlugin: {enabled: true, version: v0.20.0, config: {name: plugin, default: whole}}\n",
        "  devicePlugin: {config: {name: elsewhere, default: any}}\n",
        "  driver: {enabled: false, rdma: {enabled: false}}\n  toolkit: {enabled: false}\n  somethingNew: {a: 1}\n",
        env("DEVICE_LIST_STRATEGY", '"envvar,cdi-cri"'),
        env("PASS_DEVICE_SPECS", '"T"'),
        env("MY_OWN", '"1"'),
        env("MIG_STRATEGY", '""'),
        "  mig: {strategy: single}\n" + env("MIG_STRATEGY", "single"),
        "  devicePlugin:\n",
        "",
    ],
)
def test_a_policy_that_is_right(spec: str) -> None:
    assert lint(POLICY + spec + PLUGIN) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("  mig: {strategy: mixt}\n", ("error", 5, 19, "mig.strategy is mixt")),
        ("  mig: {stratagy: mixed}\n", ("warning", 5, 9, "mig.stratagy is no field")),
        ("  devicePlugins: {enabled: true}\n", ("warning", 5, 3, "devicePlugins is no field")),
        ("  cdi: {enabled: 'true'}\n", ("error", 5, 18, 'cdi.enabled is the string "true"')),
        ("  driver: {rdma: {useHostMOFED: true}}\n", ("warning", 5, 19, "useHostMOFED is no field")),
        ("  driver: {kernelModuleType: closed}\n", ("error", 5, 30, "kernelModuleType is closed")),
        ("  toolkit: 3\n", ("error", 5, 12, "toolkit is a number")),
        ("  devicePlugin: {config: {default: any}}\n", ("warning", 5, 27, "has no effect without")),
        ("  devicePlugin: {config: {name: plugin, default: any}}\n", ("error", 5, 50, "has no key any")),
        ("  mig: {strategy: mixed}\n  devicePlugin: {config: {name: plugin, default: mps}}\n",
         ("error", 5, 19, "not supported with MPS")),
        ("  driver: {enabled: false}\n  gds: {enabled: true}\n", ("info", 6, 18, "gds.enabled loads nothing")),
        (env("DEVICE_LIST_STRATEGY", '"envvar,cdi"'), ("error", 5, 60, "DEVICE_LIST_STRATEGY is cdi")),
        (env("DEVICE_ID_STRATEGY", "uid"), ("error", 5, 58, "DEVICE_ID_STRATEGY is uid")),
        (env("PASS_DEVICE_SPECS", '"yes"'), ("error", 5, 57, "PASS_DEVICE_SPECS is yes")),
        (env("PASS_DEVICE_SPECS", "true"), ("error", 5, 57, "PASS_DEVICE_SPECS is true, not of type string")),
        (env("DEVICE_LIST_STRATEGI", "envvar"), ("warning", 5, 31, "reads no variable DEVICE_LIST_STRATEGI")),
        ("  devicePlugin: {env: [{name: MPS_ROOT, valueFrom: {}}]}\n", ("warning", 5, 41, "MPS_ROOT is left empty")),
    ],
)  # fmt: skip
def test_a_policy_that_is_not(spec: str, expected: tuple[str, int, int, str]) -> None:
    [found] = lint(POLICY + spec + PLUGIN)
    assert (found.rule, found.severity, *found.place) == ("GT341", *expected[:3])
    assert expected[3] in found.message


def test_a_variable_that_the_labels_do_not_follow() -> None:
    [found] = lint(POLICY + "  mig: {strategy: single}\n" + env("MIG_STRATEGY", "mixed"))
    assert (found.severity, *found.place) == ("warning", 6, 52)


def test_a_node_that_names_a_configuration_which_is_not_there() -> None:
    policy = POLICY + "  devicePlugin: {config: {name: plugin}}\n" + PLUGIN + "---\n"
    assert lint(policy + node("nvidia.com/device-plugin.config: mps")) == []
    [found] = lint(policy + node("nvidia.com/device-plugin.config: mpss"))
    assert (found.rule, found.remedy) == ("GT341", "mps, whole")


def test_a_policy_of_kyverno_is_not_of_nvidia() -> None:
    text = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nspec: {rules: [], mig: {strategy: x}}\n"
    [own] = read(text)
    assert kind_of(own) == "ClusterPolicy of kyverno.io/v1"
    assert lint(text) == []


@pytest.mark.parametrize(
    "body",
    [
        "spec: 3\n",
        "spec: {mig: 3, devicePlugin: {env: {a: 1}, config: [1]}}\n",
        "spec: {devicePlugin: {env: [3, {name: [1]}]}}\n",
    ],
)
def test_other_shapes_do_not_raise(body: str) -> None:
    lint(f"apiVersion: nvidia.com/v1\nkind: ClusterPolicy\n{body}")


TOPOLOGY = """apiVersion: v1
kind: ConfigMap
metadata: {name: topology, namespace: gpu-operator}
data:
  topology.yml: |
    nodePoolLabelKey: run.ai/simulated-gpu-node-pool
    nodePools:
"""
OLD = "      default: {gpuProduct: Tesla-K80, gpuCount: 2, gpuMemory: 11441}\n"
NEW = "      default: {gpu: {backend: fake, profile: t4}, numa: {zones: 2, gpusPerZone: [3, 1]}}\n"


@pytest.mark.parametrize("pools", [OLD, NEW, "      default: {}\n", ""])
def test_pools_that_are_right(pools: str) -> None:
    [own] = read(TOPOLOGY + pools)
    assert kind_of(own) == "FakeGpuTopology"
    assert lint(TOPOLOGY + pools) == []


@pytest.mark.parametrize(
    ("pools", "expected"),
    [
        (OLD.replace("gpuCount", "gpucount"), ("warning", 8, 40, "gpucount has no effect")),
        (OLD.replace(": 2", ": '2'"), ("error", 8, 50, 'gpuCount is the string "2"')),
        (OLD.replace("}", ", numa: {zones: 2}}"), ("warning", 8, 71, "numa of pool default has no effect")),
        (NEW + OLD.replace("default", "old"), ("warning", 9, 7, "pool old has no gpu")),
        (NEW.replace("[3, 1]", "[3, 2]"), ("error", 8, 82, "sums to 5 but the pool has 4 GPUs")),
        (NEW.replace("[3, 1]", "[4]"), ("error", 8, 82, "has 1 entries but zones is 2")),
        (NEW.replace("zones: 2, ", ""), ("warning", 8, 52, "has no zones")),
        ("      default: 8\n", ("error", 8, 16, "pool default is a number")),
    ],
)
def test_pools_that_are_not(pools: str, expected: tuple[str, int, int, str]) -> None:
    [found] = lint(TOPOLOGY + pools)
    assert (found.rule, found.severity, *found.place) == ("GT374", *expected[:3])
    assert expected[3] in found.message


def test_a_label_key_that_is_missing() -> None:
    text = TOPOLOGY.replace("    nodePoolLabelKey: run.ai/simulated-gpu-node-pool\n", "")
    assert places(text + OLD) == [("GT374", 6, 5)]


def own_map(number: int, name: str = "a") -> str:
    rows = "".join(f"      - {{id: GPU-{one}}}\n" for one in range(number))
    return (
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: topology-{name}, namespace: gpu-operator}}\n"
        f"data:\n  topology.yml: |\n    gpuProduct: Tesla-K80\n    gpus:\n{rows}"
    )


POOL = "run.ai/simulated-gpu-node-pool: default"
FAKE = f'{POOL}, run.ai/fake.gpu: "true"'


@pytest.mark.parametrize(
    ("labels", "annotations", "expected"),
    [
        ("type: kwok", "kwok.x-k8s.io/node: fake", ["no kubelet"]),
        ("kwok.x-k8s.io/node: fake", "", ["no kubelet"]),
        ('run.ai/fake.gpu: "true"', "", ["GPUs are fake"]),
        (FAKE, "kwok.x-k8s.io/node: fake", ["GPUs are fake", "no kubelet"]),
        ('run.ai/fake.gpu: "false"', "kwok.x-k8s.io/node: real", []),
    ],
)
def test_a_node_that_is_fake(labels: str, annotations: str, expected: list[str]) -> None:
    found = lint(node(labels, annotations=annotations))
    assert [(one.rule, one.severity) for one in found] == [("GT373", "info")] * len(expected)
    assert all(part in one.message for one, part in zip(found, expected))


PLUGIN_ONLY = "restart the device plugin's pod of the node"
ANEW = "delete ConfigMap topology-a and restart deployment status-updater, which makes it anew"


@pytest.mark.parametrize(
    ("pools", "own", "number", "annotations", "expected"),
    [
        (OLD, "", 2, "", None),
        (OLD, own_map(2), 2, "", None),
        (NEW, own_map(4), 4, "", None),
        (NEW.replace("fake", "mock"), "", 2, "", None),  # counted by NVIDIA's own plugin
        (NEW.replace("t4", "ours"), "", 2, "", None),  # what the profile has is not known
        (OLD, own_map(2, "b"), 2, "", None),
        (OLD, "", 8, "", ("nvidia.com/gpu is 8, pool default says 2", f"{ANEW}; then {PLUGIN_ONLY}")),
        (OLD, own_map(8), 8, "", ("nvidia.com/gpu is 8, pool default says 2", f"{ANEW}; then {PLUGIN_ONLY}")),
        (OLD, own_map(2), 8, "", ("nvidia.com/gpu is 8, ConfigMap topology-a lists 2", PLUGIN_ONLY)),
        (OLD, own_map(8), 8, "kwok.x-k8s.io/node: fake", ("nvidia.com/gpu is 8, pool default says 2", ANEW)),
        (OLD, own_map(4), 8, "", ("nvidia.com/gpu is 8, ConfigMap topology-a lists 4, pool default says 2",
                                  f"{ANEW}; then {PLUGIN_ONLY}")),
    ],
)  # fmt: skip
def test_a_node_and_its_pool(
    pools: str, own: str, number: int, annotations: str, expected: tuple[str, str] | None
) -> None:
    found = [
        one
        for one in lint(f"{TOPOLOGY}{pools}{own}---\n{node(POOL, gpus(number), gpus(number), annotations)}")
        if one.severity != "info"
    ]
    assert [(one.rule, one.severity) for one in found] == ([("GT373", "warning")] if expected else [])
    assert [(one.message, one.remedy) for one in found] == ([expected] if expected else [])


def test_a_node_of_a_pool_that_is_not_there() -> None:
    [found] = lint(f"{TOPOLOGY}{OLD}---\n{node(POOL.replace('default', 'big'))}")
    assert (found.rule, found.severity, found.remedy) == ("GT373", "warning", "default")


@pytest.mark.parametrize(
    "text",
    [
        "nodePools: [1]",
        "nodePools: {a: {gpu: 3, numa: [1]}, b: [1], 3: {gpu: {overrides: 3}}}",
        "gpuProduct: [1]\n    gpus: 3",
    ],
)
def test_pools_of_other_shapes_do_not_raise(text: str) -> None:
    head = TOPOLOGY.partition("    nodePoolLabelKey")[0]
    lint(f"{head}    {text}\n---\n{node(POOL, gpus(2), gpus(2))}")
