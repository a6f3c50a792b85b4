"""A node with its GB/s: pairs, the set that was asked for, all sets of a size, what leaving an island costs."""

from __future__ import annotations

from math import comb

import pytest

import gputopo
from gputopo.nccl.bandwidth import with_bandwidth
from gputopo.nccl.set_shapes import Shapes
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import Gpu, Islands, NodeTopology, Pair
from tests.nccl.files import AMD, INTEL_SPR, cpu, gpu, switch, system, to_gpu
from tests.nccl.test_rates import node_of


def two_roots_a_socket() -> NodeTopology:
    """Sixteen cards like L20 servers: two switches on each of two Sapphire Rapids, four cards below each."""
    cards = [switch(n, *(gpu(4 * n + k, 89) for k in range(4))) for n in range(4)]
    return node_of(system(cpu(0, INTEL_SPR, *cards[:2]), cpu(1, INTEL_SPR, *cards[2:])))


def test_pairs_have_the_gbps_of_their_path() -> None:
    node = with_bandwidth(gputopo.load_node("sample:pcie-bridged")).node
    # NV4 of GA102: 4 x 12; PCIe gen4 x16: 24; between Skylake's sockets 10 (facts/nccl.md §2).
    found = {(pair.level, pair.bandwidth_gbytes) for pair in node.pairs if pair.b.startswith("GPU")}
    assert found == {("NV4", 48.0), ("NODE", 24.0), ("SYS", 10.0)}
    assert all(pair.bandwidth_gbytes is None for pair in node.pairs if pair.b.startswith("NIC"))


def test_a_set_that_leaves_its_island() -> None:
    answer = with_bandwidth(gputopo.load_node("sample:pcie-bridged"), ("GPU0", "GPU1", "GPU4"))
    asked, better, inside = answer.node.sets
    assert (asked.role, asked.gbytes, asked.shape) == ("asked", 10.0, "sockets 2+1, NVLink islands 2+1")
    assert asked.leaves == (("GPU0", "GPU1"), ("GPU4", "GPU5"))
    assert (better.role, better.gpus, better.gbytes, better.times) == ("ranked", ("GPU0", "GPU1", "GPU2"), 20.0, 8)
    assert (inside.role, inside.gpus, inside.gbytes, inside.leaves) == ("island", ("GPU0", "GPU1"), 40.0, ())
    assert not answer.cut


def test_what_is_supposed_is_among_the_assumptions_and_what_is_not_known_has_a_reason() -> None:
    node = with_bandwidth(gputopo.load_node("sample:pcie-bridged"), ("GPU0", "GPU1")).node
    assert any("compute capability taken as 8.6" in note.text for note in node.assumptions)
    assert node.sets[0].ceiling_gbytes is None
    [note] = [note for note in node.unknown if note.attribute == "ceilingGBps"]
    assert (note.subjects, note.reason) == (("GPU0", "GPU1"), "the rate of an NVLink is not in the evidence")
    assert note.settled_by


def test_with_the_whole_evidence_there_is_a_ceiling() -> None:
    each = [gpu(n, 86, to_gpu(n ^ 1, 4)) for n in range(4)]
    node = with_bandwidth(node_of(system(cpu(0, AMD, *each[:2]), cpu(1, AMD, *each[2:]))), count=2).node
    pair = node.sets[0]
    assert (pair.gpus, pair.times, pair.ceiling_gbytes) == (("GPU0", "GPU1"), 2, 56.25)
    assert [one.ceiling_gbytes for one in node.sets if one.leaves] == [31.508]
    assert not [note for note in node.unknown if note.attribute in ("gbps", "ceilingGBps")]


@pytest.mark.parametrize("size", [2, 3, 8])
def test_every_set_of_a_size_is_in_one_group(size: int) -> None:
    node = with_bandwidth(gputopo.load_node("sample:pcie-2s-8gpu"), count=size).node
    assert sum(one.times for one in node.sets) == comb(8, size)
    assert len({one.gpus for one in node.sets}) == len(node.sets)


def test_inside_one_socket_is_not_enough() -> None:
    """Four below one switch reach 24, four of one socket below two switches do not."""
    sets = with_bandwidth(two_roots_a_socket(), count=4).node.sets
    best = sets[0]
    assert (best.gpus, best.times, best.gbytes) == (("GPU0", "GPU1", "GPU2", "GPU3"), 4, 24.0)
    one_socket = [one for one in sets if one.shape.startswith("NUMA nodes 4,") and one is not best]
    assert one_socket
    assert all((one.gbytes or 0) < 24.0 for one in one_socket)


def test_two_amd_gpus_use_p2p_where_more_do_not() -> None:
    """NCCL joins two GPUs of an AMD machine by P2P at any distance: ranked as the communicator of two that they are."""
    sets = with_bandwidth(node_of(system(cpu(0, AMD, gpu(0, 89)), cpu(1, AMD, gpu(1, 89)))), count=2).node.sets
    assert [(one.times, one.gbytes) for one in sets] == [(1, 15.0)]


def test_a_search_without_time_leaves_its_bound() -> None:
    answer = with_bandwidth(two_roots_a_socket(), expired=lambda: True)
    [asked] = answer.node.sets
    assert answer.cut
    assert asked.is_bound
    assert asked.gbytes == 20.0  # from switch to switch through an Intel CPU: 24 / 1.2


def test_a_ranking_without_time_says_so() -> None:
    answer = with_bandwidth(two_roots_a_socket(), count=8, expired=lambda: True)
    assert answer.cut
    assert 0 < sum(one.times for one in answer.node.sets) < comb(16, 8)
    assert all(one.is_bound for one in answer.node.sets)


def test_gpus_of_another_vendor_and_a_gpu_alone() -> None:
    for node, why in (
        (NodeTopology(gpus=tuple(Gpu(f"GPU{n}", vendor="amd") for n in (0, 1))), "GPU0, GPU1 no GPU of NVIDIA"),
        (NodeTopology(), "the node has no GPU"),
        (NodeTopology(gpus=(Gpu("GPU0"),)), "one GPU has nobody to send to"),
    ):
        made = with_bandwidth(node).node
        assert made.sets == ()
        assert why in made.unknown[-1].reason
        assert made.unknown[-1].attribute == "bandwidthGBps"


def test_a_shape_says_nothing_of_levels_that_are_open() -> None:
    gpus = tuple(Gpu(f"GPU{n}") for n in range(3))
    islands = Islands(pcie_root=(("GPU0", "GPU1"),))

    def shape(level: PathLevel | None, *candidates: PathLevel) -> str:
        far = [Pair(f"GPU{a}", "GPU2", "SYS", PathLevel.SYS, nvlinks=0) for a in (0, 1)]
        near = Pair("GPU0", "GPU1", None, level, candidates, nvlinks=0)
        return Shapes(NodeTopology(gpus=gpus, islands=islands, pairs=(near, *far))).of((0, 1))

    assert shape(PathLevel.PHB) == "PCIe roots 2"
    assert shape(None, PathLevel.PIX, PathLevel.PHB) == "PCIe roots 2"
    assert shape(None, PathLevel.PHB, PathLevel.NODE) == "all sets are alike"
