"""`nvidia-smi topo -m`/`-mp`: one small text for each thing that people do to it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gputopo.parsers.nvidia_smi_topo import parse, sniff
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import GpuRecord, NodeRecords
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.unknown import Unknown

SHARED = Path(os.environ.get("GPUTOPO_SHARED") or Path(__file__).parents[3] / "shared")

HEADER = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
GPU0 = "GPU0\t X \tNV4\tPIX\t0-7\t0\t\tN/A\n"
GPU1 = "GPU1\tNV4\t X \tSYS\t8-15\t1\t\tN/A\n"
NIC0 = "NIC0\tPIX\tSYS\t X \t\t\t\t\n"
PLAIN = HEADER + GPU0 + GPU1 + NIC0


def read(text: str) -> NodeRecords:
    (node,) = parse(text)
    return node


def gpu(node: NodeRecords, label: str) -> GpuRecord:
    return next(gpu for gpu in node.gpus or () if gpu.label == label)


def cells(node: NodeRecords, label: str) -> dict[str, str]:
    assert node.matrix is not None
    return next((row.cells for row in node.matrix.rows if row.label == label), {})


def kinds(node: NodeRecords) -> set[str]:
    return {note.kind for note in node.observations}


def noted(node: NodeRecords, kind: str) -> set[str]:
    return {label for note in node.observations if note.kind == kind for label in note.subjects}


def gaps(node: NodeRecords) -> set[tuple[str, str]]:
    return {(label, gap.attribute) for gap in node.gaps for label in gap.subjects}


def test_a_whole_text_gives_every_value_and_no_doubt() -> None:
    node = read(PLAIN)
    assert node.whole
    assert node.gpus_complete
    assert node.observations == node.gaps == ()
    first = gpu(node, "GPU0")
    assert (first.nvml_index, first.line, first.numa_nodes, first.cpus) == (0, 2, (0,), CpuSet.parse_list("0-7"))
    assert first.cpus_complete is True
    assert isinstance(first.memory_numa_node, Unknown)
    assert cells(node, "NIC0") == {"GPU0": "PIX", "GPU1": "SYS", "NIC0": "X"}


def test_an_empty_cpu_cell_is_an_empty_set_and_numa_stays_in_its_place() -> None:
    node = read(PLAIN.replace("8-15", ""))
    assert gpu(node, "GPU1").cpus == CpuSet()
    assert gpu(node, "GPU1").numa_nodes == (1,)
    assert noted(node, "empty-cpu-cell") == {"GPU1"}


def test_empty_cpu_and_numa_cells_leave_the_last_field_to_gpu_numa_id() -> None:
    node = read("\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t\t\t\tN/A\n")
    assert gpu(node, "GPU0").cpus == CpuSet()
    assert isinstance(gpu(node, "GPU0").numa_nodes, Unknown)
    assert isinstance(gpu(node, "GPU0").memory_numa_node, Unknown)


def test_two_tabs_before_numa_na_are_no_empty_cell() -> None:
    node = read(PLAIN.replace("\t0\t\tN/A", "\t\tN/A\t\tN/A"))
    assert gpu(node, "GPU0").cpus == CpuSet.parse_list("0-7")
    numa = gpu(node, "GPU0").numa_nodes
    assert isinstance(numa, Unknown)
    assert "N/A" in numa.why


def test_an_empty_cpu_cell_shows_where_blanks_replaced_the_tabs_in_the_terminals_columns() -> None:
    node = read(PLAIN.replace("8-15", "").expandtabs(8))
    assert gpu(node, "GPU1").cpus == CpuSet()
    assert gpu(node, "GPU1").numa_nodes == (1,)


def test_two_words_under_three_headings_are_ambiguous_where_place_proves_nothing() -> None:
    header = "GPU0  GPU1  CPU Affinity  NUMA Affinity  GPU NUMA ID"
    node = read(f"{header}\nGPU0  X  SYS  1  N/A\nGPU1  SYS  X  0-7  0  N/A\n")
    assert isinstance(gpu(node, "GPU0").cpus, Unknown)
    assert isinstance(gpu(node, "GPU0").numa_nodes, Unknown)
    assert noted(node, "ambiguous-affinity") == {"GPU0"}
    assert gaps(node) == {("GPU0", "cpus"), ("GPU0", "numaNodes")}


def test_numa_affinity_may_be_a_list_and_gpu_memory_a_node_of_its_own() -> None:
    node = read(PLAIN.replace("\t0\t\tN/A", "\t0,3-5\t\t2"))
    assert gpu(node, "GPU0").numa_nodes == (0, 3, 4, 5)
    assert gpu(node, "GPU0").memory_numa_node == 2
    assert "gpu-numa-id-equals-numa" not in kinds(node)


def test_a_gpu_numa_id_equal_to_the_numa_affinity_is_kept_and_marked() -> None:
    node = read(PLAIN.replace("\t1\t\tN/A", "\t1\t\t1"))
    assert gpu(node, "GPU1").memory_numa_node == 1
    assert noted(node, "gpu-numa-id-equals-numa") == {"GPU1"}


def test_a_cpu_text_of_ten_characters_may_be_cut_and_a_shorter_one_is_whole() -> None:
    node = read(PLAIN.replace("8-15", "8-15,24-31"))
    assert gpu(node, "GPU1").cpus_complete is None
    assert gpu(node, "GPU0").cpus_complete is True
    assert noted(node, "cpu-affinity-may-be-cut") == {"GPU1"}


def test_the_printer_that_writes_ranges_of_one_does_not_cut() -> None:
    node = read("\tGPU0\tCPU Affinity\nGPU0\t X \t0-0,2-2,4-4,6-6\n")
    assert gpu(node, "GPU0").cpus == CpuSet.of((0, 2, 4, 6))
    assert gpu(node, "GPU0").cpus_complete is True


@pytest.mark.parametrize("damaged", ["-15,24-31", "8-", "8--15"])
def test_a_damaged_cpu_cell_gives_no_cpus(damaged: str) -> None:
    node = read(PLAIN.replace("8-15", damaged))
    assert isinstance(gpu(node, "GPU1").cpus, Unknown)
    assert gpu(node, "GPU1").numa_nodes == (1,)
    assert noted(node, "damaged-cpu-cell") == {"GPU1"}
    assert ("GPU1", "cpus") in gaps(node)


def test_a_cpu_cell_that_is_the_end_of_another_has_lost_characters() -> None:
    node = read(PLAIN.replace("\t0-7\t0", "\t16-31,48-63\t1").replace("8-15", "6-31,48-63"))
    assert noted(node, "damaged-cpu-cell") == {"GPU1"}
    assert gpu(node, "GPU0").cpus == CpuSet.parse_list("16-31,48-63")


def test_cells_that_ran_together_are_split_by_the_vocabulary() -> None:
    node = read(PLAIN.replace("NV4\tPIX", "NV4PIX").replace("\tPIX\tSYS\t X ", "PIXSYS\t X "))
    assert cells(node, "GPU0") == {"GPU0": "X", "GPU1": "NV4", "NIC0": "PIX"}
    assert cells(node, "NIC0") == {"GPU0": "PIX", "GPU1": "SYS", "NIC0": "X"}
    assert noted(node, "cells-glued") == {"GPU0", "NIC0"}
    assert node.whole


def test_a_letter_that_ran_into_the_cpu_cell_gives_the_letter_but_no_cpus() -> None:
    node = read(PLAIN.replace("SYS\t8-15", "SYS8-15"))
    assert cells(node, "GPU1")["NIC0"] == "SYS"
    assert isinstance(gpu(node, "GPU1").cpus, Unknown)


def test_nv1_and_cpu_0_that_ran_together_are_not_nv10() -> None:
    text = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV10\t0\nGPU1\tNV1\t X \t1\t0\n"
    node = read(text)
    assert "GPU1" not in cells(node, "GPU0")
    assert ("GPU0", "row") in gaps(node)


def test_a_lost_cell_makes_the_row_unplaced_and_never_shifted() -> None:
    node = read(PLAIN.replace("GPU1\tNV4\t X \tSYS", "GPU1\tNV4\t X "))
    assert cells(node, "GPU1") == {}
    assert noted(node, "row-not-matching-header") == {"GPU1"}
    assert not node.whole


def test_an_unknown_letter_makes_the_row_unplaced() -> None:
    node = read(PLAIN.replace("GPU1\tNV4", "GPU1\tQPX").replace("\t X \tSYS\t8", "\t X \tSYS\t8"))
    assert cells(node, "GPU1") == {}
    assert ("GPU1", "row") in gaps(node)


def test_a_missing_row_is_a_gap_and_its_gpu_is_still_there() -> None:
    node = read(HEADER + GPU0 + NIC0)
    assert [gpu.label for gpu in node.gpus or ()] == ["GPU0", "GPU1"]
    assert gpu(node, "GPU1").cpus is None
    assert gaps(node) == {("GPU1", "row")}
    assert not node.gpus_complete


def test_a_row_cut_in_the_middle_gives_the_cells_it_has() -> None:
    node = read(HEADER + GPU0 + "GPU1\tNV4\t X \tSY")
    assert cells(node, "GPU1") == {"GPU0": "NV4", "GPU1": "X"}
    assert noted(node, "row-cut") == {"GPU1"}
    assert noted(node, "row-missing") == {"NIC0"}


def test_nv1_at_the_end_of_a_cut_row_counts_only_if_the_mirrored_cell_says_so() -> None:
    text = "\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\t X \tNV18\tNV1\t0-7\n"
    assert cells(read(text + "GPU1\tNV1"), "GPU1") == {}
    assert cells(read(text + "GPU2\tNV1"), "GPU2") == {"GPU0": "NV1"}


def test_a_cpu_cell_at_the_very_end_of_a_text_counts_only_if_another_row_confirms_it() -> None:
    text = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tPHB\t0-7,16-23\n"
    assert gpu(read(text + "GPU1\tPHB\t X \t0-7,1"), "GPU1").cpus is None
    assert gpu(read(text + "GPU1\tPHB\t X \t8-15,24-31"), "GPU1").cpus == CpuSet.parse_list("8-15,24-31")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "GPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n",
        "GPU0GPU1NIC0CPU AffinityNUMA AffinityGPU NUMA ID\n",
        "\tGPU0\nGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n",
        "\tGPU0\tGPU1\tNIC0\tCPU Affi\nnity\tNUMA Affinity\tGPU NUMA ID\n",
        "- topology: \tGPU0\tGPU1\tNIC0\tCPU Affinity\n\n" + HEADER,
        "NVIDIA Topology: " + HEADER,
        "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n",
        "\t[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID[0m\n",
        "\t^[[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID^[[0m\n",
    ],
    ids=["missing", "shifted", "glued", "wrapped", "in a word", "repeated", "captioned", "esc", "lost", "caret"],
)
def test_whatever_became_of_the_header_the_rows_are_read(header: str) -> None:
    node = read(header + GPU0 + GPU1 + NIC0)
    assert node.matrix is not None
    assert node.matrix.columns == ("GPU0", "GPU1", "NIC0")
    assert cells(node, "GPU1") == {"GPU0": "NV4", "GPU1": "X", "NIC0": "SYS"}
    assert (gpu(node, "GPU1").cpus, gpu(node, "GPU1").numa_nodes) == (CpuSet.parse_list("8-15"), (1,))


def test_without_a_header_a_column_that_no_row_names_stays_unnamed() -> None:
    node = read(GPU0 + GPU1)
    assert node.matrix is not None
    assert node.matrix.columns == ("GPU0", "GPU1")
    assert "header-damaged" in kinds(node)
    assert not node.whole


def test_rows_wrapped_at_the_terminals_width_are_joined() -> None:
    wrapped = ""
    for line in PLAIN.expandtabs(8).splitlines():
        wrapped += "".join(line[at : at + 37] + "\n" for at in range(0, len(line), 37))
    node = read(wrapped)
    assert node.whole
    assert cells(node, "GPU1") == {"GPU0": "NV4", "GPU1": "X", "NIC0": "SYS"}
    assert gpu(node, "GPU1").numa_nodes == (1,)


def test_nic_rows_without_columns_keep_their_cells_to_the_gpus() -> None:
    text = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV4\t0-7\nGPU1\tNV4\t X \t0-7\nNIC0\tPIX\tSYS\n"
    node = read(text)
    assert cells(node, "NIC0") == {"GPU0": "PIX", "GPU1": "SYS"}
    assert [nic.label for nic in node.nics or ()] == ["NIC0"]
    assert node.whole


def test_grep_colours_within_rows_do_not_hide_the_labels() -> None:
    node = read(PLAIN.replace("NIC0\tPIX", "\x1b[01;31m\x1b[KNIC0\x1b[m\x1b[K\tPIX"))
    assert cells(node, "NIC0")["GPU0"] == "PIX"


def test_a_markdown_table_keeps_empty_cells_in_their_place() -> None:
    node = read(
        "| | GPU0 | GPU1 | CPU Affinity | NUMA Affinity | GPU NUMA ID |\n|---|---|---|---|---|---|\n"
        "| **GPU0** | X | NV18 | 0-31 | 0 | N/A |\n| **GPU1** | NV18 | X |  | 1 | N/A |\n"
    )
    assert node.whole
    assert gpu(node, "GPU1").cpus == CpuSet()
    assert gpu(node, "GPU1").numa_nodes == (1,)


def test_two_dumps_in_one_text_are_two_nodes_with_their_own_legends() -> None:
    one = PLAIN + "\nNIC Legend:\n\n  NIC0: {}\n\n"
    first, second = parse("== node-a\n" + one.format("mlx5_0") + "== node-b\n" + one.format("mlx5_4"))
    assert [node.nics[0].device for node in (first, second) if node.nics] == ["mlx5_0", "mlx5_4"]
    assert (first.line, second.line) == (2, 12)


def test_lines_of_two_hosts_that_alternate_are_two_nodes() -> None:
    lines = PLAIN.splitlines()
    first, second = parse("".join(f"node-a: {line}\nnode-b: {line}\n" for line in lines))
    assert first.whole
    assert second.whole


def test_a_p2p_matrix_behind_it_does_not_overwrite_the_matrix() -> None:
    node = read(PLAIN + "\n \tGPU0\tGPU1\t\n GPU0\tX\tCNS\t\n GPU1\tCNS\tX\t\n")
    assert cells(node, "GPU0") == {"GPU0": "X", "GPU1": "NV4", "NIC0": "PIX"}


def test_lines_that_name_gpus_are_no_rows() -> None:
    noise = "GPU 0: Some GPU (UUID: GPU-0)\nGPU1 is slow\n- Node 0: GPU0, GPU1\nGPU0<->GPU1 PHB 13 GB/s\n"
    assert read(noise + PLAIN + noise).whole


def test_a_kernel_log_directly_behind_the_rows_is_no_part_of_them() -> None:
    assert read(PLAIN + "Jan 01 00:00:00 node-a kernel: NVRM: Xid (PCI:0000:0f:00): 79, GPU0\n").whole


def test_the_nic_legend_is_read_in_any_order_on_one_line_with_remarks_and_without_caption() -> None:
    text = PLAIN.replace("NIC0\tCPU", "NIC0\tNIC1\tCPU").replace("PIX\t0-7", "PIX\tSYS\t0-7")
    text = text.replace("SYS\t8-15", "SYS\tPIX\t8-15") + "\nNIC1: mlx5_bond_0 -> ens1 (rail 1)   NIC0: roceP2p1s0f0\n"
    node = read(text)
    assert {nic.label: nic.device for nic in node.nics or ()} == {"NIC0": "roceP2p1s0f0", "NIC1": "mlx5_bond_0"}


def test_columns_named_by_device_keep_their_order() -> None:
    node = read("\tGPU0\tmlx5_2\tmlx5_1\tCPU Affinity\nGPU0\t X \tPIX\tSYS\t0-7\n")
    assert node.matrix is not None
    assert node.matrix.columns == ("GPU0", "mlx5_2", "mlx5_1")
    assert [(nic.device, nic.keys[0].value) for nic in node.nics or ()] == [("mlx5_2",) * 2, ("mlx5_1",) * 2]


LEGEND = "\nLegend:\n\n" + "".join(f"  {letter:<4} = words\n" for letter in ("X", "SYS", "NODE", "PHB", "PXB", "PIX"))
OLD_LEGEND = "\nLegend:\n\n  X   = Self\n  SOC = words\n  PHB = words\n  PXB = words\n  PIX = words\n"
NO_NVLINK = PLAIN.replace("NV4", "PHB")


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (PLAIN, "m"),
        (NO_NVLINK, None),
        (NO_NVLINK + LEGEND, "mp"),
        (NO_NVLINK + LEGEND + "  NV#  = words\n", "m"),
        (NO_NVLINK + LEGEND.replace("  PIX  = words\n", ""), None),
        (NO_NVLINK + OLD_LEGEND, "m"),
        ("# nvidia-smi topo -mp\n" + NO_NVLINK, "mp"),
        ("# nvidia-smi topo --matrix\n" + NO_NVLINK, "m"),
    ],
    ids=["NV#", "no sign", "legend of -mp", "legend of -m", "cut legend", "before NVLink", "echo -mp", "echo -m"],
)
def test_the_command_is_told_by_letters_legend_and_echo(text: str, command: str | None) -> None:
    node = read(text)
    assert node.matrix is not None
    assert node.matrix.command == command
    assert node.command == (f"topo -{command}" if command else "")


def test_soc_marks_the_old_letters() -> None:
    node = read(NO_NVLINK.replace("SYS", "SOC"))
    assert node.matrix is not None
    assert node.matrix.old_letters


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("GPU0 GPU1 CPU Affinity\nFailed to run topology matrix\n", "Failed to run topology matrix"),
        ("\n    Usage: nvidia-smi topo [options]\n    [-m | --matrix]: ...\n", "Usage: nvidia-smi topo"),
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure ...\n",
            "couldn't communicate",
        ),
    ],
)
def test_nvidia_smis_own_refusal_is_the_error(text: str, words: str) -> None:
    assert sniff(text)
    with pytest.raises(Unreadable) as error:
        parse(text)
    assert words in error.value.what
    assert error.value.line
    assert error.value.hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "looked for rows"),
        ("intro\n\n\tGPU0\tGPU1\n\ndone\n", "a header with GPU0 GPU1 at line 3 but no row starts with GPU0"),
        (" \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n", "topo -p2p"),
        (" \tGPU0\t\n GPU0\tX\t\n", "no row of a GPU"),
        ("\tPPU0\tPPU1\nPPU0\t X \tICN1\t0-7\nPPU1\tICN1\t X \t0-7\n", "looked for rows"),
        ("\tGPU0\tGPU1\nGPU0\t X \tMX\t0-7\nGPU1\tMX\t X \t0-7\n", "no row of a GPU"),
    ],
    ids=["empty", "header only", "p2p", "p2p of one GPU", "other labels", "other letters"],
)
def test_a_text_without_a_matrix_names_the_nearest_miss(text: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        parse(text)


def test_sniff_says_yes_to_a_matrix_and_no_to_its_sisters() -> None:
    assert sniff(PLAIN)
    assert sniff(GPU0)
    assert not sniff(" \tGPU0\tGPU1\n GPU0\tX\tOK\n")
    assert not sniff("GPU 0: Some GPU (UUID: GPU-0)\n")


@pytest.mark.skipif(not (SHARED / "data/topo-dumps").is_dir(), reason=f"no dumps in {SHARED}; set GPUTOPO_SHARED")
def test_a_dump_is_read_in_two_thirds_of_a_millisecond() -> None:
    texts = [path.read_bytes().decode() for path in (SHARED / "data/topo-dumps").glob("*.txt")]
    best = min(_seconds(texts) for _ in range(3))
    assert best / len(texts) < 1 / 1500


def _seconds(texts: list[str]) -> float:
    start = time.process_time()
    for text in texts:
        parse(text)
    return time.process_time() - start
