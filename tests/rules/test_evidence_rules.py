"""GT0xx by observation, and GT001-GT007: what is wrong with the text, and when nothing is said of it."""

from __future__ import annotations

import pytest

from gputopo.rules.run import run
from gputopo.rules.witness import MOST_EVIDENCE
from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.node import (
    Conflict,
    Gpu,
    Nic,
    NodeTopology,
    Source,
    Value,
)

from .nodes import found, healthy_hgx, node, observing, says, seen

OBSERVED_ONLY = {
    # kind: (code, severity, a word that must be said)
    "damaged-cpu-cell": ("GT002", "warning", "CPU affinity"),
    "ambiguous-affinity": ("GT002", "warning", "two ways"),
    "gpu-numa-id-equals-numa": ("GT002", "info", "GPU NUMA ID"),
    "row-missing": ("GT003", "warning", "missing"),
    "row-cut": ("GT003", "warning", "cut"),
    "row-not-matching-header": ("GT003", "warning", "header"),
    "matrix-not-symmetric": ("GT004", "error", "symmetric|disagree"),
    "matrix-contradicts-itself": ("GT005", "error", "cannot all be right"),
    "pci-numa-conflict": ("GT006", "warning", "NUMA"),
    "sources-not-one-node": ("GT007", "error", "not one node"),
    "cells-glued": ("GT008", "info", "glued"),
    "header-damaged": ("GT008", "info", "header"),
    "pci-numa-node-minus-one": ("GT010", "warning", "numa_node"),
    "virtual-nic-repeated": ("GT011", "info", "PCIe tree"),
    "empty-cpu-cell": ("GT012", "warning", "cpuset"),
    "software-rdma-device": ("GT014", "info", "software RDMA"),
    "nccl-self-nvlink": ("GT015", "error", "NVLink"),
    "nccl-pci-with-nic-and-children": ("GT015", "error", "NIC"),
    "nccl-version-not-1": ("GT015", "error", "version"),
    "nccl-xml-declaration": ("GT015", "error", "declaration"),
    "nccl-limit": ("GT015", "error", "limit"),
    "nccl-tab-in-tag": ("GT015", "warning", "tab"),
    "nccl-speed-above-hardware": ("GT015", "warning", "faster"),
    "nccl-too-many-nvlinks": ("GT015", "error", "more NVLinks"),
    "nccl-nvlink-counts-differ": ("GT015", "error", "differently"),
    "nccl-nvlink-class": ("GT015", "error", "NVSwitch"),
    "nccl-speed-unsaid": ("GT015", "info", "Gen3"),
    "nccl-unknown-speed": ("GT015", "warning", "Gen3"),
    "nccl-slow-switch": ("GT015", "warning", "slow"),
    "nccl-gpus-on-one-busid": ("GT015", "info", "one address"),
    "nccl-single-quotes": ("GT015", "info", "quotes"),
    "nccl-width-zero": ("GT015", "info", "x16"),
    "nccl-amd-family": ("GT015", "info", "AMD"),
    "gpu-bound-to-vfio": ("GT016", "info", "vfio-pci"),
    "gpu-excluded": ("GT016", "info", "excluded"),
    "gpu-lost": ("GT016", "error", "lost"),
    "duplicate-busid": ("GT017", "warning", "one PCI address"),
    "one-sided-nvlink": ("GT110", "error", "one end only"),
}


@pytest.mark.parametrize("kind", OBSERVED_ONLY)
def test_an_observation_becomes_one_finding_with_its_subjects_and_its_place(kind: str) -> None:
    code, severity, word = OBSERVED_ONLY[kind]
    nics = (Nic("GPU0"),) if kind == "virtual-nic-repeated" else None
    [finding] = found(code, observing(seen(kind, "GPU0", "GPU1", line=17), gpus=2, nics=nics))
    assert finding.severity == severity
    assert "GPU0" in finding.subjects
    assert says(finding, word)
    assert [(e.source, e.line) for e in finding.evidence] == [("s1", 17)]


@pytest.mark.parametrize("kind", OBSERVED_ONLY)
def test_the_runner_does_not_pass_over_a_rule_whose_observation_is_there(kind: str) -> None:
    code = OBSERVED_ONLY[kind][0]
    nics = (Nic("GPU0"),) if kind == "virtual-nic-repeated" else None
    findings, _ = run(observing(seen(kind, "GPU0", "GPU1"), gpus=2, nics=nics), select=[code])
    assert [f.rule for f in findings] == [code]


@pytest.mark.parametrize("code", sorted({code for code, _, _ in OBSERVED_ONLY.values()}))
def test_without_an_observation_the_same_rule_is_silent(code: str) -> None:
    assert found(code, healthy_hgx()) == ()
    assert found(code, observing(seen("some-other-kind", "GPU0"), gpus=2)) == ()


def test_many_observations_of_a_kind_make_one_finding_that_counts_what_it_does_not_list() -> None:
    many = [seen("damaged-cpu-cell", f"GPU{n}", text=f"row {n}") for n in range(16)]
    [finding] = found("GT002", observing(*many, gpus=16))
    assert finding.message == "CPU affinity of GPU0-GPU15 cannot be read: the cell is damaged"
    assert len(finding.evidence) == MOST_EVIDENCE + 1
    assert finding.evidence[-1].text == "and 4 more of this kind"


# GT001


@pytest.mark.parametrize(
    ("whole", "verdict"), [(None, "may be a prefix"), (False, "is cut"), (True, None)],
)  # fmt: skip
def test_a_cpu_list_that_may_be_a_prefix_is_named(whole: bool | None, verdict: str | None) -> None:
    gpus = [Gpu(f"GPU{n}", cpus=CpuSet.parse_list("0-15,32-47"), cpus_complete=whole) for n in range(4)]
    findings = found("GT001", node(*gpus))
    if verdict is None:
        assert findings == ()
    else:
        assert findings[0].subjects == ("GPU0", "GPU1", "GPU2", "GPU3")
        assert f"CPU list 0-15,32-47 of GPU0-GPU3 {verdict}" in findings[0].message


def test_an_empty_or_unknown_cpu_list_is_not_called_a_prefix() -> None:
    assert found("GT001", node(Gpu("GPU0", cpus=CpuSet()), Gpu("GPU1"))) == ()


# GT003


def test_missing_nic_rows_alone_are_information() -> None:
    [finding] = found("GT003", observing(seen("row-missing", "NIC0"), seen("row-missing", "mlx5_1"), gpus=2))
    assert finding.severity == "info"
    [finding] = found("GT003", observing(seen("row-missing", "NIC0"), seen("row-cut", "GPU1"), gpus=2))
    assert finding.severity == "warning"
    assert finding.message == "the matrix is incomplete: row of NIC0 missing, row of GPU1 cut"


def test_rows_of_gpus_that_the_node_does_not_have_are_in_numeric_order() -> None:
    lost = [seen("row-missing", f"GPU{n}") for n in (10, 9, 11, 8)]
    [finding] = found("GT003", observing(*lost, gpus=2))
    assert finding.message == "the matrix is incomplete: row of GPU8-GPU11 missing"


# GT004, GT005


def test_the_letters_of_both_rows_are_in_the_message_when_one_pair_is_wrong() -> None:
    told = seen("matrix-not-symmetric", "GPU0", "GPU1", text="row GPU0: SYS, row GPU1: PIX")
    [finding] = found("GT004", observing(told))
    assert "row GPU0: SYS, row GPU1: PIX" in finding.message
    assert finding.subjects == ("GPU0", "GPU1")


@pytest.mark.parametrize(
    ("text", "panics"),
    [("row GPU0 prints NV4, row GPU1 prints PHB", True), ("row GPU0 prints NV4, row GPU1 prints NV8", False),
     ("row GPU0 prints NODE, row GPU1 prints PHB", False)],
)  # fmt: skip
def test_an_nvlink_in_one_of_two_cells_panics_the_allocator(text: str, panics: bool) -> None:
    [finding] = found("GT004", observing(seen("matrix-not-symmetric", "GPU0", "GPU1", text=text)))
    assert says(finding, "panics") is panics


def test_an_nvlink_seen_from_one_end_is_said_once() -> None:
    both = observing(seen("one-sided-nvlink", "GPU0", "GPU1"), seen("matrix-not-symmetric", "GPU1", "GPU0"), gpus=2)
    assert found("GT004", both) == ()
    assert len(found("GT110", both)) == 1


def test_twelve_impossible_pairs_are_summed_up() -> None:
    couples = [(a, b) for a in range(4) for b in range(4, 7)]
    many = [seen("matrix-contradicts-itself", f"GPU{a}", f"GPU{b}", "GPU7") for a, b in couples]
    [finding] = found("GT005", observing(*many, gpus=8))
    assert "12 pairs GPU0-GPU4, GPU0-GPU5, GPU0-GPU6, GPU1-GPU4 and 8 more" in finding.message
    assert finding.subjects == tuple(f"GPU{n}" for n in range(8))


# GT006


def conflict(attribute: str, *subjects: str, sources: tuple[str, str] = ("s1", "s2")) -> Conflict:
    return Conflict(subjects, attribute, [0], (Value([0], sources[0]), Value([1], sources[1])))


def test_conflicts_of_one_attribute_are_one_finding_that_names_both_sources() -> None:
    sources = (
        Source("s1", "a", "sysfs-root", "", True), Source("s2", "b", "nvidia-smi-topo", "", True),
    )  # fmt: skip
    conflicts = (conflict("numaNodes", "GPU0"), conflict("numaNodes", "GPU1"), conflict("cpus", "GPU0"))
    cpus, numa = found("GT006", NodeTopology(sources=sources, conflicts=conflicts))
    assert numa.subjects == ("GPU0", "GPU1")
    assert "numaNodes of GPU0 and GPU1: GPU0: 0 (sysfs-root), 1 (nvidia-smi-topo); used: 0" in numa.message
    assert len(numa.evidence) == 4
    assert cpus.subjects == ("GPU0",)


def test_two_sources_of_one_format_are_told_apart_by_their_ids() -> None:
    sources = tuple(Source(id, id, "nvidia-smi-topo", "", True) for id in ("s1", "s2"))
    [finding] = found("GT006", NodeTopology(sources=sources, conflicts=(conflict("numaNodes", "GPU0"),)))
    assert "0 (s1), 1 (s2)" in finding.message


@pytest.mark.parametrize("subjects", [("GPU0", "GPU1"), ("GPU0-GPU1",)])
def test_what_one_matrix_says_against_itself_is_not_repeated(subjects: tuple[str, ...]) -> None:
    told = (seen("matrix-contradicts-itself", "GPU0", "GPU1", "NIC0"),)
    within = conflict("pcie", *subjects, sources=("s1", "s1"))
    between = conflict("pcie", *subjects, sources=("s1", "s2"))
    assert found("GT006", NodeTopology(observations=told, conflicts=(within,))) == ()
    assert len(found("GT006", NodeTopology(observations=told, conflicts=(between,)))) == 1
    [untold] = found("GT006", NodeTopology(conflicts=(within,)))
    assert "one source disagrees with itself" in untold.message
