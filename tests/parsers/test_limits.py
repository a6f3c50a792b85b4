"""What one text may say at most, and how long it may take to be refused."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import pytest

from gputopo.evidence.piece import Piece
from gputopo.inspection import inspect
from gputopo.parsers import kube_objects, limits, plugin_config
from gputopo.parsers.limits import LINE_MOST, LINES_MOST, lines_of
from gputopo.parsers.recognise import parse
from gputopo.parsers.unreadable import Unreadable


def test_a_line_that_no_tool_prints_is_taken_for_empty() -> None:
    assert lines_of("a\n" + "b" * (LINE_MOST + 1) + "\nc") == ["a", "", "c"]
    assert lines_of("a\n" + "b" * LINE_MOST) == ["a", "b" * LINE_MOST]


def test_lines_are_counted_before_they_are_made() -> None:
    assert len(lines_of("\n" * LINES_MOST)) == LINES_MOST + 1
    with pytest.raises(Unreadable, match="more than 500,000 lines"):
        lines_of("\n" * (LINES_MOST + 1))


TWO = "GPU0\t X \tPHB\nGPU1\tPHB\t X \n"
OUTPUTS = {
    "nvidia-smi-topo": TWO,
    "nvidia-smi-p2p": " GPU0\tX\tOK\n GPU1\tOK\tX\n",
    "nvidia-smi-nvlink": "GPU 0: NVIDIA A40 (UUID: GPU-0)\n\t Link 0: 14.062 GB/s\n",
    "nvidia-smi-list": "GPU 0: NVIDIA A40 (UUID: GPU-0)\n",
    "nvidia-smi-q": "=NVSMI LOG=\nGPU 00000000:18:00.0\n    Product Name : NVIDIA A40\n",
    "ibdev2netdev": "mlx5_0 port 1 ==> ib0 (Up)\nmlx5_0 port 1 ==> ib0 (Down)\n",
    "amd-smi-topo": "HOPS TABLE:\n GPU0 GPU1\nGPU0 0 1\nGPU1 1 0\n\nHOPS TABLE:\n GPU0 GPU1\nGPU0 0 2\nGPU1 2 0\n\n",
    "rocm-smi-topo": "GPU[0] : (Topology) Numa Node: 0\nGPU[0] : (Topology) Numa Node: 1\n",
    "nvidia-bug-report": "Start of NVIDIA bug report log file\n",
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_more_outputs_than_are_read_are_refused_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "NODES_MOST", 20)
    few, many = (Piece("log", data=(OUTPUTS[name] * count).encode()) for count in (10, 30))
    assert parse(few, name)
    with pytest.raises(Exception, match="more than 20 outputs in one text"):
        parse(many, name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nvidia-smi-nvlink", "GPU 1: NVIDIA A40 " + "(UUID:" * 40_000),
        ("nvidia-smi-list", "GPU 1: NVIDIA A40 " + "(UUID:" * 2_500 + "\n"),
        ("nvidia-smi-table", "NVIDIA-SMI 535 Driver Version: 535\n" + "|  0 a" + " " * 15_000 + "|"),
        ("nvidia-smi-p2p", "GPU0 X OK\n" + "GPU0 " * 3_000 + "x"),
        ("nvidia-smi-p2p", TWO.replace("PHB", "OK") * 990),
        ("nvidia-smi-topo", "GPU0 X NV1\n" + "GPU0 " * 3_000 + "x"),
        ("lspci-vvv", "05:00.0" + " " * 65_000),
        ("lspci-vvv", "00:05.0 3D controller: NVIDIA Corporation GV100GL" + " " * 65_000 + "x"),
        ("lspci-vvv", "18:00.0 0302: 10de:2330 " + "(rev a1)" * 16_000),
        ("lspci-tv", "-[0000:00]-+-00.0\n" + "-[0000:00]-" + "[00]-" * 3_000),
    ],
)
def test_no_text_takes_the_square_of_its_length(name: str, text: str) -> None:
    start = process_time()
    try:
        parse(Piece("log", data=text.encode()), name)
    except Exception as error:
        assert type(error).__name__ == "GputopoError"  # noqa: PT017
    assert process_time() - start < 2.0


@pytest.mark.parametrize("read", [kube_objects.read, plugin_config.parse])
@pytest.mark.parametrize("more", ["- a\n" * 8_000_000, "[" * 8_000_000, "---\n" * 8_000_000])
def test_yaml_of_more_values_than_objects_have(read: Callable[[str], object], more: str) -> None:
    start = process_time()
    with pytest.raises(Unreadable, match="YAML of more than 400,000 values"):
        read("apiVersion: v1\nkind: Pod\nversion: v1\nm:\n" + more)
    assert process_time() - start < 2.0


def test_numbers_of_five_thousand_digits_are_unknown() -> None:
    nines = "9" * 5_000
    [node] = parse(
        Piece(
            "topo.xml",
            data=(
                f'<system version="1"><cpu numaid="{nines}"><pci busid="0000:01:00.0" class="0x020700" '
                f'link_width="{nines}"><nic><net name="mlx5_0" port="{nines}" speed="{nines}"/></nic></pci></cpu>'
                "</system>"
            ).encode(),
        )
    )
    [nic] = node.nics or ()
    assert nic.port is None
    assert nic.rate_gbps is None


def test_a_word_that_only_begins_like_a_gpu_is_no_label() -> None:
    [node] = parse(Piece("log", data=("\tGPU0\tGPUA1\tCPU Affinity\n" + TWO + "GPUA1\tX\n").encode()))
    assert [gpu.label for gpu in node.gpus or ()] == ["GPU0", "GPU1"]


def test_hundreds_of_virtual_functions_do_not_stop_a_node() -> None:
    lines = ["01:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)"]
    lines += [
        f"{bus:02x}:{device:02x}.{function} Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]"
        for bus in (2, 3) for device in range(14) for function in range(8)
    ]  # fmt: skip
    start = process_time()
    [one] = inspect((Piece("lspci.txt", data="\n".join(lines).encode()),))
    assert process_time() - start < 8.0
    assert len(one.node.nics or ()) == 224
