"""GPUDirect in the report: a line for what is alike, however many GPUs and NICs there are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gputopo.reports.blocks import KeyValue
from gputopo.reports.views.inspect_gpudirect import gpudirect
from gputopo.topology.gpudirect_conditions import ACS_READ, IOMMU_READ
from gputopo.topology.node import Gpu, GpuDirect, NodeTopology
from tests.topology.gpudirect_host import Host

READY = "PIX; nvidia_peermem; no ACS redirect; IOMMU off"


def lines(*paths: GpuDirect) -> list[str]:
    """`title key: parts` of each line."""
    gpus = tuple(Gpu(f"GPU{n}", pci=f"0000:{n:02x}:00.0") for n in range(8))
    made = gpudirect(NodeTopology(gpus=gpus, gpudirect=paths))
    assert all(isinstance(block, KeyValue) for block in made)
    return [
        f"{block.title}|{block.key}|" + " / ".join("".join(span.text for span in part) for part in block.parts)
        for block in made if isinstance(block, KeyValue)
    ]  # fmt: skip


def near(kind: str, verdict: str, because: str, *missing: str, disk: str = "") -> list[GpuDirect]:
    return [GpuDirect(f"GPU{n}", disk or f"mlx5_{n}", kind, verdict, because, missing) for n in range(8)]


def test_eight_gpus_and_eight_nics_that_are_ready_are_one_line() -> None:
    assert lines(*near("rdma", "ready", READY)) == [f"GPUDirect|RDMA|ready: GPU0-GPU7 with mlx5_0-mlx5_7 / {READY}"]


def test_two_kinds_and_what_to_read_are_three_lines() -> None:
    rdma = near("rdma", "unknown", "ACS not read; IOMMU mode not read", ACS_READ, IOMMU_READ)
    disks = near("gds", "unknown", "IOMMU mode not read", IOMMU_READ, disk="0000:f1:00.0")
    assert lines(*rdma, *disks) == [
        "GPUDirect|RDMA|not decided: GPU0-GPU7 with mlx5_0-mlx5_7 / ACS not read; IOMMU mode not read",
        "|Storage|not decided: GPU0-GPU7 with f1:00.0 / IOMMU mode not read",
        f"|to read|{ACS_READ} | {IOMMU_READ}",
    ]


def test_the_odd_ones_are_named_after_the_many() -> None:
    paths = near("rdma", "ready", READY)
    paths[5] = paths[5]._replace(verdict="not", because="ACS sends the traffic between them up to the CPU")
    assert lines(*paths) == [
        f"GPUDirect|RDMA|ready: GPU0-GPU4, GPU6, GPU7 with mlx5_0-mlx5_4, mlx5_6, mlx5_7 / {READY}",
        "||no: GPU5-mlx5_5 / ACS sends the traffic between them up to the CPU",
    ]


def test_reasons_without_end_are_counted() -> None:
    paths = [one._replace(because=f"reason {place}") for place, one in enumerate(near("rdma", "not", ""))]
    made = lines(*paths)
    assert len(made) == 5
    assert made[-1] == "||and 4 other reasons (-o json)"


def test_a_node_without_near_pairs_has_no_section(tmp_path: Path) -> None:
    assert lines() == []
    host = Host(tmp_path)
    host.file(f"{host.gpu_folder}/vendor", "0x1002")
    assert gpudirect(host.node()) == ()


def test_a_text_that_cannot_tell_loads_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "topo.txt").write_text("\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-7\t0\n")
    code = (
        "import sys; from gputopo.cli import run; run(['inspect', sys.argv[1], '--output-file', sys.argv[2]]);"
        "print([name for name in sys.modules if 'gpudirect' in name or name.startswith('gputopo.rules.iommu')])"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "topo.txt"), str(tmp_path / "out")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
