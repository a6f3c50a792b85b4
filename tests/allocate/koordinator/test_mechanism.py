"""Koordinator behind the protocol: names, what is not known, sequences."""

from __future__ import annotations

import pytest

from gputopo.allocate.answer import Answer
from gputopo.allocate.koordinator import HOPPER, Koordinator, Partition
from gputopo.allocate.koordinator.as_node import names_on, node_of
from gputopo.allocate.koordinator.demand import Demand, whole_gpus
from gputopo.allocate.koordinator.devices import WHOLE_GPU, Device, Devices, Place
from gputopo.allocate.koordinator.from_node import devices_of
from gputopo.allocate.koordinator.scopes import Wanted
from gputopo.allocate.request import Request
from gputopo.allocate.state import State
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import Bridge, Gpu, Nic, NodeTopology, Pair

P = PathLevel


def node(levels: dict[tuple[int, int], tuple[PathLevel, ...]], count: int = 4, per_numa: int = 2) -> NodeTopology:
    """GPUs without a PCI tree; pairs that are not named are SYS."""
    gpus = tuple(Gpu(f"GPU{at}", numa_nodes=(at // per_numa,), minor=at) for at in range(count))
    pairs = []
    for a in range(count):
        for b in range(a + 1, count):
            found = levels.get((a, b), (P.SYS,))
            only = found[0] if len(found) == 1 else None
            pairs.append(
                Pair(f"GPU{a}", f"GPU{b}", pcie=only, pcie_candidates=found, cross_numa=a // per_numa != b // per_numa)
            )
    return NodeTopology(name="n", gpus=gpus, pairs=tuple(pairs))


def mechanism(topology: NodeTopology, **more: object) -> Koordinator:
    seen = devices_of(topology, with_nics=False)
    own = Koordinator(seen.ways, seen.gpus, assumptions=seen.assumptions, complete=seen.complete)
    return own._replace(**more)  # type: ignore[arg-type]


def ask(own: Koordinator, topology: NodeTopology, size: int, in_use: tuple[str, ...] = ()) -> Answer:
    state = State.of(topology, tuple(gpu.id for gpu in topology.gpus), in_use)
    return own.answer(state, Request(size))


def sets(answer: Answer) -> list[str]:
    return ["".join(gpu.removeprefix("GPU") for gpu in one.devices) for one in answer.outcomes]


def test_root_complexes_come_from_the_levels_of_the_pairs() -> None:
    topology = node({(0, 1): (P.NODE,), (2, 3): (P.PHB,)})
    assert sets(ask(mechanism(topology), topology, 2)) == ["23"]  # one root complex is deeper than one NUMA node


def test_what_the_evidence_leaves_open_is_answered_for_every_possibility() -> None:
    topology = node({(0, 1): (P.PHB, P.NODE), (2, 3): (P.PHB,)})
    answer = ask(mechanism(topology), topology, 2)
    assert sorted(sets(answer)) == ["01", "23"]
    assert answer.admitted is True
    assert answer.outcomes_complete


def test_candidates_on_one_side_of_the_host_bridge_leave_nothing_open() -> None:
    topology = node({(0, 1): (P.PIX, P.PXB, P.PHB), (2, 3): (P.NODE,)})
    assert len(mechanism(topology).ways) == 1
    assert sets(ask(mechanism(topology), topology, 2)) == ["01"]


def test_the_tree_is_read_up_to_the_host_bridge() -> None:
    bridges = (Bridge("pci0000:15", None, "hostBridge"), Bridge("0000:16:00.0", "pci0000:15", "switch"))
    gpus = (
        Gpu("GPU0", parent="0000:16:00.0", minor=0, numa_nodes=(0,), pci="0000:18:00.0"),
        Gpu("GPU1", parent="pci0000:15", minor=1, numa_nodes=(0,), pci="0000:19:00.0"),
        Gpu("GPU2", parent="pci10000:00", minor=2, numa_nodes=(0,), pci="10000:01:00.0"),
    )
    (way,) = devices_of(NodeTopology(gpus=gpus, bridges=bridges)).ways
    assert [one.place for one in way.all] == [Place(0, "pci0000:15"), Place(0, "pci0000:15"), None]


def test_unknown_numa_nodes_and_minors_are_named_assumptions() -> None:
    topology = NodeTopology(gpus=(Gpu("GPU0"), Gpu("GPU1")), pairs=(Pair("GPU0", "GPU1", pcie=P.NODE),))
    notes = [note.text for note in devices_of(topology).assumptions]
    assert len(notes) == 2
    assert notes[0].startswith("device minors unknown")
    assert notes[1].startswith("NUMA node unknown: taken as 0")


EIGHT = node({}, 8, per_numa=4)


def test_the_table_and_the_runners_up_are_told() -> None:
    own = mechanism(EIGHT, table=HOPPER, table_from="built in for H100")
    answer = ask(own, EIGHT, 2, in_use=("GPU0",))
    assert sets(answer) == ["23"]
    assert answer.outcomes[0].score == 102  # 4-7 and two pairs stay whole
    assert answer.why[0] == "partition table: built in for H100, Prefer"
    assert "{2,3} 102, {4,5} 2, {6,7} 2" in answer.why[1]


def test_a_refusal_has_the_word_of_the_scheduler() -> None:
    own = mechanism(EIGHT, table=HOPPER, honor=True)
    answer = ask(own, EIGHT, 4, in_use=("GPU0", "GPU4"))
    assert (answer.admitted, answer.reason) == (False, "Unschedulable")
    assert answer.message == "Insufficient Partitioned GPU Devices"
    assert answer.outcomes == ()


def test_both_readings_of_the_allocation_score_are_told() -> None:
    table = {2: (Partition((0, 1), 1), Partition((4, 5), 5))}
    answer = ask(mechanism(EIGHT, table=table), EIGHT, 2)
    assert sets(answer) == ["01"]
    assert any("as documented it would be {4,5}" in line for line in answer.why)
    one_score = ask(mechanism(EIGHT, table=HOPPER), EIGHT, 2)
    assert not any("documented" in line for line in one_score.why)


def test_a_sequence_takes_whole_gpus_and_shares_parts() -> None:
    own = mechanism(EIGHT, table=HOPPER)
    state = State.of(EIGHT, tuple(gpu.id for gpu in EIGHT.gpus))
    request = Request(4, owner="a")
    after = own.step(state, request, own.answer(state, request).outcomes[0])
    assert after.free == ("GPU4", "GPU5", "GPU6", "GPU7")
    assert own.answer(after, Request(2)).outcomes[0].devices == ("GPU4", "GPU5")
    assert state.free != after.free
    with pytest.raises(ValueError, match="not free: GPU0"):
        own.step(after, request, own.answer(state, request).outcomes[0])


def test_parts_of_a_gpu_fill_it_up() -> None:
    half = {name: amount * 6 / 10 for name, amount in WHOLE_GPU.items()}
    own = mechanism(EIGHT, demand=Demand(Wanted(1, half, shared=True)))
    state = State.of(EIGHT, tuple(gpu.id for gpu in EIGHT.gpus))
    given = []
    for owner in "abc":
        request = Request(1, owner=owner)
        outcome = own.answer(state, request).outcomes[0]
        given.append(outcome.devices[0])
        state = own.step(state, request, outcome)
    assert len(set(given)) == 3
    assert state.free == tuple(gpu.id for gpu in EIGHT.gpus)


def test_a_device_object_makes_a_node_and_has_names_on_another() -> None:
    rows = [Device("gpu", at, WHOLE_GPU, Place(at // 2, "pci0000:15"), f"GPU-{at}") for at in (0, 3)]
    nic = Device("rdma", 1, {}, Place(0, "pci0000:15"), "0000:19:00.0")
    devices = Devices((*rows, nic))
    made = node_of("n", devices)
    assert [(gpu.id, gpu.minor, gpu.numa_nodes) for gpu in made.gpus] == [("GPU0", 0, (0,)), ("GPU3", 3, (1,))]
    assert made.pair("GPU0", "GPU3").cross_numa is True
    other = NodeTopology(
        gpus=(Gpu("GPU7", uuid="GPU-0"), Gpu("GPU0", uuid="GPU-9")), nics=(Nic("mlx5_0", pci="0000:19:00.0"),)
    )
    assert names_on(other, devices) == ({0: "GPU7", 3: "minor 3"}, {1: "mlx5_0"})


def test_whole_gpus_are_what_the_device_plugin_resource_means() -> None:
    own = mechanism(EIGHT, demand=Demand(whole_gpus(2)), table=HOPPER)
    assert sets(ask(own, EIGHT, 2)) == sets(ask(mechanism(EIGHT, table=HOPPER), EIGHT, 2)) == ["01"]
