"""Answers seen by running the real kubelet v1.36.2: two sockets, 4+4 GPUs, 112 CPUs a node, one core reserved.

The figures are facts about upstream (which pods it admits, with which CPUs), restated with machines of our own.
"""

from __future__ import annotations

import pytest

from gputopo.allocate.kubelet.admission import NOT_ALIGNED, admit, removed
from gputopo.allocate.kubelet.device_hints import Device
from gputopo.allocate.kubelet.device_manager import Resource
from gputopo.allocate.kubelet.pod import Container
from tests.allocate.kubelet.machines import (
    GPU,
    container,
    cpu_text,
    devices_of,
    gpus,
    hint_nodes,
    lowest_first,
    machine,
    only,
    pod,
    result,
    started,
)

POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
BURSTABLE = container(gpu=8, cpu=16, memory="64Gi", requests={"cpu": "1"})
NOT_WHOLE = container(gpu=8, cpu="16500m", memory="64Gi")
G16 = container(gpu=8, cpu=16, memory="64Gi")
G150 = container(gpu=8, cpu=150, memory="64Gi")
SCOPES = ("container", "pod")


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize(
    ("asked", "settings", "admitted"),
    [
        (BURSTABLE, {}, (True, True, True, False)),
        (NOT_WHOLE, {}, (True, True, True, False)),
        (G16, {"cpu_policy": "none"}, (True, True, True, False)),
        (G16, {}, (True, True, False, False)),
        (G150, {}, (True, True, True, False)),
        (G16, {"memory_policy": "Static"}, (True, True, False, False)),
    ],
    ids=["burstable", "cpu not whole", "cpu manager none", "16 CPUs", "150 CPUs", "16 CPUs, memory pinned"],
)
def test_all_eight_gpus(
    asked: Container, settings: dict[str, str], admitted: tuple[bool, ...], scope: str
) -> None:  # fmt: skip
    for policy, expected in zip(POLICIES, admitted):
        got = result(started(policy, scope, **settings), pod("a", asked))
        assert got.admit is expected, policy
        if not expected:
            assert (got.reason, got.message) == ("TopologyAffinityError", NOT_ALIGNED)


def test_all_eight_gpus_burstable_are_preferred_on_both_nodes() -> None:
    assert hint_nodes(result(started("restricted"), pod("a", BURSTABLE))) == ([0, 1], True)


@pytest.mark.parametrize("scope", SCOPES)
def test_sixteen_cpus_beside_eight_gpus_all_come_from_numa_0(scope: str) -> None:
    for policy, hint in (("none", (None, False)), ("best-effort", ([0, 1], False))):
        got = result(started(policy, scope), pod("a", G16))
        assert hint_nodes(got) == hint
        assert cpu_text(got) == "1-8,113-120"


def test_pinned_memory_of_eight_gpus_lies_on_both_nodes() -> None:
    got = result(started("best-effort", memory_policy="Static"), pod("a", G16))
    assert [(block.mask, block.size, block.kind) for block in got.containers["c"].blocks] == [(3, 64 << 30, "memory")]


FOUR = {"gpu": 4, "cpu": 16, "memory": "64Gi"}


@pytest.mark.parametrize("policy", POLICIES)
def test_two_containers_of_four_in_container_scope(policy: str) -> None:
    got = result(started(policy), pod("a", container("c0", **FOUR), container("c1", **FOUR)))
    assert got.admit
    assert devices_of(got, "c0") == ["GPU0", "GPU1", "GPU2", "GPU3"]
    assert devices_of(got, "c1") == ["GPU4", "GPU5", "GPU6", "GPU7"]
    # Only with policy none does the second container have its CPUs on the other socket.
    assert cpu_text(got, "c1") == ("9-16,121-128" if policy == "none" else "56-63,168-175")


@pytest.mark.parametrize(
    ("policy", "admitted"), [("best-effort", True), ("restricted", False), ("single-numa-node", False)]
)
def test_two_containers_of_four_in_pod_scope_draw_from_one_mask(policy: str, admitted: bool) -> None:
    got = result(started(policy, "pod"), pod("a", container("c0", **FOUR), container("c1", **FOUR)))
    assert got.admit is admitted
    if admitted:
        assert hint_nodes(got, "c1") == ([0, 1], False)
        assert devices_of(got, "c1") == ["GPU4", "GPU5", "GPU6", "GPU7"]
        assert cpu_text(got, "c1") == "9-16,121-128"


@pytest.mark.parametrize("scope", SCOPES)
def test_gpus_without_numa_node_are_the_exception_of_single_numa_node(scope: str) -> None:
    got = result(started("single-numa-node", scope, devices=gpus(*[None] * 8)), pod("a", G16))
    assert got.admit
    assert cpu_text(got) == "1-8,113-120"


@pytest.mark.parametrize(("policy", "admitted"), [("best-effort", True), ("restricted", False)])
def test_gpus_on_one_node_and_the_nic_on_the_other(policy: str, admitted: bool) -> None:
    nics = {"rdma/hca": Resource({"mlx5_0": Device((1,)), "mlx5_1": Device((1,))}, lowest_first)}
    asked = container(gpu=2, cpu=8, memory="8Gi", **{"rdma/hca": 1})
    got = result(started(policy, devices=gpus(0, 0, 0, 0), others=nics), pod("a", asked))
    assert got.admit is admitted
    if admitted:
        assert hint_nodes(got) == ([0, 1], False)
        assert cpu_text(got) == "1-4,113-116"


def test_all_gpus_on_one_node_and_more_cpus_than_it_has() -> None:
    asked = pod("a", container(gpu=4, cpu=150, memory="8Gi"))
    assert result(started("restricted", devices=gpus(0, 0, 0, 0)), asked).message == NOT_ALIGNED


def test_fragmentation() -> None:
    for policy, last in (("best-effort", ["GPU0", "GPU1", "GPU3", "GPU7"]), ("single-numa-node", None)):
        kubelet, state = started(policy)
        for uid, count in (("a", 2), ("b", 3), ("c", 1)):
            state = only(admit(kubelet, state, pod(uid, container(gpu=count, cpu=4, memory="8Gi")))).state
        state = removed(state, "a")
        got = only(admit(kubelet, state, pod("d", container(gpu=4, cpu=8, memory="8Gi")))).result
        assert got.admit is (last is not None)
        if last:
            assert devices_of(got) == last
            assert cpu_text(got) == "1-2,5-6,113-114,117-118"


def test_policy_none_already_splits_the_second_pod_where_the_plugin_answers_in_order() -> None:
    kubelet, state = started("none", cpu_policy="none")
    state = only(admit(kubelet, state, pod("a", container(gpu=2)))).state
    assert devices_of(only(admit(kubelet, state, pod("b", container(gpu=3)))).result) == ["GPU2", "GPU3", "GPU4"]


@pytest.mark.parametrize("closest", ["false", "true"])
def test_ties_go_to_low_numa_ids_although_gpus_are_free_only_on_others(closest: str) -> None:
    """Four NUMA nodes, one GPU each; those of 0 and 1 are used: CPUs stay on 0 and 1, GPUs come from 2 and 3."""
    on = machine(2, 2, 8, 2)
    options = {"prefer-closest-numa-nodes": closest}
    kubelet, state = started("best-effort", on=on, devices=gpus(0, 1, 2, 3), options=options)
    for uid in "ab":
        state = only(admit(kubelet, state, pod(uid, container(gpu=1, cpu=1, memory="1Gi")))).state
    # 15 CPUs of 16 a node: none has them free, two do.
    got = only(admit(kubelet, state, pod("c", container(gpu=2, cpu=15, memory="1Gi")))).result
    assert hint_nodes(got) == ([0, 1], False)
    assert devices_of(got) == ["GPU2", "GPU3"]


def test_one_gpu_on_the_first_and_two_on_the_second_node() -> None:
    got = result(started(devices=gpus(0, 1, 1)), pod("a", container(gpu=3, cpu=8, memory="8Gi")))
    assert hint_nodes(got) == ([0, 1], False)
    assert cpu_text(got) == "1-4,113-116"


def test_one_gpu_a_node_and_restricted() -> None:
    kubelet, state = started("restricted", on=machine(2, 2, 8, 2), devices=gpus(0, 1, 2, 3))
    first = only(admit(kubelet, state, pod("a", container(gpu=1, cpu=8, memory="8Gi"))))
    assert cpu_text(first.result) == "1-4,33-36"
    second = only(admit(kubelet, first.state, pod("b", container(gpu=2, cpu=8, memory="8Gi"))))
    assert second.result.message == NOT_ALIGNED
    third = only(admit(kubelet, second.state, pod("c", container(gpu=1, cpu=8, memory="8Gi"))))
    assert cpu_text(third.result) == "8-11,40-43"


def test_gpu_pairs_on_odd_nodes_and_restricted() -> None:
    on = machine(2, 4, 16, 2)
    kubelet = started("restricted", on=on, devices=gpus(3, 3, 1, 1, 7, 7, 5, 5))
    assert result(kubelet, pod("a", container(gpu=4, cpu=16, memory="8Gi"))).message == NOT_ALIGNED


def test_memory_left_on_a_single_node_only_is_refused_even_by_best_effort() -> None:
    on = machine(cores=8, gib=64)
    kubelet, state = started(on=on, devices={}, memory_policy="Static")
    state = only(admit(kubelet, state, pod("a", container(cpu=1, memory="256Mi")))).state
    got = only(admit(kubelet, state, pod("b", container(cpu=1, memory="65000Mi")))).result
    assert got.reason == "UnexpectedAdmissionError"
    assert got.message == (
        "Allocate failed due to [memorymanager] failed to find NUMA nodes to extend the current topology hint, "
        "which is unexpected"
    )


def test_an_init_container_leaves_its_devices_to_the_app_and_keeps_its_record() -> None:
    """The app takes two of the init container's four, in any order, and the plugin is not asked."""
    asked = pod("a", container("i", "init", gpu=4), container("c", gpu=2))
    ends = admit(*started("none", cpu_policy="none"), asked)
    assert {tuple(devices_of(end.result)) for end in ends} == {
        ("GPU0", "GPU1"), ("GPU0", "GPU2"), ("GPU0", "GPU3"), ("GPU1", "GPU2"), ("GPU1", "GPU3"), ("GPU2", "GPU3"),
    }  # fmt: skip
    assert all(len(end.result.calls) == 1 for end in ends)
    assert all(devices_of(end.result, "i") == ["GPU0", "GPU1", "GPU2", "GPU3"] for end in ends)


def test_a_sidecar_keeps_its_devices_for_itself() -> None:
    asked = pod("a", container("s", "sidecar", gpu=4), container("c", gpu=4))
    got = result(started("none", cpu_policy="none"), asked)
    assert devices_of(got) == ["GPU4", "GPU5", "GPU6", "GPU7"]


def test_an_init_container_shrinks_to_memory_of_size_0() -> None:
    asked = pod("a", container("i", "init", cpu=2, memory="4Gi"), container("c", cpu=2, memory="8Gi"))
    got = result(started(memory_policy="Static", devices={}), asked)
    assert [block.size for block in got.containers["i"].blocks] == [0]
    assert [block.size for block in got.containers["c"].blocks] == [8 << 30]
    assert cpu_text(got, "i") == cpu_text(got, "c")


@pytest.mark.parametrize(
    ("cpu", "message"),
    [
        (3, "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"),
        (224, "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 222, "
              "requested CPUs = 224, CPUs per core = 2"),
    ],
)  # fmt: skip
def test_full_pcpus_only(cpu: int, message: str) -> None:
    kubelet = started("none", cpu_options={"full-pcpus-only": "true"})
    got = result(kubelet, pod("a", container(cpu=cpu, memory="1Gi")))
    assert (got.reason, got.message) == ("SMTAlignmentError", message)


def test_a_request_that_only_reserved_cpus_would_fulfil_is_refused_on_an_idle_node() -> None:
    """112 CPUs a node, one core reserved: 112 are "preferred on one node", and no node has them."""
    kubelet, state = started("restricted")
    assert result((kubelet, state), pod("a", container(cpu=112, memory="1Gi"))).admit  # NUMA 1 has all of its own
    state = only(admit(kubelet, state, pod("a", container(cpu=2, gpu=4, memory="1Gi")))).state
    state = only(admit(kubelet, state, pod("b", container(cpu=2, gpu=4, memory="1Gi")))).state
    assert only(admit(kubelet, state, pod("c", container(cpu=112, memory="1Gi")))).result.message == NOT_ALIGNED


def test_the_plugin_is_asked_only_where_there_is_a_choice() -> None:
    four = result(started(), pod("a", container(gpu=4)))
    assert four.calls == ()
    (call,) = result(started(), pod("a", container(gpu=3))).calls
    assert (sorted(call.available), call.size) == (["GPU0", "GPU1", "GPU2", "GPU3"], 3)
    (call,) = result(started("none"), pod("a", container(gpu=8))).calls
    assert (len(call.available), call.size) == (8, 8)


def test_unknown_resources_are_passed_over() -> None:
    got = result(started(), pod("a", Container.of("c", {"other.org/thing": container(gpu=1).limits[GPU]})))
    assert got.admit
    assert not got.containers["c"].devices
