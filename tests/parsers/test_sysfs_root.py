"""CPUs, packages and the host of a root folder; damage of any file; recorded machines."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from gputopo.evidence.archive import open_archive
from gputopo.evidence.tree import find_root
from gputopo.parsers.sysfs_root import parse
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.unknown import Unknown
from tests.parsers.sysfs_machine import ROOT, Machine, add_rdma, observed

SHARED = Path(os.environ.get("GPUTOPO_SHARED", Path(__file__).parents[3] / "shared"))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


# The kernel, and what a container is shown


@pytest.mark.parametrize(("value", "on"), [("1", True), ("3", True), ("0", False), ("2", False), ("x", False)])
def test_numa_balancing_is_observed_where_it_is_on(machine: Machine, value: str, on: bool) -> None:
    """2 alone is memory tiering: pages move between kinds of memory, not to who uses them."""
    machine.file("proc/sys/kernel/numa_balancing", value)
    assert [seen.text for seen in observed(machine.read(), "numa-balancing")] == (
        [f"proc/sys/kernel/numa_balancing: {value}"] if on else []
    )


POD = "0::/kubepods.slice/kubepods-burstable.slice/kubepods-pod1.slice/cri-containerd-2.scope"


@pytest.mark.parametrize(
    ("group", "classes", "missing"),
    [
        (POD, ("mem", "tty", "net"), True),
        (POD, ("mem", "tty", "pci_bus"), False),
        (POD, ("net",), False),  # a capture that took some classes only
        (POD, (), False),  # no class was captured
        ("0::/system.slice/sshd.service", ("mem", "tty"), False),
    ],
)
def test_a_container_without_the_pci_class_is_told_from_a_capture_that_left_it_out(
    machine: Machine, group: str, classes: tuple[str, ...], missing: bool
) -> None:
    machine.file("proc/self/cgroup", group)
    machine.file("proc/self/mounts", "overlay / overlay rw 0 0" if group == POD else "/dev/sda1 / ext4 rw 0 0")
    for name in classes:
        machine.file(f"sys/class/{name}/x/uevent", "")
    assert bool(observed(machine.read(), "pci-class-missing")) is missing


# CPUs, nodes, packages


def test_a_node_may_span_packages_and_a_package_number_is_any_number(machine: Machine) -> None:
    for cpu in range(8):
        package = 36 if cpu % 2 else 4
        machine.file(f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id", str(package))
    records = machine.read()
    assert [(node.number, node.packages) for node in records.numa_nodes or ()] == [(0, (4, 36)), (1, (4, 36))]
    assert [(package.number, package.numa_nodes) for package in records.packages or ()] == [(4, (0, 1)), (36, (0, 1))]


def test_package_minus_one_is_no_package(machine: Machine) -> None:
    for cpu in range(8):
        machine.file(f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id", "-1")
    records = machine.read()
    assert records.packages is None
    assert isinstance((records.numa_nodes or ())[0].packages, Unknown)
    assert "packages" in [gap.attribute for gap in records.gaps]


def test_distances_have_one_column_an_online_node(machine: Machine) -> None:
    machine.file("sys/devices/system/node/online", "0,4")
    machine.file("sys/devices/system/node/node4/cpulist", "")
    machine.file("sys/devices/system/node/node4/distance", "17 10")
    machine.file("sys/devices/system/node/node0/distance", "10 17 17")
    first, second = machine.read().numa_nodes or ()
    assert isinstance(first.distances, Unknown)
    assert (second.distances, second.kind, second.cpus, second.packages) == ({0: 17, 4: 10}, "memory", CpuSet(), ())


def test_the_bitmap_of_a_node_wins_over_its_list(machine: Machine) -> None:
    machine.file("sys/devices/system/node/node0/cpulist", "0-127")
    machine.file("sys/devices/system/node/node0/cpumap", "00000000,0000000f")
    assert (machine.read().numa_nodes or ())[0].cpus == CpuSet.parse_list("0-3")


@pytest.mark.parametrize(
    ("files", "allowed"),
    [
        ({"proc/self/status": "Name:\tpython3\nCpus_allowed_list:\t2-3"}, "2-3"),
        (
            {
                "proc/self/cgroup": "7:cpuset:/user\n0::/",
                "proc/mounts": "none /dev/cpuset cgroup rw,cpuset,noprefix 0 0",
                "dev/cpuset/user/cpus": "1-2",
                "dev/cpuset/cpus": "0-7",
            },
            "1-2",
        ),
        (
            {
                "proc/self/cgroup": "0::/jobs/7/step",
                "proc/mounts": "cgroup2 /cgroup/unified cgroup2 rw 0 0",
                "cgroup/unified/jobs/7/cpuset.cpus.effective": "0,4,64",
                "cgroup/unified/cpuset.cpus.effective": "0-7",
            },
            "0,4",
        ),
        ({"proc/self/cpuset": "/"}, "0-7"),
    ],
)
def test_the_reader_s_own_cpus_are_read(machine: Machine, files: dict[str, str], allowed: str) -> None:
    for name, content in files.items():
        machine.file(name, content)
    records = machine.read()
    assert (records.system.allowed_cpus, records.assumptions) == (CpuSet.parse_list(allowed), ())


def test_without_a_cpuset_it_is_an_assumption_that_all_cpus_may_be_used(machine: Machine) -> None:
    records = machine.read()
    assert records.system.allowed_cpus == CpuSet.parse_list("0-7")
    assert len(records.assumptions) == 1


def test_cpuinfo_names_the_processor(machine: Machine) -> None:
    rows = ["processor\t: 0", "vendor_id\t: AuthenticAMD", "cpu family\t: 25", "model\t\t: 1", "flags\t\t: fpu lm"]
    machine.file("proc/cpuinfo", "\n".join(rows))
    first = (machine.read().packages or ())[0]
    assert (first.vendor, first.family, first.model, first.arch) == ("AuthenticAMD", 25, 1, "x86_64")


@pytest.mark.parametrize(
    ("vendor", "product", "flags", "virtual"),
    [
        ("Dell Inc.", "PowerEdge XE9680", "fpu lm", False),
        ("Dell Inc.", "PowerEdge XE9680", "fpu lm hypervisor", True),
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)", "fpu lm", True),
        ("Amazon EC2", "p5.48xlarge", "fpu lm", True),
        ("Amazon EC2", "p4d.metal", "fpu lm", False),
        ("Nobody Ltd.", "Box", "fpu lm", None),
        ("", "", "fpu lm hypervisor", True),
        ("Microsoft Corporation", "Virtual Machine", "", True),
    ],
)
def test_a_virtual_machine_is_told_by_evidence_only(
    machine: Machine, vendor: str, product: str, flags: str, virtual: bool | None
) -> None:
    machine.file("sys/class/dmi/id/sys_vendor", vendor)
    machine.file("sys/class/dmi/id/product_name", product)
    machine.file("proc/cpuinfo", f"processor\t: 0\nflags\t\t: {flags}")
    assert machine.read().system.virtual is virtual


# Damage

PATHS = (
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/node/online",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/node/node0/cpumap",
    "sys/devices/system/node/node0/distance",
    "sys/devices/system/node/node0/meminfo",
    "proc/cpuinfo",
    "proc/self/status",
    "proc/self/cgroup",
    "proc/mounts",
    "proc/cmdline",
    "proc/driver/nvidia/version",
    "proc/driver/nvidia/gpus/0000:18:00.0/information",
    "proc/driver/nvidia/gpus/0000:18:00.0/numa_status",
    "sys/class/net/bond0/bonding/slaves",
    "sys/class/infiniband/x/ports/1/rate",
    *(
        f"sys/devices/{ROOT}/0000:18:00.0/{name}"
        for name in ("class", "vendor", "numa_node", "local_cpus", "local_cpulist", "current_link_speed", "config")
    ),
)
JUNK = (
    b"",
    b"\0",
    b"\0" * 4096,
    b"-1",
    b"-",
    b"0-",
    b"9" * 400,
    b"0x",
    b"0x" + b"f" * 64,
    b"\xff\xfe\x80",
    b"N/A",
    b"0-99999999",
    b"1" * 70_000,
    b"a: b: c\n::\n:\n",
    b"4294967295",
    b" \n\n\t",
    b"\x1b[31m0-3",
    b"0-3\0\0\0junk",
    b"nan GT/s",
    "٣-٤".encode(),
    b"0,,1",
    b"inf",
    b"1e999 Gb/sec",
    b"NVRM version: ",
    b"GPU UUID: ",
    b"0::",
    b"none / cgroup2",
    b"Node 0 MemTotal: x kB",
)


@pytest.mark.parametrize("junk", JUNK, ids=range(len(JUNK)))
def test_junk_in_any_file_never_raises(machine: Machine, junk: bytes) -> None:
    machine.device(f"{ROOT}/0000:18:00.0", "0x030200")
    for path in PATHS:
        place = machine.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        kept = place.read_bytes() if place.exists() else None
        place.write_bytes(junk)
        machine.read()
        if kept is None:
            place.unlink()
        else:
            place.write_bytes(kept)


def test_a_tree_with_folders_and_files_exchanged_never_raises(machine: Machine) -> None:
    draw = random.Random(7)
    folder = machine.device(f"{ROOT}/0000:18:00.0", "0x020700", "0x15b3")
    add_rdma(machine, folder, "mlx5_0")
    for place in draw.sample(sorted(machine.root.rglob("*")), 30):
        if place.is_file() and not place.is_symlink():
            place.unlink()
            place.mkdir()
        elif place.is_symlink():
            place.unlink()
            place.symlink_to(draw.choice(["/etc", ".", "..", "nowhere", "/" * 300]))
        machine.read()


# Recorded machines


@pytest.mark.skipif(not (SHARED / "data/sysfs").is_dir(), reason="needs the shared captures (GPUTOPO_SHARED)")
@pytest.mark.parametrize("folder", ["hwloc", "other"])
def test_captured_machines_are_as_lstopo_says(folder: str) -> None:
    from tests.replay_kinds import sysfs_lstopo

    found = list(sysfs_lstopo.cases(SHARED / "data/sysfs" / folder))
    assert found
    for case in found:
        assert sysfs_lstopo.compare(case.expected, sysfs_lstopo.answer(case)) == [], case.name
        assert set(case.expected) <= sysfs_lstopo.COMPARED | set(sysfs_lstopo.IGNORED)


def test_an_archive_reads_like_the_folder_it_was_made_of(machine: Machine) -> None:
    folder = machine.device(f"{ROOT}/0000:18:00.0", "0x020700", "0x15b3")
    add_rdma(machine, folder, "mlx5_0")
    packed = subprocess.run(["tar", "cJf", "-", "."], cwd=machine.root, stdout=subprocess.PIPE, check=True).stdout
    archive = open_archive(packed)
    assert archive is not None
    root = find_root(archive)
    assert root is not None
    assert parse(root) == (machine.read(),)


def test_reading_a_root_imports_nothing_slow() -> None:
    code = "import sys; import gputopo.parsers.sysfs_root, gputopo.evidence.archive; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    assert not {"tarfile", "zipfile", "lzma", "bz2", "dataclasses", "pathlib", "json"} & set(loaded)
