"""Small nodes for the tests of rules: a healthy 8-GPU NVSwitch node, and ways to change it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from gputopo.rules.codes import load
from gputopo.rules.finding import Finding
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import (
    Bridge,
    Gpu,
    Nic,
    NodeTopology,
    NumaNode,
    NvLinks,
    Observed,
    Package,
    Pair,
    Pcie,
    Source,
)

H100 = "NVIDIA H100 80GB HBM3"


def found(code: str, node: NodeTopology) -> tuple[Finding, ...]:
    return tuple(load(code).check(node))


def says(finding: Finding, pattern: str) -> bool:
    """As a reader of reports searches: in message, what it matters, and remedy."""
    return re.search(pattern, f"{finding.message} {finding.matters} {finding.remedy}") is not None


def seen(kind: str, *subjects: str, text: str = "as printed", line: int | None = 3) -> Observed:
    return Observed(kind, subjects, text, "s1", line)


def node(*gpus: Gpu, **fields: Any) -> NodeTopology:
    return NodeTopology(gpus=gpus, **fields)


def observing(*observations: Observed, gpus: int = 0, **fields: Any) -> NodeTopology:
    many = tuple(Gpu(f"GPU{n}", numa_nodes=(0,)) for n in range(gpus))
    return NodeTopology(gpus=many, observations=observations, **fields)


def pair(a: str, b: str, level: PathLevel, **fields: Any) -> Pair:
    return Pair(a, b, level.name, level, (level,), "printed", **fields)


def all_pairs(ids: Iterable[str], level: PathLevel, **fields: Any) -> tuple[Pair, ...]:
    names = tuple(ids)
    return tuple(pair(a, b, level, **fields) for i, a in enumerate(names) for b in names[i + 1 :])


def healthy_hgx(nics: int = 8) -> NodeTopology:
    """8 GPUs on an NVSwitch fabric, 2 sockets, one NIC under each GPU's switch, further ones apart."""
    cpus = (CpuSet.parse_list("0-55,112-167"), CpuSet.parse_list("56-111,168-223"))
    gpus = tuple(
        Gpu(
            f"GPU{n}", n, f"GPU-{n}", H100, "nvidia", pci=f"0000:{n:x}f:00.0", parent=f"0000:{n:x}0:00.0",
            driver="nvidia", numa_nodes=(n // 4,), packages=(f"PKG{n // 4}",), cpus=cpus[n // 4],
            cpus_complete=True, nvlinks=NvLinks(18, 18, "switch"), pcie=Pcie(5, 16, 5, 16),
            nearest_nics=(f"NIC{n}",),
        )
        for n in range(8)
    )  # fmt: skip
    cards = tuple(
        Nic(f"NIC{n}", f"mlx5_{n}", parent=f"0000:{n:x}0:00.0", numa_nodes=(n % 8 // 4,)) for n in range(nics)
    )
    places = [(g.id, n, n // 4) for n, g in enumerate(gpus)]
    places += [(c.id, n, n % 8 // 4) for n, c in enumerate(cards)]
    return NodeTopology(
        virtual=False,
        sources=(Source("s1", "topo.txt", "nvidia-smi-topo", "", True),),
        packages=tuple(Package(f"PKG{n}", n, cpus[n], (n,)) for n in (0, 1)),
        numa_nodes=tuple(NumaNode(f"NUMA{n}", n, "cpu", cpus[n], (f"PKG{n}",)) for n in (0, 1)),
        bridges=tuple(Bridge(f"0000:{n:x}0:00.0", None, "bridge", pcie=Pcie(5, 16, 5, 16)) for n in range(8)),
        gpus=gpus,
        nics=cards,
        pairs=tuple(_hgx_pair(*first, *second) for i, first in enumerate(places) for second in places[i + 1 :]),
    )


def _hgx_pair(a: str, switch_a: int, socket_a: int, b: str, switch_b: int, socket_b: int) -> Pair:
    far = socket_a != socket_b
    level = PathLevel.PIX if switch_a == switch_b else PathLevel.SYS if far else PathLevel.NODE
    linked = a.startswith("GPU") and b.startswith("GPU")
    return Pair(
        a, b, "NV18" if linked else level.name, level, (level,), "third-device" if linked else "printed",
        nvlinks=18 if linked else None, via_switch=True if linked else None, cross_package=far, cross_numa=far,
    )  # fmt: skip
