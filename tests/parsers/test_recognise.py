"""What a text is; and what an unknown one is told."""

from __future__ import annotations

import pytest

from gputopo.errors import GputopoError
from gputopo.evidence.piece import Piece
from gputopo.parsers.formats import MISSES
from gputopo.parsers.recognise import nearest_miss, parse, recognise, unrecognised, why_unreadable

TOPO = (
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tPHB\t0-15\t0\n"
    "GPU1\tPHB\t X \t0-15\t0\n"
)  # fmt: skip
LSCPU = (
    "Architecture:          x86_64\n"
    "CPU(s):                16\n"
    "Thread(s) per core:    1\n"
    "Core(s) per socket:    8\n"
    "Socket(s):             2\n"
    "NUMA node(s):          2\n"
    "NUMA node0 CPU(s):     0-7\n"
    "NUMA node1 CPU(s):     8-15\n"
)
NCCL = (
    '<system version="1"><cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="GenuineIntel" '
    'familyid="6" modelid="85"><pci busid="0000:07:00.0" class="0x030200" link_speed="16 GT/s" '
    'link_width="16"><gpu dev="0" sm="80" rank="0" gdr="1"/></pci></cpu></system>'
)
HWLOC = '<?xml version="1.0"?><topology version="2.0"><object type="Machine" os_index="0"/></topology>'
DOCUMENT = '{"apiVersion": "gputopo/v1alpha1", "kind": "NodeTopology", "sources": ["GPU0 X PHB"]}'


@pytest.mark.parametrize(
    ("text", "formats"),
    [
        (TOPO, ("nvidia-smi-topo",)),
        (LSCPU, ("lscpu",)),
        (NCCL, ("nccl-xml",)),
        (HWLOC, ("hwloc-xml",)),
        (f"Collecting environment information...\n{LSCPU}\nGPU Topology:\n{TOPO}", ("nvidia-smi-topo", "lscpu")),
        (DOCUMENT, ("gputopo-json",)),
        ("\n " + DOCUMENT, ("gputopo-json",)),
        (DOCUMENT.replace("v1alpha1", "v2"), ("gputopo-json",)),
        ("Failed to run topology matrix\n", ("nvidia-smi-topo",)),
        ("", ()),
        ("GPU prices rose again; the topology of the market changed.", ()),
        ("==============NVSMI LOG==============\nDriver Version : 550", ("nvidia-smi-q",)),
        ("| NVIDIA-SMI 550.163.01   Driver Version: 550.163.01   CUDA Version: 12.4 |", ("nvidia-smi-table",)),
        ("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)", ("nvidia-smi-list",)),
        ("GPU 0: NVIDIA H100 (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n", ("nvidia-smi-nvlink",)),
        (" \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n", ("nvidia-smi-p2p",)),
        ("index, name, uuid, pci.bus_id\n0, NVIDIA H100, GPU-1, 00000000:1A:00.0", ("nvidia-smi-list",)),
        ("mlx5_0 port 1 ==> ib0 (Up)", ("ibdev2netdev",)),
        ("-[0000:00]-+-00.0  Intel Corporation Device 09a2", ("lspci-tv",)),
        ("node distances:\nnode   0   1\n  0:  10  21", ("numactl-hardware",)),
        ("the NUMA talk is at noon, bring your CPU(s)", ()),
        ("{}", ()),
        ("<system>", ()),
    ],
)
def test_recognise(text: str, formats: tuple[str, ...]) -> None:
    assert recognise(text) == formats
    if not formats:
        assert why_unreadable(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("host:1:2 [0] NCCL INFO Bootstrap : Using eth0", "NCCL log"),
        ("apiVersion: gputopo/v1alpha1\nkind: NodeTopology", "YAML"),
        ("apiVersion: v1\nkind: Pod", "Kubernetes"),
    ],
)
def test_what_is_known_but_not_read_yet_is_called_by_name(text: str, said: str) -> None:
    assert said in (nearest_miss(text) or "")
    with pytest.raises(GputopoError) as caught:
        parse(Piece("pasted.txt", data=text.encode()))
    assert said in caught.value.what
    assert caught.value.where == "pasted.txt"
    assert caught.value.hint


def test_only_what_is_no_evidence_is_said_to_be_none() -> None:
    assert "does not say how a node is wired" in (nearest_miss("apiVersion: v1\nkind: Pod") or "")
    own = nearest_miss("apiVersion: gputopo/v1alpha1\nkind: NodeTopology") or ""
    assert own == "this is gputopo's own YAML, which this version does not read yet"


def test_an_unknown_text_is_told_what_was_looked_for() -> None:
    error = unrecognised("meeting at noon")
    assert nearest_miss("meeting at noon") is None
    for tool in ("nvidia-smi", "NCCL", "lstopo", "lscpu", "lspci", "numactl", "ibdev2netdev", "rocm-smi", "amd-smi"):
        assert tool in error.what


def test_the_error_of_nvidia_smi_reaches_the_user() -> None:
    with pytest.raises(GputopoError) as caught:
        parse(Piece("topo.txt", data=b"GPU0 GPU1 CPU Affinity\nFailed to run topology matrix\n"))
    assert caught.value.exit_code == 2
    assert "Failed to run topology matrix" in str(caught.value)


def test_one_format_that_fails_beside_others_is_a_gap() -> None:
    text = f"{LSCPU}\nFailed to run topology matrix\n"
    records = parse(Piece("report.txt", data=text.encode()))
    assert [one.format for one in records] == ["lscpu"]
    assert any("nvidia-smi-topo" in gap.reason for gap in records[0].gaps)


def test_why_a_member_of_a_folder_is_left() -> None:
    assert why_unreadable(TOPO) == why_unreadable(DOCUMENT) == ""
    assert why_unreadable("meeting at noon") == "of no known format"
    assert "Failed to run" in why_unreadable("Failed to run topology matrix\n")
    assert why_unreadable("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)") == ""
    assert "NCCL log" in why_unreadable("host:1:2 [0] NCCL INFO Bootstrap : Using eth0")


def test_a_forced_format_is_the_only_one_tried() -> None:
    piece = Piece("report.txt", data=f"{LSCPU}\n{TOPO}".encode())
    assert {one.format for one in parse(piece)} == {"nvidia-smi-topo", "lscpu"}
    assert {one.format for one in parse(piece, "lscpu")} == {"lscpu"}
    for wrong in ("hwloc-xml", "sysfs-root", "nonsense"):
        with pytest.raises(GputopoError):
            parse(piece, wrong)


def test_hints_of_the_misses_are_a_line() -> None:
    for words, what, hint in MISSES:
        assert words
        assert "\n" not in what + hint
