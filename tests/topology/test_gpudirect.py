"""GPUDirect: `ready` only where every condition was read and met; `unknown` names the read that lacks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import gputopo
from gputopo.topology.gpudirect_conditions import ACS_READ, IOMMU_READ, NO_MODULE
from tests.parsers.sysfs_machine import add_rdma
from tests.topology.gpudirect_host import ARM, CLOSED, DISK, GPU, NIC, REDIRECT, Host

Change = Callable[[Host], object]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_with_everything_met_both_are_ready_and_say_why(host: Host) -> None:
    assert host.node().gpudirect[0][:2] == ("GPU0", "mlx5_0")
    rdma, gds = host.rdma(), host.gds()
    assert (rdma.verdict, rdma.because, rdma.missing) == (
        "ready", "PIX; nvidia_peermem; no ACS redirect; IOMMU off", ()
    )  # fmt: skip
    assert (gds.device, gds.verdict, gds.because) == (
        DISK, "ready", "PIX; nvidia_fs serves nvme; no ACS redirect; IOMMU off"
    )  # fmt: skip


def without_driver(host: Host) -> None:
    host.bind(host.gpu_folder, None)
    host.remove("proc/driver/nvidia/gpus")  # which lists what the driver has


def without_modules(host: Host) -> None:
    host.remove("proc/modules")
    host.remove("proc/driver/nvidia-fs")
    host.file("proc/driver/nvidia/version", CLOSED)


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        (without_driver, "the GPU's kernel driver (lspci -nnk)"),
        (lambda host: host.remove(f"proc/driver/nvidia/gpus/{GPU}"), "the GPU's model (nvidia-smi -L)"),
        (without_modules, "loaded modules (lsmod)"),
        (Host.not_root, ACS_READ),
        (lambda host: host.remove("sys/kernel/iommu_groups"), IOMMU_READ),
    ],
    ids=["driver", "model", "modules", "ACS", "IOMMU"],
)
def test_each_read_that_lacks_alone_makes_it_unknown_and_is_named(host: Host, change: Change, missing: str) -> None:
    change(host)
    for path in (host.rdma(), host.gds()):
        assert (path.verdict, missing in " | ".join(path.missing)) == ("unknown", True)
        assert path.because


def test_a_bare_tree_lists_every_read(host: Host) -> None:
    host.not_root()
    for path in ("proc", "sys/kernel/iommu_groups"):
        host.remove(path)
    host.bind(host.gpu_folder, None)
    missing = host.rdma().missing
    assert len(missing) == 5
    assert missing[-2:] == (ACS_READ, IOMMU_READ)
    assert "/proc/driver/nvidia/version" in missing[2]


@pytest.mark.parametrize(
    ("change", "because"),
    [
        (lambda host: host.bind(host.gpu_folder, "vfio-pci"), "the GPU is bound to vfio-pci"),
        (lambda host: host.bind(host.gpu_folder, "nouveau"), "the GPU is bound to nouveau"),
        (lambda host: host.model("NVIDIA GeForce RTX 4090"), "NVIDIA GeForce RTX 4090 is a consumer GPU"),
        (lambda host: host.acs(REDIRECT, REDIRECT, REDIRECT), "ACS sends the traffic between them up to the CPU"),
        (lambda host: host.groups("DMA-FQ"), "the IOMMU translates (group type DMA-FQ)"),
        (lambda host: host.groups("DMA"), "the IOMMU translates (group type DMA)"),
    ],
    ids=["vfio", "nouveau", "GeForce", "ACS", "IOMMU lazy", "IOMMU strict"],
)
def test_each_condition_that_is_not_met_says_no_and_asks_for_nothing(host: Host, change: Change, because: str) -> None:
    change(host)
    for path in (host.rdma(), host.gds()):
        assert (path.verdict, path.because, path.missing) == ("not", because, ())


# Modules


def modules(host: Host, *names: str) -> None:
    host.file("proc/modules", "\n".join(f"{name} 16384 0 - Live 0x0" for name in ("nvidia", *names)))


@pytest.mark.parametrize(
    ("version", "kernel", "verdict"),
    [
        ("open", "6.8.0-60-generic", "ready"),
        ("open", "5.12.0", "ready"),
        ("open", "5.4.0-1101-generic", "not"),
        ("open", "4.18.0-553.el8_10.x86_64", "unknown"),
        ("closed", "6.8.0-60-generic", "not"),
        ("absent", "6.8.0-60-generic", "unknown"),
    ],
)
def test_without_peermem_dma_buf_needs_the_open_modules_and_linux_5_12(
    host: Host, version: str, kernel: str, verdict: str
) -> None:
    modules(host)
    host.file("proc/sys/kernel/osrelease", kernel)
    if version == "closed":
        host.file("proc/driver/nvidia/version", CLOSED)
    elif version == "absent":
        host.remove("proc/driver/nvidia/version")
    path = host.rdma()
    assert path.verdict == verdict
    assert {"ready": "dma-buf", "not": NO_MODULE, "unknown": "dma-buf may stand in"}[verdict] in path.because
    assert bool(path.missing) == (verdict == "unknown")


def test_peermem_that_did_not_register_is_none(host: Host) -> None:
    host.file("proc/driver/nvidia/version", CLOSED)
    peers = host.root / "sys/kernel/mm/memory_peers"
    peers.mkdir(parents=True)
    assert (host.rdma().verdict, host.rdma().because) == ("not", NO_MODULE)
    host.file("sys/kernel/mm/memory_peers/nv_mem/version", "570.86.15")
    assert host.rdma().verdict == "ready"


def test_the_old_module_and_a_folder_of_modules_are_read_too(host: Host) -> None:
    host.file("proc/driver/nvidia/version", CLOSED)
    host.remove("proc/modules")
    host.file("sys/module/nvidia/version", "570.86.15")
    assert host.rdma().verdict == "unknown"  # an excerpt: what it lacks may be loaded all the same
    for name in ("kernel", "printk", "pcie_aspm"):
        (host.root / "sys/module" / name).mkdir()
    assert host.rdma().because == NO_MODULE
    (host.root / "sys/module/nv_peer_mem").mkdir()
    assert (host.rdma().verdict, "nv_peer_mem" in host.rdma().because) == ("ready", True)


@pytest.mark.parametrize(("vendor", "word"), [("0x14e4", "ib_write_bw"), ("0x1d0f", "fi_info -p efa")])
def test_another_makers_nic_needs_a_test_of_its_own(host: Host, vendor: str, word: str) -> None:
    host.file(f"{host.nic_folder}/vendor", vendor)
    path = host.rdma()
    assert (path.verdict, len(path.missing)) == ("unknown", 1)
    assert word in path.missing[0]


@pytest.mark.parametrize(
    ("served", "version", "kernel", "verdict"),
    [
        ("nvme: 1.0\nlnet: 2", "closed", "5.4.0-1101-generic", "ready"),
        ("wekafsio: ", "closed", "6.8.0-60-generic", "not"),
        ("wekafsio: ", "open", "5.15.0-1064-nvidia", "not"),
        ("wekafsio: ", "open", "6.8.0-60-generic", "unknown"),  # the kernel's own P2PDMA
        (None, "open", "6.8.0-60-generic", "unknown"),
    ],
)
def test_nvidia_fs_has_to_serve_nvme(host: Host, served: str | None, version: str, kernel: str, verdict: str) -> None:
    host.file("proc/sys/kernel/osrelease", kernel)
    if version == "closed":
        host.file("proc/driver/nvidia/version", CLOSED)
    if served is None:
        host.remove("proc/driver/nvidia-fs")
    else:
        host.file("proc/driver/nvidia-fs/modules", served)
    path = host.gds()
    assert path.verdict == verdict
    if served is None:
        assert path.missing == ("/proc/driver/nvidia-fs/modules",)
    elif verdict == "unknown":
        assert path.missing == ("what GDS says (gdscheck -p)",)


def test_without_nvidia_fs_storage_is_not_ready_on_an_old_kernel(host: Host) -> None:
    modules(host, "nvidia_peermem")
    host.remove("proc/driver/nvidia-fs")
    host.file("proc/sys/kernel/osrelease", "5.15.0-1064-nvidia")
    assert (host.gds().verdict, host.gds().because) == ("not", "nvidia_fs is not loaded")
    assert host.rdma().verdict == "ready"


def test_a_disk_given_away_is_not_ready(host: Host) -> None:
    host.bind(host.disk_folder, "vfio-pci")
    assert (host.gds().verdict, host.gds().because) == ("not", "the disk is bound to vfio-pci")
    host.bind(host.disk_folder, None)
    assert host.gds().missing == ("the disk's kernel driver (lspci -nnk)",)
    assert host.rdma().verdict == "ready"


# Virtual machines, levels, what is judged at all


def test_in_a_virtual_machine_the_host_decides(host: Host) -> None:
    host.file("sys/class/dmi/id/sys_vendor", "QEMU")
    for path in (host.rdma(), host.gds()):
        assert (path.verdict, path.missing) == ("unknown", ("ACS and ATS on the hypervisor (lspci -vvv there)",))


def test_below_another_root_port_nccl_does_not_take_the_nic(host: Host) -> None:
    host.remove(host.nic_folder)
    (host.root / f"sys/bus/pci/devices/{NIC}").unlink()
    (host.root / "sys/class/infiniband/mlx5_0").unlink()
    folder = host.device("pci0000:16/0000:16:03.0/0000:40:00.0", "0x020700", vendor="0x15b3")
    host.bridge("pci0000:16/0000:16:03.0", "0x8086")
    add_rdma(host, folder, "mlx5_0")
    path = host.rdma()
    assert (path.device, path.verdict) == ("mlx5_0", "not")
    assert path.because.startswith("PHB: NCCL's default ends at PXB")


def test_where_the_nearest_nic_is_not_decided_all_that_can_be_are_judged(host: Host) -> None:
    """As on GB200: each function in a PCI domain of its own, so that the level is NODE or SYS."""
    (host.root / f"sys/bus/pci/devices/{NIC}").unlink()
    (host.root / "sys/class/infiniband/mlx5_0").unlink()
    host.remove(host.nic_folder)
    for domain in (2, 3):
        folder = host.device(f"pci{domain:04x}:00/{domain:04x}:00:00.0/{domain:04x}:01:00.0", "0x020700", "0x15b3")
        host.bridge(f"pci{domain:04x}:00/{domain:04x}:00:00.0", "0x10de")
        add_rdma(host, folder, f"mlx5_{domain}")
    paths = [path for path in host.node().gpudirect if path.kind == "rdma"]
    assert [path.device for path in paths] == ["mlx5_2", "mlx5_3"]
    assert all(path.because.startswith("NODE or SYS: NCCL's default ends at PXB") for path in paths)
    host.file("proc/cpuinfo", ARM)
    paths = [path for path in host.node().gpudirect if path.kind == "rdma"]
    assert {(path.verdict, path.missing) for path in paths} == {("unknown", ("C2C links of the GPU (NVML)",))}


def test_a_plain_ethernet_card_and_a_card_of_another_maker_are_not_judged(host: Host) -> None:
    (host.root / "sys/class/infiniband/mlx5_0").unlink()
    host.remove(f"{host.nic_folder}/infiniband")
    assert [path.kind for path in host.node().gpudirect] == ["gds"]
    host.file(f"{host.gpu_folder}/vendor", "0x1002")
    assert host.node().gpudirect == ()


def test_a_matrix_alone_is_not_judged(tmp_path: Path) -> None:
    text = "\tGPU0\tNIC0\nGPU0\t X \tPIX\nNIC0\tPIX\t X \n\nNIC Legend:\n\n  NIC0: mlx5_0\n"
    (tmp_path / "topo.txt").write_text(text)
    assert gputopo.load_node(str(tmp_path / "topo.txt")).gpudirect == ()


def test_a_saved_document_keeps_the_verdicts(host: Host, tmp_path: Path) -> None:
    import json

    host.not_root()
    node = host.node()
    (tmp_path / "node.json").write_text(json.dumps(gputopo.document(node)))
    assert gputopo.load_node(str(tmp_path / "node.json")).gpudirect == node.gpudirect
