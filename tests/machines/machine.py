"""What a machine is, before anybody has printed it: the one description behind every spelling.

Each renderer beside this file prints the same `Machine` as another program would. Nothing here
knows a format, and nothing here comes from gputopo's own topology code.
"""

from __future__ import annotations

from typing import NamedTuple


class Package(NamedTuple):
    number: int
    cpus: str  # kernel list
    vendor: str  # as /proc/cpuinfo has it
    family: int
    model: int
    model_name: str
    arch: str = "x86_64"
    threads: int = 2  # hardware threads a core


class NumaNode(NamedTuple):
    number: int
    cpus: str  # "" = no CPUs
    memory_bytes: int
    distances: tuple[int, ...]  # a column for every node of the machine, in ascending order
    kind: str | None = "cpu"  # "cpu" | "gpu-memory" | None: a node without CPUs and memory
    near: int | None = None  # a node without CPUs: the node whose CPUs are nearest


class HostBridge(NamedTuple):
    id: str  # "pci0000:09"
    numa: int | None


class Bridge(NamedTuple):
    """One port, as sysfs lists it: a switch is an upstream and its downstream ports."""

    pci: str
    parent: str  # another bridge's address or a host bridge's id
    kind: str  # "root-port" | "upstream" | "downstream"
    vendor: str
    device: str
    generation: int
    width: int = 16


class Gpu(NamedTuple):
    number: int  # NVML index, and the minor
    pci: str
    parent: str
    name: str
    device: str  # PCI device id, "0x2330"
    sm: int
    numa: int | None
    memory_bytes: int
    generation: int
    width: int = 16
    max_width: int = 16
    peers: tuple[tuple[int, int], ...] = ()  # (other GPU, NVLinks to it)
    fabric: tuple[tuple[int | None, int], ...] = ()  # (NVSwitch or None = not visible, links into it)
    link_mbps: int = 0  # MB/s a link, one direction, as NVML's field 164 says
    nvlink_version: int = 0
    memory_node: int | None = None  # the NUMA node its own memory is
    near_nodes: str = ""  # NUMA Affinity where it is more than `numa`
    c2c: tuple[int, int] | None = None  # (links, MB/s a link)
    vga: bool = False  # class 0x0300 with an audio function, else 0x0302
    p2p: bool = True

    @property
    def uuid(self) -> str:
        return f"GPU-00000000-0000-4000-8000-{self.number:012d}"


class Nic(NamedTuple):
    device: str | None  # RDMA device; None: plain Ethernet, which `topo` does not list
    pci: str
    parent: str
    numa: int | None
    netdev: str
    rate: int  # Gbit/s
    generation: int
    link_layer: str = "InfiniBand"
    vendor: str = "0x15b3"
    device_id: str = "0x1021"
    driver: str = "mlx5_core"
    width: int = 16

    @property
    def id(self) -> str:
        return self.device or self.netdev


class Nvme(NamedTuple):
    name: str
    pci: str
    parent: str
    numa: int | None
    generation: int = 4
    width: int = 4


class NvSwitch(NamedTuple):
    pci: str
    parent: str
    device: str
    numa: int | None


class Function(NamedTuple):
    """Any other PCI function: a BMC's display, a card's audio."""

    pci: str
    parent: str
    class_code: str  # "0x030000"
    vendor: str
    device: str
    numa: int | None
    driver: str | None = None


class Planted(NamedTuple):
    """One thing said wrongly; everything else stays as it is (`tests.machines.planted`)."""

    numa: tuple[tuple[int, int], ...] = ()  # (GPU, node)
    letters: tuple[tuple[str, str, str], ...] = ()  # (id, id, level)
    nvlinks: tuple[tuple[int, int, int], ...] = ()  # (GPU, GPU, links)


class Machine(NamedTuple):
    name: str
    title: str  # one line: what it is
    shape_from: str  # where the facts come from
    product: str
    driver: str
    generation: str  # whose bytes `topo -m` has: "soc" | "470" | "550"
    packages: tuple[Package, ...]
    numa_nodes: tuple[NumaNode, ...]  # (): a kernel without NUMA
    host_bridges: tuple[HostBridge, ...]
    bridges: tuple[Bridge, ...]
    gpus: tuple[Gpu, ...]
    nics: tuple[Nic, ...] = ()  # in the order of topo's columns
    nvmes: tuple[Nvme, ...] = ()
    nvswitches: tuple[NvSwitch, ...] = ()
    others: tuple[Function, ...] = ()
    cpuset: str | None = None  # CPUs the looking process may use, where it is a container
    fabric_state: int | None = None  # nvmlGpuFabricState_t, where the driver knows a fabric
    virtual: bool = False
    sockets_matter: bool = False  # ships an lscpu.txt
    kernel: str = "6.8.0-60-generic"
    planted: Planted = Planted()

    @property
    def rdma_nics(self) -> tuple[Nic, ...]:
        return tuple(nic for nic in self.nics if nic.device)

    @property
    def arch(self) -> str:
        return self.packages[0].arch

    def gpu_numa(self, gpu: Gpu) -> int | None:
        """The node this GPU is said to be near: its own, or the planted one."""
        return dict(self.planted.numa).get(gpu.number, gpu.numa)

    def cpus_near(self, numa: int | None) -> str:
        """The CPUs the kernel calls local: those of the node, or all where the node is not known."""
        for node in self.numa_nodes:
            if node.number == numa:
                return node.cpus
        return self.all_cpus

    @property
    def all_cpus(self) -> str:
        from tests.machines.cpu_numbers import join, split

        return join([cpu for package in self.packages for cpu in split(package.cpus)])
