"""What the rules over a KubeletConfiguration say: GT330, that it does not start; GT331, that a key has no effect.

The right answers were given by the kubelet's own decoder, feature gates and validation (k8s.io/kubernetes v1.32.13,
v1.36.3 and v1.37.2), those of the managers read in their sources.
"""

from __future__ import annotations

import pytest

from gputopo.allocate.kubelet import feature_gates
from gputopo.allocate.kubelet.config_keys import keys, known_in
from gputopo.rules.manifests.problem import Context
from tests.lint.places import Said, at, lint_together, said

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
STATIC = "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\n"
MEMORY = "memoryManagerPolicy: Static\nkubeReserved: {memory: 1Gi}\nreservedMemory:\n- numaNode: 0\n  limits: {memory: "
RIGHT = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true, cacheTTL: 2m0s}, x509: {clientCAFile: /ca}}
cgroupDriver: systemd
clusterDNS: [10.96.0.10]
cpuManagerPolicy: static
cpuManagerPolicyOptions: {full-pcpus-only: "true", strict-cpu-reservation: "true"}
cpuManagerReconcilePeriod: 0s
evictionHard: {memory.available: 200Mi, nodefs.available: 10%}
featureGates: {CPUManagerPolicyAlphaOptions: true}
logging: {flushFrequency: 0, options: {json: {infoBufferSize: "0"}}, verbosity: 2}
memoryManagerPolicy: Static
reservedMemory:
- {numaNode: 0, limits: {memory: 612Mi}}
- {numaNode: 1, limits: {memory: 612Mi}}
kubeReserved: {cpu: "1", memory: 1Gi, pid: "1000", ephemeral-storage: 1Gi}
systemReserved: {cpu: 500m}
topologyManagerPolicy: restricted
topologyManagerPolicyOptions: {prefer-closest-numa-nodes: "true", max-allowable-numa-nodes: "16"}
topologyManagerScope: pod
"""


def of(body: str, context: Context | None = None) -> list[Said]:
    return said(HEAD + body, context)


def error(body: str, mark: str) -> list[Said]:
    return [("GT330", "error", at(HEAD + body, mark))]


def test_a_right_configuration_is_clean() -> None:
    assert lint_together(RIGHT) == []


@pytest.mark.parametrize("minor", range(32, 38))
def test_a_plain_one_is_clean_in_every_release(minor: int) -> None:
    assert of("topologyManagerPolicy: single-numa-node\nmaxPods: 110\n" + STATIC, Context(minor=minor)) == []


@pytest.mark.parametrize(
    ("body", "mark"),
    [
        ("kubeReserved: {cpu: 1}\n", "1}"),
        ("maxPods: '110'\n", "'110'"),
        ("maxPods: 99999999999\n", "99999999999"),
        ("port: 1.5\n", "1.5"),
        ("syncFrequency: 77\n", "77"),
        ("syncFrequency: 1d\n", "1d"),
        ("syncFrequency: null\n", "null"),
        ("clusterDNS: 10.0.0.1\n", "10.0"),
        ("featureGates: {NodeSwap: 'true'}\n", "'true'"),
        ("topologyManagerPolicyOptions: {prefer-closest-numa-nodes: true}\n", "true"),
        ("reservedMemory: [{numaNode: '0', limits: {memory: 1Gi}}]\n", "'0'"),
        ("reservedMemory: [{numaNode: 0, limits: {memory: 1GB}}]\n", "1GB"),
        ("tlsCipherSuites: [1]\n", "1]"),
        ("reservedSystemCPUs: 0\n", "0\n"),
        ("authentication: [a]\n", "[a]"),
    ],
)
def test_a_value_that_does_not_decode(body: str, mark: str) -> None:
    assert of(body) == error(body, mark)


@pytest.mark.parametrize(
    "body",
    [
        "maxPods: 110.0\n",
        "maxPods: null\n",
        "maxPods: 1e2\n",  # YAML as Go reads it has a number here
        "clusterDNS: null\n",
        "reservedMemory: [null]\n",
        "memorySwap: null\n",
        "memoryThrottlingFactor: 1\n",
        "crashLoopBackOff: {maxContainerRestartPeriod: null}\n",
        "evictionHard: {memory.available: 5%}\n",
    ],
)
def test_what_decodes_although_it_looks_odd(body: str) -> None:
    assert of(body) == []


@pytest.mark.parametrize(
    ("body", "mark", "part"),
    [
        ("topologyManagerPolicy: None\n", "None", 'topologyManagerPolicy (--topology-manager-policy) "None" must'),
        ("topologyManagerScope: node\n", "node\n", '"node" must be one of: "container", or "pod"'),
        ("memoryManagerPolicy: static\n", "static", 'unknown policy: "static"'),
        ("cpuManagerPolicyOptions: {full-pcpus-only: 'true'}\n", "{full", "received unsupported options"),
        (STATIC + "cpuManagerPolicyOptions: {full-pcpus-only: 'yes'}\n", "'yes'", "bad value for option"),
        (STATIC + "cpuManagerPolicyOptions: {align-by-socket: 'true'}\n", "'true'", "Alpha-level Options not"),
        (STATIC + "featureGates: {CPUManagerPolicyBetaOptions: false}\n"
         "cpuManagerPolicyOptions: {distribute-cpus-across-numa: 'true'}\n", "'true'", "Beta-level Options not"),
        ("systemReserved: {nvidia.com/gpu: '1'}\n", "'1'", 'cannot reserve "nvidia.com/gpu" resource'),
        ("kubeReserved: {memory: -1Gi}\n", "-1Gi", "cannot be negative: -1Gi"),
        ("kubeReserved: {memory: 1GB}\n", "1GB", "not a quantity"),
        ("reservedSystemCPUs: 0-1:2/3\n", "0-1", "unable to parse reservedSystemCPUs"),
        ("reservedSystemCPUs: '0, 1'\n", "'0, 1'", "unable to parse reservedSystemCPUs"),
        ("reservedSystemCPUs: 0-1\nsystemReservedCgroup: /a\n", "0-1", "can't use reservedSystemCPUs"),
        ("reservedMemory: [{numaNode: 0, limits: {cpu: 1}}]\n", "1}", 'the limit type "cpu" for NUMA node 0'),
        ("reservedMemory: [{limits: {memory: 0}}]\n", "0}", "reserved memory may not be zero for NUMA node 0"),
        ("reservedMemory: [{limits: {memory: 1Gi}}, {numaNode: 0, limits: {memory: 2Gi}}]\n", "2Gi", "a duplicate"),
    ],
)  # fmt: skip
def test_what_the_kubelet_refuses(body: str, mark: str, part: str) -> None:
    assert of(body) == error(body, mark)
    assert part in lint_together(HEAD + body)[0].message


ACROSS = "distribute-cpus-across-"


@pytest.mark.parametrize(
    ("one", "other", "excludes"),
    [
        ("full-pcpus-only", ACROSS + "cores", True),
        (ACROSS + "numa", ACROSS + "cores", True),
        ("prefer-align-cpus-by-uncorecache", ACROSS + "numa", True),
        ("prefer-align-cpus-by-uncorecache", ACROSS + "cores", True),
        ("full-pcpus-only", ACROSS + "numa", False),
        ("full-pcpus-only", "align-by-socket", False),
        ("strict-cpu-reservation", "prefer-align-cpus-by-uncorecache", False),
    ],
)
def test_options_that_exclude_each_other(one: str, other: str, excludes: bool) -> None:
    body = f"{STATIC}featureGates: {{AllAlpha: true}}\ncpuManagerPolicyOptions: {{{one}: 'true', {other}: 'true'}}\n"
    found = lint_together(HEAD + body)
    assert [part.message.endswith("can not be used at the same time") for part in found] == [True] * excludes
    off = body.replace(f"{other}: 'true'", f"{other}: 'false'")
    assert lint_together(HEAD + off) == []


@pytest.mark.parametrize(("policy", "wrong"), [("single-numa-node", True), ("restricted", False)])
def test_align_by_socket_and_one_numa_node(policy: str, wrong: bool) -> None:
    body = (
        f"{STATIC}featureGates: {{CPUManagerPolicyAlphaOptions: true}}\ntopologyManagerPolicy: {policy}\n"
        "cpuManagerPolicyOptions: {align-by-socket: 'true'}\n"
    )
    assert len(of(body)) == wrong


@pytest.mark.parametrize(
    ("gates", "minor", "expected"),
    [
        ("{TopologyManagerPolicyOption: true}", 36, ["error"]),
        ("{TopologyManager: true}", 36, ["error"]),
        ("{TopologyManagerPolicyAlphaOptions: true}", 36, []),
        ("{TopologyManagerPolicyOptions: false}", 35, []),
        ("{TopologyManagerPolicyOptions: false}", 36, ["warning"]),
        ("{TopologyManagerPolicyOptions: true}", 36, []),
        ("{MemoryManager: true}", 35, []),
        ("{MemoryManager: true}", 36, ["warning"]),
        ("{MemoryManager: false}", 32, ["error"]),
        ("{DRAExtendedResource: true}", 33, ["warning"]),
        ("{DRAExtendedResource: true}", 34, []),
        ("{AllAlpha: true, AllBeta: false}", 32, []),
    ],
)
def test_feature_gates(gates: str, minor: int, expected: list[str]) -> None:
    body = f"featureGates: {gates}\n"
    assert [severity for _, severity, _ in of(body, Context(minor=minor))] == expected
    said_so = Context(minor=minor, minor_said=True)
    assert [severity for _, severity, _ in of(body, said_so)] == ["error"] * len(expected)


def test_a_gate_is_placed_at_its_name_and_the_nearest_is_named() -> None:
    body = "featureGates:\n  NodeSwop: true\n"
    [found] = lint_together(HEAD + body)
    assert (tuple(found.place), found.remedy) == (at(HEAD + body, "NodeSwop"), "NodeSwap")


def test_topology_options_need_their_gate_also_without_a_policy() -> None:
    body = "featureGates: {TopologyManagerPolicyOptions: false}\n"
    options = "topologyManagerPolicyOptions: {prefer-closest-numa-nodes: 'true'}\n"
    assert of(body, Context(minor=35)) == []
    assert len(of(body + options, Context(minor=35))) == 1


@pytest.mark.parametrize(
    ("memory", "more", "expected"),
    [
        ("1124Mi", "", 0),  # with the 100Mi of the default evictionHard
        ("1Gi", "", 1),
        ("1Gi", "evictionHard: {}\n", 0),
        ("1Gi", "evictionHard: {nodefs.available: 10%}\n", 0),
        ("1124Mi", "evictionHard: {nodefs.available: 10%}\nmergeDefaultEvictionSettings: true\n", 0),
        ("1224Mi", "evictionHard: {memory.available: 200Mi}\n", 0),
        ("1Gi", "evictionHard: {memory.available: 5%}\n", 0),  # of a machine's memory: not known
        ("1Gi", "evictionHard: {memory.available: 0%}\n", 0),
        ("2Gi", "systemReserved: {memory: 924Mi}\n", 0),
    ],
)
def test_reserved_memory_adds_up(memory: str, more: str, expected: int) -> None:
    body = MEMORY + memory + "}\n" + more
    found = lint_together(HEAD + body)
    assert [(one.severity, tuple(one.place)) for one in found] == [("warning", at(HEAD + body, "- numa"))] * expected
    assert all("the value" in one.message and "unless" in one.because for one in found)


@pytest.mark.parametrize("version", ["", "apiVersion: kubelet.config.k8s.io/v1\n", "apiVersion: v1\n"])
def test_another_version_is_not_decoded(version: str) -> None:
    text = f"kind: KubeletConfiguration\n{version}maxPods: 1\n"
    assert [(rule, severity) for rule, severity, _ in said(text)] == [("GT330", "error")]


@pytest.mark.parametrize(
    ("body", "key", "remedy"),
    [
        ("topologyManagerPolcy: restricted\n", "topologyManagerPolcy", "topologyManagerPolicy"),
        ("TopologyManagerPolicy: restricted\n", "TopologyManagerPolicy", "topologyManagerPolicy"),
        ("reservedSystemCpus: 0-1\n", "reservedSystemCpus", "reservedSystemCPUs"),
        ("anonymous: {enabled: false}\n", "anonymous", "authentication.anonymous"),
        ("authentication: {anonymus: {enabled: false}}\n", "anonymus", "anonymous"),
        ("reservedMemory: [{numaNodes: 0, limits: {memory: 1Gi}}]\n", "numaNodes", "numaNode"),
        ("memorySwap: {swapBehaviour: LimitedSwap}\n", "swapBehaviour", "swapBehavior"),
        ("nonsense: [1]\n", "nonsense", ""),
    ],
)
def test_a_key_without_effect(body: str, key: str, remedy: str) -> None:
    [found] = lint_together(HEAD + body)
    assert (found.rule, found.severity, tuple(found.place)) == ("GT331", "warning", at(HEAD + body, key))
    assert found.remedy == remedy


@pytest.mark.parametrize(
    ("body", "minor", "severity"),
    [
        ("memoryReservationPolicy: None\n", 35, "info"),
        ("memoryReservationPolicy: None\n", 36, ""),
        ("userNamespaces: {idsPerPod: 65536}\n", 32, "info"),
        ("userNamespaces: {idsPerPod: 65536}\n", 33, ""),
    ],
)
def test_a_key_of_another_release(body: str, minor: int, severity: str) -> None:
    assert [one[1] for one in of(body, Context(minor=minor))] == [severity] * bool(severity)
    named = Context(minor=minor, minor_said=True)
    assert [one[1] for one in of(body, named)] == ["warning"] * bool(severity)


def test_what_configz_answers_has_the_keys_of_its_own_release() -> None:
    assert said('{"kubeletconfig": {"maxPods": 110, "ofTomorrow": 1}}') == []


def test_the_tables_know_what_their_sources_say() -> None:
    assert keys()["reservedMemory[].limits"].type == "{q}"
    assert "topologyManagerPolicyOptions" in known_in(32)
    assert (len(known_in(32)), len(known_in(37))) == (157, 165)
    assert (len(feature_gates.known_in(32)), len(feature_gates.known_in(36))) == (178, 240)
