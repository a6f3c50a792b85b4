"""What NCCL's search finds and what its model makes of it: figures of facts/nccl.md §2.1 (NCCL 2.30.7)."""

from __future__ import annotations

import pytest

from gputopo.nccl import Machine, PathType, Settings, all_reduce, field_of, graphs, ring_bound
from gputopo.nccl.graph import Graph
from gputopo.nccl.machines import machine_of
from tests.nccl.files import (
    AMD,
    GEN3,
    INTEL_ICX,
    cpu,
    element,
    gpu,
    nvswitch_node,
    pci,
    read,
    switch,
    system,
    to_gpu,
)

OFF = Settings(p2p_level=PathType.LOC)


def ring(node: Machine) -> Graph:
    found = graphs(node).ring
    assert found is not None
    return found


def model(node: Machine) -> dict[str, float]:
    return {f"{one.algorithm}/{one.protocol}": round(one.bus_gbps, 1) for one in all_reduce(graphs(node))}


def cross_socket(says: str) -> str:
    """Eight GPUs, two below a switch, two switches a socket."""
    pairs = [switch(n, gpu(2 * n, 86), gpu(2 * n + 1, 86)) for n in range(4)]
    return system(cpu(0, says, *pairs[:2]), cpu(1, says, *pairs[2:]))


@pytest.mark.parametrize(
    ("sm", "links", "channels", "gbps", "nvls"),
    [(90, 18, 12, 30.0, 476.0), (90, 8, 8, 20.0, 178.5), (80, 12, 12, 20.0, None), (100, 18, 16, 45.0, 720.0)],
    ids=["H100", "H800", "A100", "B200"],
)
def test_eight_gpus_on_nvswitches(sm: int, links: int, channels: int, gbps: float, nvls: float | None) -> None:
    node = read(nvswitch_node(sm, links))
    found = ring(node)
    assert (found.channels, found.gbps, found.type) == (channels, gbps, PathType.NVL)
    says = model(node)
    assert says["Ring/Simple"] == channels * gbps
    assert says.get("NVLS/Simple") == nvls


def test_four_a100_joined_pair_by_pair() -> None:
    each = [gpu(n, 80, *(to_gpu(other, 4) for other in range(4) if other != n)) for n in range(4)]
    found = ring(read(system(cpu(0, AMD, *each[:2]), cpu(1, AMD, *each[2:]))))
    assert (found.total_gbps, found.type) == (240.0, PathType.NVL)


def test_pcie_across_two_sockets() -> None:
    assert ring(read(cross_socket(AMD))).total_gbps == 15.0
    intel = cross_socket(INTEL_ICX)
    assert ring(read(intel)).total_gbps == 10.0


def test_without_p2p_gpus_under_one_uplink_share_it() -> None:
    text = system(cpu(0, AMD, switch(0, *(gpu(n, 86) for n in range(4)))))
    assert ring(read(text)).total_gbps == 24.0
    # One way up and one way down each: a quarter, and the next speed below it.
    assert ring(read(text, OFF)).total_gbps == 6.0


def test_an_intel_cpu_costs_a_fifth_of_pcie() -> None:
    two = [gpu(n, 80, speed=GEN3) for n in (0, 1)]
    assert ring(read(system(cpu(0, INTEL_ICX, *two)))).total_gbps == 10.0  # of 12
    assert ring(read(system(cpu(0, AMD, *two)))).total_gbps == 12.0


def test_the_model_of_eight_h100_to_the_printed_digit() -> None:
    assert model(read(nvswitch_node(90, 18))) == {
        "Tree/LL": 76.3, "Tree/LL128": 225.4, "Tree/Simple": 289.8,
        "Ring/LL": 141.0, "Ring/LL128": 331.2, "Ring/Simple": 360.0, "NVLS/Simple": 476.0,
    }  # fmt: skip


def test_the_latency_of_a_ring_is_its_start_and_its_steps() -> None:
    found = {(one.algorithm, one.protocol): one.latency_us for one in all_reduce(graphs(read(nvswitch_node(90, 18))))}
    assert found["Ring", "Simple"] == pytest.approx(8.4 + 14 * 3.4)
    assert found["NVLS", "Simple"] == 25.0


def test_ll128_goes_over_nvlink_only() -> None:
    assert set(model(read(cross_socket(AMD)))) == {"Tree/LL", "Tree/Simple", "Ring/LL", "Ring/Simple"}


def test_no_ring_without_a_way_and_without_a_nic() -> None:
    slow = [pci(f"0000:0{n}:00.0", "0x060400", "2.5 GT/s", gpu(n, 80), width=1) for n in (1, 2)]
    found = graphs(read(system(cpu(0, AMD, *slow))))
    assert found.ring is not None
    assert found.ring.channels == 0
    assert found.ring.why == "Could not find any local path from gpu 0 to net."
    assert all_reduce(found) == ()


def test_a_search_that_is_cut_leaves_the_bound() -> None:
    # Ten GPUs on one socket without P2P: more orders than can be tried.
    text = system(cpu(0, INTEL_ICX, *(switch(n, gpu(2 * n, 80), gpu(2 * n + 1, 80)) for n in range(5))))
    node = read(text, OFF)
    asked = iter([False, True])
    cut = graphs(node, lambda: next(asked, True))
    assert (cut.ring, cut.complete) == (None, False)
    assert cut.bound is not None
    whole = graphs(node)
    assert whole.ring is not None
    assert whole.complete
    assert cut.bound.gbps >= whole.ring.total_gbps


def test_an_island_that_is_left_costs_the_pcie_figure() -> None:
    bridged = [gpu(n, 80, to_gpu(n ^ 1, 12)) for n in range(4)]
    field = field_of(read(system(cpu(0, AMD, *bridged[:2]), cpu(1, AMD, *bridged[2:]))).reach)
    assert ring_bound(field, [0, 1]).gbps == 240.0
    assert ring_bound(field, [0, 1, 2]).gbps <= 24.0
    assert ring_bound(field, [0, 2, 1, 3]) == ring_bound(field, [0, 1, 2, 3])  # islands stay together


def test_seventy_two_gpus_in_one_nvlink_domain() -> None:
    node = machine_of(element(nvswitch_node(100, 18, 72)), is_file=False)
    assert isinstance(node, Machine)
    assert ring(node).total_gbps == 720.0
