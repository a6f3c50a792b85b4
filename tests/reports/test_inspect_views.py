"""What the sections say, and that no node, however odd, breaks the page."""

from __future__ import annotations

import re
from time import process_time
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from gputopo.inspection import Inspection
from gputopo.reports.style import Style
from gputopo.reports.text import render
from gputopo.reports.views.inspect import blocks
from gputopo.rules.finding import Evidence, Finding, NotChecked
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import (
    Bridge,
    Conflict,
    Gpu,
    Nic,
    NodeTopology,
    NoteUnknown,
    NumaNode,
    NvLinks,
    Package,
    Pair,
    Source,
    Value,
)
from tests.documents.made_nodes import json_nodes, text
from tests.reports import nodes

AS_FOUND = (Phase.explicit, Phase.reuse, Phase.generate)  # shrinking a whole node takes minutes
SGR = re.compile(r"\x1b\[[0-9;]*m")


def page(inspection: Inspection | NodeTopology, width: int = 100, **options: Any) -> str:
    if isinstance(inspection, NodeTopology):
        inspection = Inspection(inspection, (), ())
    return render(blocks(inspection, **options), Style(width))


def section(text: str, title: str) -> str:
    """From the line that starts with the title to the next empty line."""
    return text[text.index(f"\n{title}") :].split("\n\n")[0].strip("\n")


findings = st.lists(
    st.builds(
        Finding, rule=st.sampled_from(["GT001", "GT112"]), severity=st.sampled_from(["error", "warning", "info"]),
        subjects=st.just(("GPU0",)), message=text, matters=text, because=text, remedy=text,
        evidence=st.lists(st.builds(Evidence, source=st.none() | text, line=st.none() | st.integers(1, 9), text=text),
                          max_size=2).map(tuple),
    ),
    max_size=3,
).map(tuple)  # fmt: skip
inspections = st.builds(
    Inspection, json_nodes(), findings, st.lists(st.builds(NotChecked, text, text), max_size=2).map(tuple)
)


@settings(max_examples=100, deadline=None, phases=AS_FOUND)
@given(inspections, st.integers(80, 200), st.booleans(), st.sampled_from(["auto", "full", "none"]))
def test_no_node_breaks_the_page(inspection: Inspection, width: int, verbose: bool, matrix: str) -> None:
    made = blocks(inspection, matrix=matrix, verbose=verbose)
    plain = render(made, Style(width))
    assert all(len(line) <= width for line in plain.splitlines() if line.isascii())
    assert all(character.isprintable() for character in plain.replace("\n", ""))
    assert "\n\n\n" not in plain
    assert not plain.startswith("\n")
    assert SGR.sub("", render(made, Style(width, colour=True))) == plain
    assert render(made, Style(width, unicode=False)).isascii()


def test_a_big_node_fits_at_every_width_and_loses_no_column() -> None:
    inspection = nodes.hgx(17)
    for width in (80, 100, 140, 200):
        printed = page(inspection, width, matrix="full")
        assert max(map(len, printed.splitlines())) <= width
        rows = [line.split()[1:] for line in printed.splitlines() if line.startswith("NIC16 ")]
        cells = [letter for row in rows for letter in row]
        assert cells.count("X") == 1
        assert len(cells) == 25


def test_columns_that_are_all_alike_give_way_first_and_are_said_once() -> None:
    assert "every GPU" not in page(nodes.hgx(), 100)
    narrow = page(nodes.hgx(), 80)
    assert "WIRING    every GPU NVLink 18/18\n" in narrow
    assert "  pci0000:09  switch 0b:00.0  GPU0 0f:00.0  gen5 x16  NIC0 mlx5_0  400G IB up\n" in narrow


def test_a_fabric_is_told_in_words_and_never_as_cables() -> None:
    told = page(nodes.hgx())
    assert "GPU0-GPU7 are one island: 18 links each into 4 NVSwitches, fabric state Completed." in told
    assert "NV18 counts a GPU's links into the switch, not a cable between the two GPUs." in told
    assert "direct links" not in told


def test_a_gpu_with_fewer_links_is_named_in_the_fabric() -> None:
    inspection = nodes.hgx()
    gpus = list(inspection.node.gpus)
    gpus[5] = gpus[5]._replace(nvlinks=NvLinks(17, 18, "switch"))
    told = page(inspection._replace(node=inspection.node._replace(gpus=tuple(gpus))))
    assert "18 (GPU5: 17) links each" in told
    assert "NVLink 17/18" in told


def test_the_mark_stands_beside_the_width_a_finding_names() -> None:
    told = page(nodes.bridged())
    assert "GPU2 a1:00.0  gen4 x8 !" in told
    assert told.count(" !") == 1


def test_hidden_levels_are_summed_up_with_what_decided_them() -> None:
    near = Pair("GPU0", "GPU1", "NV4", PathLevel.PHB, (PathLevel.PHB,), "third-device", 4, False)
    far = Pair("GPU0", "GPU2", "NV4", PathLevel.SYS, (PathLevel.SYS,), "numa", 4, False)
    open_ = Pair("GPU1", "GPU2", "NV4", None, (PathLevel.NODE, PathLevel.SYS), None, 4, False)
    node = NodeTopology(gpus=tuple(Gpu(f"GPU{at}") for at in range(3)), pairs=(near, far, open_))
    told = " ".join(section(page(node), "PAIRS").split())
    assert "3 of 3 NV4; PCIe underneath: 1 PHB, 1 SYS (decided by third devices 1, NUMA 1; topo -m hides it)" in told
    assert "GPU1-GPU2 undecided: NODE or SYS" in told


def test_levels_of_a_pcie_only_matrix_are_shown_with_a_star() -> None:
    pair = Pair("GPU0", "GPU1", None, PathLevel.NODE, (PathLevel.NODE,), "printed", None)
    told = page(NodeTopology(gpus=(Gpu("GPU0"), Gpu("GPU1")), pairs=(pair,)))
    assert "GPU0       X NODE*\n" in told
    assert "* the PCIe level; whether NVLink joins the two is not known" in told
    assert "1 of 1 with NVLinks not known; PCIe: 1 NODE" in told


def test_nearest_nics_with_ties_are_grouped() -> None:
    gpus = tuple(Gpu(f"GPU{at}", nearest_nics=("NIC0", "NIC1")) for at in range(4))
    pairs = tuple(
        Pair(gpu.id, nic, "PXB", PathLevel.PXB, (PathLevel.PXB,), "printed") for gpu in gpus for nic in ("NIC0", "NIC1")
    )
    told = page(NodeTopology(gpus=gpus, nics=(Nic("NIC0"), Nic("NIC1")), pairs=pairs))
    assert "GPU-NIC  every GPU: NIC0, NIC1 (PXB)" in told
    assert "GPU3  NIC0, NIC1  PXB\n" in told


def test_sockets_and_numa_nodes_are_kept_apart_and_unknown_is_said() -> None:
    packages = (Package("PKG0", 0, None, (0, 1)), Package("PKG1", 8, None, (2, 3)))
    numa = tuple(
        NumaNode(f"NUMA{at}", at, "cpu", nodes.cpus(str(at)), (f"PKG{at // 2}",), 2**34, None) for at in range(4)
    )
    gpus = (
        Gpu("GPU0", numa_nodes=(1,), packages=("PKG0",)),
        Gpu("GPU1", numa_nodes=(3,), packages=("PKG1",), memory_numa_node=9),
        Gpu("GPU2"),
    )
    told = section(page(NodeTopology(packages=packages, numa_nodes=numa, gpus=gpus)), "WIRING").splitlines()
    assert told == [
        "WIRING    not in this evidence: PCIe bridges",
        "socket 0   NUMA 1   CPUs 1   16 GiB",
        "  GPU0",
        "socket 8   NUMA 3   CPUs 3   16 GiB",
        "  GPU1  memory NUMA 9",
        "socket unknown   NUMA unknown",
        "  GPU2",
        "socket 0   NUMA 0   no listed device",
        "socket 8   NUMA 2   no listed device",
        "NVLink    not in this evidence",
    ]


def test_peer_access_is_summed_up_by_kind() -> None:
    ids = ("GPU0", "GPU1", "GPU2")
    pairs = tuple(
        Pair(a, b, "PHB", PathLevel.PHB, (PathLevel.PHB,), "printed", 0, p2p={"read": "OK" if a == "GPU0" else "CNS"})
        for a, b in (("GPU0", "GPU1"), ("GPU0", "GPU2"), ("GPU1", "GPU2"))
    )
    text = page(NodeTopology(gpus=tuple(map(Gpu, ids)), pairs=pairs))
    assert "          P2P      read: 2 OK; 1 CNS = chipset not supported: GPU1-GPU2\n" in text


def test_a_virtual_function_beside_its_own_nic_is_told() -> None:
    gpu = Gpu("GPU0", nearest_nics=("NIC0", "NIC1"))
    nics = (Nic("NIC0", rate_gbps=25.0), Nic("NIC1", virtual_function_of="0000:1a:00.0"))
    pairs = tuple(Pair("GPU0", nic.id, "PIX", PathLevel.PIX, (PathLevel.PIX,), "tree") for nic in nics)
    assert "  GPU0  NIC0, NIC1  1 VF\n" in page(NodeTopology(gpus=(gpu,), nics=nics, pairs=pairs))


def test_no_gpus_is_said() -> None:
    assert "no GPUs in this evidence   sockets and NUMA unknown   NICs unknown" in page(NodeTopology())


def test_a_virtual_function_and_a_bond_say_so() -> None:
    nics = (
        Nic("NIC0", "mlx5_0", pci="0000:1a:00.0", numa_nodes=(0,), rate_gbps=25.0, state="up"),
        Nic("NIC1", "mlx5_1", pci="0000:1a:00.2", numa_nodes=(0,), virtual_function_of="0000:1a:00.0"),
        Nic("NIC2", "mlx5_bond_0", numa_nodes=(0,), members=("0000:2a:00.0", "0000:2a:00.1"), link_layer="Ethernet"),
    )
    told = page(NodeTopology(nics=nics))
    assert "NIC1 mlx5_1       VF of 1a:00.0\n" in told
    assert "NIC2 mlx5_bond_0  Eth bond of 2\n" in told


def test_a_ring_of_bridges_in_a_saved_file_does_not_hang() -> None:
    bridges = (Bridge("a", "b", "switch"), Bridge("b", "a", "bridge"))
    assert "GPU0" in page(NodeTopology(gpus=(Gpu("GPU0", parent="a"),), bridges=bridges))


def test_reasons_of_many_subjects_are_one_entry() -> None:
    node = nodes.hgx().node
    pairs = tuple(f"GPU{a}-GPU{b}" for a in range(8) for b in range(a + 1, 8))
    unknown = (
        NoteUnknown(pairs, "pcie", "topo -m hides it", "nvidia-smi topo -mp"),
        NoteUnknown(("GPU0",), "parent", "0000:0f:00.0 is a plain folder", "sysfs"),
        NoteUnknown(("GPU1",), "parent", "0000:2d:00.0 is a plain folder", "sysfs"),
        NoteUnknown(("node",), "packages", "no source tells the sockets", "lscpu"),
    )
    told = section(page(node._replace(unknown=unknown)), "UNKNOWN")
    assert told.splitlines() == [
        "UNKNOWN   PCIe level of 28 GPU pairs: topo -m hides it   settle it: nvidia-smi topo -mp",
        "          bridge above of GPU0 and GPU1: ADDRESS is a plain folder   settle it: sysfs",
        "          sockets   settle it: lscpu",
    ]


def test_a_conflict_names_the_used_value_and_every_witness() -> None:
    sources = (Source("a", "a.xml", "nccl-xml", "", True), Source("b", "b.txt", "nvidia-smi-topo", "", True))
    conflict = Conflict(("GPU0",), "numaNodes", [0], (Value([0], "a"), Value([1], "b")))
    told = page(NodeTopology(sources=sources, gpus=(Gpu("GPU0"),), conflicts=(conflict,)))
    assert "sources   a.xml (nccl-xml) + b.txt (nvidia-smi-topo)   1 conflict\n" in told
    assert "CONFLICT  NUMA node of GPU0: 0 (a.xml) against 1 (b.txt); used: 0\n" in told


def test_the_worst_finding_comes_first_and_what_is_alike_is_said_once() -> None:
    alike = [Finding("GT110", "error", (f"GPU{at}",), f"GPU{at} is odd", "slow", "", "look") for at in range(12)]
    found = (Finding("GT001", "info", (), "may be cut", "little"), *alike)
    told = section(page(Inspection(nodes.single().node, found, ())), "FOUND")
    assert told.startswith("FOUND     12 errors, 1 info\nerror GT110  GPU0 is odd\n             GPU1 is odd\n")
    assert told.count("matters") == 1
    assert "             and 4 more (-v)\n" in told
    assert told.endswith("info  GT001  may be cut\n             little")


def test_quiet_is_the_verdict_and_the_messages() -> None:
    assert page(nodes.bridged(), quiet=True).splitlines() == [
        "a40-7     4x NVIDIA A40   2 sockets, 2 NUMA nodes   1 NIC",
        "sources   a40-7.tar (sysfs-root) + topo.txt (nvidia-smi-topo)   1 conflict",
        "",
        "FOUND     1 error, 1 info",
        "error GT112  GPU2 runs PCIe x8; GPU and slot both allow x16",
        "info  GT113  GPU numbers follow NUMA",
    ]


def test_verbose_adds_remedies_names_and_sources() -> None:
    told = page(nodes.hgx(), verbose=True)
    assert "  GPU5  index 5  minor 5  module 6  0000:a8:00.0  GPU-00000005  80 GiB  nvidia5\n" in told
    assert "nvml-recording" in told


def test_the_exit_line_is_for_those_who_give_a_note() -> None:
    assert "\nexit" not in page(nodes.single())
    told = page(nodes.single(), exit_note="0 (inspect reports, it does not judge)")
    assert told.endswith("\nexit 0    (inspect reports, it does not judge)\n")


@pytest.mark.parametrize(
    "hostile", ["mlx\x1b]0;pwned\x07", "a\nFOUND     nothing odd", "\x9b2J", "\u202eevil", "x\u200by", "\ud800"]
)
def test_foreign_names_cannot_steer_the_terminal_or_fake_a_line(hostile: str) -> None:
    node = NodeTopology(
        name=hostile,
        sources=(Source("s", hostile, hostile, hostile, False),),
        gpus=(Gpu("GPU0", name=hostile, pci=hostile, aliases=(hostile,)), Gpu("GPU1")),
        nics=(Nic(hostile, hostile, link_layer=hostile, virtual_function_of=hostile),),
        unknown=(NoteUnknown((hostile,), hostile, hostile, hostile),),
        conflicts=(Conflict((hostile,), hostile, hostile, (Value(hostile, hostile),)),),
    )
    found = Finding("GT001", "error", (hostile,), hostile, hostile, hostile, hostile, (Evidence(hostile, 1, hostile),))
    inspection = Inspection(node, (found,), (NotChecked("GT101", hostile),))
    for style in (Style(80), Style(80, colour=True), Style(80, unicode=False)):
        printed = SGR.sub("", render(blocks(inspection, verbose=True), style))
        assert all(character.isprintable() or character == "\n" for character in printed)
        assert "\nFOUND     nothing odd" not in printed


def test_a_node_of_300_pairs_is_drawn_in_a_blink() -> None:
    inspection = nodes.hgx(17)
    taken = []
    for _ in range(5):
        start = process_time()
        render(blocks(inspection), Style(100, colour=True))
        taken.append(process_time() - start)
    assert min(taken) < 0.010  # 1.5 ms where it was written
