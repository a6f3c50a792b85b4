"""Nodes for tests of mechanisms, made by hand: GPUs on sockets, levels and NVLinks between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import Gpu, Mig, NodeTopology, Package, Pair, pair_id

__all__ = ["Mig", "node", "pair_id", "two_sockets"]

Levels = Callable[[int, int], tuple[PathLevel, ...]]


def node(
    count: int, levels: Levels, nvlinks: Mapping[tuple[int, int], int | None] | None = None,
    via_switch: bool | None = False, socket: Callable[[int], int] | None = None,
) -> NodeTopology:  # fmt: skip
    """levels(a, b), a < b: the PCIe levels still possible. nvlinks: of pairs, None is unknown; others have none."""
    links = nvlinks or {}
    home = socket or (lambda gpu: 0 if gpu < count // 2 else 1)
    gpus = tuple(
        Gpu(f"GPU{n}", n, f"GPU-uuid-{n}", "NVIDIA H100 80GB HBM3", "nvidia", pci=f"0000:{n + 16:02x}:00.0", minor=n,
            module_id=n + 1, numa_nodes=(home(n),), packages=(f"PKG{home(n)}",))
        for n in range(count)
    )  # fmt: skip
    pairs = []
    for a in range(count):
        for b in range(a + 1, count):
            possible, links_here = levels(a, b), links.get((a, b), 0)
            pcie = possible[0] if len(possible) == 1 else None
            pairs.append(Pair(
                f"GPU{a}", f"GPU{b}", f"NV{links_here}" if links_here else pcie.name if pcie else None, pcie, possible,
                nvlinks=links_here, via_switch=via_switch if links_here else None,
                cross_package=home(a) != home(b), cross_numa=home(a) != home(b),
            ))  # fmt: skip
    packages = tuple(Package(f"PKG{n}", n, None, (n,)) for n in sorted({home(n) for n in range(count)}))
    return NodeTopology(name="gpu-a17", packages=packages, gpus=gpus, pairs=tuple(pairs))


def two_sockets(a: int, b: int) -> tuple[PathLevel, ...]:
    """Eight GPUs, four a socket, each below its own root port."""
    return (PathLevel.NODE if a // 4 == b // 4 else PathLevel.SYS,)
