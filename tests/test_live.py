"""The live node: this machine as it is, and a node whose driver is a C stand-in that can misbehave."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.evidence.live import standin
from tests.machines import MACHINES
from tests.machines.render_sysfs import render_sysfs

HGX = MACHINES["hgx-h100"]
HOST = ("0::/system.slice/sshd.service\n", "/dev/sda1 / ext4 rw 0 0\n")
CONTAINER = ("0::/kubepods.slice/pod1\n", "overlay / overlay rw 0 0\n")
HANGS = {"do.nvmlDeviceGetName.5": "hang"}
needs_compiler = pytest.mark.skipif(standin.compiler() is None, reason=standin.NO_COMPILER)


class Run(NamedTuple):
    code: int
    out: str
    err: str
    seconds: float

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    def finding(self, rule: str) -> Any:
        return next(one for one in self.document["findings"] if one["rule"] == rule)


def gputopo(*arguments: str, environment: Mapping[str, str] | None = None) -> Run:
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "gputopo", "inspect", *arguments],
        capture_output=True, text=True, check=False, timeout=60, env=environment,
    )  # fmt: skip
    return Run(done.returncode, done.stdout, done.stderr, time.monotonic() - start)


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_root(tmp_path_factory.mktemp("host"), HOST)


def made_root(folder: Path, view: tuple[str, str]) -> Path:
    render_sysfs(HGX, folder)
    (folder / "proc/self/cgroup").write_text(view[0])
    (folder / "proc/self/mounts").write_text(view[1])
    return folder


def asked(root: Path, library: Path, folder: Path, *arguments: str, **planted: str) -> Run:
    """A run against the stand-in; `planted`: what it does wrongly."""
    said = standin.answers(HGX) | {key.replace("__", "."): value for key, value in planted.items()}
    environment = standin.environment(library, said, folder)
    return gputopo("--root", str(root), "-o", "json", *arguments, environment=environment)


def test_this_machine_is_answered_in_text_and_in_json() -> None:
    run = gputopo("-o", "json")
    assert (run.code, run.err) == (0, "")
    document = run.document
    assert document["numaNodes"] is None or all(node["cpus"] is not None for node in document["numaNodes"])
    assert sum(len(one["cpus"]) > 0 for one in document["packages"] or ()) > 0
    assert [source["where"].partition(":")[0] for source in document["sources"]] == ["live"] * len(document["sources"])
    assert document["taken"] is None or document["taken"]["at"] is None
    if not document["gpus"]:
        reason = run.finding("GT022")["message"]
        assert reason.startswith("no GPUs: no GPU on PCI; ")
        assert [line for line in gputopo().out.splitlines() if "no GPUs: " in line]


def test_a_node_without_gpus_is_no_fault_and_nobody_is_asked(tmp_path: Path) -> None:
    render_sysfs(HGX._replace(gpus=(), nvswitches=()), tmp_path)
    for path in sorted((tmp_path / "proc/driver").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    run = gputopo("--root", str(tmp_path), "-o", "json", "--fail-on", "warning")
    assert run.code == 0, run.out
    assert run.finding("GT022")["message"] == "no GPUs: no GPU on PCI; no NVIDIA driver (/proc/driver/nvidia is absent)"
    assert [source["format"] for source in run.document["sources"]] == ["sysfs-root"]
    assert len(run.document["numaNodes"]) == 2
    assert len(run.document["nics"]) == len(HGX.nics)


@needs_compiler
def test_a_healthy_node_joins_sysfs_and_the_driver(root: Path, library: Path, tmp_path: Path) -> None:
    run = asked(root, library, tmp_path, "--fail-on", "warning", "-v")
    assert (run.code, run.err) == (0, "")
    document = run.document
    assert [(source["id"], source["where"], source["whole"]) for source in document["sources"]] == [
        ("sysfs-root", "live", True),
        ("nvml-recording", "live", True),
    ]
    assert [(gpu["id"], gpu["index"], gpu["pci"], gpu["uuid"]) for gpu in document["gpus"]] == [
        (f"GPU{gpu.number}", gpu.number, gpu.pci, gpu.uuid) for gpu in HGX.gpus
    ]
    assert all(gpu["nvlinks"] == {"active": 18, "total": 18, "via": "switch"} for gpu in document["gpus"])
    assert document["system"] == {"product": "HGX H100 8-GPU", "kernel": HGX.kernel, "driver": HGX.driver,
                                  "cuda": "12.8"}  # fmt: skip
    assert document["conflicts"] == []
    assert document["taken"] is None
    between = {frozenset((pair["a"], pair["b"])): pair["level"] for pair in document["pairs"]}
    assert between[frozenset(("GPU0", "GPU7"))] == "NV18"
    assert between[frozenset(("GPU0", "mlx5_0"))] == "PIX"
    assert {one["rule"] for one in document["findings"]}.isdisjoint({"GT016", "GT020", "GT021", "GT022"})


@needs_compiler
def test_a_driver_that_lacks_calls_is_asked_for_the_rest(root: Path, tmp_path: Path) -> None:
    old = standin.build(tmp_path / "old", "OLD_DRIVER")
    run = asked(root, old, tmp_path, "--fail-on", "warning")
    assert run.code == 0, run.out
    assert all(gpu["uuid"] and gpu["index"] is not None for gpu in run.document["gpus"])
    assert all(gpu["nvlinks"]["active"] == 18 for gpu in run.document["gpus"])
    assert all(gpu["numaNodes"] for gpu in run.document["gpus"])  # from sysfs
    assert all(pair["pcie"] for pair in run.document["pairs"])


@needs_compiler
def test_a_call_that_hangs_ends_by_the_timeout(root: Path, library: Path, tmp_path: Path) -> None:
    run = asked(root, library, tmp_path, "--timeout", "1", "--fail-on", "error", do__nvmlDeviceGetName__5="hang")
    assert run.seconds < 1 + 2 + 1.5  # and the interpreter's start on a busy machine
    assert run.code == 1
    finding = run.finding("GT020")
    assert finding["severity"] == "error"
    assert finding["message"] == "the NVIDIA driver did not answer within 1 s (last asked: nvmlDeviceGetName of GPU5)"
    assert finding["evidence"][0]["source"] == "nvml-recording"
    document = run.document
    assert [gpu["pci"] for gpu in document["gpus"]] == [gpu.pci for gpu in HGX.gpus]
    assert {one["attribute"]: one["reason"] for one in document["unknown"]}["nvlinks"] == finding["message"]
    assert {source["id"]: source["whole"] for source in document["sources"]} == {
        "sysfs-root": True, "nvml-recording": False,
    }  # fmt: skip
    assert "GT021" not in {one["rule"] for one in document["findings"]}


@needs_compiler
def test_a_driver_that_hangs_is_said_to_a_person(root: Path, library: Path, tmp_path: Path) -> None:
    environment = standin.environment(library, standin.answers(HGX) | HANGS, tmp_path)
    run = gputopo("--root", str(root), "--timeout", "2.2", environment=environment)
    assert run.code == 0
    assert run.err.startswith("gputopo: waiting for the NVIDIA driver")
    assert "live, without the NVIDIA driver" in " ".join(run.out.split())  # a long path wraps the line
    assert re.search(r"^error GT020  the NVIDIA driver did not answer within 2.2 s", run.out, re.MULTILINE)
    assert "agree" not in run.out.splitlines()[1]


@needs_compiler
def test_a_call_that_crashes_takes_only_the_child_along(root: Path, library: Path, tmp_path: Path) -> None:
    run = asked(root, library, tmp_path, do__nvmlDeviceGetFieldValues__3="crash")
    assert (run.code, run.err) == (0, "")
    finding = run.finding("GT020")
    assert finding["severity"] == "error"
    assert finding["message"] == (
        "a fault in the NVIDIA driver's library killed the process that asked (SIGSEGV) "
        "(last asked: nvmlDeviceGetFieldValues of GPU3)"
    )
    assert len(run.document["gpus"]) == 8


@needs_compiler
def test_a_library_that_ends_the_process_is_no_answer(root: Path, library: Path, tmp_path: Path) -> None:
    run = asked(root, library, tmp_path, do__nvmlInitWithFlags="exit")
    assert "ended the process that asked (status 3)" in run.finding("GT020")["message"]


@needs_compiler
def test_a_shutdown_that_hangs_or_another_refusal_is_named(root: Path, library: Path, tmp_path: Path) -> None:
    run = asked(root, library, tmp_path, do__nvmlInitWithFlags="18")
    assert "nvmlInit with 18 LIB_RM_VERSION_MISMATCH" in run.finding("GT020")["message"]
    run = asked(root, library, tmp_path, do__nvmlDeviceGetCount_v2="999")
    assert "nvmlDeviceGetCount_v2 with 999 UNKNOWN" in run.finding("GT020")["message"]


@needs_compiler
@pytest.mark.parametrize("call", ["nvmlDeviceGetName", "nvmlDeviceGetHandleByIndex_v2"])
def test_a_lost_gpu_is_named_and_the_others_are_answered(call: str, root: Path, library: Path, tmp_path: Path) -> None:
    run = asked(root, library, tmp_path, "--fail-on", "error", **{f"do.{call}.6": "15"})
    assert run.code == 1
    finding = run.finding("GT016")
    assert (finding["severity"], finding["subjects"]) == ("error", ["GPU6"])
    document = run.document
    assert [gpu["pci"] for gpu in document["gpus"]] == [gpu.pci for gpu in HGX.gpus]
    assert [gpu["nvlinks"] is not None and gpu["nvlinks"]["active"] == 18 for gpu in document["gpus"]] == [
        number != 6 for number in range(8)
    ]
    assert {"GT020", "GT021"}.isdisjoint({one["rule"] for one in document["findings"]})


@needs_compiler
def test_a_gpu_that_the_driver_does_not_list_is_an_error_on_a_host(root: Path, library: Path, tmp_path: Path) -> None:
    said = standin.answers(HGX, HGX.gpus[:7])
    run = gputopo("--root", str(root), "-o", "json", environment=standin.environment(library, said, tmp_path))
    finding = run.finding("GT021")
    assert (finding["severity"], finding["subjects"]) == ("error", [HGX.gpus[7].pci])
    assert "does not list it" in finding["message"]


@needs_compiler
def test_a_container_sees_its_own_gpus_and_says_so(library: Path, tmp_path: Path) -> None:
    root = made_root(tmp_path / "root", CONTAINER)
    (root / "proc/self/status").write_text("Cpus_allowed_list:\t56-63\n")
    said = standin.answers(HGX, HGX.gpus[4:6])
    run = gputopo("--root", str(root), "-o", "json", "--fail-on", "error",
                  environment=standin.environment(library, said, tmp_path))  # fmt: skip
    assert run.code == 0
    document = run.document
    assert document["view"] == "container"
    assert [(gpu["id"], gpu["pci"]) for gpu in document["gpus"][:2]] == [
        ("GPU0", HGX.gpus[4].pci), ("GPU1", HGX.gpus[5].pci),
    ]  # fmt: skip
    hidden = run.finding("GT021")
    assert (hidden["severity"], len(hidden["subjects"])) == ("info", 6)
    assert "not given to this container" in hidden["message"]
    assert run.finding("GT023")["message"] == (
        "seen from a container: GPU numbers are the container's own, not the host's; "
        "its cpuset allows CPUs 56-63, 8 of 224"
    )
    assert "seen from a container" in gputopo("--root", str(root), "--driver-root", "/nowhere").out


@needs_compiler
def test_a_driver_root_is_searched_inside_and_nowhere_else(root: Path, library: Path, tmp_path: Path) -> None:
    inside = tmp_path / "host/run/nvidia/driver/usr/lib64"
    inside.mkdir(parents=True)
    (inside / "libnvidia-ml.so.570").write_bytes(library.read_bytes())
    # as a driver container has it: absolute, and meant from its own root
    (inside / "libnvidia-ml.so.1").symlink_to("/run/nvidia/driver/usr/lib64/libnvidia-ml.so.570")
    environment = standin.environment(library, standin.answers(HGX), tmp_path)
    del environment["LD_LIBRARY_PATH"]
    arguments = ("--root", str(root), "-o", "json", "--driver-root")
    run = gputopo(*arguments, str(tmp_path / "host"), environment=environment)
    assert run.document["sources"][1]["name"] == str(inside / "libnvidia-ml.so.570")
    assert run.document["gpus"][0]["index"] == 0
    environment["LD_LIBRARY_PATH"] = str(library.parent)
    run = gputopo(*arguments, str(tmp_path / "empty"), environment=environment)
    assert run.finding("GT020")["message"] == "the NVIDIA driver's library libnvidia-ml.so.1 is not there"


def test_without_a_library_the_answer_is_from_sysfs(root: Path, tmp_path: Path) -> None:
    run = gputopo("--root", str(root), "-o", "json", "--fail-on", "error", "--driver-root", str(tmp_path))
    assert run.code == 1
    assert run.finding("GT020")["severity"] == "error"
    assert [gpu["pci"] for gpu in run.document["gpus"]] == [gpu.pci for gpu in HGX.gpus]


def test_a_library_that_is_none_is_said(root: Path, tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_text("no ELF")
    run = gputopo("--root", str(root), "-o", "json", "--driver-root", str(tmp_path))
    assert "library cannot be loaded: " in run.finding("GT020")["message"]


@needs_compiler
def test_without_the_kernel_module_it_is_said_so(root: Path, library: Path, tmp_path: Path) -> None:
    run = gputopo("--root", str(root), "-o", "json", environment=standin.environment(library, None, tmp_path))
    assert "nvmlInit with 9 DRIVER_NOT_LOADED" in run.finding("GT020")["message"]
    assert run.finding("GT020")["remedy"].startswith("modprobe nvidia")


@needs_compiler
def test_the_working_directory_gives_the_child_no_modules(root: Path, library: Path, tmp_path: Path) -> None:
    """Whoever inspects inside a stranger's folder must not run his pynvml.py."""
    (tmp_path / "pynvml.py").write_text("raise SystemExit('taken')")
    (tmp_path / "json.py").write_text("raise SystemExit('taken')")
    environment = standin.environment(library, standin.answers(HGX), tmp_path)
    code = "import sys; sys.path.remove(''); from gputopo.cli import main; main(sys.argv[1:])"
    environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code, "--root", str(root), "-o", "json"],
        capture_output=True, text=True, check=True, timeout=60, env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert json.loads(done.stdout)["gpus"][0]["index"] == 0


@needs_compiler
def test_a_lost_gpu_among_hidden_ones_is_not_called_hidden(library: Path, tmp_path: Path) -> None:
    root = made_root(tmp_path / "root", CONTAINER)
    said = standin.answers(HGX, HGX.gpus[2:6]) | {"do.nvmlDeviceGetHandleByIndex_v2.1": "15"}
    run = gputopo("--root", str(root), "-o", "json", environment=standin.environment(library, said, tmp_path))
    assert run.code == 0
    assert run.finding("GT016")["subjects"] == ["GPU1"]
    assert run.finding("GT021")["message"].endswith("are not given to this container (one of them may be GPU1)")


@needs_compiler
@pytest.mark.parametrize("planted", [{}, {"do.nvmlDeviceGetName.5": "crash"}])
def test_the_saved_document_of_a_live_node_gives_itself(
    planted: dict[str, str], root: Path, library: Path, tmp_path: Path
) -> None:
    run = asked(root, library, tmp_path, **planted)
    (tmp_path / "node.json").write_text(run.out)
    assert gputopo(str(tmp_path / "node.json"), "-o", "json").out == run.out


@needs_compiler
def test_ctrl_c_while_the_driver_hangs_ends_both(root: Path, library: Path, tmp_path: Path) -> None:
    environment = standin.environment(library, standin.answers(HGX) | HANGS, tmp_path)
    with subprocess.Popen(
        [sys.executable, "-m", "gputopo", "inspect", "--root", str(root)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        assert process.stderr.readline().startswith("gputopo: waiting for the NVIDIA driver")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        child = children.read_text().split()[0] if children.exists() else None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "")
    assert child is None or not Path(f"/proc/{child}").exists()


def test_tegra_is_named(tmp_path: Path) -> None:
    (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/nv_tegra_release").write_text("# R36 (release), REVISION: 4.0\n")
    run = gputopo("--root", str(tmp_path), "-o", "json", "--driver-root", str(tmp_path))
    assert "Tegra: its GPU is a part of the chip" in run.finding("GT022")["message"]


@needs_compiler
def test_wsl_has_gpus_without_a_place_on_pci(library: Path, tmp_path: Path) -> None:
    (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
    for name in ("dev/dxg", "usr/lib/wsl/lib/libdxcore.so"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    said = standin.answers(HGX, HGX.gpus[:1])
    run = gputopo("--root", str(tmp_path), "-o", "json", environment=standin.environment(library, said, tmp_path))
    assert [gpu["name"] for gpu in run.document["gpus"]] == [HGX.gpus[0].name]
    reasons = {one["attribute"]: one["reason"] for one in run.document["unknown"]}
    assert reasons["parent"].startswith("Windows Subsystem for Linux")


@pytest.mark.parametrize("option", ["--root", "--driver-root"])
def test_options_of_the_live_node_need_the_live_node(option: str) -> None:
    run = gputopo(option, "/", "sample:hgx-h100")
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith(f"gputopo: error: {option} is for the live node")


def test_the_time_stands_on_a_terminal_only(tmp_path: Path) -> None:
    (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
    stamp = re.compile(r"live \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ")
    assert not stamp.search(gputopo("--root", str(tmp_path)).out)
    ours, theirs = pty.openpty()
    code = [sys.executable, "-m", "gputopo", "inspect", "--root", str(tmp_path)]
    with subprocess.Popen(code, stdout=theirs, stderr=subprocess.DEVNULL) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:  # EIO: the other end is closed
            pass
        os.close(ours)
    assert process.returncode == 0
    assert stamp.search(shown.decode())


def test_inspecting_a_file_loads_nothing_of_the_live_node(tmp_path: Path) -> None:
    code = (
        "import sys; from gputopo.cli import run; run(['inspect', 'sample:hgx-h100', '--output-file', sys.argv[1]]);"
        "print([name for name in sys.modules"
        " if name.startswith('gputopo.evidence.live') or name in ('ctypes', 'pynvml')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "out")], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
