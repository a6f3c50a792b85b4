"""A host with one PCIe switch, laid out as files: a GPU, a ConnectX and an NVMe disk below it, all GPUDirect needs.

    pci0000:16 - 16:01.0 root port - 17:00.0 upstream - 18:00.0 - 19:00.0 GPU
                                                      - 18:01.0 - 1a:00.0 NIC mlx5_0
                                                      - 18:02.0 - 1b:00.0 NVMe

Every condition is met as it is made; tests take one away.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import gputopo
from gputopo.topology.node import GpuDirect, NodeTopology
from tests.parsers.sysfs_machine import Machine, add_rdma

UPSTREAM = "pci0000:16/0000:16:01.0/0000:17:00.0"
GPU, NIC, DISK = "0000:19:00.0", "0000:1a:00.0", "0000:1b:00.0"
PORTS = ("0000:18:00.0", "0000:18:01.0", "0000:18:02.0")
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (dvs-builder@U16)"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23 22:30:18 UTC 2025"
MODULES = "nvidia_fs 311296 0 - Live 0x0\nnvidia_peermem 16384 0 - Live 0x0\nnvidia 9711616 2 nvidia_peermem,nvidia_fs"
SV, TB, RR, CR, UF, EC, DT = 1, 2, 4, 8, 0x10, 0x20, 0x40  # bits of the ACS control word
REDIRECT = SV | RR | CR | UF  # what Linux turns on where it turns on ACS
ARM = "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd4f"
_ACS, _ATS, _SERIAL = 0x000D, 0x000F, 0x0003


def config(acs: int | None = None, ats: bool | None = None, size: int = 4096) -> bytes:
    """A config space as root reads it: a serial number first, then ACS and ATS at need, as a list of capabilities."""
    said = bytearray(size)
    said[0:4] = b"\x00\x10\x10\xc0"
    wanted: list[tuple[int, int]] = [(_SERIAL, 0)]
    wanted += [] if acs is None else [(_ACS, acs)]
    wanted += [] if ats is None else [(_ATS, 0x8000 if ats else 0)]
    for place, (capability, control) in enumerate(wanted):
        at = 0x100 + 0x40 * place
        after = at + 0x40 if place + 1 < len(wanted) else 0
        said[at : at + 4] = (capability | 1 << 16 | after << 20).to_bytes(4, "little")
        if capability != _SERIAL:
            said[at + 6 : at + 8] = control.to_bytes(2, "little")
    return bytes(said)


class Host(Machine):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.bridge("pci0000:16/0000:16:01.0", "0x8086")
        self.bridge(UPSTREAM, "0x1000")
        for port in PORTS:
            self.bridge(f"{UPSTREAM}/{port}", "0x1000", acs=0)
        self.gpu_folder = self.device(f"{UPSTREAM}/{PORTS[0]}/{GPU}", "0x030200")
        self.nic_folder = self.device(f"{UPSTREAM}/{PORTS[1]}/{NIC}", "0x020700", vendor="0x15b3")
        self.disk_folder = self.device(f"{UPSTREAM}/{PORTS[2]}/{DISK}", "0x010802", vendor="0x144d")
        add_rdma(self, self.nic_folder, "mlx5_0")
        for folder, driver in ((self.gpu_folder, "nvidia"), (self.nic_folder, "mlx5_core"), (self.disk_folder, "nvme")):
            self.bind(folder, driver)
            self.raw(folder, config(ats=False))
        self.model("NVIDIA H100 80GB HBM3")
        self.file("proc/driver/nvidia/version", OPEN)
        self.file("proc/modules", MODULES)
        self.file("proc/driver/nvidia-fs/modules", "nvme: 1.0")
        self.file("proc/sys/kernel/osrelease", "6.8.0-60-generic")
        self.file("proc/cmdline", "BOOT_IMAGE=/vmlinuz-6.8.0-60-generic root=/dev/md0 ro quiet")
        (root / "sys/kernel/iommu_groups").mkdir(parents=True)
        self.file("sys/class/dmi/id/sys_vendor", "Supermicro")
        self.file("sys/class/dmi/id/product_name", "SYS-821GE-TNHR")

    def bridge(self, path: str, vendor: str, acs: int | None = None) -> None:
        self.raw(self.device(path, "0x060400", vendor=vendor), config(acs=acs))

    def raw(self, folder: str, content: bytes) -> None:
        (self.root / folder / "config").write_bytes(content)

    def acs(self, *words: int) -> None:
        """The control words of the ports above GPU, NIC and disk."""
        for port, word in zip(PORTS, words):
            self.raw(f"sys/devices/{UPSTREAM}/{port}", config(acs=word))

    def not_root(self) -> None:
        """What an unprivileged reader gets: 64 bytes of each."""
        for place in self.root.rglob("config"):
            place.write_bytes(place.read_bytes()[:64])

    def bind(self, folder: str, driver: str | None) -> None:
        place = self.root / folder / "driver"
        place.unlink(missing_ok=True)
        if driver is not None:
            (self.root / f"sys/bus/pci/drivers/{driver}").mkdir(parents=True, exist_ok=True)
            self.link(f"{folder}/driver", f"sys/bus/pci/drivers/{driver}")

    def model(self, name: str) -> None:
        text = f"Model: \t\t {name}\nGPU UUID: \t GPU-00000000-0000-4000-8000-000000000001\nBus Location: \t {GPU}\n"
        self.file(f"proc/driver/nvidia/gpus/{GPU}/information", text + "Device Minor: \t 0")

    def groups(self, kind: str | None, gpu: int = 40, nic: int = 41, disk: int = 42) -> None:
        """IOMMU groups with their type, `None` as kernels before 5.11 have it."""
        members = ((self.gpu_folder, gpu), (self.nic_folder, nic), (self.disk_folder, disk))
        for folder, group in members:
            here = f"sys/kernel/iommu_groups/{group}"
            (self.root / here).mkdir(parents=True, exist_ok=True)
            if kind is not None:
                self.file(f"{here}/type", kind)
            self.link(f"{folder}/iommu_group", here)

    def remove(self, path: str) -> None:
        place = self.root / path
        shutil.rmtree(place) if place.is_dir() else place.unlink()

    def node(self) -> NodeTopology:
        return gputopo.load_node(str(self.root))

    def rdma(self) -> GpuDirect:
        [path] = [path for path in self.node().gpudirect if path.kind == "rdma"]
        return path

    def gds(self) -> GpuDirect:
        [path] = [path for path in self.node().gpudirect if path.kind == "gds"]
        return path
