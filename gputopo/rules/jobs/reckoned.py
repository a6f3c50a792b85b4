"""What sets of this node reach in NCCL's model or by a published figure: the job's set, its groups, a set beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gputopo.nccl import (
    Field,
    Machine,
    Refused,
    SetRates,
    all_reduce,
    field_of,
    graphs,
    machine,
    paths,
    rates,
    ring_bound,
    subset,
)
from gputopo.nccl.set_shapes import Shapes
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.jobs.rates import Rates


class Reckoning:
    """NCCL's model of one node; built once. Of NCCL's own topology file where that is the source."""

    def __init__(self, diagnosis: Diagnosis, expired: Callable[[], bool] = lambda: False) -> None:
        self._node = diagnosis.node
        self._expired = expired
        self._by_set: dict[tuple[str, ...], float | None] = {}
        self._by_shape: dict[tuple[str, float], float | None] = {}
        self._shapes = Shapes(diagnosis.node)
        self._numbers = {gpu.id: at for at, gpu in enumerate(diagnosis.node.gpus)}
        self._field: Field | None = None
        self._places: dict[str, int] = {}
        file = diagnosis.file
        made = machine(file) if file is not None else machine(diagnosis.node)
        if file is not None and isinstance(made, Machine):
            made = made._replace(names={gpu.id: gpu.pci for gpu in diagnosis.node.gpus if gpu.pci})
        self.machine = made if isinstance(made, Machine) else None
        self.refused = made.reason if isinstance(made, Refused) else ""

    def gbytes(self, gpus: Sequence[str]) -> float | None:
        """GB/s of the best algorithm by NCCL's search and model; None: not to be had, or the time is up."""
        key = tuple(gpus)
        if key not in self._by_set:
            self._by_set[key] = self._search(key)
        return self._by_set[key]

    def _search(self, gpus: tuple[str, ...]) -> float | None:
        own = self._subset(gpus)
        if own is None or self._expired():
            return None
        found = graphs(own, self._expired)
        return max((one.bus_gbps for one in all_reduce(found)), default=None) if found.complete else None

    def alike(self, gpus: Sequence[str]) -> float | None:
        """The same for one of many sets: NCCL is asked once for all sets of one shape and one load bound."""
        if self.machine is None:
            return None
        if self._field is None:
            self._field = field_of(self.machine.reach)
            order = {gpu.busid: place for place, gpu in enumerate(self.machine.gpus)}
            self._places = {gpu: order[bus] for gpu, bus in self.machine.names.items() if bus in order}
        if not all(gpu in self._places for gpu in gpus):
            return None
        bound = ring_bound(self._field, [self._places[gpu] for gpu in gpus]).gbps
        key = (self._shapes.of([self._numbers[gpu] for gpu in gpus]), round(bound, 3))
        if key not in self._by_shape:
            self._by_shape[key] = self.gbytes(gpus)
        return self._by_shape[key]

    def pair(self, a: str, b: str) -> float | None:
        """GB/s of the path between two GPUs, one direction."""
        own = self._subset((a, b))
        return paths(own).pairs[0, 1].gbps if own is not None else None

    def rates(self, gpus: Sequence[str], measured: float | None, without_nvls: bool) -> tuple[Rates, tuple[str, ...]]:
        """(the three numbers of a set, what they suppose)"""
        algorithms = ("Ring", "Tree") if without_nvls else None
        found: SetRates = rates(
            self._node, gpus, algorithms=algorithms, machine=self.machine, expired=self._expired
        )  # fmt: skip
        expected = None if found.cut else found.expected
        return Rates(measured, expected, found.ceiling, found.basis, found.ceiling_basis), found.assumptions

    def _subset(self, gpus: Sequence[str]) -> Machine | None:
        if self.machine is None or len(gpus) < 2 or not all(gpu in self.machine.names for gpu in gpus):
            return None
        made = subset(self.machine, [self.machine.names[gpu] for gpu in gpus])
        return made if isinstance(made, Machine) else None
