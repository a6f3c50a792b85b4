"""A root folder with the `sys/` and `proc/` of a machine, relative links as in /sys.

Only what the kernel and the drivers would show of this machine: the PCI tree under
`sys/devices/pciDDDD:BB`, the links of bus/pci/devices and of the classes, CPUs and NUMA nodes, the
NVIDIA driver's files in proc. In a container (`machine.cpuset`) the host's tree stays visible, the
network devices do not (their class is cut by the network namespace).
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.machines.cpu_numbers import join, kernel_mask, split
from tests.machines.letters import chain
from tests.machines.machine import Bridge, Gpu, Machine, Nic
from tests.machines.render_nccl_xml import class_of

SPEEDS = {1: "2.5 GT/s", 2: "5.0 GT/s", 3: "8.0 GT/s", 4: "16.0 GT/s", 5: "32.0 GT/s"}
IDLE = 1  # an idle GPU's link trains down to generation 1; its width does not change


class Root:
    """A folder being filled; every path is relative to it."""

    def __init__(self, folder: Path, machine: Machine) -> None:
        self.folder = folder
        self.machine = machine

    def file(self, path: str, text: str) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text if text.endswith("\n") else text + "\n", encoding="ascii")

    def link(self, path: str, to: str) -> None:
        """A relative link at `path` to the place `to` of this root."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.path.relpath(to, os.path.dirname(path)))

    def made(self, path: str) -> None:
        """A folder."""
        (self.folder / path).mkdir(parents=True, exist_ok=True)

    def pci(self, address: str, parent: str, facts: dict[str, str], numa: int | None, driver: str | None) -> str:
        """One function with its files and links; its folder."""
        machine = self.machine
        folder = "/".join(["sys/devices", *chain(machine, parent), address])
        near = machine.cpus_near(numa)
        cpus = max(split(machine.all_cpus)) + 1
        common = {
            "numa_node": str(-1 if numa is None else numa),
            "local_cpulist": near,
            "local_cpus": kernel_mask(near, cpus),
        }
        for name, value in {**facts, **common}.items():
            self.file(f"{folder}/{name}", value)
        self.link(f"{folder}/subsystem", "sys/bus/pci")
        if driver:
            self.link(f"{folder}/driver", f"sys/bus/pci/drivers/{driver}")
            self.made(f"sys/bus/pci/drivers/{driver}")
        self.link(f"sys/bus/pci/devices/{address}", folder)
        return folder


def render_sysfs(machine: Machine, folder: Path) -> None:
    """Fill `folder` (made at need) with the machine's sys/ and proc/."""
    fill(Root(folder, machine))


def fill(root: Root) -> None:
    machine = root.machine
    for bridge in host_first(machine):
        facts = pci_facts("0x060400", bridge.vendor, bridge.device, bridge.generation, bridge.width)
        root.pci(bridge.pci, bridge.parent, facts, numa_of_root(machine, bridge.parent), "pcieport")
    for gpu in machine.gpus:
        write_gpu(root, gpu)
    for nic in machine.nics:
        write_nic(root, nic)
    for nvme in machine.nvmes:
        facts = pci_facts("0x010802", "0x144d", "0xa80a", nvme.generation, nvme.width)
        place = root.pci(nvme.pci, nvme.parent, facts, nvme.numa, "nvme")
        root.file(f"{place}/nvme/{nvme.name}/model", "Generic NVMe SSD")
        root.link(f"{place}/nvme/{nvme.name}/device", place)
        root.link(f"sys/class/nvme/{nvme.name}", f"{place}/nvme/{nvme.name}")
    for switch in machine.nvswitches:
        facts = pci_facts("0x068000", "0x10de", switch.device, 3, 2)
        root.pci(switch.pci, switch.parent, facts, switch.numa, "nvidia-nvswitch")
    for other in machine.others:
        facts = pci_facts(other.class_code, other.vendor, other.device, 0, 0)
        root.pci(other.pci, other.parent, facts, other.numa, other.driver)
    write_cpus(root)
    write_nodes(root)
    write_proc(root)


def host_first(machine: Machine) -> list[Bridge]:
    return sorted(machine.bridges, key=lambda bridge: len(chain(machine, bridge.parent)))


def numa_of_root(machine: Machine, parent: str) -> int | None:
    top = chain(machine, parent)[0]
    return next(bridge.numa for bridge in machine.host_bridges if bridge.id == top)


def pci_facts(
    class_code: str, vendor: str, device: str, generation: int, width: int, max_width: int | None = None,
    current: int | None = None,
) -> dict[str, str]:  # fmt: skip
    facts = {"class": class_code, "vendor": vendor, "device": device}
    if not generation:
        return facts  # no PCIe capability: the link files are not there
    unit = " PCIe"
    return facts | {
        "current_link_speed": SPEEDS[current or generation] + unit,
        "current_link_width": str(width),
        "max_link_speed": SPEEDS[generation] + unit,
        "max_link_width": str(max_width or width),
    }


def write_gpu(root: Root, gpu: Gpu) -> None:
    facts = pci_facts(class_of(gpu), "0x10de", gpu.device, gpu.generation, gpu.width, gpu.max_width, IDLE)
    root.pci(gpu.pci, gpu.parent, facts, root.machine.gpu_numa(gpu), "nvidia")
    information = {
        "Model": gpu.name,
        "IRQ": str(100 + gpu.number),
        "GPU UUID": gpu.uuid,
        "Video BIOS": "??.??.??.??.??",
        "Bus Type": "PCIe",
        "DMA Size": "52 bits",
        "DMA Mask": "0xfffffffffffff",
        "Bus Location": gpu.pci,
        "Device Minor": str(gpu.number),
        "GPU Excluded": "No",
    }
    text = "".join(f"{key}: \t {value}\n" for key, value in information.items())
    root.file(f"proc/driver/nvidia/gpus/{gpu.pci}/information", text)
    if gpu.memory_node is not None:
        size = f"{gpu.memory_bytes:x}"
        text = f"Node:      {gpu.memory_node}\nStatus:    online\nAddress:   80000000000\nSize:      {size}\n"
        root.file(f"proc/driver/nvidia/gpus/{gpu.pci}/numa_status", text)


def write_nic(root: Root, nic: Nic) -> None:
    class_code = "0x020700" if nic.link_layer == "InfiniBand" else "0x020000"
    facts = pci_facts(class_code, nic.vendor, nic.device_id, nic.generation, nic.width)
    place = root.pci(nic.pci, nic.parent, facts, nic.numa, nic.driver)
    if nic.device:
        here = f"{place}/infiniband/{nic.device}"
        lanes = 4 if nic.rate > 56 else 1
        root.file(f"{here}/ports/1/state", "4: ACTIVE")
        root.file(f"{here}/ports/1/phys_state", "5: LinkUp")
        root.file(f"{here}/ports/1/rate", f"{nic.rate} Gb/sec ({lanes}X)")
        root.file(f"{here}/ports/1/link_layer", nic.link_layer)
        root.link(f"{here}/device", place)
        root.link(f"sys/class/infiniband/{nic.device}", here)
    if nic.netdev and root.machine.cpuset is None:
        here = f"{place}/net/{nic.netdev}"
        root.file(f"{here}/operstate", "up")
        root.file(f"{here}/speed", str(nic.rate * 1000 or -1))
        root.file(f"{here}/type", "32" if nic.link_layer == "InfiniBand" else "1")
        root.link(f"{here}/device", place)
        root.link(f"sys/class/net/{nic.netdev}", here)


def write_cpus(root: Root) -> None:
    base = "sys/devices/system/cpu"
    cpus = root.machine.all_cpus
    for name in ("online", "possible", "present"):
        root.file(f"{base}/{name}", cpus)
    for package in root.machine.packages:
        numbers = split(package.cpus)
        cores = len(numbers) // package.threads
        for place, cpu in enumerate(numbers):
            core = place % cores
            here = f"{base}/cpu{cpu}/topology"
            root.file(f"{here}/physical_package_id", str(package.number))
            root.file(f"{here}/core_id", str(core))
            root.file(f"{here}/thread_siblings_list", join(numbers[core::cores]))


def write_nodes(root: Root) -> None:
    machine, base = root.machine, "sys/devices/system/node"
    if not machine.numa_nodes:
        return
    cpus = max(split(machine.all_cpus)) + 1
    for node in machine.numa_nodes:
        here = f"{base}/node{node.number}"
        root.file(f"{here}/cpulist", node.cpus)
        root.file(f"{here}/cpumap", kernel_mask(node.cpus, cpus))
        root.file(f"{here}/distance", " ".join(map(str, node.distances)))
        root.file(f"{here}/meminfo", f"Node {node.number} MemTotal:       {node.memory_bytes // 1024} kB")
    everything = [node.number for node in machine.numa_nodes]
    memory = [node.number for node in machine.numa_nodes if node.memory_bytes]
    normal = [node.number for node in machine.numa_nodes if node.kind == "cpu"]
    tables = {"online": everything, "possible": everything, "has_cpu": normal, "has_memory": memory,
              "has_normal_memory": normal}  # fmt: skip
    for name, numbers in tables.items():
        root.file(f"{base}/{name}", join(numbers))


def write_proc(root: Root) -> None:
    machine = root.machine
    module = f"NVRM version: NVIDIA UNIX {machine.arch} Kernel Module  {machine.driver}  Mon Jan  1 00:00:00 UTC 2024\n"
    root.file("proc/driver/nvidia/version", module + "GCC version:  gcc version 12.3.0\n")
    root.file("proc/sys/kernel/osrelease", machine.kernel)
    root.file("proc/version", f"Linux version {machine.kernel} (gcc 12.3.0) #1 SMP")
    nodes = join(node.number for node in machine.numa_nodes) or "0"
    allowed = machine.cpuset or machine.all_cpus
    root.file("proc/self/status", f"Name:\tsh\nCpus_allowed_list:\t{allowed}\nMems_allowed_list:\t{nodes}\n")
    root.file("sys/class/dmi/id/product_name", machine.product)
    root.file("sys/class/dmi/id/sys_vendor", "QEMU" if machine.virtual else "Sample")
    root.file("proc/cpuinfo", cpuinfo(machine))


def cpuinfo(machine: Machine) -> str:
    blocks = []
    for package in machine.packages:
        for cpu in split(package.cpus):
            if machine.arch != "x86_64":
                text = f"processor\t: {cpu}\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd4f\n"
                blocks.append((cpu, text))
                continue
            flags = "fpu hypervisor" if machine.virtual else "fpu"
            text = (
                f"processor\t: {cpu}\nvendor_id\t: {package.vendor}\ncpu family\t: {package.family}\n"
                f"model\t\t: {package.model}\nmodel name\t: {package.model_name}\nphysical id\t: {package.number}\n"
                f"flags\t\t: {flags}\n"
            )
            blocks.append((cpu, text))
    return "\n".join(text for _, text in sorted(blocks)) + "\n"
