"""Every way NCCL computes before it searches, and what it then changes: P2P refused, C2C, PXN, GPUDirect refused.

Source: src/graph/paths.cc of NVIDIA/nccl v2.30.7 (ncclTopoComputePaths). The order of the changes matters: a later one
reads what an earlier one left.
"""

from __future__ import annotations

from gputopo.nccl.breadth_first import NO_PATH, Path, paths_to
from gputopo.nccl.path_types import PathType
from gputopo.nccl.settings import Settings
from gputopo.nccl.system import Kind, System


class Reach:
    """`way(a, b)` from vertex to vertex. Mutable while it is computed; callers only read."""

    def __init__(self, system: System, settings: Settings) -> None:
        self.system = system
        self.settings = settings
        self.gpus = [gpu.vertex for gpu in system.gpus]
        self.nets = [net.vertex for net in system.nets]
        self.numas = [numa.vertex for numa in system.numas]
        # Two devices of one number share the table of the first.
        first: dict[tuple[Kind, int], int] = {}
        self.table = {
            number: first.setdefault((vertex.kind, vertex.id), number) for number, vertex in enumerate(system.vertices)
        }
        self.to: dict[int, dict[int, Path]] = {}
        self.near: dict[int, dict[int, list[int]]] = {}
        switches = [] if system.switch is None else [system.switch]
        for base in (*self.numas, *self.gpus, *self.nets, *switches):
            found = paths_to(system, base, settings.nvb)
            self._merge(self.table[base], found)

    def _merge(self, base: int, found: dict[int, Path]) -> None:
        known = self.to.setdefault(base, found)
        if known is not found:
            for vertex, path in found.items():
                old = known.get(vertex, NO_PATH)
                if (path.type, -path.gbps, len(path.links)) < (old.type, -old.gbps, len(old.links)):
                    known[vertex] = path

    def way(self, source: int, target: int) -> Path:
        """NO_PATH where there is none, and of the second of two devices with one number."""
        if self.table[target] != target:
            return NO_PATH
        return self.to[target].get(source, NO_PATH)

    def set(self, source: int, target: int, path: Path) -> None:
        self.to[target][source] = path
        self.near.pop(source, None)

    def nearest(self, source: int, targets: list[int]) -> list[int]:
        """The widest, of these the nearest by type; all that are equal, in order. `targets`: gpus, nets or numas."""
        if not targets:
            return []
        known = self.near.setdefault(source, {})
        if targets[0] not in known:
            known[targets[0]] = self._nearest(source, targets)
        return known[targets[0]]

    def _nearest(self, source: int, targets: list[int]) -> list[int]:
        best, found = (0.0, PathType.DIS), list[int]()
        for target in targets:
            path = self.way(source, target)
            if path.gbps > best[0] or (path.gbps == best[0] and path.type < best[1]):
                best, found = (path.gbps, path.type), []
            if (path.gbps, path.type) == best:
                found.append(target)
        return found

    def numa_of(self, gpu: int) -> int | None:
        """The NUMA node a GPU's traffic goes through when it may not go directly."""
        near = self.nearest(gpu, self.numas)
        return min(near, key=lambda numa: len(self.way(gpu, numa).links), default=None)

    def through(self, middle: int, source: int, target: int, is_gpu: bool = False) -> None:
        """Sends what goes from `source` to `target` by a third vertex."""
        first, second = self.way(source, middle), self.way(middle, target)
        type = PathType.PXN if is_gpu else joined(first.type, second.type)
        self.set(source, target, Path(type, min(first.gbps, second.gbps), (*first.links, *second.links)))


def joined(one: PathType, other: PathType) -> PathType:
    """The farther of the two; C2C to a CPU and PCIe behind it are P2C."""
    if {one, other} == {PathType.PHB, PathType.C2C}:
        return PathType.P2C
    return max(one, other)
