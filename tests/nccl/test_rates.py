"""What a set should reach and what it cannot exceed. Values: facts/nccl.md §2.1 and the reports it names."""

from __future__ import annotations

import pytest

import gputopo
from gputopo.evidence.piece import Piece
from gputopo.inspection import nodes
from gputopo.nccl import rates
from gputopo.nccl.ceiling import ceiling
from gputopo.topology.node import Gpu, Link, NodeTopology, NvLinks, Pair, Pcie
from tests.nccl.files import AMD, GEN4, GEN5, cpu, gpu, nvswitch_node, switch, system, to_gpu


def node_of(text: str) -> NodeTopology:
    [node] = nodes([Piece("topo.xml", data=text.encode())])
    return node


def first(count: int) -> list[str]:
    return [f"GPU{n}" for n in range(count)]


def bridged(sm: int = 80, links: int = 12, speed: str = GEN4) -> NodeTopology:
    each = [gpu(n, sm, to_gpu(n ^ 1, links), speed=speed) for n in range(4)]
    return node_of(system(cpu(0, AMD, *each[:2]), cpu(1, AMD, *each[2:])))


@pytest.mark.parametrize(
    ("sm", "links", "count", "ring", "widest"),
    [
        (80, 12, 8, 300.0, 300.0),  # A100 has no NVLS
        (90, 18, 8, 478.125, 836.719),
        (90, 18, 5, 478.125, 765.0),
        (90, 18, 2, 478.125, 478.125),
        (90, 8, 8, 212.5, 371.875),
        (100, 18, 8, 956.25, 1673.438),
    ],
)
def test_the_ceiling_of_gpus_on_nvswitches(sm: int, links: int, count: int, ring: float, widest: float) -> None:
    node = node_of(nvswitch_node(sm, links))
    assert ceiling(node, first(count)).gbps == widest
    assert ceiling(node, first(count), algorithms=("Ring",)).gbps == ring
    assert ceiling(node, first(count), version=(2, 16, 5)).gbps == ring, "NVLS came with 2.17"


def test_the_basis_names_the_algorithm_and_where_a_ring_ends() -> None:
    basis = ceiling(node_of(nvswitch_node(90, 18)), first(8)).basis
    assert basis == (
        "wire rate of NVLS, each GPU sends and receives once: 2(n-1)/n of 18 NVLinks x 26.5625 GB/s = 478.125 "
        "into the NVSwitches (GPU0); a ring ends at 478.1"
    )


def test_a_third_gpu_outside_of_the_pair() -> None:
    node = bridged()
    assert ceiling(node, first(2)).gbps == 300.0
    assert ceiling(node, first(3)) == (
        42.011,
        "wire rate of any algorithm that reduces in GPUs (Tree): PCIe gen4 x16 = 31.508 GB/s out of GPU2; "
        "a ring ends at 31.5",
    )
    # Two pairs: 63 GB/s leave each, and what all of them take in is no closer limit.
    assert ceiling(node, first(4), algorithms=("Ring",)).gbps == 63.016


@pytest.mark.parametrize(("speed", "gbps"), [(GEN4, 31.508), (GEN5, 63.015)])
def test_pcie_alone(speed: str, gbps: float) -> None:
    node = node_of(system(cpu(0, AMD, *(gpu(n, 89, speed=speed) for n in range(4)))))
    assert ceiling(node, first(4)).gbps == pytest.approx(gbps, abs=0.001)


def test_lanes_are_what_the_slot_has_now_and_the_generation_what_it_can() -> None:
    slot = Pcie(1, 8, 4, 16)  # idle, and in a slot of 8 lanes
    gpus = tuple(Gpu(f"GPU{n}", n, pcie=slot, nvlinks=NvLinks(0, 0, None)) for n in (0, 1))
    assert ceiling(NodeTopology(gpus=gpus), first(2)).gbps == 15.754


def two(**more: object) -> NodeTopology:
    gpus = tuple(Gpu(f"GPU{n}", n, nvlinks=NvLinks(4, 4, "direct"), **more) for n in (0, 1))  # type: ignore[arg-type]
    return NodeTopology(gpus=gpus, pairs=(Pair("GPU0", "GPU1", "NV4", nvlinks=4, via_switch=False),))


@pytest.mark.parametrize(
    ("node", "why"),
    [
        (two(), "the rate of an NVLink is not in the evidence"),
        (two(architecture="Ampere"), "the rate of an NVLink is not in the evidence"),
        (NodeTopology(gpus=(Gpu("GPU0"), Gpu("GPU1"))), "where the NVLinks end is not in the evidence"),
        (NodeTopology(gpus=tuple(Gpu(f"GPU{n}", nvlinks=NvLinks(0, 0, None)) for n in (0, 1))),
         "PCIe generation and lanes are not in the evidence"),
    ],
)  # fmt: skip
def test_what_is_not_in_the_evidence_is_no_ceiling(node: NodeTopology, why: str) -> None:
    assert ceiling(node, first(2)) == (None, f"not known: {why}")


def test_a_chip_is_known_by_its_model_or_its_links_by_what_the_driver_prints() -> None:
    assert ceiling(two(name="NVIDIA A40"), first(2)).gbps == 56.25  # 112.5 GB/s both ways
    links = tuple(Link(n, "active", 14.062, f"GPU{1}", "gpu") for n in range(4))
    back = tuple(link._replace(remote="GPU0") for link in links)
    gpus = (Gpu("GPU0", 0, links=links), Gpu("GPU1", 1, links=back))
    assert ceiling(NodeTopology(gpus=gpus), first(2)).gbps == 56.248


def test_unknown_chips_on_nvswitches_may_reduce_there() -> None:
    links = tuple(Link(n, "active", 26.562, None, "switch") for n in range(18))
    node = NodeTopology(gpus=tuple(Gpu(f"GPU{n}", n, links=links) for n in (0, 1)))
    assert ceiling(node, first(2)).gbps is None
    assert ceiling(node, first(2), algorithms=("Ring", "Tree")).gbps == pytest.approx(18 * 26.562)


@pytest.mark.parametrize(
    ("sm", "links", "count", "allowed", "expected"),
    [
        (90, 18, 8, None, 480.0),
        (90, 18, 8, ("Ring",), 367.0),
        (90, 18, 6, None, 440.0),
        (90, 18, 3, None, 367.0),
        (90, 8, 8, None, 215.0),
        (100, 18, 8, None, 830.0),
        (100, 18, 4, ("Ring",), 679.6),
        (103, 18, 8, None, 845.0),
        (103, 18, 8, ("Ring", "Tree"), 695.0),
        (80, 12, 8, None, 230.0),
    ],
)
def test_a_published_figure_goes_before_the_model(
    sm: int, links: int, count: int, allowed: tuple[str, ...] | None, expected: float
) -> None:  # fmt: skip
    found = rates(node_of(nvswitch_node(sm, links)), first(count), algorithms=allowed)
    assert found.expected == expected
    assert found.basis.startswith("published for ")
    assert "https://" in found.basis


def test_no_figure_for_the_class_is_the_models_turn() -> None:
    found = rates(node_of(nvswitch_node(80, 12)), first(4))
    assert (found.expected, found.basis) == (240.0, "NCCL 2.30.7's own model: Ring Simple")
    found = rates(bridged(), first(3))
    assert found.expected == 15.0
    assert found.expected < (found.ceiling or 0)


def test_nobody_publishes_for_a_chip_that_is_only_supposed() -> None:
    found = rates(gputopo.load_node("sample:hgx-h100"), first(8))
    assert "which this is only supposed to be" in found.basis
    assert any("compute capability taken as 9.0" in text for text in found.assumptions)
    assert found.ceiling is None


def test_time_that_is_up_leaves_the_bound_and_says_so() -> None:
    cards = [switch(n, gpu(2 * n, 89), gpu(2 * n + 1, 89)) for n in range(4)]
    found = rates(node_of(system(cpu(0, AMD, *cards[:2]), cpu(1, AMD, *cards[2:]))), first(8), expired=lambda: True)
    assert found.cut
    assert found.expected == 16.0  # between AMD's NUMA nodes, one hop each way; NCCL's ring is 15
    assert "no more than this" in found.basis


@pytest.mark.parametrize("gpus", [(), ("GPU0",)])
def test_a_gpu_alone_has_neither(gpus: tuple[str, ...]) -> None:
    found = rates(bridged(), gpus)
    assert (found.expected, found.ceiling) == (None, None)
    assert found.basis == found.ceiling_basis == "one GPU has nobody to send to"


def test_gpus_of_another_vendor() -> None:
    node = NodeTopology(gpus=tuple(Gpu(f"GPU{n}", vendor="amd") for n in (0, 1)))
    assert rates(node, first(2)).basis == "not known: GPU0, GPU1 no GPU of NVIDIA"
