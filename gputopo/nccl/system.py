"""The graph NCCL makes of one node: vertices, directed links with GB/s, in the order in which it tries them.

Source: src/graph/topo.h, topo.cc of NVIDIA/nccl v2.30.7. NUMA nodes are its CPUs, all NVSwitches are one vertex, a
device (DEV) stands between PCI and the GPU, and a NIC holds nets.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from gputopo.nccl.cpus import Cpu
from gputopo.nccl.path_types import PathType

LOC_GBPS = 5000.0


class Kind(IntEnum):
    GPU = 0
    PCI = 1
    NVS = 2
    CPU = 3
    NIC = 4
    NET = 5
    DEV = 8
    CXB = 9  # the C2C link that parts of one GPU share


class Link(NamedTuple):
    """One direction. `type` is one of LOC, NVL, C2C, PIX (any PCI link), SYS, NET."""

    number: int  # in System.links
    type: PathType
    gbps: float
    source: int  # vertex
    target: int


class Gpu(NamedTuple):
    vertex: int
    dev: int  # NVML index in the view of who wrote the file
    busid: str
    sm: int  # 90 is Hopper
    gdr: bool
    device: int  # its DEV vertex
    part: int | None = None  # of a GPU split in two (MLOPart)


class Net(NamedTuple):
    vertex: int
    dev: int
    name: str | None
    gbps: float
    gdr: bool


class Numa(NamedTuple):
    vertex: int
    number: int
    cpu: Cpu


class Vertex(NamedTuple):
    kind: Kind
    id: int
    links: tuple[int, ...]  # numbers in System.links, in NCCL's order


class System(NamedTuple):
    vertices: tuple[Vertex, ...]
    links: tuple[Link, ...]
    gpus: tuple[Gpu, ...]
    nets: tuple[Net, ...]
    numas: tuple[Numa, ...]
    devices: tuple[int, ...]  # DEV vertices
    switch: int | None  # the one NVS vertex

    def links_of(self, vertex: int) -> list[Link]:
        return [self.links[number] for number in self.vertices[vertex].links]
