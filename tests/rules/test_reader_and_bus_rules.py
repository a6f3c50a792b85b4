"""GT010-GT031: what the reader could not see, what is odd on the bus, and when nothing is said of it."""

from __future__ import annotations

import pytest

from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import (
    Bridge,
    Gpu,
    Nic,
    NodeTopology,
    NoteUnknown,
    NumaNode,
    NvLinks,
)

from .nodes import all_pairs, found, node, observing, says, seen

# GT010


def test_minus_one_in_sysfs_is_a_warning_though_nvidia_smi_knows_the_node() -> None:
    gpus = (Gpu("GPU0", pci="0000:3b:00.0", numa_nodes=(0,)), Gpu("GPU1", pci="0000:af:00.0", numa_nodes=(1,)))
    told = (seen("pci-numa-node-minus-one", "GPU0"), seen("pci-numa-node-minus-one", "0000:af:00.0"))
    [finding] = found("GT010", NodeTopology(gpus=gpus, observations=told))
    assert (finding.severity, finding.subjects) == ("warning", ("GPU0", "GPU1"))
    assert says(finding, "-1")
    assert says(finding, "numa_node")
    assert says(finding, "TopologyInfo")
    assert says(finding, "Topology Manager")
    assert len(finding.evidence) == 2


def test_minus_one_on_a_machine_with_one_numa_node_is_harmless() -> None:
    one = (NumaNode("NUMA0", 0, "cpu", CpuSet.parse_list("0-7"), None),)
    [finding] = found("GT010", observing(seen("pci-numa-node-minus-one", "GPU0"), gpus=1, numa_nodes=one))
    assert finding.severity == "info"
    assert says(finding, "changes nothing")


def test_minus_one_of_a_nic_is_no_finding_about_gpus() -> None:
    assert found("GT010", observing(seen("pci-numa-node-minus-one", "NIC0"), gpus=2)) == ()


def test_a_numa_node_that_the_text_does_not_tell_is_information_with_the_reason() -> None:
    note = NoteUnknown(("GPU0",), "numaNodes", "NUMA Affinity is N/A", "sysfs numa_node")
    [finding] = found("GT010", node(Gpu("GPU0"), unknown=(note,)))
    assert finding.severity == "info"
    assert "NUMA Affinity is N/A" in finding.message
    assert says(finding, "sysfs numa_node")


def test_a_lost_row_is_not_also_an_unknown_numa_node() -> None:
    lost = (seen("row-missing", "GPU1"),)
    assert found("GT010", node(Gpu("GPU0", numa_nodes=(0,)), Gpu("GPU1"), observations=lost)) == ()


# GT011


def test_a_nic_outside_the_tree_is_named_only_where_a_tree_is_described() -> None:
    nics = (Nic("NIC0", parent="0000:00:01.0"), Nic("eth0"), Nic("siw0", "siw0"))
    told = (seen("software-rdma-device", "siw0"),)
    [finding] = found("GT011", NodeTopology(nics=nics, observations=told))
    assert finding.subjects == ("eth0",)
    matrix_only = NodeTopology(gpus=(Gpu("GPU0"),), nics=(Nic("NIC0"),))
    assert found("GT011", matrix_only) == ()


# GT012


def test_an_empty_cpu_cell_beside_a_numa_node_is_the_readers_cpuset() -> None:
    gpus = (Gpu("GPU0", numa_nodes=(0,), cpus=CpuSet.parse_list("0-63")), Gpu("GPU1", numa_nodes=(1,), cpus=CpuSet()))
    [finding] = found("GT012", node(*gpus))
    assert (finding.severity, finding.subjects) == ("warning", ("GPU1",))
    assert says(finding, "cpuset")
    assert says(finding, "affinity")


def test_an_empty_cell_counts_although_another_source_gives_the_whole_list() -> None:
    gpu = Gpu("GPU0", numa_nodes=(1,), cpus=CpuSet.parse_list("48-95"), cpus_complete=True)
    [finding] = found("GT012", node(gpu, observations=(seen("empty-cpu-cell", "GPU0"),)))
    assert finding.subjects == ("GPU0",)
    assert finding.severity == "warning"


@pytest.mark.parametrize(("allowed", "severity"), [("0-7", "warning"), ("40-55", "info"), ("0-95", None), (None, None)])
def test_the_readers_own_cpus_are_compared_with_the_gpus(allowed: str | None, severity: str | None) -> None:
    gpu = Gpu("GPU0", numa_nodes=(1,), cpus=CpuSet.parse_list("48-95"), cpus_complete=True)
    cpus = None if allowed is None else CpuSet.parse_list(allowed)
    findings = found("GT012", node(gpu, allowed_cpus=cpus))
    assert [f.severity for f in findings] == ([severity] if severity else [])
    for finding in findings:
        assert says(finding, "cpuset")
        assert f"allowed are {allowed}" in finding.message


def test_a_list_that_a_cpuset_narrowed_is_information() -> None:
    note = NoteUnknown(("GPU0",), "cpus", "a cpuset narrowed the list to 64-71", "sysfs local_cpulist")
    gpu = Gpu("GPU0", numa_nodes=(1,), cpus=CpuSet.parse_list("64-71"))
    [finding] = found("GT012", node(gpu, unknown=(note,)))
    assert (finding.severity, finding.subjects) == ("info", ("GPU0",))


def test_an_empty_list_is_no_matter_where_the_numa_node_has_no_cpus_or_is_unknown() -> None:
    memory = (NumaNode("NUMA2", 2, "gpu-memory", CpuSet(), ()),)
    assert found("GT012", node(Gpu("GPU0", numa_nodes=(2,), cpus=CpuSet()), numa_nodes=memory)) == ()
    assert found("GT012", node(Gpu("GPU0", cpus=CpuSet()))) == ()


# GT013


def test_a_flat_guest_is_a_warning_that_names_the_topology_file() -> None:
    gpus = tuple(Gpu(f"GPU{n}") for n in range(4))
    flat = all_pairs(("GPU0", "GPU1", "GPU2", "GPU3", "NIC0"), PathLevel.PHB)
    [finding] = found("GT013", node(*gpus, nics=(Nic("NIC0"),), pairs=flat, virtual=True))
    assert finding.severity == "warning"
    assert says(finding, "virtual machine")
    assert says(finding, "NCCL_TOPO_FILE")
    assert says(finding, "pxb")
    shaped = (*flat[:-1], flat[-1]._replace(pcie=PathLevel.PIX))
    [finding] = found("GT013", node(*gpus, nics=(Nic("NIC0"),), pairs=shaped, virtual=True))
    assert finding.severity == "info"
    assert says(finding, "NCCL_TOPO_FILE")


@pytest.mark.parametrize(
    ("virtual", "vendor", "device", "expected"),
    [
        (None, "0x1b36", "0x000c", 1),
        (None, "0x104c", "0x8232", 1),
        (None, "0x104c", "0x8233", 0),
        (None, "0x10b5", "0x8796", 0),
        (False, "0x1b36", "0x000c", 0),
    ],
)
def test_bridges_of_qemu_tell_a_guest_unless_a_source_denies_it(
    virtual: bool | None, vendor: str, device: str, expected: int
) -> None:
    bridges = (Bridge("0000:00:01.0", None, "bridge", vendor, device),)
    assert len(found("GT013", node(Gpu("GPU0"), bridges=bridges, virtual=virtual))) == expected


# GT015


def test_a_lint_finding_names_the_element() -> None:
    [finding] = found("GT015", observing(seen("nccl-unknown-speed", "0000:0f:00.0")))
    assert "0000:0f:00.0" in finding.message


def test_version_2_is_right_for_a_file_of_rccl() -> None:
    told = (seen("nccl-version-not-1", text='version="2"'),)
    [finding] = found("GT015", node(Gpu("GPU0", vendor="amd"), observations=told))
    assert finding.severity == "info"
    [finding] = found("GT015", node(Gpu("GPU0", vendor="amd"), Gpu("GPU1", vendor="nvidia"), observations=told))
    assert finding.severity == "error"


# GT016


def test_a_gpu_bound_to_vfio_is_found_by_its_driver_too() -> None:
    [finding] = found("GT016", node(Gpu("GPU0", driver="nvidia"), Gpu("GPU1", driver="vfio-pci"), Gpu("GPU2")))
    assert (finding.severity, finding.subjects) == ("info", ("GPU1",))


# GT031


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        ([Gpu(f"GPU{n}", nvlinks=NvLinks(18, 18, "switch")) for n in range(2)], 1),
        ([Gpu("GPU0", nvlinks=NvLinks(18, 18, "switch"))], 0),
        ([Gpu(f"GPU{n}", nvlinks=NvLinks(6, 6, "direct")) for n in range(8)], 0),
        ([Gpu(f"GPU{n}", nvlinks=NvLinks(18, 18, None)) for n in range(8)], 0),
        ([Gpu(f"GPU{n}", vendor="amd", nvlinks=NvLinks(7, 7, "switch")) for n in range(8)], 0),
    ],
    ids=["two on a switch", "one alone", "cables", "not told", "another vendor"],
)
def test_the_fabric_that_allocators_do_not_see(gpus: list[Gpu], expected: int) -> None:
    assert len(found("GT031", node(*gpus))) == expected
