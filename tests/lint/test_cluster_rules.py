"""What the rules over the topology objects of a cluster say, and where: GT380 to GT384."""

from __future__ import annotations

import pytest

from tests.lint.places import at, lint_together, said

NRT = """apiVersion: topology.node.k8s.io/v1alpha2
kind: NodeResourceTopology
metadata: {name: n1}
attributes:
- {name: topologyManagerPolicy, value: restricted}
- {name: topologyManagerScope, value: pod}
topologyPolicies: [RestrictedPodLevel]
zones:
- name: node-0
  type: Node
  costs: [{name: node-0, value: 10}, {name: node-1, value: 21}]
  resources:
  - {name: nvidia.com/gpu, capacity: "4", allocatable: "4", available: "1"}
  - {name: memory, capacity: 512Gi, allocatable: 510Gi, available: 5}
- name: node-1
  type: Node
  costs: [{name: node-0, value: 21}, {name: node-1, value: 10}]
- {name: socket-0, type: Socket}
"""
OLD = """apiVersion: topology.node.k8s.io/v1alpha1
kind: NodeResourceTopology
metadata: {name: n1}
topologyPolicies: [SingleNUMANodeContainerLevel]
zones: [{name: node-0, type: Node, resources: [{name: cpu, capacity: 20, allocatable: 16, available: 10}]}]
"""
RACKS = """apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: racks}
spec:
  levels:
  - nodeLabel: example.com/block
  - nodeLabel: example.com/rack
  - nodeLabel: kubernetes.io/hostname
"""
FLAVOR = """---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100}
spec: {topologyName: racks, nodeLabels: {gpu: h100}}
"""
NODE = """---
apiVersion: v1
kind: Node
metadata:
  name: n1
  labels:
    gpu: h100
    example.com/block: b1
    example.com/rack: r1
    kubernetes.io/hostname: n1
"""
JOB = """---
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  template:
    metadata:
      annotations:
        kueue.x-k8s.io/podset-required-topology: example.com/rack
    spec: {containers: [{name: c, image: x}]}
"""
CPUS = """apiVersion: nodeinfo.volcano.sh/v1alpha1
kind: Numatopology
metadata: {name: n1}
spec:
  policies: {CPUManagerPolicy: static, TopologyManagerPolicy: single-numa-node}
  numares: {cpu: {allocatable: "1-3", capacity: 4}}
  resReserved: {cpu: 500m}
  cpuDetail:
    "0": {}
    "1": {core: 1}
    "2": {numa: 1, socket: 1}
    "3": {numa: 1, socket: 1, core: 1}
"""
PLACED = """---
apiVersion: v1
kind: Pod
metadata:
  name: p
  annotations:
    kai.scheduler/numa-placement-observed: '[{"zone":"node-1","amount":{"nvidia.com/gpu":"2","cpu":8}}]'
spec: {nodeName: n1, containers: [{name: c}]}
"""
KAI = RACKS.replace("kueue.x-k8s.io/v1beta2", "kai.scheduler/v1alpha1")
KAI_JOB = """---
apiVersion: batch/v1
kind: Job
metadata:
  name: j
  annotations:
    kai.scheduler/topology: racks
    kai.scheduler/topology-required-placement: example.com/block
    kai.scheduler/topology-preferred-placement: example.com/rack
spec: {template: {spec: {containers: [{name: c}]}}}
"""


@pytest.mark.parametrize(
    "text",
    [NRT, OLD, RACKS, RACKS + FLAVOR + NODE + JOB, CPUS, NRT + PLACED, KAI + NODE + KAI_JOB, JOB, KAI_JOB, NODE],
    ids=["NRT", "NRT v1alpha1", "Kueue", "Kueue whole", "Volcano", "KAI pod", "KAI", "job", "KAI job", "node"],
)
def test_what_is_right_is_clean(text: str) -> None:
    assert lint_together(text) == []


@pytest.mark.parametrize(
    ("old", "new", "mark", "severity", "part"),
    [
        ("value: restricted", "value: Restricted", "Restricted}", "warning", "no policy of the kubelet"),
        ("value: pod", "value: socket", "socket}", "warning", "no scope of the kubelet"),
        ("[RestrictedPodLevel]", "[RestrictedContainerLevel]", "RestrictedC", "warning", "disagrees with"),
        ("[RestrictedPodLevel]", "[SingleNumaNodePodLevel]", "SingleNuma", "warning", "is no policy"),
        ("[RestrictedPodLevel]", "[RestrictedPodLevel, None]", "None", "warning", "only the first"),
        ("value: pod}", "value: pod}\n- {name: topologyManagerMaxNUMANodes, value: '1'}", "'1'", "warning", "above 1"),
        ("type: Node\n  costs: [{name: node-0, value: 10}", "type: NUMA\n  costs: [{name: node-0, value: 10}",
         "NUMA\n", "warning", "not Node: schedulers pass it over"),
        ("- name: node-1", "- name: numa-1", "numa-1", "warning", "not named node-<n>"),
        ("- name: node-1", "- name: node-64", "node-64", "warning", "0 to 63"),
        ("- name: node-1", "- name: node-0", "node-0\n  type: Node\n  costs: [{name: node-0, value: 21", "warning",
         "comes twice"),
        ('available: "1"', 'available: "5"', '"5"', "warning", "available 5 is more than allocatable 4"),
        ("allocatable: 510Gi", "allocatable: 513Gi", "513Gi", "warning", "more than capacity 512Gi"),
        (", {name: node-1, value: 21}]", "]", "[{name: node-0, value: 10}]", "warning", "no cost to node-1"),
        ("{name: node-1, value: 21}", "{name: node-1, value: 5}", "5}]", "warning", "than to itself (10)"),
        ("[{name: node-0, value: 21}", "[{name: node-0, value: 32}", "21}]", "info", "node-1 to node-0 costs 32"),
        ("zones:", "zone:", "apiVersion", "error", "zones is missing"),
        ("value: 21}]\n  resources", "value: far}]\n  resources", "far", "error", "not a whole number"),
        ("capacity: 512Gi", "capacity: 512GB", "512GB", "error", "not a quantity"),
        ("capacity: 512Gi, ", "", "{name: memory", "error", "capacity is missing"),
        ("value: pod", "value: 77", "77", "error", "attributes[1].value is a number"),
        ("k8s.io/v1alpha2", "k8s.io/v1beta1", "topology.node", "error", "the API server refuses it"),
    ],
)  # fmt: skip
def test_a_node_resource_topology(old: str, new: str, mark: str, severity: str, part: str) -> None:
    assert old in NRT
    text = NRT.replace(old, new, 1) if old != "- name: node-1" else NRT.replace(old, new)
    found = [one for one in lint_together(text) if part in one.message]
    assert [(one.rule, one.severity, tuple(one.place)) for one in found] == [("GT380", severity, at(text, mark))]


def test_without_attributes_the_old_field_counts() -> None:
    old = NRT.replace(NRT[NRT.index("attributes:") : NRT.index("topologyPolicies")], "")
    assert lint_together(old) == []
    half = old.replace("RestrictedPodLevel", "Restricted")
    assert said(half) == [("GT380", "warning", at(half, "Restricted]"))]


def test_of_the_old_version_attributes_are_dropped() -> None:
    text = OLD.replace("zones:", "attributes: [{name: topologyManagerPolicy, value: nonsense}]\nzones:")
    assert said(text) == [("GT380", "warning", at(text, "attributes:"))]
    assert said(OLD.replace("topologyPolicies", "policies")) == [("GT380", "error", (1, 1))]


def test_without_a_numa_zone_nothing_is_read() -> None:
    text = NRT[: NRT.index("zones:")] + "zones: [{name: socket-0, type: Socket}]\n"
    assert said(text) == [("GT380", "warning", at(text, "[{name: socket-0"))]


@pytest.mark.parametrize("topology", [RACKS, KAI])
@pytest.mark.parametrize(
    ("old", "new", "mark"),
    [
        ("example.com/rack", "example.com/block", "example.com/block\n  - nodeLabel: kub"),
        ("example.com/block", "kubernetes.io/hostname", "kubernetes.io/hostname\n  - nodeLabel: example"),
        ("nodeLabel: example.com/rack", "nodeLabel: rack-", "rack-"),
        ("nodeLabel: example.com/rack", "label: example.com/rack", "label: example.com/rack"),
        ("nodeLabel: example.com/rack", "nodeLabel: [a]", "[a]"),
        ("nodeLabel: example.com/rack", "nodeLabel: ''", "''"),
    ],
)
def test_levels_that_are_refused(topology: str, old: str, new: str, mark: str) -> None:
    text = topology.replace(old, new)
    rule = "GT384" if topology == KAI else "GT381"
    assert (rule, "error", at(text, mark)) in said(text)


@pytest.mark.parametrize(("number", "refused"), [(0, True), (1, False), (16, False), (17, True)])
def test_a_topology_has_one_to_sixteen_levels(number: int, refused: bool) -> None:
    levels = "".join(f"  - nodeLabel: example.com/l{place}\n" for place in range(number)) or "    []\n"
    text = RACKS[: RACKS.index("  - ")] + levels
    assert [one.severity for one in lint_together(text)] == ["error"] * refused


@pytest.mark.parametrize(
    ("version", "severity"), [("v1beta2", ""), ("v1beta1", "info"), ("v1alpha1", "warning"), ("v1", "error")]
)
def test_versions_of_kueue(version: str, severity: str) -> None:
    text = RACKS.replace("v1beta2", version)
    assert [one[1] for one in said(text)] == [severity] * bool(severity)


def test_a_flavor_needs_node_labels_and_a_topology_that_there_is() -> None:
    bare = FLAVOR.replace(", nodeLabels: {gpu: h100}", "")
    assert said(bare) == [("GT381", "error", at(bare, "racks"))]
    other = RACKS + FLAVOR.replace("topologyName: racks", "topologyName: blocks")
    assert said(other) == [("GT381", "warning", at(other, "blocks"))]
    assert said(FLAVOR.replace("racks", "elsewhere")) == []


UNRACKED = NODE.replace("    example.com/rack: r1\n", "")
BARE = UNRACKED.replace("    example.com/block: b1\n", "")


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (RACKS + FLAVOR + UNRACKED, "warning"),
        (RACKS + FLAVOR + BARE, "warning"),
        (RACKS + FLAVOR + UNRACKED.replace("gpu: h100", "gpu: cpu"), ""),
        (RACKS + FLAVOR.replace("racks", "other") + UNRACKED, None),
        (RACKS + UNRACKED, "warning"),
        (RACKS + BARE, "info"),
        (RACKS + FLAVOR + NODE.replace("rack: r1", "rack: ''"), ""),
        (RACKS + FLAVOR + NODE.replace("    kubernetes.io/hostname: n1\n", ""), "info"),
        (FLAVOR + UNRACKED, ""),
    ],
)
def test_a_node_carries_every_level(text: str, severity: str | None) -> None:
    found = [one for one in lint_together(text, only="GT381") if "node n1" in one.message]
    assert [one.severity for one in found] == [severity] * bool(severity)
    assert all(tuple(one.place) == at(text, "gpu: h100\n") for one in found)


def test_of_two_flavors_of_one_topology_a_node_is_told_once() -> None:
    both = RACKS + FLAVOR + FLAVOR.replace("{name: h100}", "{name: again}") + UNRACKED
    assert len(lint_together(both)) == 1


RACK = "example.com/rack\n"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"


@pytest.mark.parametrize(
    ("old", "new", "severity", "part"),
    [
        (RACK, "example.com/row\n", "warning", "has the level example.com/row"),
        (RACK, "no label\n", "error", "not the name of a label"),
        (RACK, f"{RACK}        kueue.x-k8s.io/podset-preferred-topology: example.com/block\n", "error",
         "exclude each other"),
        (f"{REQUIRED}: example.com/rack", "kueue.x-k8s.io/podset-unconstrained-topology: 'yes'", "error", "boolean"),
        (f"{REQUIRED}: example.com/rack", "kueue.x-k8s.io/podset-unconstrained-topology: 'true'", "", ""),
        (REQUIRED, "kueue.x-k8s.io/podset-slice-required-topology", "error", "without kueue.x-k8s.io/podset-slice-s"),
        (RACK, f"{RACK}        kueue.x-k8s.io/podset-slice-size: '0'\n", "error", "from 1 on"),
    ],
)  # fmt: skip
def test_annotations_for_kueue(old: str, new: str, severity: str, part: str) -> None:
    text = RACKS + FLAVOR + NODE + JOB.replace(old, new)
    found = [one for one in lint_together(text) if part in one.message]
    assert [(one.rule, one.severity) for one in found] == [("GT381", severity)] * bool(severity)


def test_without_topologies_levels_are_not_judged() -> None:
    assert lint_together(JOB.replace("example.com/rack", "example.com/row")) == []


def test_an_annotation_at_the_job_is_not_read_by_kueue() -> None:
    text = JOB.replace("{name: j}", f"{{name: j, annotations: {{{REQUIRED}: a}}}}").replace(
        f"      annotations:\n        {REQUIRED}: example.com/rack\n", "      labels: {}\n"
    )
    assert said(text) == [("GT381", "warning", at(text, REQUIRED))]


@pytest.mark.parametrize(
    ("old", "new", "mark", "severity", "part"),
    [
        ("TopologyManagerPolicy: single-numa-node", "TopologyManagerPolicy: SingleNUMANode", "SingleN", "warning",
         "is no policy"),
        ("CPUManagerPolicy: static", "CPUManagerPolicy: Static", "Static", "warning", "only static"),
        ("CPUManagerPolicy: static", "cpuManagerPolicy: static", "cpuManager", "warning", "has no effect"),
        ("cpu: 500m", "cpu: half", "half", "warning", "no quantity"),
        ("cpu: 500m", "nvidia.com/gpu: '1'", "nvidia", "warning", "cannot reserve nvidia.com/gpu"),
        ("cpu: 500m", "cpu: 77", "77", "error", "resReserved.cpu is a number, not a string"),
        ('allocatable: "1-3"', 'allocatable: "0-4"', '"0-4"', "warning", "lists 5, more than the capacity 4"),
        ('allocatable: "1-3"', 'allocatable: "32"', '"32"', "warning", "cpuDetail does not have: 32"),
        ('allocatable: "1-3"', 'allocatable: "all"', '"all"', "warning", "it is read as none"),
        ('"1": {core: 1}', '"one": {core: 1}', '"one"', "warning", "it overwrites CPU 0"),
        ("{numa: 1, socket: 1}", "{socket: 1}", "{socket: 1}", "warning", "numa of CPU 2 is omitted"),
        ("{numa: 1, socket: 1}", "{numa: -1, socket: 1}", "-1", "error", "below 0"),
        ("{numa: 1, socket: 1}", "{numa: '1'}", "'1'", "error", "not a whole number"),
        ("v1alpha1", "v1", "nodeinfo", "error", "the API server refuses it"),
    ],
)  # fmt: skip
def test_a_numatopology(old: str, new: str, mark: str, severity: str, part: str) -> None:
    text = CPUS.replace(old, new, 1)
    found = [one for one in lint_together(text) if part in one.message]
    assert [(one.rule, one.severity, tuple(one.place)) for one in found] == [("GT382", severity, at(text, mark))]


def test_omitted_is_0_and_can_be() -> None:
    head = CPUS[: CPUS.index("    \"0\"")].replace('"1-3", capacity: 4', '"0-9", capacity: 10')
    interleaved = head + "".join(f'    "{cpu}": {{socket: {cpu % 2}, core: {cpu // 2}}}\n' for cpu in range(10))
    assert lint_together(interleaved) == []  # one NUMA node over two sockets
    sockets = head + "".join(f'    "{cpu}": {{socket: {cpu}}}\n' for cpu in range(1, 10)) + '    "0": {}\n'
    assert lint_together(sockets) == []  # a virtual machine with a socket for each CPU
    nothing = head + "".join(f'    "{cpu}": {{}}\n' for cpu in range(10))
    assert ["read as one core" in one.message for one in lint_together(nothing)] == [True]


OBSERVED = """'[{"zone":"node-1","amount":{"nvidia.com/gpu":"2","cpu":8}}]'"""


@pytest.mark.parametrize(
    ("value", "mark", "part"),
    [
        ("""'[{"zone":"node-7","amount":{}}]'""", '"node-7"', "node n1 has no zone node-7"),
        ("""'[{"zone":"socket-0","amount":{}}]'""", '"socket-0"', "node n1 has no zone socket-0"),
        ("""'{"nvidia.com/gpu":{"0":2}}'""", '{"nvidia', "not a list"),
        ("""'[{"zone":"node-1","amount":{"cpu":"many"}}]'""", '"many"', "not a quantity"),
        ("""'[{"zone":77,"amount":{}}]'""", "77", "zone is a number, not a string"),
        ("""'[{"zone":"node-1" "amount":{}}]'""", '"amount"', "is not JSON"),
        ("'[]'", "[]'", "has no zone"),
        ("'[1]'", "1]'", "not a mapping"),
    ],
)
def test_a_placement_that_kai_does_not_read(value: str, mark: str, part: str) -> None:
    text = NRT + PLACED.replace(OBSERVED, value)
    [found] = lint_together(text)
    assert (found.rule, found.severity, tuple(found.place)) == ("GT383", "warning", at(text, mark))
    assert part in found.message


def test_zones_are_those_of_the_node_of_the_pod() -> None:
    wrong = PLACED.replace("node-1", "node-7")
    assert lint_together(wrong) == []
    assert lint_together(NRT.replace("{name: n1}", "{name: n2}") + wrong) == []
    assert lint_together(NRT + wrong.replace("nodeName: n1, ", "")) == []
    assert lint_together(NRT + PLACED.replace('"zone"', '"Zone"').replace(OBSERVED, "''")) == []


@pytest.mark.parametrize(
    ("old", "new", "mark", "part"),
    [
        ("topology: racks", "topology: rows", "rows", "is named rows"),
        ("placement: example.com/rack", "placement: example.com/row", "example.com/row", "no level example.com/row"),
        ("placement: example.com/block", "placement: kubernetes.io/hostname", "example.com/rack\nspec",
         "coarser than the required one"),
        ("    kai.scheduler/topology: racks\n", "", "kai.scheduler/topology-r", "topology-required-placement has no"),
    ],
)  # fmt: skip
def test_a_job_for_kai(old: str, new: str, mark: str, part: str) -> None:
    text = KAI + KAI_JOB.replace(old, new)
    found = [one for one in lint_together(text) if part in one.message]
    assert [(one.rule, one.severity, tuple(one.place)) for one in found] == [("GT384", "warning", at(text, mark))]


def test_kai_reads_the_job_not_its_template() -> None:
    text = KAI_JOB.replace("  annotations:\n", "  labels: {}\n").replace("    kai.scheduler", "    x.example.com/y")
    moved = text.replace("{template: {", "{template: {metadata: {annotations: {kai.scheduler/topology: racks}}, ")
    moved = "\n".join(line for line in moved.splitlines() if "x.example" not in line) + "\n"
    assert said(moved) == [("GT384", "warning", at(moved, "kai.scheduler/topology: racks"))]
    jobset = moved.replace("kind: Job", "kind: JobSet")
    assert said(jobset) == []


def test_a_topology_without_a_level_fails() -> None:
    text = "\n".join(line for line in KAI_JOB.splitlines() if "-placement" not in line) + "\n"
    assert said(text) == [("GT384", "warning", at(text, "racks"))]


def test_aliases_stand_for_levels() -> None:
    named = KAI.replace("nodeLabel: example.com/rack", "nodeLabel: example.com/rack\n    alias: rack")
    job = KAI_JOB.replace("placement: example.com/rack", "placement: rack")
    assert lint_together(named + job) == []
    assert len(lint_together(KAI + job)) == 1
    clash = named.replace("alias: rack", "alias: example.com/block")
    assert said(clash) == [("GT384", "error", at(clash, "example.com/block\n  - nodeLabel: kub"))]


def test_a_node_in_part_of_a_topology_of_kai() -> None:
    assert said(KAI + UNRACKED) == [("GT384", "warning", at(KAI + UNRACKED, "gpu: h100"))]
    assert said(KAI + BARE) == []
    unnamed = KAI + NODE.replace("    kubernetes.io/hostname: n1\n", "")
    assert said(unnamed) == [("GT384", "info", at(unnamed, "gpu: h100"))]
