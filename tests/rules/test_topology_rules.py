"""GT1xx: what is odd in the wiring, and when nothing is said of it."""

from __future__ import annotations

import pytest

from gputopo.rules.codes import load
from gputopo.rules.run import run
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import (
    Bridge,
    Gpu,
    Nic,
    NodeTopology,
    NumaNode,
    Package,
    Pair,
    Pcie,
)

from .nodes import all_pairs, found, healthy_hgx, node, pair


@pytest.mark.parametrize("code", ["GT110", "GT111", "GT112", "GT113", "GT114", "GT115", "GT120"])
def test_a_healthy_node_is_silent_and_an_empty_one_too(code: str) -> None:
    assert found(code, healthy_hgx(nics=17)) == ()
    assert found(code, NodeTopology()) == ()


# GT112


def on_slot(gpu: Pcie | None, slot: Pcie | None, **fields: object) -> NodeTopology:
    bridges = (Bridge("0000:a7:00.0", None, "bridge", pcie=slot),)
    extra = {key: fields.pop(key) for key in ("virtual",) if key in fields}
    return node(Gpu("GPU5", parent="0000:a7:00.0", pcie=gpu, **fields), bridges=bridges, **extra)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("gpu", "slot", "severity"),
    [
        (Pcie(5, 8, 5, 16), Pcie(5, 8, 5, 16), "error"),
        (Pcie(1, 4, 4, 16), Pcie(1, 4, 4, 8), "error"),
        (Pcie(5, 8, 5, 16), Pcie(5, 8, 5, 8), None),
        (Pcie(1, 16, 5, 16), Pcie(1, 16, 5, 16), None),
        (Pcie(4, 8, 4, 8), Pcie(4, 8, 4, 16), None),
        (Pcie(4, 4, 4, 16), None, "warning"),
        (Pcie(4, 8, 4, 16), Pcie(4, 8, 4, 0), "warning"),
        (Pcie(4, 0, 4, 16), Pcie(4, 0, 4, 16), None),
        (Pcie(4, 8, 4, 255), Pcie(4, 8, 4, 16), None),
        (Pcie(4, 8, None, None), Pcie(4, 8, 4, 16), None),
        (None, None, None),
    ],
)
def test_width_is_judged_by_gpu_and_slot_and_speed_is_not(
    gpu: Pcie | None, slot: Pcie | None, severity: str | None
) -> None:
    findings = found("GT112", on_slot(gpu, slot))
    assert [f.severity for f in findings] == ([severity] if severity else [])


def test_a_reduced_width_is_said_with_the_share_that_is_left() -> None:
    [finding] = found("GT112", on_slot(Pcie(1, 4, 4, 16), Pcie(1, 4, 4, 8)))
    assert finding.message == "GPU5 runs PCIe x4; GPU and slot both allow x8"
    assert "4/8" in finding.matters


@pytest.mark.parametrize("fields", [{"virtual": True}, {"c2c": {"count": 10, "gbpsPerLink": 44.7}}])
def test_widths_of_guests_and_of_gpus_with_c2c_mean_nothing(fields: dict[str, object]) -> None:
    assert found("GT112", on_slot(Pcie(5, 1, 5, 16), Pcie(5, 1, 5, 16), **fields)) == ()


def test_gpus_with_one_fault_are_one_finding() -> None:
    gpus = (Gpu(f"GPU{n}", pcie=Pcie(4, 8 if n < 3 else 4, 4, 16)) for n in range(4))
    assert [f.subjects for f in found("GT112", node(*gpus))] == [("GPU3",), ("GPU0", "GPU1", "GPU2")]


# GT113


@pytest.mark.parametrize(
    ("numa", "expected"),
    [
        ([(3,), (3,), (1,), (1,), (7,), (7,), (5,), (5,)], "3,3,1,1,7,7,5,5"),
        ([(0,), (1,), (0,), (1,)], "0,1,0,1"),
        ([(0,), (0,), (1,), (1,)], None),
        ([(0, 2, 3), (1, 18, 19)], None),
        ([(1,), None, (0,)], None),
        ([(1,), (1,)], None),
    ],
)
def test_gpu_numbers_against_numa_nodes(numa: list[tuple[int, ...] | None], expected: str | None) -> None:
    findings = found("GT113", node(*(Gpu(f"GPU{n}", nvml_index=n, numa_nodes=own) for n, own in enumerate(numa))))
    if expected is None:
        assert findings == ()
    else:
        assert findings[0].message.endswith(f"are on NUMA nodes {expected}")


def test_a_memory_node_in_front_of_the_list_is_passed_over() -> None:
    memory = (NumaNode("NUMA9", 9, "gpu-memory", CpuSet(), ()),)
    gpus = (Gpu("GPU0", nvml_index=0, numa_nodes=(9, 0)), Gpu("GPU1", nvml_index=1, numa_nodes=(1,)))
    assert found("GT113", node(*gpus, numa_nodes=memory)) == ()


def test_numbers_that_no_driver_gave_are_not_judged() -> None:
    assert found("GT113", node(Gpu("GPU0", numa_nodes=(1,)), Gpu("GPU1", numa_nodes=(0,)))) == ()


# GT114


def test_sys_inside_a_numa_node_is_information_that_says_what_it_does_not_prove() -> None:
    gpus = tuple(Gpu(f"GPU{n}", numa_nodes=(0,)) for n in range(4))
    pairs = all_pairs((g.id for g in gpus), PathLevel.SYS, cross_numa=False)
    [finding] = found("GT114", node(*gpus, pairs=pairs))
    assert finding.severity == "info"
    assert "SYS" in finding.message
    assert "NUMA" in finding.message
    assert "6 pairs" in finding.message
    assert "no proof" in finding.matters


@pytest.mark.parametrize(
    "quiet",
    [
        pair("GPU0", "GPU1", PathLevel.SYS, cross_numa=True),
        pair("GPU0", "GPU1", PathLevel.SYS, cross_numa=None),
        pair("GPU0", "GPU1", PathLevel.NODE, cross_numa=False),
        pair("GPU0", "NIC0", PathLevel.SYS, cross_numa=False),
        Pair("GPU0", "GPU1", "NV4", None, (PathLevel.PHB, PathLevel.SYS), cross_numa=False),
    ],
)
def test_other_pairs_are_not_odd(quiet: Pair) -> None:
    assert found("GT114", node(Gpu("GPU0"), Gpu("GPU1"), pairs=(quiet,))) == ()


# GT115


def sockets(*of_numa: tuple[str, ...], cpus: bool = True) -> NodeTopology:
    numa = tuple(
        NumaNode(f"NUMA{n}", n, None, CpuSet.of([n] if cpus else []), packages) for n, packages in enumerate(of_numa)
    )
    ids = sorted({id for packages in of_numa for id in packages})
    return NodeTopology(packages=tuple(Package(id, n, None, None) for n, id in enumerate(ids)), numa_nodes=numa)


def test_several_numa_nodes_in_a_socket() -> None:
    split = sockets(("PKG0",), ("PKG0",), ("PKG1",), ("PKG1",))
    inside = pair("GPU0", "GPU1", PathLevel.SYS, cross_package=False)
    across = pair("GPU0", "GPU2", PathLevel.SYS, cross_package=True)
    [finding] = found("GT115", split._replace(pairs=(inside, across)))
    assert finding.severity == "info"
    assert finding.message == (
        "a NUMA node is not a socket here: 2 sockets hold 4 NUMA nodes; SYS of 1 pair stays inside a socket"
    )


def test_a_numa_node_that_spans_sockets() -> None:
    [finding] = found("GT115", sockets(("PKG0", "PKG1")))
    assert "1 NUMA node spanning several sockets" in finding.message


def test_one_node_per_socket_and_nodes_without_cpus_are_ordinary() -> None:
    assert found("GT115", sockets(("PKG0",), ("PKG1",))) == ()
    assert found("GT115", sockets(("PKG0",), ("PKG0",), cpus=False)) == ()


def test_sockets_are_asked_for_only_where_gpus_are_on_several_numa_nodes() -> None:
    two = node(Gpu("GPU0", numa_nodes=(0,)), Gpu("GPU1", numa_nodes=(1,)))
    one = node(Gpu("GPU0", numa_nodes=(0,)), Gpu("GPU1", numa_nodes=(0,)))
    assert [n.needs for n in run(two, select=["GT115"])[1]] == ["sockets (lscpu, or a sysfs root)"]
    assert run(one, select=["GT115"])[1] == ()


# GT120


def with_nics(*levels: tuple[PathLevel | None, ...]) -> NodeTopology:
    gpus = tuple(Gpu(f"GPU{n}") for n in range(len(levels)))
    nics = tuple(Nic(f"NIC{n}") for n in range(len(levels[0])))
    pairs = [
        Pair(gpu.id, nic.id, pcie=level, pcie_candidates=(level,) if level is not None else ())
        for gpu, own in zip(gpus, levels, strict=True)
        for nic, level in zip(nics, own, strict=True)
    ]
    return NodeTopology(gpus=gpus, nics=nics, pairs=tuple(pairs))


PIX, PXB, PHB, NODE, SYS = PathLevel


def test_a_gpu_without_a_nic_under_its_switch_where_others_have_one() -> None:
    [finding] = found("GT120", with_nics((PIX, NODE, SYS), (NODE, NODE, SYS), (NODE, PXB, SYS)))
    assert (finding.severity, finding.subjects) == ("warning", ("GPU1",))
    assert finding.message == (
        "GPU1 has no NIC under its PCIe switch; nearest is NIC0 and NIC1 at NODE, while GPU0 and GPU2 have one"
    )


@pytest.mark.parametrize(
    "quiet",
    [
        with_nics((PHB, PHB), (NODE, NODE)),
        with_nics((PIX, SYS), (SYS, PXB)),
        with_nics((PIX, SYS), (SYS, None)),
        with_nics((PIX, SYS), (SYS, NODE))._replace(pairs=with_nics((PIX, SYS), (SYS, NODE)).pairs[:-1]),
        node(Gpu("GPU0"), Gpu("GPU1"), nics=()),
    ],
    ids=["nobody has one", "everybody has one", "one level open", "one pair missing", "no NIC"],
)
def test_no_gpu_is_accused_without_proof(quiet: NodeTopology) -> None:
    assert found("GT120", quiet) == ()


def test_a_lone_nic_beside_one_of_many_gpus_is_how_it_was_built() -> None:
    [finding] = found("GT120", with_nics((PIX,), (NODE,), (NODE,), (SYS,)))
    assert (finding.severity, finding.subjects) == ("info", ("GPU1", "GPU2", "GPU3"))


def test_nics_are_asked_for_only_where_no_source_lists_them() -> None:
    two = node(Gpu("GPU0"), Gpu("GPU1"))
    assert [n.rule for n in run(two, select=["GT120"])[1]] == ["GT120"]
    assert run(two._replace(nics=()), select=["GT120"])[1] == ()


def test_nvlinks_are_not_asked_for_where_no_gpu_can_have_them() -> None:
    assert run(node(Gpu("GPU0", vendor="amd"), Gpu("GPU1", vendor="amd")), select=["GT110", "GT111"])[1] == ()
    assert len(run(node(Gpu("GPU0", vendor="nvidia"), Gpu("GPU1")), select=["GT110", "GT111"])[1]) == 2


def test_rules_with_needs_do_not_ask_a_node_without_gpus() -> None:
    for code in ("GT013", "GT110", "GT111", "GT112", "GT115", "GT120"):
        assert load(code).needs(NodeTopology()) is None  # type: ignore[attr-defined]
