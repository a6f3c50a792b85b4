"""The machine as cAdvisor tells the kubelet: CPUs with core, socket and NUMA node; memory of the nodes.

Upstream: cpumanager/topology/topology.go (Discover, CPUDetails). A core's id is its lowest CPU number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Cpu(NamedTuple):
    id: int
    numa: int
    socket: int
    core: int
    uncore: int | None = None  # L3; None: cAdvisor saw none, the socket stands for it


class Machine(NamedTuple):
    """`memory`: bytes by NUMA node and type (`memory`, `hugepages-1Gi`); `memory` includes huge pages."""

    numa_ids: tuple[int, ...]
    cpus: tuple[Cpu, ...]
    distances: Mapping[int, tuple[int, ...]] = {}
    memory: Mapping[int, Mapping[str, int]] = {}


class CpuTopology:
    """Masks of CPUs by NUMA node, socket, core and L3; built once for a machine."""

    __slots__ = ("all", "cores", "numa", "numa_of", "sockets", "uncores")

    def __init__(self, cpus: Iterable[Cpu]) -> None:
        self.numa: dict[int, int] = {}
        self.sockets: dict[int, int] = {}
        self.cores: dict[int, int] = {}
        self.uncores: dict[int, int] = {}
        self.numa_of: dict[int, int] = {}
        self.all = 0
        for cpu in sorted(cpus):
            bit = 1 << cpu.id
            self.all |= bit
            self.numa_of[cpu.id] = cpu.numa
            uncore = cpu.socket if cpu.uncore is None else cpu.uncore
            for masks, unit in (
                (self.numa, cpu.numa), (self.sockets, cpu.socket), (self.cores, cpu.core), (self.uncores, uncore),
            ):  # fmt: skip
                masks[unit] = masks.get(unit, 0) | bit

    @property
    def cpus_per_core(self) -> int:
        return self.all.bit_count() // len(self.cores) if self.cores else 0

    @property
    def cpus_per_socket(self) -> int:
        return self.all.bit_count() // len(self.sockets) if self.sockets else 0

    @property
    def cpus_per_uncore(self) -> int:
        return self.all.bit_count() // len(self.uncores) if self.uncores else 0

    def in_numa(self, ids: Iterable[int]) -> int:
        """The CPUs of some NUMA nodes; nodes without CPUs add none."""
        found = 0
        for number in ids:
            found |= self.numa.get(number, 0)
        return found

    def sockets_of(self, cpus: int) -> list[int]:
        return [socket for socket, mask in self.sockets.items() if mask & cpus]

    def whole_cores(self, cpus: int) -> int:
        """All CPUs of the cores that some CPUs are on."""
        found = 0
        for mask in self.cores.values():
            if mask & cpus:
                found |= mask
        return found
