"""rocm-smi and amd-smi: square tables, NUMA lines, and no letter that they do not print."""

from __future__ import annotations

import pytest

from gputopo.parsers import amd_smi_topo, rocm_smi_topo
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import NodeRecords
from gputopo.terms.unknown import Unknown

ROCM = """\
============================ ROCm System Management Interface ============================
================================ Weight between two GPUs =================================
       GPU0         GPU1         GPU2
GPU0   0            40           72
GPU1   40           0            72
GPU2   72           72           0

=============================== Link Type between two GPUs ===============================
       GPU0         GPU1         GPU2
GPU0   0            PCIE         PCIE
GPU1   PCIE         0            PCIE
GPU2   PCIE         PCIE         0

======================================= Numa Nodes =======================================
GPU[0]\t\t: (Topology) Numa Node: 0
GPU[0]\t\t: (Topology) Numa Affinity: 0
GPU[1]\t\t: (Topology) Numa Node: 0
GPU[1]\t\t: (Topology) Numa Affinity: 0
GPU[2]\t\t: (Topology) Numa Node: 1
GPU[2]\t\t: (Topology) Numa Affinity: 1
================================== End of ROCm SMI Log ===================================
"""

AMD = """\
ACCESS TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 ENABLED      ENABLED
0000:22:00.0 ENABLED      ENABLED

WEIGHT TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 0            15
0000:22:00.0 15           0

LINK TYPE TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 SELF         XGMI
0000:22:00.0 XGMI         SELF
"""


def rocm(text: str) -> NodeRecords:
    [node] = rocm_smi_topo.parse(text)
    return node


def amd(text: str) -> NodeRecords:
    [node] = amd_smi_topo.parse(text)
    return node


def test_rocm_gpus_numa_and_links() -> None:
    node = rocm(ROCM)
    assert node.whole
    assert [(gpu.label, gpu.nvml_index, gpu.numa_nodes) for gpu in node.gpus or ()] == [
        ("GPU0", 0, (0,)),
        ("GPU1", 1, (0,)),
        ("GPU2", 2, (1,)),
    ]
    assert [(seen.subjects, seen.text) for seen in node.observations] == [
        (("GPU0", "GPU1"), "weight 40, link type PCIE"),
        (("GPU0", "GPU2"), "weight 72, link type PCIE"),
        (("GPU1", "GPU2"), "weight 72, link type PCIE"),
    ]


@pytest.mark.parametrize("node", [rocm(ROCM), amd(AMD)], ids=["rocm-smi", "amd-smi"])
def test_no_letters_and_no_link_counts_are_made_up(node: NodeRecords) -> None:
    assert node.matrix is None
    assert node.pairs == ()
    assert all(gpu.links is None and gpu.nvlinks_active is None for gpu in node.gpus or ())
    assert "pcie" in {gap.attribute for gap in node.gaps}


def test_rocm_cut_in_the_numa_lines() -> None:
    node = rocm(ROCM[: ROCM.index("GPU[1]\t\t: (Topology) Numa Aff")])
    assert not node.whole
    assert not node.gpus_complete
    assert node.gpus is not None
    assert node.gpus[1].numa_nodes == (0,)
    assert isinstance(node.gpus[2].numa_nodes, Unknown)
    assert [gap.subjects for gap in node.gaps if gap.attribute == "row"] == [("GPU1",), ("GPU2",)]


def test_rocm_cut_in_a_table() -> None:
    node = rocm(ROCM[: ROCM.index("GPU2   72")] + "GPU2   72\n")
    assert [gap.subjects for gap in node.gaps if gap.attribute == "row"] == [("GPU2",)]
    assert [seen.subjects for seen in node.observations] == [("GPU0", "GPU1"), ("GPU0", "GPU2"), ("GPU1", "GPU2")]


def test_minus_one_is_unknown() -> None:
    lines = "GPU[0] : (Topology) Numa Node: {}\nGPU[0] : (Topology) Numa Affinity: {}\n"
    numa = {pair: (rocm(lines.format(*pair)).gpus or ())[0].numa_nodes for pair in ((0, -1), (-1, 1), (-1, -1), (0, 1))}
    assert numa[0, -1] == (0,)
    assert numa[-1, 1] == (1,)
    assert isinstance(numa[-1, -1], Unknown)
    assert isinstance(numa[0, 1], Unknown)  # the driver and the firmware disagree


def test_more_than_ten_gpus_stand_in_their_order() -> None:
    lines = "".join(f"GPU[{n}]: (Topology) Numa Node: {n // 8}\n" for n in range(12))
    assert [gpu.label for gpu in rocm(lines).gpus or ()] == [f"GPU{n}" for n in range(12)]


def test_directions_that_differ_are_both_kept() -> None:
    node = rocm(ROCM.replace("GPU1   40           0 ", "GPU1   41           0 "))
    assert [seen.subjects for seen in node.observations][:2] == [("GPU0", "GPU1"), ("GPU1", "GPU0")]


def test_two_machines_and_the_same_twice() -> None:
    assert len(rocm_smi_topo.parse(ROCM + ROCM)) == 1
    assert len(rocm_smi_topo.parse(ROCM + ROCM.replace("72", "40"))) == 2
    assert len(amd_smi_topo.parse(AMD + AMD)) == 1
    assert len(amd_smi_topo.parse(AMD + AMD.replace("0000:22", "0000:38"))) == 2


def test_amd_addresses_identify() -> None:
    node = amd(AMD.replace("0000:0c", "0000:0C"))
    assert [(gpu.label, gpu.vendor) for gpu in node.gpus or ()] == [("0000:0c:00.0", "amd"), ("0000:22:00.0", "amd")]
    assert [key.value for key in (node.gpus or ())[0].keys] == ["0000:0c:00.0"]
    assert [seen.text for seen in node.observations] == ["access ENABLED, weight 15, link type XGMI"]


def test_other_texts() -> None:
    for text in ("", "= Hops between two GPUs =\nnothing", "WEIGHT TABLE:\nkg lb\n1 2\n", "ACCESS TABLE:"):
        assert not amd_smi_topo.sniff(text)
        for module in (rocm_smi_topo, amd_smi_topo):
            with pytest.raises(Unreadable):
                module.parse(text)
