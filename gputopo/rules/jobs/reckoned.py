"""What sets of this node reach in NCCL's own model: of the job's set, of its groups, of a set beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from gputopo.nccl import Machine, Refused, all_reduce, field_of, graphs, machine, paths, ring_bound, subset
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.jobs.rates import Rates


class Reckoning:
    """NCCL's model of one node; built once. `refused`: why there is none."""

    def __init__(self, diagnosis: Diagnosis, expired: Callable[[], bool] = lambda: False) -> None:
        source = diagnosis.file if diagnosis.file is not None else diagnosis.node
        made = machine(source) if diagnosis.node.gpus else None
        self._expired = expired
        self.machine: Machine | None = made if isinstance(made, Machine) else None
        self.refused = made.reason if isinstance(made, Refused) else "" if made else "the node has no GPU"
        self.assumptions = self.machine.assumptions if self.machine is not None else ()
        self._bus = {gpu.id: gpu.pci or f"ffff:{at:02x}:00.0" for at, gpu in enumerate(diagnosis.node.gpus)}

    @lru_cache(maxsize=4096)  # noqa: B019  (lives as long as one command)
    def gbytes(self, gpus: tuple[str, ...]) -> float | None:
        """GB/s of the best algorithm by NCCL's search and model; None: not to be had."""
        own = self._subset(gpus)
        if own is None:
            return None
        found = graphs(own, self._expired)
        if not found.complete:
            return None
        return max((one.bus_gbps for one in all_reduce(found)), default=None)

    def pair(self, a: str, b: str) -> float | None:
        """GB/s of the path between two GPUs, one direction."""
        own = self._subset((a, b))
        return paths(own).pairs[0, 1].gbps if own is not None else None

    def rates(self, gpus: Sequence[str], measured: float | None) -> Rates:
        """The three numbers of a set."""
        expected = self.gbytes(tuple(gpus))
        basis = "NCCL's own model, best algorithm" if expected is not None else ""
        return Rates(measured, expected, None, basis, "")

    def bound(self, gpus: Sequence[str]) -> float | None:
        """GB/s that a ring cannot exceed, without a search: to rank many sets."""
        own = self._subset(tuple(gpus))
        return ring_bound(field_of(own.reach)).gbps if own is not None else None

    def _subset(self, gpus: Sequence[str]) -> Machine | None:
        if self.machine is None or len(gpus) < 2:
            return None
        made = subset(self.machine, [self._bus.get(gpu, gpu) for gpu in gpus])
        return made if isinstance(made, Machine) else None
