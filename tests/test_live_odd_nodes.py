"""Live nodes that are not as they should be: GPUs given away, software RDMA, drivers in odd places, no root."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gputopo.cli import run
from gputopo.evidence.live import node
from gputopo.evidence.live.ask_driver import Answer, ask_driver
from gputopo.evidence.live.driver import libraries
from tests.evidence.live import standin
from tests.test_live import CONTAINER, HANGS, HGX, HOST, gputopo, made_root, needs_compiler


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host, to be read only."""
    return made_root(tmp_path_factory.mktemp("host"), HOST)


def rebind(root: Path, pci: str, driver: str | None) -> None:
    place = (root / "sys/bus/pci/devices" / pci).resolve() / "driver"
    place.unlink()
    if driver is not None:
        (root / f"sys/bus/pci/drivers/{driver}").mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.path.relpath(root / f"sys/bus/pci/drivers/{driver}", place.parent))
    information = root / f"proc/driver/nvidia/gpus/{pci}"
    for file in information.iterdir():
        file.unlink()
    information.rmdir()


def rules(document: Any) -> dict[str, str]:
    return {one["rule"]: one["message"] for one in document["findings"]}


@needs_compiler
def test_with_the_usual_timeout_a_driver_that_hangs_is_answered_within_twelve_seconds(
    root: Path, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten are what the driver is given and two for all the rest; one of the ten passes here."""
    given: list[float] = []

    def hurried(libraries: Sequence[str], timeout: float, **more: Any) -> Answer:
        given.append(timeout)
        return ask_driver(libraries, timeout / 10, **more)

    monkeypatch.setattr(node, "ask_driver", hurried)
    for name, value in standin.environment(library, standin.answers(HGX) | HANGS, tmp_path).items():
        monkeypatch.setenv(name, value)
    start = time.monotonic()
    code = run(["inspect", "--root", str(root), "--driver-root", str(library.parent), "-o", "json"])
    assert time.monotonic() - start < 1 + 2
    assert (code, given) == (0, [10.0])
    document = json.loads(capsys.readouterr().out)
    assert rules(document)["GT020"].startswith("the NVIDIA driver did not answer within 1 s")
    assert len(document["gpus"]) == 8
    assert document["pairs"]


@needs_compiler
def test_gpus_given_to_virtual_machines_are_named_and_are_no_fault(library: Path, tmp_path: Path) -> None:
    root = made_root(tmp_path / "root", HOST)
    for gpu in HGX.gpus[6:]:
        rebind(root, gpu.pci, "vfio-pci")
    environment = standin.environment(library, standin.answers(HGX, HGX.gpus[:6]), tmp_path)
    run = gputopo("--root", str(root), "-o", "json", "--fail-on", "warning", environment=environment)
    assert run.code == 0, run.out
    document = run.document
    assert [gpu["index"] for gpu in document["gpus"]] == [0, 1, 2, 3, 4, 5, None, None]
    assert [gpu["driver"] for gpu in document["gpus"]] == ["nvidia"] * 6 + ["vfio-pci"] * 2
    finding = run.finding("GT016")
    assert (finding["severity"], finding["subjects"]) == ("info", [gpu.pci for gpu in HGX.gpus[6:]])
    assert "vfio" in finding["message"]
    assert {"GT020", "GT021"}.isdisjoint(rules(document))
    given_away = {gpu.pci for gpu in HGX.gpus[6:]}
    verdicts = [one for one in document["gpudirect"] if one["gpu"] in given_away]
    assert verdicts
    assert {(one["verdict"], one["because"].split(";")[0]) for one in verdicts} == {
        ("not", "the GPU is bound to vfio-pci"),
    }  # fmt: skip


@needs_compiler
def test_a_gpu_without_any_driver_is_a_warning(library: Path, tmp_path: Path) -> None:
    root = made_root(tmp_path / "root", HOST)
    rebind(root, HGX.gpus[7].pci, None)
    environment = standin.environment(library, standin.answers(HGX, HGX.gpus[:7]), tmp_path)
    finding = gputopo("--root", str(root), "-o", "json", environment=environment).finding("GT021")
    assert (finding["severity"], finding["subjects"]) == ("warning", [HGX.gpus[7].pci])


def test_where_nvidia_smi_topo_fails_the_node_is_answered_and_the_device_named(tmp_path: Path) -> None:
    """An iWARP or RoCE device in software, beside which `nvidia-smi topo -m` prints no matrix at all."""
    root = made_root(tmp_path / "root", HOST)
    for name in ("siw_eth0", "rxe0"):
        port = root / f"sys/devices/virtual/infiniband/{name}/ports/1"
        port.mkdir(parents=True)
        (port / "state").write_text("4: ACTIVE\n")
        (root / f"sys/class/infiniband/{name}").symlink_to(f"../../devices/virtual/infiniband/{name}")
    run = gputopo("--root", str(root), "-o", "json", "--driver-root", str(tmp_path / "nowhere"))
    assert run.code == 0
    document = run.document
    assert sorted(nic["device"] for nic in document["nics"]) == sorted(str(nic.device) for nic in HGX.nics)
    finding = run.finding("GT014")
    assert finding["subjects"] == ["rxe0", "siw_eth0"]
    assert "nvidia-smi topo -m" in finding["matters"]
    levels = {(pair["a"], pair["b"]): pair["level"] for pair in document["pairs"]}
    assert levels["GPU0", "mlx5_0"] == "PIX"


@pytest.mark.parametrize(
    "place",
    [
        "run/nvidia/driver/usr/lib/x86_64-linux-gnu",
        "home/kubernetes/bin/nvidia/lib64",
        "usr/local/nvidia/lib64",
        "usr/lib64",
        "usr/lib/wsl/lib",
        "",
    ],
)
def test_the_library_is_found_where_drivers_put_it(place: str, tmp_path: Path) -> None:
    folder = tmp_path / "host" / place
    folder.mkdir(parents=True)
    (folder / "libnvidia-ml.so.1").touch()
    assert libraries("/", str(tmp_path / "host")) == (str(folder / "libnvidia-ml.so.1"),)


@needs_compiler
def test_the_root_of_a_host_brings_its_driver_along(library: Path, tmp_path: Path) -> None:
    """`--root /host` alone: the library below it is taken where the loader has none."""
    root = made_root(tmp_path / "root", HOST)
    folder = root / "run/nvidia/driver/usr/lib64"
    folder.mkdir(parents=True)
    (folder / "libnvidia-ml.so.1").write_bytes(library.read_bytes())
    environment = standin.environment(library, standin.answers(HGX), tmp_path)
    del environment["LD_LIBRARY_PATH"]
    run = gputopo("--root", str(root), "-o", "json", environment=environment)
    assert run.document["sources"][1]["name"] == str(folder / "libnvidia-ml.so.1")


def test_what_root_would_add_is_named(tmp_path: Path) -> None:
    root = made_root(tmp_path / "root", HOST)
    for function in (root / "sys/bus/pci/devices").iterdir():
        (function.resolve() / "config").write_bytes(bytes(64))
    document = gputopo("--root", str(root), "-o", "json", "--driver-root", str(tmp_path)).document
    needs = {one["rule"]: one["needs"] for one in document["notChecked"]}
    assert "root: lspci -vvv" in needs["GT101"]
    missing = [read for one in document["gpudirect"] if one["kind"] == "rdma" for read in one["missing"]]
    assert "ACS of the switch ports (root: lspci -vvv)" in missing


def test_a_container_without_numa_nodes_names_its_cpuset_too(tmp_path: Path) -> None:
    import shutil

    root = made_root(tmp_path / "root", CONTAINER)
    shutil.rmtree(root / "sys/devices/system/node")
    (root / "proc/self/status").write_text("Cpus_allowed_list:\t8-15\n")
    run = gputopo("--root", str(root), "-o", "json", "--driver-root", str(tmp_path))
    assert run.finding("GT023")["message"].endswith("its cpuset allows CPUs 8-15, 8 of 224")


def test_a_driver_that_reads_forever_is_left_behind(tmp_path: Path) -> None:
    """/proc/driver/nvidia of a driver in trouble: here a pipe to which nobody writes."""
    root = made_root(tmp_path / "root", HOST)
    file = root / f"proc/driver/nvidia/gpus/{HGX.gpus[0].pci}/information"
    file.unlink()
    os.mkfifo(file)
    run = gputopo("--root", str(root), "-o", "json", "--timeout", "1", "--driver-root", str(tmp_path))
    assert run.seconds < 1 + 2 + 1.5
    assert len(run.document["gpus"]) == 8
