"""A node without a topology file: what NCCL would make of it, and what had to be supposed."""

from __future__ import annotations

from pathlib import Path

import pytest

import gputopo
from gputopo.nccl import Machine, Refused, Settings, Way, graphs, machine, paths
from gputopo.topology.node import Gpu, NodeTopology
from tests.nccl.files import (
    AMD,
    INTEL_ICX,
    cpu,
    gpu,
    net,
    nic,
    nvswitch_node,
    read,
    switch,
    system,
    to_gpu,
)


def of_sample(name: str, *gpus: str) -> Machine:
    found = machine(gputopo.load_node(f"sample:{name}"), gpus=gpus or None)
    assert isinstance(found, Machine)
    return found


def ring(node: Machine) -> tuple[float, str]:
    found = graphs(node).ring
    assert found is not None
    return found.total_gbps, found.type.name


def test_gpus_that_share_an_address_are_refused() -> None:
    node = gputopo.load_node("sample:pcie-bridged")
    node = node._replace(gpus=tuple(one._replace(pci="0000:01:00.0") for one in node.gpus))
    found = machine(node)
    assert isinstance(found, Refused)
    assert found.reason == "two GPUs have one PCI address in the evidence"


def test_a_printed_matrix_is_enough_for_nvswitches() -> None:
    node = of_sample("hgx-h100")
    assert {way.gbps for way in paths(node).pairs.values()} == {18 * 20.6}
    assert ring(node) == (360.0, "NVL")
    assert "compute capability taken as 9.0 (not in the evidence; 18 NVLinks)" in node.assumptions


def test_a_third_gpu_outside_of_the_island() -> None:
    assert ring(of_sample("pcie-bridged", "GPU0", "GPU1"))[1] == "NVL"
    assert ring(of_sample("pcie-bridged", "GPU0", "GPU1", "GPU4")) == (10.0, "SYS")


def test_switches_are_made_up_from_the_letters() -> None:
    node = of_sample("pcie-2s-8gpu")
    types = {way.type.name for way in paths(node).pairs.values()}
    assert types == {"PIX", "PXB", "SYS"}
    assert any("made up from the levels" in text for text in node.assumptions)


def test_a_gpu_is_found_by_its_id() -> None:
    node = of_sample("pcie-bridged", "GPU5")
    assert [one.dev for one in node.gpus] == [5]
    assert node.names["GPU5"] == node.gpus[0].busid


@pytest.mark.parametrize(
    "text",
    [
        nvswitch_node(90, 18),
        system(
            cpu(0, AMD, switch(0, gpu(0, 80), gpu(1, 80), nic(0, net(0, 100_000)))),
            cpu(1, AMD, gpu(2, 80), gpu(3, 80)),
        ),
        system(cpu(0, INTEL_ICX, *(gpu(n, 80, to_gpu(n ^ 1, 4)) for n in range(4)))),
    ],
    ids=["NVSwitch", "PCIe", "bridges"],
)
def test_the_node_read_from_a_file_answers_as_the_file(text: str, tmp_path: Path) -> None:
    file = tmp_path / "topo.xml"
    file.write_text(text)
    from_node, from_file = machine(gputopo.load_node(str(file))), read(text)
    assert isinstance(from_node, Machine)
    assert pairs(from_node) == pairs(from_file)
    assert ring(from_node) == ring(from_file)


def pairs(node: Machine) -> dict[tuple[str, str], Way]:
    return {(node.gpus[a].busid, node.gpus[b].busid): way for (a, b), way in paths(node).pairs.items()}


def test_nothing_known_but_two_gpus() -> None:
    node = machine(NodeTopology(gpus=(Gpu("GPU0"), Gpu("GPU1"))), Settings())
    assert isinstance(node, Machine)
    assert [one.busid for one in node.gpus] == ["ffff:00:00.0", "ffff:01:00.0"]
    said = "\n".join(node.assumptions)
    for word in ("compute capability", "NVLinks of GPU0", "PCIe taken as generation", "the CPU is not known"):
        assert word in said


def test_no_gpu_of_nvidia() -> None:
    assert not isinstance(machine(NodeTopology(gpus=(Gpu("GPU0", vendor="amd"),))), Machine)
    assert not isinstance(machine(NodeTopology()), Machine)
