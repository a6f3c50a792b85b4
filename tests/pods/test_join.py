"""Who holds what, joined from several sources."""

from __future__ import annotations

from itertools import permutations

import pytest

from gputopo.holdings import ClaimRecord, ContainerHolding, DeviceHeld, DeviceName, MemoryHeld, Owner
from gputopo.reports.style import Style
from gputopo.reports.text import render
from gputopo.reports.views.pods import blocks
from gputopo.rules.pods.audit import Audit
from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.node import NodeTopology
from tests.pods.machines import GPU, container, devices, held, node, pod, said, uuid

PODRESOURCES = said("podresources", container("a", None, "main", 0, 2), containers_complete=True)
CHECKPOINT = said("kubelet-checkpoint", container(None, "uid-a", "main", 2, 0), containers_complete=True)
OBJECTS = said("kube-objects", container("a", "uid-a", "main", 0, 2), pods=(pod("a", "uid-a"),))


def test_ids_become_gpus_of_the_node_and_the_rest_is_free() -> None:
    found = held(PODRESOURCES)
    [one] = found.containers
    assert one.placed.gpus == ("GPU0", "GPU2")
    assert (one.placed.packages, one.placed.cross_package, one.placed.cross_numa) == (("PKG0", "PKG1"), True, True)
    assert found.free == ("GPU1", "GPU3")
    assert found.assumptions == ()


def test_one_pod_through_three_sources_is_one_row_whatever_their_order() -> None:
    for order in permutations((PODRESOURCES, CHECKPOINT, OBJECTS)):
        found = held(*order)
        [one] = found.containers
        assert (one.namespace, one.pod, one.uid, one.name) == ("ml", "a", "uid-a", "main")
        assert one.sources == ("podresources", "kubelet-checkpoint", "kube-objects")
        assert found.conflicts == ()


def test_a_planted_disagreement_is_one_conflict_and_the_kubelet_s_answer_is_used() -> None:
    other = said("kubelet-checkpoint", container(None, "uid-a", "main", 0, 3))
    for order in permutations((PODRESOURCES, other, OBJECTS)):
        [conflict] = held(*order).conflicts
        assert (conflict.subjects, conflict.attribute, conflict.used) == (("ml/a/main",), "devices", ["GPU0", "GPU2"])
        assert {value.source: value.value for value in conflict.values} == {
            "podresources": ["GPU0", "GPU2"], "kubelet-checkpoint": ["GPU0", "GPU3"], "kube-objects": ["GPU0", "GPU2"],
        }  # fmt: skip


def test_a_name_and_a_uid_join_by_the_same_devices_as_a_named_assumption() -> None:
    found = held(PODRESOURCES, CHECKPOINT)
    [one] = found.containers
    assert (one.pod, one.uid) == ("a", "uid-a")
    assert [note.text for note in found.assumptions] == [
        "pod uid-a is ml/a: its container main holds the same devices"
    ]  # fmt: skip


def test_pods_without_devices_join_by_their_cpus_or_memory() -> None:
    """Found with the real kubelet: they were said to have ended."""
    own, others = CpuSet.of([2, 3]), CpuSet.of([4])
    block = (MemoryHeld("memory", (1,), 2**30),)
    live = said(
        "podresources", container("a", None, "main", cpus=own), container("b", None, "main", memory=block),
        container("c", None, "main", cpus=others), pods=(pod("a", None), pod("b", None), pod("c", None)),
        pods_complete=True,
    )  # fmt: skip
    cpus = said("cpu-manager-state", *(container(None, uid, "main", cpus=one) for uid, one in
                                       (("uid-a", own), ("uid-c", others), ("uid-old", CpuSet.of([5])))))  # fmt: skip
    memory = said("memory-manager-state", container(None, "uid-b", "main", memory=block))
    found = held(live, cpus, memory)
    assert {(one.pod, one.uid) for one in found.containers} == {("a", "uid-a"), ("b", "uid-b"), ("c", "uid-c")}
    assert [note.text for note in found.assumptions if "ended" in note.text] == [
        "pod uid-old has ended, or only its init containers held anything: "
        "the kubelet's list of live pods has no such container"
    ]


def test_each_plugin_tells_the_runtime_of_its_own_resource() -> None:
    """Found with the real kubelet: a plugin for MIG devices says nothing of the GPUs that another gave."""
    mig = DeviceHeld("nvidia.com/mig-1g.10gb", "MIG-1", "mig")
    told = (*devices(0, 2), mig, mig._replace(by="env"))
    assert held(said("kubelet-checkpoint", container(None, "u", "main", devices=told))).conflicts == ()
    other = (*told, *devices(3, by="env"))
    [conflict] = held(said("kubelet-checkpoint", container(None, "u", "main", devices=other))).conflicts
    assert conflict.subjects == ("pod u/main",)


def test_a_claim_of_a_pod_that_ended_is_held_by_nobody_where_the_live_ones_are_known() -> None:
    """Found with the real kubelet, which keeps it while the pod was deleted behind its back."""
    device = (("r", DeviceHeld("claim:gpus/r", "gpu.nvidia.com/n1/gpu-3", "dra")),)
    state = said("dra-manager-state", claims=(ClaimRecord("ml", "gpus", "c1", device, ("uid-old",)),))
    live = said("podresources", container("a", None, "main", 0), pods=(pod("a", None),), pods_complete=True)
    assert [one.pod for one in held(live, state).containers] == ["a"]
    assert [one.uid for one in held(state).containers] == ["uid-old"]


def test_what_the_runtime_was_told_is_compared_as_a_set_of_gpus() -> None:
    """Another order, replicas without their number, `void`: no disagreement. Other GPUs: one."""
    told = (*devices(2, 0, by="env"), *devices(0, by="cdi"))
    agrees = container("a", None, "main", devices=(*devices(0, 2), *devices(2, 0, by="env")))
    differs = container("a", None, "main", devices=(*devices(0, 2), *told))
    assert held(said("kubelet-checkpoint", agrees)).conflicts == ()
    [conflict] = held(said("kubelet-checkpoint", differs)).conflicts
    assert [value.value for value in conflict.values] == [["GPU0", "GPU2"], ["GPU0"]]
    shared = (DeviceHeld(GPU, f"{uuid(1)}::3", "uuid"), DeviceHeld(GPU, uuid(1), "uuid", by="env"))
    assert held(said("kubelet-checkpoint", container("a", None, "main", devices=shared))).conflicts == ()


def test_an_index_nobody_can_resolve_is_no_disagreement() -> None:
    told = (*devices(0), DeviceHeld(GPU, "2", "index", by="env"))
    one = said("kubelet-checkpoint", container("a", None, "main", devices=told))
    assert held(one, on=NodeTopology()).conflicts == ()
    assert len(held(one).conflicts) == 1


def test_without_a_topology_numa_is_decided_and_sockets_are_not() -> None:
    far = devices(0, 2, numa={0: 0, 2: 1})
    found = held(said("kubelet-checkpoint", container("a", "u", "main", devices=far), allocatable=devices(0, 1, 2)),
                 on=NodeTopology())  # fmt: skip
    [one] = found.containers
    assert (one.placed.gpus, one.placed.numa_nodes, one.placed.cross_numa) == (None, (0, 1), True)
    assert (one.placed.packages, one.placed.cross_package) == (None, None)
    assert found.free == (uuid(1),)
    assert found.unknown[0].attribute == "gpu"
    assert "nvidia-smi topo -m" in found.unknown[0].settled_by


def test_the_init_container_is_told_by_its_empty_memory_or_its_part_of_the_devices() -> None:
    empty = container(None, "u", "i", 0, memory=(MemoryHeld("memory", (0,), 0),))
    app = container(None, "u", "c", 0)
    by_memory = {one.name: one.kind for one in held(said("kubelet-checkpoint", empty, app)).containers}
    assert by_memory == {"i": "init", "c": None}
    part = held(said("kubelet-checkpoint", container(None, "u", "i", 0), container(None, "u", "c", 0, 1)))
    assert {one.name: one.kind for one in part.containers} == {"i": "init", "c": "app"}
    assert part.pods[0].placed.gpus == ("GPU0", "GPU1")
    assert any("is an init container" in note.text for note in part.assumptions)
    equal = held(said("kubelet-checkpoint", container(None, "u", "i", 0), container(None, "u", "c", 0)))
    assert [one.kind for one in equal.containers] == [None, None]


def test_pods_that_ended_hold_nothing_where_the_live_ones_are_known() -> None:
    files = said("kubelet-checkpoint", container(None, "uid-a", "main", 0), container(None, "uid-old", "main", 1))
    alone = held(files)
    assert len(alone.containers) == 2
    assert any("may be stale" in note.text for note in alone.assumptions)
    live = said("kube-objects", pods=(pod("a", "uid-a"), pod("gone", "uid-x", "Succeeded")), pods_complete=True)
    known = held(files, live)
    assert [one.uid for one in known.containers] == ["uid-a"]
    assert known.free == ("GPU1", "GPU2", "GPU3")
    assert not any("may be stale" in note.text for note in known.assumptions)


def test_exclusive_cpus_and_the_shared_pool_are_told_apart() -> None:
    cpus = said("cpu-manager-state", ContainerHolding(uid="u", container="c", cpus=CpuSet.of([0, 1])))
    found = held(said("kubelet-checkpoint", container(None, "u", "c", 0), container(None, "v", "c", 1)), cpus)
    assert [(one.uid, str(one.cpus) if one.cpus else None, one.pool) for one in found.containers] == [
        ("u", "0-1", "exclusive"), ("v", None, "shared"),
    ]  # fmt: skip


def test_a_claim_s_devices_are_resolved_by_their_slices_or_as_minor_numbers() -> None:
    name = "gpu.nvidia.com/n1/gpu-3"
    claim = ClaimRecord("ml", "gpus", "c1", (("r", DeviceHeld("claim:gpus/r", name, "dra")),), ("u",))
    asks = ContainerHolding("ml", "a", "u", "main", claims=(("gpus", ""),))
    by_minor = held(said("kube-objects", asks, claims=(claim,)))
    assert by_minor.containers[0].placed.gpus == ("GPU0",)  # minor 3, not index 3
    sliced = held(said("kube-objects", asks, claims=(claim,), names=(DeviceName(name, "dra", uuid=uuid(2)),)))
    assert sliced.containers[0].placed.gpus == ("GPU2",)
    only_state = held(said("dra-manager-state", claims=(claim,)))
    assert [(one.uid, one.name, one.placed.gpus) for one in only_state.containers] == [("u", None, ("GPU0",))]


def test_plugin_devices_and_claims_add_up() -> None:
    both = (*devices(1), DeviceHeld("claim:x", "gpu.nvidia.com/n1/gpu-3", "dra"))
    [one] = held(said("podresources", container("a", None, "main", devices=both))).containers
    assert one.placed.gpus == ("GPU0", "GPU1")


def test_the_pods_of_one_job_are_one_set() -> None:
    owners = (Owner("Job", "tp"),)
    spoken = said(
        "kube-objects", *(container(f"tp-{at}", f"u{at}", "main", at) for at in range(3)),
        pods=tuple(pod(f"tp-{at}", f"u{at}", owners=owners) for at in range(3)),
    )  # fmt: skip
    [job] = held(spoken).owners
    assert (job.kind, job.name, job.placed.gpus, job.placed.cross_package) == (
        "Job", "tp", ("GPU0", "GPU1", "GPU2"), True,
    )  # fmt: skip
    replicas = said("kube-objects", container("web-1", "u", "main", 0), pods=(
        pod("web-1", "u", owners=(Owner("ReplicaSet", "web-5f"), Owner("Deployment", "web"))),))  # fmt: skip
    assert held(replicas).owners == ()


def test_a_process_is_joined_to_its_container_by_id_and_stands_alone_otherwise() -> None:
    id = "ab" * 32
    used = devices(1, by="process")
    processes = said(
        "process", ContainerHolding(uid="uid-a", container_id=id, devices=used, pids=(7,)),
        ContainerHolding(devices=devices(3, by="process"), pids=(9,)),
    )  # fmt: skip
    runtime = said("kube-objects", container("a", "uid-a", "main", 1, container_id=id), pods=(pod("a", "uid-a"),))
    found = held(processes, runtime)
    assert [(one.name, one.placed.gpus, one.uses, one.given, one.pids) for one in found.containers] == [
        ("main", ("GPU1",), ("GPU1",), True, (7,)), (None, (), ("GPU3",), False, (9,)),
    ]  # fmt: skip
    assert found.free == ("GPU0", "GPU2")
    assert node().gpus[3].uuid == uuid(3)


def test_ids_that_nothing_resolves_leave_open_which_gpus_are_free() -> None:
    """Not that all are: `topo -m` names no UUID, so that the kubelet's own ids are all that can be said."""
    bare = node()
    bare = bare._replace(gpus=tuple(gpu._replace(uuid=None) for gpu in bare.gpus))
    one = said("kubelet-checkpoint", container(None, "uid-a", "main", 0, 2), containers_complete=True)
    assert held(one, on=bare).free is None
    listing = said(
        "kubelet-checkpoint", container(None, "uid-a", "main", 0, 2), containers_complete=True,
        allocatable=devices(0, 1, 2, 3),
    )  # fmt: skip
    found = held(listing, on=bare)
    assert found.free == (uuid(1), uuid(3))
    assert Audit(found).free is None, "which GPUs of the node they are is not known"
    text = render(blocks(Audit(found), ()), Style(120, False, False))
    assert "1 pod holds 2 of 4 GPUs, which is not said, free GPU-" in text


def test_a_uuid_that_the_node_does_not_have_is_none_of_its_gpus() -> None:
    one = said("kubelet-checkpoint", container(None, "uid-a", "main", 7), containers_complete=True)
    assert held(one).free == ("GPU0", "GPU1", "GPU2", "GPU3")


def test_a_free_id_may_be_the_gpu_that_another_container_holds_by_its_index() -> None:
    bare = node()
    bare = bare._replace(gpus=tuple(gpu._replace(uuid=None) for gpu in bare.gpus))
    by_index = container("b", None, "other", devices=(DeviceHeld(GPU, "1", "index"),))
    listing = said("kubelet-checkpoint", container(None, "uid-a", "main", 0), allocatable=devices(0, 1, 2, 3))
    assert held(listing, said("slurm-job", by_index), on=bare).free is None


@pytest.mark.parametrize("device", [DeviceHeld("gpu", "all", "all"), DeviceHeld("gpu", "nvidia.com/gpu=all", "cdi")])
def test_every_gpu_of_the_node_leaves_none_free(device: DeviceHeld) -> None:
    """`docker run --gpus all`: all were said to be free."""
    every = said("docker-inspect", ContainerHolding(container="job", devices=(device,)))
    found = held(every)
    assert found.containers[0].placed.gpus == ("GPU0", "GPU1", "GPU2", "GPU3")
    assert found.free == ()
    head = render(blocks(Audit(found), ()), Style()).splitlines()[0]
    assert "no pod holds a GPU, others 4, free none" in head
    unknown = held(every, on=NodeTopology())
    assert unknown.containers[0].placed.gpus is None
    assert unknown.free is None


def test_a_device_that_is_said_twice_does_not_move_a_claim_s_to_the_plugin_s() -> None:
    claimed = DeviceHeld("claim:c/r", "gpu.nvidia.com/n1/gpu-0", "dra")
    mixed = said("podresources", container("a", "u", "main", devices=(*devices(0, 0), claimed)))
    plugin = said("kubelet-checkpoint", container("a", "u", "main", 0))
    assert held(mixed, plugin).conflicts == ()


def test_of_a_slurm_job_the_kubelet_is_not_asked() -> None:
    job = ContainerHolding("slurm", "7", None, "train", requests=(("gres/gpu", 2),))
    assert not any("Kubernetes" in note.reason for note in held(said("slurm-job", job)).unknown)
