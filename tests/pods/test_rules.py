"""What the rules over pods say, and how severe it is: severity follows effect."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import gputopo
from gputopo.holdings import ContainerHolding, DeviceHeld, HoldingRecords, MemoryHeld, Owner
from gputopo.pods.join import join
from gputopo.pods.selection import Selection, narrowed
from gputopo.pods.spoken import Spoken
from gputopo.reports.style import Style
from gputopo.reports.text import render
from gputopo.reports.views.pods import blocks
from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit
from gputopo.rules.pods.repair import plan
from gputopo.rules.pods.run import run
from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.node import NodeTopology, Source
from tests.pods.machines import GPU, container, devices, node, pod, said, uuid


def audit(on: NodeTopology, *sets: Sequence[int]) -> Audit:
    """Each set held by a pod of its own."""
    rows = tuple(
        ContainerHolding("ml", f"p{at}", None, "main",
                         devices=tuple(DeviceHeld(GPU, str(one), "index") for one in numbers))
        for at, numbers in enumerate(sets)
    )  # fmt: skip
    records = HoldingRecords("podresources", containers=rows, containers_complete=True)
    return Audit(join(on, [Spoken(Source("p", "p", "podresources", "", True), records)]), plan)


def sample(name: str) -> NodeTopology:
    return gputopo.load_node(f"sample:{name}")


def codes(found: Sequence[Finding]) -> list[tuple[str, str]]:
    return [(one.severity, one.rule) for one in found]


def test_three_and_one_on_an_nvswitch_fabric_is_information() -> None:
    one, left = run(audit(sample("hgx-h100"), (1, 2, 3, 4)))
    assert codes((one, left)) == [("info", "GT401"), ("info", "GT421")]
    assert one.message == "ml/p0 crosses sockets: GPU1 GPU2 GPU3 | GPU4"
    assert "no GPU-GPU traffic uses the socket link" in one.matters


def test_the_same_set_over_pcie_is_an_error_while_one_socket_has_room() -> None:
    one, left = run(audit(sample("pcie-2s-8gpu"), (1, 2, 3, 4)))
    assert codes((one, left)) == [("error", "GT402"), ("info", "GT421")]
    assert "{GPU4 GPU5 GPU6 GPU7}" in one.because
    assert one.remedy.startswith("delete ml/p0")


def test_over_pcie_is_not_said_where_nvlinks_are_not_in_the_evidence() -> None:
    """A sysfs folder knows sockets and no NVLinks: of an HGX node PCIe would be a false alarm."""
    on = node()
    on = on._replace(pairs=tuple(pair._replace(nvlinks=None, level=None) for pair in on.pairs))
    one, _ = run(audit(on, (0, 2)))
    assert codes([one]) == [("warning", "GT402")]
    assert one.message == "ml/p0 crosses sockets: GPU0 | GPU2; whether NVLinks join them is not in the evidence"
    assert "nvidia-smi topo -m" in one.remedy


def test_a_set_of_which_nothing_is_decided_is_not_ok() -> None:
    on = node()
    on = on._replace(pairs=(), gpus=tuple(gpu._replace(packages=None, numa_nodes=None) for gpu in on.gpus))
    judged = audit(on, (0, 2), (1,))
    first, second = (line for line in render(blocks(judged, run(judged)), Style()).splitlines() if "ml/p" in line)
    assert first.endswith("?")
    assert second.endswith("ok")


@pytest.mark.parametrize("name", ["hgx-h100", "pcie-2s-8gpu"])
def test_every_gpu_of_the_node_is_nothing_to_report(name: str) -> None:
    assert run(audit(sample(name), range(8))) == ()


def test_a_better_set_on_the_empty_node_only_is_a_warning_with_a_plan() -> None:
    found = [one for one in run(audit(sample("pcie-2s-8gpu"), (0, 1), (2, 3, 4), (5, 6))) if one.rule == "GT402"]
    assert [one.severity for one in found] == ["warning"]
    assert "on an empty node" in found[0].because
    assert found[0].remedy.startswith("delete ml/p1 and ml/p")


def test_of_chosen_pods_the_plan_leaves_the_gpus_of_the_others_alone() -> None:
    """With -n, GPUs of other namespaces were promised to the pod that crosses."""
    on = sample("pcie-2s-8gpu")
    whole = audit(on, (0, 4), (1, 2, 3))
    chosen = Audit(narrowed(whole.held._replace(pods=(whole.held.pods[0], whole.held.pods[1]._replace(namespace="x"))),
                            Selection("ml")), plan)  # fmt: skip
    [one] = [found for found in run(chosen) if found.rule == "GT402"]
    assert one.remedy == "delete ml/p0 and let it start again: it then gets {GPU4 GPU5} or {GPU6 GPU7}"
    head = render(blocks(chosen, ()), Style()).splitlines()[0]
    assert "1 pod holds 2 of 8 GPUs, others 3, free 5 6 7" in head
    nobody = Audit(narrowed(whole.held, Selection("none")))
    head = render(blocks(nobody, ()), Style()).splitlines()[0]
    assert "none of the pods asked for holds a GPU, others 5, free 5 6 7" in head


def test_five_of_four_and_four_cannot_be_better_and_that_is_said() -> None:
    found = [one for one in run(audit(sample("pcie-2s-8gpu"), range(5))) if one.rule == "GT402"]
    assert [(one.severity, one.because) for one in found] == [("info", "no better set of 5 exists on this node")]


def test_a_broken_island_is_named_with_its_parts() -> None:
    found = [one for one in run(audit(sample("pcie-bridged"), (0, 1, 4))) if one.rule == "GT405"]
    assert len(found) == 1
    assert found[0].severity in ("error", "warning")


def test_pods_of_one_job_are_judged_as_one_set() -> None:
    owners = (Owner("Job", "tp"),)
    spoken = said(
        "kube-objects", *(container(f"tp-{at}", f"u{at}", "main", gpu) for at, gpu in enumerate((0, 2))),
        pods=tuple(pod(f"tp-{at}", f"u{at}", owners=owners) for at in range(2)),
    )  # fmt: skip
    found = [one for one in run(Audit(join(node(), [spoken]))) if one.rule == "GT402"]
    assert [one.subjects for one in found] == [("Job ml/tp", "GPU0", "GPU2")]


def test_an_init_container_s_gpu_is_not_in_two_containers() -> None:
    spoken = said("kubelet-checkpoint", container(None, "u", "i", 0), container(None, "u", "c", 0, 1))
    assert codes(run(Audit(join(node(), [spoken])))) == []


def test_a_gpu_whole_in_one_pod_and_as_replicas_in_another_is_in_two_pods() -> None:
    replicas = tuple(DeviceHeld("nvidia.com/gpu.shared", f"{uuid(0)}::{at}", "uuid") for at in (0, 3))
    spoken = said("kubelet-checkpoint", container(None, "u", "c", 0), container(None, "v", "c", devices=replicas))
    assert codes(run(Audit(join(node(), [spoken])))) == [("error", "GT411"), ("warning", "GT410")]


def test_replicas_of_one_gpu_in_two_pods_are_shared_on_purpose() -> None:
    rows = [container(None, f"u{at}", "c", devices=(DeviceHeld(GPU, f"{uuid(0)}::{at}", "uuid"),)) for at in (0, 1)]
    assert codes(run(Audit(join(node(), [said("kubelet-checkpoint", *rows)])))) == []


def test_cpus_and_memory_of_the_other_node_are_named() -> None:
    from gputopo.topology.node import NumaNode

    on = node()._replace(numa_nodes=tuple(
        NumaNode(f"NUMA{at}", at, "cpu", CpuSet.of(range(8 * at, 8 * at + 8)), (f"PKG{at}",)) for at in (0, 1)
    ))  # fmt: skip
    far = container("a", None, "main", 0, cpus=CpuSet.of([8, 9]), pages=(
        MemoryHeld("anonymous", (0,), 1_058_816 << 10), MemoryHeld("anonymous", (1,), 92_208 << 10),
        MemoryHeld("file", (1,), 1 << 40)))  # fmt: skip
    found = run(Audit(join(on, [said("podresources", far)])))
    assert codes(found) == [("warning", "GT406"), ("info", "GT407")]
    assert "(8.0 %)" in found[1].message


def test_visible_devices_beyond_what_was_given_are_named_and_void_is_not() -> None:
    def seen(*visible: str) -> list[tuple[str, str]]:
        return codes(run(Audit(join(node(), [said("podresources", container("a", None, "main", 0, visible=visible))]))))

    assert seen("all") == [("warning", "GT412")]
    assert seen(uuid(0), uuid(3)) == [("warning", "GT412")]
    assert seen("0", "3") == [("warning", "GT412")]
    assert seen("void") == seen(uuid(0)) == seen("0") == seen("/var/run/nvidia-container-devices") == []


def test_a_process_without_an_allocation_is_named_only_where_allocations_are_known() -> None:
    process = said("process", ContainerHolding(devices=devices(3, by="process"), pids=(4711,)))
    assert codes(run(Audit(join(node(), [process])))) == []
    found = run(Audit(join(node(), [process, said("podresources", container("a", None, "main", 0))])))
    [alone] = [one for one in found if one.rule == "GT413"]
    assert alone.message == "GPU3 is used by process 4711, which was not given it"
