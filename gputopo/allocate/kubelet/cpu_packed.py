"""`takeByTopology`, packed: whole NUMA nodes and sockets, then L3s, cores, single CPUs, best fit.

Upstream: cpumanager/cpu_assignment.go (cpuAccumulator, takeByTopologyNUMAPacked). Units are visited by
(free CPUs in them, id) inside their parents; the order of a level is fixed when the level starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from gputopo.allocate.kubelet.machine import CpuTopology
from gputopo.allocate.kubelet.stops import ManagerError


class Accumulator:
    """CPUs still free, still needed and taken, of one request."""

    __slots__ = ("free", "needed", "numa_first", "result", "spread", "topology")

    def __init__(self, topology: CpuTopology, available: int, needed: int, spread: bool = False) -> None:
        self.topology = topology
        self.free = available & topology.all
        self.needed = needed
        self.result = 0
        self.spread = spread
        self.numa_first = len(topology.sockets) >= len(topology.numa)

    @property
    def failed(self) -> bool:
        return self.needed > self.free.bit_count()

    @property
    def satisfied(self) -> bool:
        return self.needed < 1

    def take(self, cpus: int) -> None:
        self.result |= cpus
        self.free &= ~self.result
        self.needed -= cpus.bit_count()

    def _sorted(self, units: Mapping[int, int], within: int) -> list[int]:
        """The units with a free CPU in `within`, by how many free CPUs they have in all, then by id."""
        present = [unit for unit, mask in units.items() if mask & within & self.free]
        return sorted(present, key=lambda unit: ((units[unit] & self.free).bit_count(), unit))

    def _nested(self, units: Mapping[int, int], parents: Iterable[int]) -> list[int]:
        return [unit for parent in parents for unit in self._sorted(units, parent)]

    def numa_nodes(self) -> list[int]:
        topology = self.topology
        if self.numa_first:
            return self._sorted(topology.numa, topology.all)
        return self._nested(topology.numa, (topology.sockets[one] for one in self.sockets()))

    def sockets(self) -> list[int]:
        topology = self.topology
        if not self.numa_first:
            return self._sorted(topology.sockets, topology.all)
        return self._nested(topology.sockets, (topology.numa[one] for one in self.numa_nodes()))

    def uncores(self) -> list[int]:
        return self._nested(self.topology.uncores, (self.topology.numa[one] for one in self.numa_nodes()))

    def cores(self) -> list[int]:
        topology = self.topology
        if self.numa_first:
            return self._nested(topology.cores, (topology.sockets[one] for one in self.sockets()))
        return self._nested(topology.cores, (topology.numa[one] for one in self.numa_nodes()))

    def single_cpus(self) -> list[int]:
        topology = self.topology
        if self.spread:
            parents = [topology.sockets[one] for one in self.sockets()]
        else:
            parents = [topology.cores[one] for one in self.cores()]
        return [cpu for parent in parents for cpu in _numbers(parent & self.free)]


def _numbers(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def take_packed(
    topology: CpuTopology, available: int, needed: int, *, spread: bool = False, uncore: bool = False,
    whole_uncore_cores: bool = True,
) -> int:  # fmt: skip
    """The CPUs taken. Raises ManagerError where there are too few.

    `uncore`: prefer-align-cpus-by-uncorecache. `whole_uncore_cores`: an odd rest counts as a whole core
    (1.34 on).
    """
    acc = Accumulator(topology, available, needed, spread)
    if acc.satisfied:
        return acc.result
    if acc.failed:
        raise too_few(needed, available)
    levels: list[Callable[[Accumulator], None]] = [_numa_nodes, _sockets]
    if not acc.numa_first:
        levels.reverse()
    if uncore:
        levels.append(lambda one: _uncores(one, whole_uncore_cores))
    if not spread:
        levels.append(_cores)
    for level in (*levels, _single):
        level(acc)
        if acc.satisfied:
            return acc.result
    raise ManagerError("failed to allocate cpus")


def too_few(needed: int, available: int) -> ManagerError:
    return ManagerError(
        f"not enough cpus available to satisfy request: requested={needed}, available={available.bit_count()}"
    )


def _take_whole(acc: Accumulator, order: list[int], units: Mapping[int, int], size: int | None) -> None:
    """Wholly free units, as long as the need is not smaller. `size`: the mean size that means "wholly"."""
    free = []
    for unit in order:
        whole = units[unit].bit_count() if size is None else size
        if (units[unit] & acc.free).bit_count() == whole:
            free.append(unit)
    for unit in free:
        if acc.needed >= units[unit].bit_count():
            acc.take(units[unit])


def _numa_nodes(acc: Accumulator) -> None:
    _take_whole(acc, acc.numa_nodes(), acc.topology.numa, None)


def _sockets(acc: Accumulator) -> None:
    _take_whole(acc, acc.sockets(), acc.topology.sockets, acc.topology.cpus_per_socket)


def _cores(acc: Accumulator) -> None:
    _take_whole(acc, acc.cores(), acc.topology.cores, acc.topology.cpus_per_core)


def _single(acc: Accumulator) -> None:
    for cpu in acc.single_cpus():
        acc.take(1 << cpu)
        if acc.satisfied:
            return


def _uncores(acc: Accumulator, whole_cores: bool) -> None:
    """takeUncoreCache: whole L3s while the need is at least the mean L3, then all the rest inside one."""
    for uncore in acc.uncores():
        if acc.needed >= acc.topology.cpus_per_uncore:
            _take_whole(acc, acc.uncores(), acc.topology.uncores, None)
        if acc.satisfied:
            return
        _part_of_uncore(acc, uncore, whole_cores)
        if acc.satisfied:
            return


def _part_of_uncore(acc: Accumulator, uncore: int, whole_cores: bool) -> None:
    topology = acc.topology
    per_core = topology.cpus_per_core
    wanted = (acc.needed + per_core - 1) // per_core if whole_cores else acc.needed // per_core
    within = topology.uncores[uncore] & acc.free
    cores = sorted(core for core, mask in topology.cores.items() if mask & within)[:wanted]
    free = sorted(cpu for core in cores for cpu in _numbers(topology.cores[core] & acc.free))
    if whole_cores and acc.needed % 2 and per_core > 1 and len(free) > acc.needed:
        free = free[:-1]
    if len(free) == acc.needed:
        taken = 0
        for cpu in free:
            taken |= 1 << cpu
        acc.take(taken)
