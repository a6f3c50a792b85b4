"""/proc/PID/cgroup and numa_maps. The layouts of paths: kubelet cm/cgroup_manager_linux.go, containerd, CRI-O, moby."""

from __future__ import annotations

import pytest

from gputopo.holdings import MemoryHeld
from gputopo.parsers import numa_maps
from gputopo.parsers.proc_cgroup import NOWHERE, Place, place_of, place_of_process
from tests.pods_sources.samples import needs_samples, text

POD = "0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f0"
UNDER = POD.replace("-", "_")
ID, OUTER = "5e" * 32, "7a" * 32
HASH = "0123456789abcdef0123456789abcdef"
SLICE = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UNDER}.slice"
BOTH = Place(POD, ID)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (f"{SLICE}/cri-containerd-{ID}.scope", BOTH),
        (f"/kubepods.slice/kubepods-pod{UNDER}.slice/crio-{ID}.scope", BOTH),
        (f"{SLICE}/crio-{ID}.scope/container", BOTH),
        (f"{SLICE}/docker-{ID}.scope/system.slice/nv.service", BOTH),
        (f"{SLICE}/crio-conmon-{ID}.scope", Place(POD, None)),
        (f"{SLICE}/crio-{ID}", Place(POD, None)),
        (f"/kubepods/besteffort/pod{POD}/{ID}", BOTH),
        (f"/kubepods/pod{POD}/crio-{ID}", BOTH),
        (f"/kubelet/kubepods/burstable/pod{POD}/{ID}", BOTH),
        (f"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{UNDER}.slice/cri-containerd-{ID}.scope", BOTH),
        (f"/system.slice/docker-{OUTER}.scope/kubelet.slice/kubelet-kubepods-pod{UNDER}.slice/crio-{ID}.scope", BOTH),
        (f"/system.slice/containerd.service/kubepods-pod{UNDER}.slice:cri-containerd:{ID}", BOTH),
        (f"{SLICE}/cri-containerd-{ID}.scope/docker/{OUTER}", BOTH),  # a container that the pod's own docker started
        (f"/kubepods/burstable/pod{HASH}/{ID}", Place(HASH, ID)),
        (f"/kubepods.slice/kubepods-pod{HASH}.slice/cri-containerd-{ID}.scope", Place(HASH, ID)),
        (f"/../../kubepods-burstable-pod{UNDER}.slice/cri-containerd-{ID}.scope", BOTH),
        (f"/../cri-containerd-{ID}.scope", Place(None, ID)),
        (f"/docker/{ID}", Place(None, ID)),
        (f"/machine.slice/libpod-{ID}.scope/container", Place(None, ID)),
        (f"/machine.slice/libpod-conmon-{ID}.scope", NOWHERE),
        (f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope", Place(None, ID)),
        (SLICE, Place(POD, None)),
        ("/", NOWHERE),
        ("/kubepods.slice/kubepods-besteffort.slice", NOWHERE),
        ("/system.slice/slurmstepd.scope/job_7/step_0/user/task_0", NOWHERE),
        (f"/user.slice/tripod{UNDER}.slice", NOWHERE),
        (f"/kubepods/pod{POD}x/{ID}", Place(None, ID)),
        (f"/x/{ID[:-1]}", NOWHERE),
        ("/" + "a/" * 5000 + ID, NOWHERE),
        ("", NOWHERE),
    ],
)
def test_a_path_tells_pod_and_container(path: str, place: Place) -> None:
    assert place_of(f"0::{path}") == place
    assert place_of(f"9:cpuset:{path}") == place


def test_the_line_that_tells_most_is_taken() -> None:
    assert place_of_process("") == NOWHERE
    assert place_of_process("0::/\n") == NOWHERE
    assert place_of_process(f"12:cpu,cpuacct:/\n4:cpuset:/kubepods/pod{POD}/{ID}\n0::/\n") == BOTH
    assert place_of_process(f"1:name=systemd:{SLICE}\n4:cpuset:/docker/{ID}\n") == Place(None, ID)


@needs_samples
def test_every_row_of_the_sample() -> None:
    found = [line.split("\t") for line in text("proc-pid-cgroup.tsv").splitlines() if not line.startswith("#")]
    assert len(found) == 34
    for label, line, pod, container in found:
        assert place_of(line) == Place(pod or None, container or None), label
        assert place_of_process(f"{line}\n") == Place(pod or None, container or None), label


@pytest.mark.parametrize(
    ("line", "blocks"),
    [
        ("7f00 default anon=3 dirty=3 N0=1 N3=2 kernelpagesize_kB=4", [("anonymous", 0, 4), ("anonymous", 3, 8)]),
        ("7f00 default heap anon=3 N1=3 kernelpagesize_kB=64", [("anonymous", 1, 192)]),
        ("7f00 default stack N1=1 kernelpagesize_kB=4", [("anonymous", 1, 4)]),
        ("7f00 default file=/lib/x.so anon=1 mapped=2 N1=3 kernelpagesize_kB=4", [("file", 1, 12)]),
        ("7f00 prefer=1 file=/N0=5 mapped=2 N1=3 kernelpagesize_kB=4", [("file", 1, 12)]),
        ("7f00 bind:0 file=/anon_hugepage\\040(deleted) huge N0=2 kernelpagesize_kB=1048576", [("huge", 0, 2 << 20)]),
        ("7f00 default file=/dev/nvidia0", []),
        ("7f00 default anon=0 active=0 kernelpagesize_kB=4", []),
        ("", []),
    ],
)
def test_pages_of_a_mapping(line: str, blocks: list[tuple[str, int, int]]) -> None:
    assert numa_maps.read(line) == tuple(MemoryHeld(kind, (node,), kb * 1024) for kind, node, kb in blocks)


def test_pages_of_a_size_that_is_not_said_are_not_added_up() -> None:
    assert numa_maps.read("7f00 default anon=3 N0=3\n") is None
    assert numa_maps.read("7f00 default anon=3 N0=3 kernelpagesize_kB=x\n") is None


@needs_samples
def test_the_samples_numa_maps() -> None:
    assert [(one.kind, one.numa_nodes, one.size // 1024) for one in numa_maps.read(text("numa_maps.txt")) or ()] == [
        ("anonymous", (0,), 1050624), ("anonymous", (1,), 84016), ("file", (0,), 1600), ("file", (1,), 48),
        ("huge", (0,), 8192), ("huge", (1,), 8192),
    ]  # fmt: skip


@needs_samples
def test_the_samples_status() -> None:
    from gputopo.parsers.gpu_processes import holdings

    class Proc:
        def read(self, path: str) -> bytes | None:
            return text("proc-status-cpuset.txt").encode() if path == "5/status" else None

        def names(self, path: str) -> tuple[str, ...] | None:
            return ("status",) if path == "5" else None

    listed = '{"gputopo": "gpu-processes", "gpus": [{"index": 0, "uuid": "GPU-a", "processes": [{"pid": 5}]}]}'
    [process] = holdings(listed, Proc(), None).containers
    assert (str(process.cpus_allowed), process.mems_allowed) == ("8-11,120-123", (0,))
