"""A node as the kubelet sees it, and the answer that comes of it."""

from __future__ import annotations

import pytest

from gputopo.allocate.answer import Answer
from gputopo.allocate.kubelet.config_file import pod as read_pod
from gputopo.allocate.kubelet.config_file import read
from gputopo.allocate.kubelet.from_node import Undecided, devices, machine
from gputopo.allocate.kubelet.mechanism import KubeletNode
from gputopo.allocate.kubelet.releases import Release
from gputopo.allocate.kubelet.startup import Settings
from gputopo.allocate.outcome import Family, Outcome
from gputopo.allocate.request import Request
from gputopo.allocate.state import State
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.kube_object import KubeObject, WrongShape
from gputopo.topology.node import Gpu, NodeTopology, NumaNode, Package


def node(
    *lists: str, numa: tuple[tuple[int, ...] | None, ...] = ((0,), (0,), (1,), (1,)), arch: str = "x86_64"
) -> NodeTopology:  # fmt: skip
    """A socket per NUMA node, with these CPU lists; GPUs on `numa`."""
    sets = [CpuSet.parse_list(text) for text in lists]
    return NodeTopology(
        packages=tuple(Package(f"PKG{at}", at, cpus, (at,), arch=arch) for at, cpus in enumerate(sets)),
        numa_nodes=tuple(
            NumaNode(f"NUMA{at}", at, "cpu", cpus, (f"PKG{at}",), 64 << 30, {0: 10 + 11 * at, 1: 21 - 11 * at})
            for at, cpus in enumerate(sets)
        ),
        gpus=tuple(Gpu(f"GPU{at}", numa_nodes=one, packages=None) for at, one in enumerate(numa)),
    )


TWO = node("0-3,8-11", "4-7,12-15")


@pytest.mark.parametrize(
    ("given", "cores", "said"),
    [
        (TWO, {0: 0, 8: 0, 7: 7, 15: 7}, ["CPUs n and n+8 are two threads of one core"]),
        (node("0,2,4,6", "1,3,5,7"), {0: 0, 4: 0, 5: 1}, ["CPUs n and n+4 are two threads of one core"]),
        (node("0-3", "4-7"), {0: 0, 4: 4}, ["every CPU is a core of its own"]),
        (node("0-3,8-11", "4-7,12-15", arch="aarch64"), {0: 0, 8: 8}, []),
    ],
    ids=["halves", "alternating", "no threads", "Arm has no threads"],
)  # fmt: skip
def test_threads_of_a_core(given: NodeTopology, cores: dict[int, int], said: list[str]) -> None:
    seen = machine(given, cpus=True, memory=True)
    of = {cpu.id: cpu.core for cpu in seen.machine.cpus}
    assert {cpu: of[cpu] for cpu in cores} == cores
    assert [one.text for one in seen.assumptions] == [f"{text} (to settle: lscpu -e)" for text in said]
    assert seen.machine.memory == {0: {"memory": 64 << 30}, 1: {"memory": 64 << 30}}
    assert seen.machine.distances == {0: (10, 21), 1: (21, 10)}


def test_what_is_not_known_is_not_guessed() -> None:
    with pytest.raises(Undecided, match="GPU1"):
        devices(node("0-3", "4-7", numa=((0,), None)), ["GPU0", "GPU1"])
    without_cpus = TWO._replace(numa_nodes=tuple(one._replace(cpus=None) for one in TWO.numa_nodes or ()))
    with pytest.raises(Undecided, match="CPUs of NUMA node 0"):
        machine(without_cpus, cpus=True, memory=False)


def test_a_gpu_without_numa_node_has_no_topology() -> None:
    assert devices(node("0-3", "4-7", numa=((), (1,))), ["GPU0", "GPU1::2"])["GPU0"].numa is None
    assert devices(node("0-3", "4-7", numa=((), (1,))), ["GPU0", "GPU1::2"])["GPU1::2"].numa == (1,)


UNITS = ("GPU0", "GPU1", "GPU2", "GPU3")


def asked(policy: str, size: int, in_use: tuple[str, ...] = (), cpus: int | None = None, **settings: object) -> Answer:
    made = Settings(Release(36), policy, cpu_policy="static" if cpus else "none", reserved_count=1)
    return KubeletNode(made._replace(**settings)).answer(State.of(TWO, UNITS, in_use), Request(size, cpus=cpus))


def test_outcomes_are_all_sets_the_kubelet_can_take() -> None:
    assert {one.devices for one in asked("none", 2).outcomes} == {
        ("GPU0", "GPU1"), ("GPU0", "GPU2"), ("GPU0", "GPU3"), ("GPU1", "GPU2"), ("GPU1", "GPU3"), ("GPU2", "GPU3"),
    }  # fmt: skip
    (only,) = asked("best-effort", 2).outcomes
    assert only.devices == ("GPU0", "GPU1")


def test_a_refusal_says_which_hint_was_missing_and_what_would_be_admitted() -> None:
    state, mechanism = State.of(TWO, UNITS), KubeletNode(Settings(Release(36), "single-numa-node"))
    answer = mechanism.answer(state, Request(3))
    assert (answer.admitted, answer.reason) == (False, "TopologyAffinityError")
    assert answer.why[0] == (
        "nvidia.com/gpu: 3 has no hint narrower than 2 NUMA nodes, not even on an empty node, "
        "and single-numa-node takes one node only"
    )
    assert mechanism.largest(state, Request(3)) == 2
    assert mechanism.largest(State.of(TWO, UNITS, UNITS), Request(3)) == 0


def test_a_busy_node_and_providers_that_disagree_are_said_apart() -> None:
    busy = asked("restricted", 2, ("GPU0", "GPU2"))
    assert "fewer would do on an empty node" in busy.why[0]
    apart = asked("restricted", 4, cpus=2)
    assert apart.why[0] == (
        "no one set of NUMA nodes is preferred for all: nvidia.com/gpu: 4 on {0,1}; cpu: 2 on {0} {1}"
    )
    assert asked("restricted", 2, UNITS).why[0] == "nvidia.com/gpu: 2: fewer are free, on all NUMA nodes together"


def test_cpus_of_the_answer_are_exact_and_the_next_request_does_not_get_them() -> None:
    mechanism = KubeletNode(Settings(Release(36), "best-effort", cpu_policy="static", reserved_count=1))
    state, request = State.of(TWO, UNITS), Request(2, owner="a", cpus=2)
    (first,) = mechanism.answer(state, request).outcomes
    assert (first.devices, first.cpus) == (("GPU0", "GPU1"), CpuSet.of((1, 9)))
    (second,) = mechanism.answer(mechanism.step(state, request, first), request._replace(owner="b")).outcomes
    assert second.devices == ("GPU2", "GPU3")
    assert second.cpus == CpuSet.of((4, 12))


def test_a_kubelet_that_does_not_start_and_evidence_that_is_missing() -> None:
    answer = asked("strict", 1)
    assert (answer.admitted, answer.reason, answer.message) == (False, None, 'unknown policy: "strict"')
    bare = State.of(NodeTopology(gpus=(Gpu("GPU0"),)), ("GPU0",))
    assert KubeletNode(Settings(Release(36), "restricted")).answer(bare, Request(1)).admitted is None


def test_many_sets_become_families() -> None:
    many = node("0-3", "4-7", numa=((0,),) * 20)
    units = tuple(gpu.id for gpu in many.gpus)
    answer = KubeletNode(Settings(Release(36), "none")).answer(State.of(many, units), Request(9))
    assert not answer.outcomes_complete
    assert answer.families == (Family((), 9, units),)


class Prefers:
    """A plugin that answers with given sets, and remembers what it was asked."""

    name = version = "stub"

    def __init__(self, *answers: tuple[str, ...], **fields: object) -> None:
        self.answers = answers
        self.fields = fields
        self.asked: list[tuple[tuple[str, ...], tuple[str, ...], int]] = []

    def answer(self, state: State, request: Request) -> Answer:
        self.asked.append((state.free, request.required, request.size))
        outcomes = tuple(Outcome(one, one) for one in self.answers)
        return Answer("stub", "1", "gpu", request, True, outcomes)._replace(**self.fields)

    def step(self, state: State, request: Request, outcome: Outcome) -> State:
        raise NotImplementedError


def test_the_plugins_simulator_is_asked_and_chooses_among_the_aligned() -> None:
    plugin = Prefers(("GPU1",), ("GPU3",))
    mechanism = KubeletNode(Settings(Release(36), "best-effort"), plugin)
    answer = mechanism.answer(State.of(TWO, UNITS), Request(1))
    assert plugin.asked == [(("GPU0", "GPU1"), (), 1)]
    # GPU3 was not offered: of that answer nothing is left, and the kubelet takes any aligned one.
    assert [one.devices for one in answer.outcomes] == [("GPU0",), ("GPU1",)]


def test_a_failing_plugin_fails_the_admission() -> None:
    failing = Prefers(admitted=False, message="Allocate failed due to rpc error: no, which is unexpected")
    answer = KubeletNode(Settings(Release(36), "none"), failing).answer(State.of(TWO, UNITS), Request(1))
    assert answer.reason == "UnexpectedAdmissionError"
    assert answer.message == (
        "Allocate failed due to device plugin GetPreferredAllocation rpc failed with err: rpc error: no, "
        "which is unexpected"
    )


def test_an_undecided_plugin_leaves_the_answer_open() -> None:
    open_ = Prefers(admitted=None, outcomes_complete=False, why=("too many",))
    answer = KubeletNode(Settings(Release(36), "none"), open_).answer(State.of(TWO, UNITS), Request(1))
    assert (answer.admitted, answer.why) == (None, ("too many",))


def test_configuration() -> None:
    settings = read(
        {
            "topologyManagerPolicy": "best-effort", "topologyManagerScope": "pod",
            "topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"}, "cpuManagerPolicy": "static",
            "kubeReserved": {"cpu": "500m", "memory": "1Gi"}, "systemReserved": {"cpu": "1"},
            "memoryManagerPolicy": "Static", "reservedMemory": [{"numaNode": 1, "limits": {"memory": "1Gi"}}],
            "featureGates": {"CPUManagerPolicyAlphaOptions": True}, "somethingElse": 1,
        },
        Release(36),
    )  # fmt: skip
    assert settings == Settings(
        Release(36), "best-effort", "pod", {"prefer-closest-numa-nodes": "true"}, "static", {}, 0, 2, "Static",
        {1: {"memory": 1 << 30}}, {"CPUManagerPolicyAlphaOptions": True},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({"topologyManagerPolicy": 1}, "topologyManagerPolicy"),
        ({"reservedSystemCPUs": "0-"}, "reservedSystemCPUs"),
        ({"kubeReserved": {"cpu": "lots"}}, "kubeReserved.cpu"),
        ({"featureGates": {"X": "true"}}, "featureGates.X"),
    ],
)
def test_a_wrong_shape_is_named(body: dict[str, object], what: str) -> None:
    with pytest.raises(WrongShape, match=what):
        read(body, Release(36))


def test_a_pod_of_a_manifest() -> None:
    gpu = {"resources": {"limits": {"nvidia.com/gpu": 2, "cpu": "4", "memory": "1Gi"}}}
    first = [{"name": "s", "restartPolicy": "Always"}, {"name": "i"}]
    spec = {"template": {"spec": {"initContainers": first, "containers": [{"name": "c", **gpu}]}}}
    found = read_pod(KubeObject({"kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}))
    assert [(one.name, one.kind) for one in found.containers] == [("s", "sidecar"), ("i", "init"), ("c", "app")]
    assert found.qos == "Burstable"
    with pytest.raises(WrongShape, match="no containers"):
        read_pod(KubeObject({"kind": "Pod", "spec": {}}))
