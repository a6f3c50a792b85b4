"""Processes of a saved /proc, and `gputopo pods --proc`."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from gputopo.cli import run
from gputopo.evidence.tree import FolderTree
from gputopo.holdings import ContainerHolding, DeviceHeld
from gputopo.parsers.gpu_processes import of_open_devices
from gputopo.parsers.open_devices import devices_of
from tests.pods.machines import container, devices, held, said, uuid
from tests.pods.test_verb import CSV, LSCPU, checkpoint, matrix
from tests.pods_sources.test_gpu_processes import BOX, POD, SLICE, process, write

UVM = "/dev/nvidia-uvm"


def saved(folder: Path, pid: int, files: Mapping[str, str], *opened: str) -> Path:
    """A process in a copy of /proc, with links to what it has open."""
    write(folder / str(pid), files)
    (folder / str(pid) / "fd").mkdir(parents=True, exist_ok=True)
    for number, target in enumerate(opened):
        (folder / str(pid) / "fd" / str(number)).symlink_to(target)
    return folder


def opened(folder: Path) -> dict[int, list[str]]:
    return {pid: [one.id for one in found] for pid, found in devices_of(FolderTree(str(folder))).items()}


def test_who_computes_has_uvm_open_beside_its_gpus(tmp_path: Path) -> None:
    saved(tmp_path, 41, {}, "/dev/null", "/dev/nvidiactl", UVM, "/dev/nvidia3", "/dev/nvidia10", "/dev/nvidia3")
    saved(tmp_path, 42, {}, "/dev/nvidiactl", "/dev/nvidia0")  # a monitor
    saved(tmp_path, 43, {}, UVM, "socket:[1]", "/dev/nvidia-caps/nvidia-cap1")
    saved(tmp_path, 44, {"maps": f"7f0 rw-s 0 00:05 7 /dev/nvidia1\n7f1 rw-s 0 00:05 7 {UVM}\n"})
    saved(tmp_path, 45, {"numa_maps": f"7f0 default file=/dev/nvidia2\n7f1 default file={UVM}\n"})
    saved(tmp_path, 46, {"maps": "7f0 r--p 0 00:00 1 /home/dev/nvidia0/x\n"})
    write(tmp_path, {"self/maps": f"/dev/nvidia1\n{UVM}\n", "cpuinfo": "x"})
    assert opened(tmp_path) == {41: ["3", "10"], 44: ["1"], 45: ["2"]}


def test_a_container_of_them_with_all_that_proc_says(tmp_path: Path) -> None:
    files = process(f"0::/{SLICE}\n", "4-7", "1", environ="A=1\0NVIDIA_VISIBLE_DEVICES=GPU-9\0",
                    numa_maps="7f0 default anon=2 N0=2 kernelpagesize_kB=4\n")  # fmt: skip
    saved(tmp_path / "proc", 41, files, UVM, "/dev/nvidia3")
    outside = process("0::/user.slice\n", environ="NVIDIA_VISIBLE_DEVICES=GPU-9\0")
    saved(tmp_path / "proc", 50, outside, UVM, "/dev/nvidia1")
    first, second = of_open_devices(FolderTree(str(tmp_path / "proc")), FolderTree(str(tmp_path))).containers
    assert (first.uid, first.container_id, first.pids, str(first.cpus_allowed)) == (POD, BOX, (41,), "4-7")
    assert first.devices == (DeviceHeld("gpu", "3", "minor", by="open"), DeviceHeld("gpu", "GPU-9", "uuid", by="env"))
    assert first.pages is not None
    assert (second.uid, second.pids, second.devices) == (None, (50,), (DeviceHeld("gpu", "1", "minor", by="open"),))


def test_what_is_open_beyond_what_was_given_is_seen_and_no_conflict() -> None:
    """minor 3 is GPU0, minor 2 is GPU1."""
    given = container("a", "u", "main", 0, container_id=BOX)
    two = (DeviceHeld("gpu", "3", "minor", by="open"), DeviceHeld("gpu", "2", "minor", by="open"))
    running = said("gpu-processes", ContainerHolding(uid="u", container_id=BOX, devices=two, pids=(7,)))
    found = held(said("podresources", given, containers_complete=True), running)
    [one] = found.containers
    assert (one.placed.gpus, one.opened, one.uses, found.conflicts) == (("GPU0",), ("GPU0", "GPU1"), None, ())
    assert found.free == ("GPU1", "GPU2", "GPU3")


def test_a_process_of_no_container_with_a_gpu_open_was_given_none_and_takes_it() -> None:
    running = said("gpu-processes", ContainerHolding(devices=(DeviceHeld("gpu", "3", "minor", by="open"),), pids=(9,)))
    found = held(said("podresources", container("a", None, "main", 1), containers_complete=True), running)
    assert [(one.pod, one.given) for one in found.containers] == [("a", True), (None, False)]
    assert found.free == ("GPU2", "GPU3")
    assert devices(0)[0].id == uuid(0)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    texts = {"cp": checkpoint({POD: [0, 1]}), "topo": matrix(), "csv": CSV, "lscpu": LSCPU}
    return [str(write(tmp_path, {name: text}) / name) for name, text in texts.items()]


def test_a_copy_of_proc_beside_sources(
    tmp_path: Path, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    saved(tmp_path / "old" / "proc", 41, process(f"0::/{SLICE}\n", "8-15", environ="x\0"), UVM, "/dev/nvidia0")
    run(["pods", *files, "--proc", str(tmp_path / "old" / "proc"), "-o", "json"])
    document = json.loads(capsys.readouterr().out)
    assert [one["format"] for one in document["sources"]][-2:] == ["kubelet-checkpoint", "gpu-processes"]
    [one] = document["containers"]
    assert (one["podUID"], one["container"], one["given"], one["gpus"]) == (POD, "c", True, ["GPU0", "GPU1"])
    assert any("no other there has devices" in note["text"] for note in document["assumptions"])


def test_a_root_folder_with_processes_is_evidence_and_says_who(
    tmp_path: Path, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    root = tmp_path / "root"
    write(root, {"sys/devices/system/cpu/online": "0-15\n", "sys/devices/system/node/node0/cpulist": "0-15\n",
                 "sys/bus/pci/devices/none": ""})  # fmt: skip
    files_of = process(f"0::/{SLICE}\n", environ=f"NVIDIA_VISIBLE_DEVICES={uuid(2)}\0")
    saved(root / "proc", 41, files_of, UVM, "/dev/nvidia2")
    with tarfile.open(tmp_path / "root.tar.gz", "w:gz") as archive:
        archive.add(root, "root")
    for source in (root, tmp_path / "root.tar.gz"):
        run(["pods", str(source), "-o", "json"])
        document = json.loads(capsys.readouterr().out)
        assert [(one["podUID"], [each["id"] for each in one["devices"]]) for one in document["containers"]] == [
            (POD, [uuid(2)])
        ]
        assert "gpu-processes" in {one["format"] for one in document["sources"]}


def test_no_proc_is_one_line(tmp_path: Path, files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pods", *files, "--proc", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("gputopo: error: no folder of a process in it")


def test_live_without_a_kubelet_the_processes_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And without a driver that is asked, those with device files open, where --proc names them."""
    monkeypatch.setattr("gputopo.evidence.live.processes.libraries", lambda *_: ())
    files_of = process(f"0::/{SLICE}\n", environ=f"NVIDIA_VISIBLE_DEVICES={uuid(2)}\0")
    saved(tmp_path / "proc", 41, files_of, UVM, "/dev/nvidia2")
    (tmp_path / "kubelet").mkdir()
    assert run(["pods", "--kubelet-root", str(tmp_path / "kubelet")]) == 3
    capsys.readouterr()
    run(["pods", "--kubelet-root", str(tmp_path / "kubelet"), "--proc", str(tmp_path / "proc"), "-o", "json"])
    captured = capsys.readouterr()
    assert "the processes are read without it" in captured.err
    assert [one["podUID"] for one in json.loads(captured.out)["containers"]] == [POD]


def test_the_scheduler_s_annotation_and_the_plugin_s_word_are_told_apart() -> None:
    """HAMi's id of the kubelet only counts: the annotation says which GPU, the plugin made another visible."""
    from gputopo.rules.pods.audit import Audit
    from gputopo.rules.pods.sees_more_gpus_than_given import check

    counts = (DeviceHeld("nvidia.com/gpu", f"{uuid(1)}-3", "uuid"), *devices(1, by="env"))
    checkpoint_ = said("kubelet-checkpoint", container("a", "u", "main", devices=counts, visible=(uuid(1),)))
    written = said("kube-objects", container("a", "u", "main", devices=devices(0, by="annotation")))
    found = held(checkpoint_, written)
    [one] = found.containers
    assert (one.placed.gpus, one.by, len(found.conflicts)) == (("GPU0",), "annotation", 1)
    [finding] = check(Audit(found))
    assert "GPU0 by an annotation of its pod" in finding.message
