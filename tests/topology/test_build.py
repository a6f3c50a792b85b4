"""One node from its sources: joins, conflicts, levels, NVLinks, sockets."""

from __future__ import annotations

import itertools

import pytest

from gputopo.records import (
    GpuRecord,
    Key,
    LinkRecord,
    NicRecord,
    NodeRecords,
    NumaNodeRecord,
    PackageRecord,
)  # fmt: skip
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.path_level import PathLevel
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Unknown
from gputopo.topology.build import NotOneNode
from tests.topology.records import node, topo

FOUR = """
GPU0 X   NV2 SYS SYS
GPU1 NV2 X   SYS SYS
GPU2 SYS SYS X   NV2
GPU3 SYS SYS NV2 X
"""


def address(text: str) -> PciAddress:
    found = PciAddress.parse(text)
    assert found is not None
    return found


def sysfs(numa: tuple[int, ...] = (0, 0, 1, 1), roots: tuple[str, ...] = ("00", "00", "80", "80")) -> NodeRecords:
    """Four GPUs, each on a root port of its own."""
    gpus = tuple(
        GpuRecord(
            f"0000:{at + 1:02x}:00.0", (Key("pci", f"0000:{at + 1:02x}:00.0"),), pci=address(f"{at + 1:02x}:00.0"),
            numa_nodes=(numa[at],), chain=(f"pci0000:{root}", f"0000:{root}:{at + 1:02x}.0"),
        )
        for at, root in enumerate(roots)
    )  # fmt: skip
    return NodeRecords("sysfs-root", grain="sysfs", gpus=gpus, gpus_complete=True)


def test_pairs_of_one_matrix_keep_letters_links_and_order() -> None:
    made = node(topo(FOUR, numa=(0, 0, 1, 1)))
    assert [pair.level for pair in made.pairs] == ["NV2", "SYS", "SYS", "SYS", "SYS", "NV2"]
    assert made.pair("GPU1", "GPU0").nvlinks == 2
    assert made.pair("GPU0", "GPU2").nvlinks == 0
    assert made.islands.nvlink == (("GPU0", "GPU1"), ("GPU2", "GPU3"))
    assert made.pair("GPU0", "GPU1").via_switch is False  # other peers have none: a cable, not a fabric


def test_a_uniform_mesh_of_more_links_than_a_gpu_has_is_a_fabric() -> None:
    text = "\n".join(f"GPU{a} " + " ".join("X" if a == b else "NV18" for b in range(8)) for a in range(8))
    made = node(topo(text))
    assert {pair.via_switch for pair in made.pairs} == {True}
    assert made.gpus[0].nvlinks is not None
    assert made.gpus[0].nvlinks.active == 18


def test_a_pair_that_could_be_either_is_left_open() -> None:
    made = node(topo("GPU0 X NV12\nGPU1 NV12 X"))
    assert made.pairs[0].via_switch is None


def test_sysfs_and_topo_join_by_order_as_a_named_assumption() -> None:
    made = node(sysfs(), topo(FOUR, numa=(0, 0, 1, 1)))
    assert len(made.gpus) == 4
    assert made.gpu("GPU2").pci == "0000:03:00.0"
    assert made.pair("GPU0", "GPU1").level == "NV2"
    assert made.pair("GPU0", "GPU1").pcie is PathLevel.PHB
    assert made.pair("GPU0", "GPU1").pcie_basis == "tree"
    assert any("PCI order" in assumption.text for assumption in made.assumptions)
    assert not made.conflicts


def test_one_contradiction_cancels_a_weak_join() -> None:
    with pytest.raises(NotOneNode, match="numaNodes of GPU0"):
        node(sysfs(), topo(FOUR, numa=(1, 0, 1, 1)))


def test_a_different_count_cancels_a_weak_join() -> None:
    with pytest.raises(NotOneNode, match="2 GPUs here, 4 in the other"):
        node(sysfs(), topo("GPU0 X PHB\nGPU1 PHB X"))


def test_forced_the_same_contradiction_is_one_conflict() -> None:
    made = node(sysfs(), topo(FOUR, numa=(1, 0, 1, 1)), forced=True)
    assert [(conflict.subjects, conflict.attribute) for conflict in made.conflicts] == [(("GPU0",), "numaNodes")]
    assert made.gpu("GPU0").numa_nodes == (0,)
    assert any(seen.kind == "sources-not-one-node" for seen in made.observations)


def test_the_order_of_the_sources_is_irrelevant() -> None:
    records = [sysfs(), topo(FOUR, numa=(0, 0, 1, 1)), topo(FOUR.replace("NV2", "PHB"), command="mp")]
    made = [node(*order) for order in itertools.permutations(records)]
    assert all(one.pairs == made[0].pairs and one.gpus == made[0].gpus for one in made)


def test_a_disputed_numa_node_decides_no_level() -> None:
    """sysfs says node 0, the tree's file says node 1: one conflict, not one per pair."""
    nccl = NodeRecords(
        "nccl-xml", grain="nccl", gpus_complete=True,
        gpus=tuple(
            GpuRecord(gpu.label, gpu.keys, pci=gpu.pci, numa_nodes=(numa,), chain=(f"cpu:{numa}",))
            for gpu, numa in zip(sysfs().gpus or (), (1, 0, 1, 1))
        ),
    )  # fmt: skip
    made = node(sysfs(), nccl)
    assert [(conflict.subjects, conflict.attribute) for conflict in made.conflicts] == [(("GPU0",), "numaNodes")]


def test_disjoint_numa_nodes_mean_sys_behind_nvlink() -> None:
    made = node(topo("GPU0 X NV4\nGPU1 NV4 X", numa=(0, 1)))
    assert (made.pairs[0].pcie, made.pairs[0].pcie_basis) == (PathLevel.SYS, "numa")


def test_the_same_numa_node_does_not_exclude_sys() -> None:
    made = node(topo("GPU0 X NV4\nGPU1 NV4 X", numa=(0, 0)))
    assert made.pairs[0].pcie is None
    assert PathLevel.SYS in made.pairs[0].pcie_candidates
    assert any(note.attribute == "pcie" and "GPU0-GPU1" in note.subjects for note in made.unknown)


def test_one_falsified_half_convicts_the_matrix() -> None:
    made = node(topo("GPU0 X PIX SYS\nGPU1 SYS X SYS\nGPU2 SYS SYS X"))
    assert [seen.subjects for seen in made.observations if seen.kind == "matrix-not-symmetric"] == [("GPU0", "GPU1")]
    assert made.pairs[0].level is None


def test_a_level_that_breaks_the_ultrametric_convicts_the_matrix() -> None:
    made = node(topo("GPU0 X PIX SYS\nGPU1 PIX X NODE\nGPU2 SYS NODE X"))
    assert any(seen.kind == "matrix-contradicts-itself" for seen in made.observations)
    assert made.conflicts


def test_mp_alone_does_not_tell_nvlinks() -> None:
    made = node(topo(FOUR.replace("NV2", "NODE"), command="mp"))
    pair = made.pair("GPU0", "GPU1")
    assert (pair.level, pair.pcie, pair.nvlinks) == (None, PathLevel.NODE, None)
    assert any(note.attribute == "nvlinks" for note in made.unknown)


def test_both_halves_of_a_direct_link_are_counted() -> None:
    """Far ends name the peer: two cables there and one back are one-sided."""

    def gpu(at: int, peer: int, links: int) -> GpuRecord:
        far = address(f"{peer:02x}:00.0")
        own = tuple(LinkRecord(number, "active", 25.0, far, "gpu") for number in range(links))
        text = f"0000:{at:02x}:00.0"
        return GpuRecord(text, (Key("pci", text),), nvml_index=at, pci=address(text), links=own)

    good = node(NodeRecords("nvml-recording", gpus=(gpu(0, 1, 2), gpu(1, 0, 2))))
    assert (good.pairs[0].nvlinks, good.pairs[0].via_switch) == (2, False)
    assert good.pairs[0].links[0].gbps_per_link == 25.0
    bad = node(NodeRecords("nvml-recording", gpus=(gpu(0, 1, 2), gpu(1, 0, 1))))
    assert bad.pairs[0].nvlinks is None
    assert [seen.kind for seen in bad.observations] == ["one-sided-nvlink"]


def test_sockets_come_from_packages_never_from_numa_nodes() -> None:
    """Two NUMA nodes in one package: crosses NUMA, not sockets. Without packages: not known."""
    cpus = ("0-7", "0-7", "8-15", "8-15")
    numa = (0, 0, 1, 1)
    alone = node(topo(FOUR, numa, cpus))
    assert alone.pair("GPU0", "GPU2").cross_numa is True
    assert alone.pair("GPU0", "GPU2").cross_package is None
    assert any(note.attribute == "packages" for note in alone.unknown)
    nodes = tuple(NumaNodeRecord(n, cpus=CpuSet.parse_list(f"{8 * n}-{8 * n + 7}")) for n in (0, 1))
    lscpu = NodeRecords("lscpu", numa_nodes=nodes, packages=(PackageRecord(0, CpuSet.parse_list("0-15")),))
    together = node(topo(FOUR, numa, cpus), lscpu)
    assert together.pair("GPU0", "GPU2").cross_package is False
    assumed = node(topo(FOUR, numa, cpus), sockets="numa")
    assert assumed.pair("GPU0", "GPU2").cross_package is True
    assert any("sockets=numa" in assumption.text for assumption in assumed.assumptions)


def test_a_cut_cpu_list_agrees_with_the_full_one() -> None:
    full = sysfs()
    gpus = tuple(gpu._replace(cpus=CpuSet.parse_list("0-7,16-23,32-39")) for gpu in full.gpus or ())
    made = node(full._replace(gpus=gpus), topo(FOUR, cpus=("0-7,16-23",) * 4))
    assert str(made.gpus[0].cpus) == "0-7,16-23,32-39"
    assert made.gpus[0].cpus_complete is True
    assert not made.conflicts


def test_a_gpu_numa_id_that_is_the_cpu_node_is_doubtful() -> None:
    records = topo("GPU0 X", numa=(1,))
    gpu = records.gpus[0]._replace(memory_numa_node=1)  # type: ignore[index]
    made = node(records._replace(gpus=(gpu,)))
    assert made.gpus[0].memory_numa_node is None
    assert any(note.attribute == "memoryNumaNode" for note in made.unknown)


def test_what_one_source_does_not_know_another_may() -> None:
    records = topo("GPU0 X", numa=(1,))
    gpu = records.gpus[0]._replace(numa_nodes=Unknown("nvidia-smi printed N/A"))  # type: ignore[index]
    alone = node(records._replace(gpus=(gpu,)))
    assert alone.gpus[0].numa_nodes is None
    assert any(note.reason == "nvidia-smi printed N/A" for note in alone.unknown)


def test_nearest_nics_keep_ties() -> None:
    made = node(topo("GPU0 X PIX PIX SYS\nNIC0 PIX X PIX SYS\nNIC1 PIX PIX X SYS\nNIC2 SYS SYS SYS X"))
    assert made.gpus[0].nearest_nics == ("NIC0", "NIC1")


def test_a_nic_is_joined_by_its_device_name() -> None:
    records = topo("GPU0 X PIX\nNIC0 PIX X")
    named = records._replace(nics=(NicRecord("NIC0", (Key("name", "mlx5_3"),), device="mlx5_3"),))
    tree = NodeRecords(
        "sysfs-root", grain="sysfs",
        nics=(NicRecord("0000:05:00.0", (Key("pci", "0000:05:00.0"), Key("name", "mlx5_3")),
                        device="mlx5_3", pci=address("05:00.0")),),
    )  # fmt: skip
    made = node(named, tree)
    assert made.nics is not None
    assert [(nic.id, nic.pci, nic.aliases) for nic in made.nics] == [("NIC0", "0000:05:00.0", ("mlx5_3",))]
