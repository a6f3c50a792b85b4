"""Processes that compute on GPUs: from the driver's list over /proc to who holds what."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from gputopo.evidence.live import ask_driver
from gputopo.evidence.live.processes import ProcTree, read
from gputopo.evidence.tree import FolderTree
from gputopo.holdings import ContainerHolding, DeviceHeld, HoldingRecords, MemoryHeld
from gputopo.parsers import gpu_processes
from gputopo.parsers.gpu_processes import holdings
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.cpu_set import CpuSet
from tests.evidence.live import standin
from tests.machines import MACHINES

POD = "5a6b7c8d-0000-4000-8000-0000000000f1"
BOX = "ab" * 32
SLICE = f"kubepods.slice/kubepods-pod{POD.replace('-', '_')}.slice/cri-containerd-{BOX}.scope"
needs_compiler = pytest.mark.skipif(standin.compiler() is None, reason=standin.NO_COMPILER)


def listed(*gpus: Mapping[str, object]) -> str:
    return json.dumps({"gputopo": "gpu-processes", "version": 1, "gpus": list(gpus)})


def gpu(index: int, *pids: int, **more: object) -> dict[str, object]:
    return {"index": index, "uuid": f"GPU-{index}", "processes": [{"pid": pid} for pid in pids], **more}


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return folder


def process(cgroup: str, cpus: str = "0-7", mems: str = "0", **more: str) -> dict[str, str]:
    return {"cgroup": cgroup, "status": f"Name:\tx\nCpus_allowed_list:\t{cpus}\nMems_allowed_list:\t{mems}\n", **more}


def root(folder: Path, processes: Mapping[int, Mapping[str, str]], **files: str) -> Path:
    """A root folder with proc/ in it."""
    for pid, content in processes.items():
        write(folder / "proc" / str(pid), content)
    return write(folder, files)


def said(folder: Path, text: str) -> HoldingRecords:
    tree = FolderTree(str(folder))
    proc = tree.below("proc")
    assert proc is not None
    return holdings(text, proc, tree)


def test_processes_of_one_container_are_one_holding(tmp_path: Path) -> None:
    environ = "HOME=/root\0NVIDIA_VISIBLE_DEVICES=GPU-0,GPU-1\0NVIDIA_VISIBLE_DEVICES=void\0"
    maps = "7f0 default anon=5 dirty=5 N0=3 N1=2 kernelpagesize_kB=4\n"
    maps += "7f1 default file=/lib/x mapped=1 N0=1 kernelpagesize_kB=4\n"
    group = f"sys/fs/cgroup/{SLICE}"
    folder = root(
        tmp_path,
        {
            41: process(f"0::/{SLICE}\n", environ=environ, numa_maps=maps),
            42: process(f"0::/{SLICE}/init.scope\n", cpus="0-3", numa_maps=maps),
            1: {"mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"},
        },
        **{f"{group}/cpuset.cpus.effective": "0-7\n", f"{group}/cpuset.mems.effective": "0\n"},
    )
    found = said(folder, listed(gpu(0, 41), gpu(1, 42, 41)))
    assert found.containers == (
        ContainerHolding(
            uid=POD,
            container_id=BOX,
            devices=tuple(DeviceHeld("", f"GPU-{n}", "uuid", by="process") for n in (0, 1)),
            cpus_allowed=CpuSet.parse_list("0-7"),
            mems_allowed=(0,),
            pages=(
                MemoryHeld("anonymous", (0,), 24576),
                MemoryHeld("anonymous", (1,), 16384),
                MemoryHeld("file", (0,), 8192),
            ),
            visible=("GPU-0", "GPU-1"),
            pids=(41, 42),
            running=True,
        ),
    )
    assert not found.containers_complete
    assert found.gaps == ()
    assert [(one.kind, one.subjects, one.text) for one in found.observations] == [
        ("process-affinity", ("42",), "process 42 runs on CPUs 0-3 of 0-7")
    ]


def test_v1_cpuset_and_processes_of_no_container(tmp_path: Path) -> None:
    group = f"kubepods/burstable/pod{POD}/{BOX}"
    folder = root(
        tmp_path,
        {
            5: process(f"4:memory:/{group}\n3:cpuset:/{group}\n", cpus="1"),
            6: process("3:cpuset:/\n0::/system.slice/sshd.service\n", cpus="2-5", mems="0-1"),
            7: process("0::/system.slice/slurmstepd.scope/job_42/step_0\n"),
        },
        **{
            f"sys/fs/cgroup/cpuset/{group}/cpuset.cpus": "1-4\n",
            "proc/self/mounts": "c /sys/fs/cgroup/cpuset cgroup cpuset 0 0",
        },
    )
    containers = said(folder, listed(gpu(0, 5, 6, 7))).containers
    assert [(one.uid, one.container_id, str(one.cpus_allowed), one.mems_allowed, one.pids) for one in containers] == [
        (POD, BOX, "1-4", (0,), (5,)),
        (None, None, "2-5", (0, 1), (6,)),
        (None, None, "0-7", (0,), (7,)),
    ]


def test_a_private_cgroup_namespace_leaves_what_the_kernel_says_of_the_process(tmp_path: Path) -> None:
    folder = root(tmp_path, {5: process(f"0::/../cri-containerd-{BOX}.scope\n", cpus="1")})
    [one] = said(folder, listed(gpu(0, 5))).containers
    assert (one.uid, one.container_id, str(one.cpus_allowed)) == (None, BOX, "1")


def test_mig_mps_and_a_gpu_without_uuid(tmp_path: Path) -> None:
    folder = root(tmp_path, {pid: process("0::/\n") for pid in (5, 6, 7)})
    mig = [{"uuid": "MIG-a", "processes": [{"pid": 5}]}]
    text = listed(
        gpu(0, 5, mig=mig), gpu(1, 6, mps=[{"pid": 7}]), {"index": 2, "uuid": {"error": 15}, "processes": [{"pid": 6}]}
    )
    containers = said(folder, text).containers
    assert [(one.pids, [(held.id, held.space) for held in one.devices or ()]) for one in containers] == [
        ((5,), [("MIG-a", "mig")]),
        ((6,), [("GPU-1", "uuid"), ("2", "index")]),
        ((7,), [("GPU-1", "uuid")]),
    ]


def test_what_is_not_told_is_a_gap(tmp_path: Path) -> None:
    folder = root(tmp_path, {5: {"cgroup": "0::/\n"}})
    found = said(folder, listed(gpu(0, 5, 99), {"index": 1, "uuid": "GPU-1", "processes": {"error": 3}}))
    assert [one.pids for one in found.containers] == [(5,), (99,)]
    assert found.containers[0].cpus_allowed is None
    assert found.containers[0].pages is None
    assert found.containers[0].visible is None
    assert {(one.attribute, one.subjects) for one in found.gaps} == {
        ("processes", ("GPU-1",)), ("container", ("99",)), ("pages", ("5",)), ("cpusAllowed", ("5",)),
    }  # fmt: skip


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"gputopo": "gpu-processes"}', "[" * 100_000])
def test_no_list_is_unreadable(text: str, tmp_path: Path) -> None:
    with pytest.raises(Unreadable):
        holdings(text, FolderTree(str(tmp_path)), None)


def test_odd_entries_say_nothing(tmp_path: Path) -> None:
    odd = [{"pid": "5"}, {"pid": -1}, {"pid": True}, {"pid": 10**30}, 5, None]
    text = listed({"index": 0, "uuid": 5, "processes": odd, "mig": [5, {"uuid": "MIG-a", "processes": odd}], "mps": 7})
    assert holdings(text, FolderTree(str(tmp_path)), None).containers == ()


def test_numa_maps_that_were_cut_by_a_capture_are_not_added_up(tmp_path: Path) -> None:
    line = "7f0 default anon=1 N0=1 kernelpagesize_kB=4\n"
    folder = root(tmp_path, {5: process("0::/\n", numa_maps=line * (1 + (1 << 20) // len(line)))})
    assert said(folder, listed(gpu(0, 5))).containers[0].pages is None
    live = holdings(listed(gpu(0, 5)), ProcTree(str(folder / "proc"), time.monotonic() + 5), None)
    assert live.containers[0].pages == (MemoryHeld("anonymous", (0,), 4096 * (1 + (1 << 20) // len(line))),)


def test_a_process_that_holds_its_lock_does_not_hold_us(tmp_path: Path) -> None:
    environ = "NVIDIA_VISIBLE_DEVICES=1\0"
    folder = root(tmp_path, {5: process("0::/\n", numa_maps="x"), 6: process("0::/\n", environ=environ)})

    def stuck(place: str) -> bytes | None:
        if place.startswith("5/"):
            time.sleep(60)
        return (folder / "proc" / place).read_bytes() if (folder / "proc" / place).exists() else None

    tree = ProcTree(str(folder / "proc"), time.monotonic() + 0.3, stuck)
    start = time.monotonic()
    found = holdings(listed(gpu(0, 5, 6)), tree, None)
    assert time.monotonic() - start < 5
    assert [one.visible for one in found.containers] == [None, ("1",)]
    assert set(tree.stuck) == {"process 5"}
    tree.close()


def test_this_process_as_the_kernel_shows_it() -> None:
    """The real /proc: the list says that we compute."""
    tree = ProcTree("/proc", time.monotonic() + 5)
    [one] = holdings(listed(gpu(0, os.getpid())), tree, FolderTree("/")).containers
    tree.close()
    assert one.pids == (os.getpid(),)
    assert one.cpus_allowed is not None
    assert CpuSet.of(os.sched_getaffinity(0)) <= one.cpus_allowed
    if os.path.exists("/proc/self/numa_maps"):
        assert one.pages
        assert sum(page.size for page in one.pages) > 1 << 20


@needs_compiler
def test_the_driver_lists_them(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = standin.answers(MACHINES["mixed-5gpu"])
    said = answers | {
        "processes.0": "41:1048576 42:-1", "processes.1": "", "processes.2": "43:5", "mps.0": "44:7",
        "mig.2": "1", "uuid.1033": "MIG-one", "processes.1033": "43:5",
        "do.nvmlDeviceGetComputeRunningProcesses_v3.3": "4",
    }  # fmt: skip
    for name, value in standin.environment(library, said, tmp_path).items():
        monkeypatch.setenv(name, value)
    folder = root(tmp_path, {pid: process("0::/\n") for pid in (41, 42, 43, 44)})
    reading = read(str(folder / "proc"), str(folder), str(library.parent), 10.0)
    reading.proc.close()
    assert reading.answer.trouble is None
    assert reading.answer.recording is not None
    found = holdings(reading.answer.recording.decode(), reading.proc, reading.root)
    first, third = answers["uuid.0"], "MIG-one"
    assert [(one.pids, [held.id for held in one.devices or ()]) for one in found.containers] == [
        ((41,), [first]), ((42,), [first]), ((43,), [third]), ((44,), [first]),
    ]  # fmt: skip
    refused = [one for one in found.gaps if one.attribute == "processes"]
    assert answers["uuid.3"] in {one.subjects[0] for one in refused}
    assert "error 4" in next(one.reason for one in refused if one.subjects == (answers["uuid.3"],))


@needs_compiler
def test_a_driver_that_hangs_costs_the_time_it_was_given(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = standin.answers(MACHINES["mixed-5gpu"]) | {"do.nvmlDeviceGetComputeRunningProcesses_v3": "hang"}
    for name, value in standin.environment(library, said, tmp_path).items():
        monkeypatch.setenv(name, value)
    start = time.monotonic()
    reading = read("/proc", "/", str(library.parent), 1.0)
    assert time.monotonic() - start < 3
    assert reading.answer.trouble is not None
    assert reading.answer.trouble.kind == ask_driver.NO_ANSWER
    assert "nvmlDeviceGetComputeRunningProcesses_v3" in reading.answer.trouble.text


def test_without_a_driver_there_is_a_reason(tmp_path: Path) -> None:
    reading = read("/proc", "/", str(tmp_path), 1.0)
    assert reading.answer.trouble is not None
    assert reading.answer.trouble.kind == ask_driver.NO_LIBRARY


def test_the_parser_and_the_child_use_one_word() -> None:
    from gputopo.evidence.nvml import processes

    assert gpu_processes.FORMAT == processes.FORMAT
