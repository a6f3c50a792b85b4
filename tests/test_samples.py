"""The shipped samples are current, printed to the byte, and tell the truth about themselves."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from gputopo.cli import run
from gputopo.errors import GputopoError
from gputopo.sample_files import sample_names, sample_paths
from tests.machines import MACHINES, PLANTABLE, SPELLINGS, Spelled, planted, spellings, write
from tests.machines.letters import NEAR_TO_FAR, devices, pcie_level
from tests.machines.render_topo import cut_cpus, render_topo

SAMPLES = write.SAMPLES
WANTED = {
    "hgx-h100", "hgx-h200-container", "hgx-b200", "dgx-a100", "dgx-a100-nps4", "dgx1-v100", "dgx2", "gb200-tray",
    "pcie-2s-8gpu", "pcie-bridged", "pcie-10gpu", "4x4090", "l40s-vm-flat", "soc-era-p40", "mixed-5gpu", "single-gpu",
}  # fmt: skip

# Typed by hand from what nvidia-smi 550.163.01 prints.
SINGLE_GPU_550 = (
    b"\t\x1b[4mGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    b"GPU0\t X \t0-15\t\tN/A\t\tN/A\n"
    b"\n"
    b"Legend:\n"
    b"\n"
    b"  X    = Self\n"
    b"  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)\n"
    b"  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node\n"
    b"  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)\n"
    b"  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)\n"
    b"  PIX  = Connection traversing at most a single PCIe bridge\n"
    b"  NV#  = Connection traversing a bonded set of # NVLinks\n"
)
FIRST_ROWS = {
    "4x4090": b"\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    b"GPU0\t X \tPHB\tNODE\tNODE\t0-31\t0\t\tN/A\n"
    b"GPU1\tPHB\t X \tNODE\tNODE\t0-31\t0\t\tN/A\n",
    "l40s-vm-flat": b"\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    b"GPU0\t X \tPHB\tPHB\tPHB\t0-31\t\tN/A\t\tN/A\n",
    "gb200-tray": b"\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tNIC2\tNIC3\tNIC4\tNIC5"
    b"\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    b"GPU0\t X \tNV18\tNV18\tNV18\tSYS\tSYS\tSYS\tSYS\tSYS\tSYS\t0-71\t0,3-9,11-17\t\t2\n",
    "soc-era-p40": b"\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tmlx5_0\tCPU Affinity\x1b[0m\n"
    b"GPU0\t X \tPIX\tPHB\tPHB\tSOC\tSOC\tSOC\tSOC\tPHB\t0-13,28-41\n",
}
LINES = {
    # The container may not use a CPU near GPU4: an empty cell, the node still right.
    "hgx-h200-container": b"GPU4\tNV18\tNV18\tNV18\tNV18\t X \tNV18\tNV18\tNV18"
    b"\tSYS\tSYS\tSYS\tSYS\tPIX\tNODE\tNODE\tNODE\t\t1\t\tN/A\n",
    # 32 even CPUs, of which the printer gives the first six.
    "pcie-bridged": b"GPU0\t X \tNV4\tNODE\tNODE\tSYS\tSYS\tSYS\tSYS\tNODE\tSYS\t0,2,4,6,8,10\t0\t\tN/A\n",
    # NIC rows end in the tabs of the empty columns: four, two and one of them.
    "hgx-b200": b"NIC0\tPIX\tPIX\tNODE\tNODE\tSYS\tSYS\tSYS\tSYS\t X \tPIX\tNODE\tNODE\tSYS\tSYS\tSYS\tSYS\t\t\t\t\n",
    "dgx1-v100": b"mlx5_2\tSYS\tSYS\tSYS\tSYS\tPIX\tPIX\tPHB\tPHB\tSYS\t X \tSYS\tPHB\t\t\n",
    "soc-era-p40": b"mlx5_0\tPHB\tPHB\tPHB\tPHB\tSOC\tSOC\tSOC\tSOC\t X \t\n",
}


def topo(name: str) -> bytes:
    return Path(sample_paths(name)[0]).read_bytes()


def expected(name: str) -> dict[str, Any]:
    folder = Path(sample_paths(name)[0]).parent
    document: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return document


def test_committed_samples_are_current() -> None:
    """`python -m tests.machines.write --check` has nothing to say."""
    assert write.differences() == []


def test_sixteen_machines_ship() -> None:
    assert set(sample_names()) == WANTED == set(MACHINES)


def test_check_names_an_old_a_missing_and_a_leftover_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "SAMPLES", tmp_path)
    assert write.main([]) == 0
    assert write.main(["--check"]) == 0
    (tmp_path / "nvidia-smi-topo/single-gpu/topo.txt").write_text("old")
    (tmp_path / "pods/pcie-2s-8gpu-crossing/README.md").unlink()
    (tmp_path / "jobs/stray").write_text("")
    said = {line.split(":")[0] for line in write.differences()}
    assert said == {"not current", "missing", "left over"}
    assert write.main(["--check"]) == 1


def test_one_gpu_without_numa_to_the_byte() -> None:
    assert topo("single-gpu") == SINGLE_GPU_550


def answered(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    run([*arguments, "-o", "json"])
    said = capsys.readouterr()
    assert said.err == ""
    document: dict[str, Any] = json.loads(said.out)
    return document


def test_the_job_is_on_its_machine_and_its_cause_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """Eight ranks at the machine's bus ids; the one thing wrong with it is what it was started with."""
    folder = SAMPLES / "jobs/hgx-h100-p2p-disabled"
    log, gpus = str(folder / "nccl.log"), str(folder / "gpus.csv")
    said = answered(["diagnose", "sample:hgx-h100", gpus, "--nccl-log", log], capsys)
    assert [(one["rank"], one["gpu"]) for one in said["ranks"]] == [(at, f"GPU{at}") for at in range(8)]
    assert [one["rule"] for one in said["findings"] if one["severity"] != "info"] == ["GT511"]
    assert not any("bus ids" in one["text"] for one in said["assumptions"])
    assert {hop["transport"] for hop in said["hops"]} == {"SHM/direct/direct"}


@pytest.mark.parametrize("file", ["podresources.json", "kubelet_internal_checkpoint"])
def test_the_pods_hold_what_the_real_plugin_can_give(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = SAMPLES / "pods/pcie-2s-8gpu-crossing"
    gpus, objects = str(folder / "gpus.txt"), str(folder / "pods.json")
    said = answered(["pods", "sample:pcie-2s-8gpu", gpus, str(folder / file), objects], capsys)
    held = {one["name"]: one["gpus"] for one in said["pods"]}
    assert held == {"embed-0": ["GPU0"], "embed-1": ["GPU4"], "llm-tp4-0": ["GPU1", "GPU2", "GPU3", "GPU5"]}
    assert said["conflicts"] == []
    assert [one["rule"] for one in said["findings"]] == ["GT402"]
    asked = ["allocate", "device-plugin", "sample:pcie-2s-8gpu", "-c", "4", "--in-use", "0,4"]
    assert held["llm-tp4-0"] in [one["gpus"] for one in answered(asked, capsys)["outcomes"]]


@pytest.mark.parametrize("name", FIRST_ROWS)
def test_header_and_first_row_to_the_byte(name: str) -> None:
    assert topo(name).startswith(FIRST_ROWS[name])


@pytest.mark.parametrize("name", LINES)
def test_rows_with_odd_tails_to_the_byte(name: str) -> None:
    assert LINES[name] in topo(name)


def test_nic_legend_follows_the_legend_of_the_new_generation_only() -> None:
    names = b"".join(b"  NIC%d: mlx5_%d\n" % (number, number) for number in range(8))
    assert topo("hgx-b200").endswith(b"NVLinks\n\nNIC Legend:\n\n" + names)
    assert b"NIC Legend" not in topo("dgx2") + topo("soc-era-p40")


@pytest.mark.parametrize(
    ("cpus", "printed"),
    [
        ("0,2,4,6,8,10,12,14,16,18,20,22", "0,2,4,6,8,10"),
        ("0-1,4-5,8-9,12-13", "0-1,4-5,8-9"),
        ("0-15,32-47,64-79,96-111", "0-15,32-47"),
        ("0-15,32-47,50", "0-15,32-47"),
        ("12,14,16,18,20", "12,14,16,18"),
        ("128-255,384-511", "128-255,384-511"),
        ("0-63", "0-63"),
    ],
)
def test_the_printer_stops_at_ten_characters(cpus: str, printed: str) -> None:
    """Measured on nvidia-smi 470, 535 and 550."""
    assert cut_cpus(cpus) == printed


def test_mp_shows_the_letters_that_nvlink_hides() -> None:
    text = render_topo(MACHINES["hgx-h100"], "mp")
    assert "NV" not in text
    assert "\nGPU0\t X \tNODE\tNODE\tNODE\tSYS\tSYS\tSYS\tSYS\tPIX\t" in text


@pytest.mark.parametrize("name", sorted(WANTED))
def test_letters_are_symmetric_and_an_ultrametric(name: str) -> None:
    """Of the levels of any three devices the two largest are equal."""
    machine = MACHINES[name]
    members = devices(machine)
    level = {
        (a.pci, b.pci): NEAR_TO_FAR.index(pcie_level(machine, a, b)) for a in members for b in members if a is not b
    }
    assert all(level[a, b] == level[b, a] for a, b in level)
    for a, b, c in combinations([member.pci for member in members], 3):
        _, second, largest = sorted((level[a, b], level[b, c], level[a, c]))
        assert second == largest, (a, b, c)


@pytest.mark.parametrize("name", sorted(WANTED))
def test_expected_is_whole(name: str) -> None:
    """Every device and pair of the matrix, each attribute with its speakers, every level decided by some."""
    document = expected(name)
    printed = {line.split("\t")[0] for line in topo(name).decode().splitlines()[1:] if "\t X " in line}
    ids = {device["id"] for device in (*document["gpus"], *document["nics"])}
    assert printed <= ids
    assert {frozenset((pair["a"], pair["b"])) for pair in document["pairs"]} == set(
        map(frozenset, combinations(sorted(printed), 2))
    )
    for gpu in document["gpus"]:
        assert {"id", "index", "numaNodes", "cpus", "memoryNumaNode", "pci", "uuid", "name", "nvlinks"} <= set(gpu)
    for pair in document["pairs"]:
        assert pair["decidedBy"]
        assert set(pair["decidedBy"]) <= set(SPELLINGS)
    for attribute, who in document["speaks"].items():
        assert set(who) <= set(SPELLINGS), attribute
    assert len(sample_paths(name)) == 1 + MACHINES[name].sockets_matter


@pytest.mark.parametrize("name", sorted(WANTED))
def test_expected_level_is_the_printed_cell(name: str) -> None:
    rows = [line.split("\t") for line in topo(name).decode().split("\n\n")[0].splitlines()[1:]]
    labels = [row[0] for row in rows]
    cells = {(row[0], label): cell for row in rows for label, cell in zip(labels, row[1:])}
    for pair in expected(name)["pairs"]:
        assert cells[pair["a"], pair["b"]] == cells[pair["b"], pair["a"]] == pair.get("printed", pair["level"])


def test_facts_that_other_tests_lean_on() -> None:
    """Each H100 has its own root; the NPS4 pairs are PXB and far apart; the bridged pairs are islands."""
    assert expected("hgx-h100")["islands"]["pcieRoot"] == []
    nps4 = {(pair["a"], pair["b"]): pair for pair in expected("dgx-a100-nps4")["pairs"]}
    assert nps4["GPU0", "GPU1"]["pcie"] == "PXB"
    assert nps4["GPU0", "GPU2"]["pcie"] == "SYS"
    assert nps4["GPU0", "GPU2"]["crossNuma"] is True
    assert nps4["GPU0", "GPU2"]["crossPackage"] is False
    assert [gpu["numaNodes"] for gpu in expected("dgx-a100-nps4")["gpus"]] == [[3], [3], [1], [1], [7], [7], [5], [5]]
    pairs = [[f"GPU{first}", f"GPU{first + 1}"] for first in (0, 2, 4, 6)]
    assert expected("pcie-bridged")["islands"]["nvlink"] == pairs
    assert all(sum(count for _, count in gpu.peers) == 6 for gpu in MACHINES["dgx1-v100"].gpus)


def test_every_spelling_is_written(spelled: Spelled) -> None:
    paths = spelled("hgx-h100")
    assert tuple(paths) == SPELLINGS
    gpu = paths["sysfs-root"] / "sys/bus/pci/devices/0000:0f:00.0"
    assert gpu.is_symlink()
    assert not str(gpu.readlink()).startswith("/")
    assert (gpu / "numa_node").read_text() == "0\n"
    assert (gpu.resolve().parent / "class").read_text() == "0x060400\n"
    recording = json.loads(paths["nvml-recording"].read_text())["snap"]
    assert len(recording["gpus"][7]["cpus"]) == 4
    assert {link[2] for link in recording["gpus"][0]["links"]} == {2}


@pytest.mark.parametrize("what", PLANTABLE)
def test_a_planted_difference_changes_its_spelling_and_the_truth_stays(what: str, tmp_path: Path) -> None:
    machine = MACHINES["hgx-h100"]
    where = {"numa": "topo-m", "letter": "topo-mp", "nvlinks": "topo-m", "nic-address": "nccl-xml"}[what]
    true = spellings(machine, tmp_path / "true", only=where)
    wrong = spellings(planted(machine, what), tmp_path / "wrong", only=where)
    before, after = (paths[where].read_text().splitlines() for paths in (true, wrong))
    assert len(before) == len(after)
    changed = [pair for pair in zip(before, after) if pair[0] != pair[1]]
    assert len(changed) == {"numa": 1, "letter": 2, "nvlinks": 2, "nic-address": 1}[what]


def test_a_machine_without_the_thing_refuses_the_planting() -> None:
    with pytest.raises(LookupError, match="no pair with two NVLinks"):
        planted(MACHINES["single-gpu"], "nvlinks")


def test_unknown_sample_names_the_nearest() -> None:
    with pytest.raises(GputopoError) as caught:
        sample_paths("dgx-a10")
    assert caught.value.exit_code == 2
    assert "dgx-a100" in caught.value.hint
