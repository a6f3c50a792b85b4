"""A machine with two packages laid out as files, for tests to add devices to."""

from __future__ import annotations

import os
from pathlib import Path

from gputopo.evidence.tree import FolderTree
from gputopo.parsers.sysfs_root import parse
from gputopo.records import GpuRecord, NicRecord, NodeRecords, Observation
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.pci_address import PciAddress

ROOT = "pci0000:17/0000:17:00.0"
SWITCH = f"{ROOT}/0000:18:00.0/0000:19:04.0"


class Machine:
    """Two packages of four CPUs, a NUMA node each; devices are added to it."""

    def __init__(self, root: Path, nodes: tuple[str, ...] = ("0-3", "4-7")) -> None:
        self.root = root
        last = max(int(nodes[-1].replace("-", ",").split(",")[-1]), 0)
        self.file("sys/devices/system/cpu/online", f"0-{last}")
        self.file("sys/devices/system/node/online", f"0-{len(nodes) - 1}" if len(nodes) > 1 else "0")
        for number, cpus in enumerate(nodes):
            folder = f"sys/devices/system/node/node{number}"
            self.file(f"{folder}/cpulist", cpus)
            self.file(f"{folder}/distance", " ".join("10" if to == number else "21" for to in range(len(nodes))))
            for cpu in CpuSet.parse_list(cpus) or ():
                self.file(f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id", str(number))

    def file(self, path: str, content: str) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content + "\n")

    def link(self, path: str, target: str) -> None:
        """A link as sysfs makes it: relative to its own folder."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.path.relpath(self.root / target, place.parent))

    def device(self, path: str, class_code: str, vendor: str = "0x10de", numa: str = "0", **files: str) -> str:
        """A PCI function at a path below sys/devices; the folder."""
        folder = f"sys/devices/{path}"
        local = {"0": "0-3", "1": "4-7"}.get(numa, "0-7")
        said = {"class": class_code, "vendor": vendor, "device": "0x2330", "numa_node": numa, "local_cpulist": local}
        for name, content in (said | files).items():
            self.file(f"{folder}/{name}", content)
        self.link(f"sys/bus/pci/devices/{path.rpartition('/')[2]}", folder)
        return folder

    def read(self) -> NodeRecords:
        [records] = parse(FolderTree(str(self.root)))
        return records

    def gpu(self) -> GpuRecord:
        [gpu] = self.read().gpus or ()
        return gpu

    def nic(self) -> NicRecord:
        [nic] = self.read().nics or ()
        return nic


def observed(records: NodeRecords, kind: str) -> list[Observation]:
    return [observation for observation in records.observations if observation.kind == kind]


def address(text: str) -> PciAddress:
    found = PciAddress.parse(text)
    assert found is not None
    return found


def add_rdma(machine: Machine, folder: str, name: str, state: str = "4: ACTIVE", layer: str = "InfiniBand") -> None:
    port = f"{folder}/infiniband/{name}/ports/1"
    machine.file(f"{port}/state", state)
    machine.file(f"{port}/rate", "400 Gb/sec (4X NDR)" if "ACTIVE" in state else "10 Gb/sec (4X SDR)")
    machine.file(f"{port}/link_layer", layer)
    machine.link(f"sys/class/infiniband/{name}", f"{folder}/infiniband/{name}")


def add_net(machine: Machine, folder: str, name: str, state: str = "up") -> None:
    machine.file(f"{folder}/net/{name}/operstate", state)
    machine.file(f"{folder}/net/{name}/type", "1")
    machine.file(f"{folder}/net/{name}/speed", "100000" if state == "up" else "-1")
    machine.link(f"sys/class/net/{name}", f"{folder}/net/{name}")
