"""Hints and allocations of the single managers, where a whole admission would hide the point."""

from __future__ import annotations

import pytest

from gputopo.allocate.kubelet.admission import admit, removed
from gputopo.allocate.kubelet.cpu_manager import CpuManager, CpuOptions, CpuState
from gputopo.allocate.kubelet.device_choice import Choice, PluginError, Question, choose
from gputopo.allocate.kubelet.device_hints import Device, resource_hints
from gputopo.allocate.kubelet.hints import Hint
from gputopo.allocate.kubelet.machine import CpuTopology
from gputopo.allocate.kubelet.memory_state import Block, MemoryState, start, without
from gputopo.allocate.kubelet.pod import BEST_EFFORT, BURSTABLE, GUARANTEED, Container, Pod
from gputopo.allocate.kubelet.releases import Release
from gputopo.allocate.kubelet.stops import KubeletStops
from gputopo.terms.cpu_set import CpuSet
from tests.allocate.kubelet.machines import (
    GIB,
    amount,
    container,
    cpu_text,
    cpus,
    gpus,
    hint_nodes,
    machine,
    only,
    pod,
    result,
    started,
)

NEW, OLD = Release(36), Release(35)


def test_hints_over_nodes_without_devices_are_made_before_1_36_only() -> None:
    devices = gpus(0, 1)
    free = set(devices)
    assert resource_hints((0, 1, 2), devices, free, (), 2, NEW) == (Hint(3, True),)
    assert resource_hints((0, 1, 2), devices, free, (), 2, OLD) == (Hint(3, True), Hint(7, False))


def test_preferred_is_judged_on_the_empty_node() -> None:
    devices = gpus(0, 0, 1, 1)
    assert resource_hints((0, 1), devices, {"GPU0", "GPU2"}, (), 2, NEW) == (Hint(3, False),)


def test_devices_without_topology_object_and_with_an_empty_one_differ_when_reused() -> None:
    devices = gpus(0, 0) | {"x": Device(None), "y": Device(())}
    assert resource_hints((0, 1), devices, {"GPU0", "GPU1"}, {"x"}, 2, NEW) == (Hint(1, True),)
    assert resource_hints((0, 1), devices, {"GPU0", "GPU1"}, {"y"}, 2, NEW) == ()


@pytest.mark.parametrize(("hints", "devices", "free"), [(None, gpus(None, None), 2), ((), gpus(0, 0), 1)])
def test_no_preference_and_impossible(hints: object, devices: dict[str, Device], free: int) -> None:
    assert resource_hints((0, 1), devices, sorted(devices)[:free], (), 2, NEW) == hints


def ask(**question: object) -> list[Choice]:
    base = Question("r", gpus(0, 0, 1, 1), frozenset(), None, frozenset(), 2, None, None)
    return choose(base._replace(**question), "uid", "c")


@pytest.mark.parametrize(
    ("question", "error"),
    [
        ({"registered": False}, "cannot allocate unregistered device r"),
        ({"devices": {"a": Device((0,), False)}},
         "no healthy devices present; cannot allocate unhealthy devices r"),
        ({"held": frozenset({"GPU0"})}, 'pod "uid" container "c" changed request for resource "r" from 1 to 2'),
        ({"held": frozenset({"GPU0", "gone"})},
         "previously allocated devices are no longer healthy; cannot allocate unhealthy devices r"),
        ({"required": 5}, "requested number of devices unavailable for r. Requested: 5, Available: 4"),
        ({"plugin": lambda available, must, size: [PluginError("no")]},
         "device plugin GetPreferredAllocation rpc failed with err: no"),
    ],
)  # fmt: skip
def test_errors_of_the_device_manager(question: dict[str, object], error: str) -> None:
    (choice,) = ask(**question)
    assert choice.error == error


def test_aligned_devices_are_all_taken_before_the_plugin_is_asked_for_the_rest() -> None:
    (choice,) = ask(required=3, mask=1, plugin=lambda available, must, size: [available])
    assert (choice.forced, choice.choose, choice.of) == ({"GPU0", "GPU1"}, 1, {"GPU2", "GPU3"})
    (call,) = choice.calls
    assert (call.must_include, call.size) == ({"GPU0", "GPU1"}, 3)


def test_a_plugin_with_several_answers_makes_several_choices() -> None:
    def plugin(available: frozenset[str], must: frozenset[str], size: int) -> list[frozenset[str]]:
        return [frozenset({"GPU0", "GPU1"}), frozenset({"GPU2", "GPU3"})]

    assert [sorted(next(one.sets())) for one in ask(plugin=plugin)] == [["GPU0", "GPU1"], ["GPU2", "GPU3"]]


def test_a_plugin_error_leaves_the_aligned_devices_marked_as_allocated() -> None:
    """So the next pod finds fewer, until some pod is removed."""
    kubelet, state = started(plugin=lambda available, must, size: [PluginError("no")])
    state = only(admit(kubelet, state, pod("a", container(gpu=1, cpu=1, memory="1Gi"))))
    assert not state.result.admit
    assert state.state.devices.allocated == {}
    five = only(admit(kubelet, state.state, pod("b", container(gpu=5))))  # both nodes are aligned: nothing is taken yet
    assert not five.result.admit
    assert five.state.devices.allocated == {}


@pytest.mark.parametrize(("align", "taken"), [(False, "1-4,8-9"), (True, "1-2,4-7")])
def test_align_by_socket_widens_the_cpus_to_the_whole_socket(align: bool, taken: str) -> None:
    """Free: 3 CPUs of the hint's node 0, 4 of its neighbour, 2 of the other socket, which would be filled up first."""
    topology = CpuTopology(cpus(2, 2, 4, 1))
    manager = CpuManager(topology, CpuOptions(align_by_socket=align), 1, NEW)
    free = CpuState(shared=0b11_1111_1111)
    asked = pod("a", container(cpu=6, memory="1Gi"))
    after = manager.allocate(free, asked, asked.containers[0], affinity=1)
    assert str(CpuSet(after.held["a", "c"])) == taken


def test_init_cpus_are_reused_and_pin_the_hints_to_their_node() -> None:
    asked = pod("a", container("i", "init", cpu=4, memory="1Gi"), container(cpu=4, memory="1Gi"))
    got = result(started("restricted"), asked)
    assert cpu_text(got) == cpu_text(got, "i") == "1-2,113-114"
    assert hint_nodes(got) == ([0], True)


def test_cpus_of_a_deleted_pod_come_back_when_the_next_one_asks() -> None:
    kubelet, state = started(on=machine(cores=2))
    all_but_reserved = pod("a", container(cpu=6, memory="1Gi"))
    first = only(admit(kubelet, state, all_but_reserved))
    assert cpu_text(first.result) == "1-3,5-7"
    again = only(admit(kubelet, removed(first.state, "a"), pod("b", *all_but_reserved.containers)))
    assert cpu_text(again.result) == "1-3,5-7"


def test_a_request_for_memory_of_two_nodes_groups_them_and_shuts_out_single_ones() -> None:
    kubelet, state = started("restricted", on=machine(gib=64), memory_policy="Static", devices={})
    both = only(admit(kubelet, state, pod("a", container(cpu=2, memory="100Gi"))))
    assert both.result.reason == "TopologyAffinityError"  # CPUs prefer one node
    shared = container(cpu="1500m", memory="100Gi")
    both = only(admit(kubelet, state, pod("a", shared)))
    assert both.result.containers["c"].blocks == (Block(3, 100 * GIB, "memory"),)
    small = pod("b", container(cpu="500m", memory="1Gi"))
    assert only(admit(kubelet, both.state, small)).result.reason == "TopologyAffinityError"
    loose = only(admit(kubelet._replace(policy="best-effort"), both.state, small))
    assert loose.result.containers["c"].blocks == (Block(3, GIB, "memory"),)


def test_huge_pages_are_taken_off_the_memory_and_share_its_hints() -> None:
    memory = {0: {"memory": 8 * GIB, "hugepages-1Gi": 4 * GIB}, 1: {"memory": 8 * GIB, "hugepages-1Gi": 0}}
    on = machine(cores=4)._replace(memory=memory)
    asked = container(cpu=2, memory="1Gi", **{"hugepages-1Gi": "2Gi"})
    got = result(started("restricted", on=on, memory_policy="Static", devices={}), pod("a", asked))
    assert got.containers["c"].blocks == (Block(1, 2 * GIB, "hugepages-1Gi"), Block(1, GIB, "memory"))
    much = container(cpu=2, memory="4Gi")  # 3 GiB are left for memory on node 0: it goes to node 1
    got = result(started("restricted", on=on, memory_policy="Static", devices={}), pod("a", much))
    assert got.containers["c"].blocks == (Block(2, 4 * GIB, "memory"),)


def test_a_type_of_huge_pages_that_no_node_has_crashes_the_real_code() -> None:
    asked = container(cpu=2, memory="1Gi", **{"hugepages-2Mi": "2Mi"})
    got = result(started("none", memory_policy="Static", devices={}), pod("a", asked))
    assert got.admit is None
    assert "hugepages-2Mi" in (got.message or "")


def test_memory_comes_back_and_the_group_is_dissolved() -> None:
    fresh = start({0: {"memory": 4 * GIB}, 1: {"memory": 4 * GIB}}, {})
    kubelet, state = started(on=machine(cores=4), memory_policy="Static", devices={})
    held = only(admit(kubelet, state, pod("a", container(cpu="500m", memory="1500Gi")))).state
    (after,) = without(held.memory or fresh, frozenset())
    assert isinstance(after, MemoryState)
    assert after.nodes == (state.memory or fresh).nodes


@pytest.mark.parametrize(
    ("limits", "requests", "qos"),
    [
        ({}, {}, BEST_EFFORT),
        ({"nvidia.com/gpu": "1"}, {}, BEST_EFFORT),
        ({"cpu": "1", "memory": "1Gi"}, {}, GUARANTEED),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "500m"}, BURSTABLE),
        ({"cpu": "1"}, {}, BURSTABLE),
    ],
)
def test_qos(limits: dict[str, str], requests: dict[str, str], qos: str) -> None:
    amounts = [{name: amount(text) for name, text in some.items()} for some in (limits, requests)]
    assert Pod("a", (Container.of("c", *amounts),)).qos == qos


def test_too_many_numa_nodes_stall_the_real_code_too() -> None:
    with pytest.raises(KubeletStops, match="2\\^36"):
        resource_hints(range(36), gpus(0, 1), {"GPU0"}, (), 1, OLD)
    assert resource_hints(range(36), gpus(0, 1), {"GPU0"}, (), 1, NEW) == (Hint(1, True), Hint(3, False))
