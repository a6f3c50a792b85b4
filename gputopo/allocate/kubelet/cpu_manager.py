"""CPU manager, policy `static`: hints and exclusive CPUs. Policy `none` is the absence of this one.

Upstream: cpumanager/policy_static.go, cpu_manager.go (removeStaleState).
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.allocate.kubelet.cpu_distributed import Share, take_distributed
from gputopo.allocate.kubelet.cpu_packed import take_packed
from gputopo.allocate.kubelet.frozen_map import FrozenMap
from gputopo.allocate.kubelet.hints import Hint, ProviderHints
from gputopo.allocate.kubelet.machine import CpuTopology
from gputopo.allocate.kubelet.numa_mask import bits, masks_in_order
from gputopo.allocate.kubelet.pod import Container, Pod, exclusive_cpus, total
from gputopo.allocate.kubelet.releases import Release
from gputopo.allocate.kubelet.stops import SMT_ALIGNMENT, ManagerError


class CpuOptions(NamedTuple):
    """--cpu-manager-policy-options."""

    full_pcpus_only: bool = False
    distribute_cpus_across_numa: bool = False
    align_by_socket: bool = False
    distribute_cpus_across_cores: bool = False
    strict_cpu_reservation: bool = False
    prefer_align_cpus_by_uncorecache: bool = False


class CpuState(NamedTuple):
    """Masks of CPUs. `shared`: the pool of everyone without CPUs of its own, reserved CPUs included."""

    shared: int
    held: FrozenMap[tuple[str, str], int] = FrozenMap()
    reusable: tuple[str, int] | None = None  # of the last pod that was allocated for


class CpuManager:
    def __init__(self, topology: CpuTopology, options: CpuOptions, reserved: int, release: Release) -> None:
        self.topology = topology
        self.options = options
        self.reserved = reserved
        self.reserved_cores = topology.whole_cores(reserved)
        self._release = release

    def start(self) -> CpuState:
        every = self.topology.all
        return CpuState(every & ~self.reserved if self.options.strict_cpu_reservation else every)

    def without(self, state: CpuState, active: frozenset[str]) -> CpuState:
        """What is left when pods that are not active any more gave theirs back."""
        gone = [key for key in state.held if key[0] not in active]
        if not gone:
            return state
        back = 0
        for key in gone:
            back |= state.held[key]
        return state._replace(shared=state.shared | back, held=state.held.drop(*gone))

    def available(self, state: CpuState) -> int:
        return state.shared & ~self.reserved

    def _reusable(self, state: CpuState, pod: Pod) -> int:
        return state.reusable[1] if state.reusable is not None and state.reusable[0] == pod.uid else 0

    def hints(self, state: CpuState, pod: Pod, container: Container) -> ProviderHints:
        wanted = exclusive_cpus(pod, container)
        if not wanted or pod.own_resources:
            return None
        held = state.held.get((pod.uid, container.name))
        if held is not None:
            return {"cpu": self._masks(held, 0, wanted) if held.bit_count() == wanted else ()}
        return {"cpu": self._masks(self.available(state), self._reusable(state, pod), wanted)}

    def pod_hints(self, state: CpuState, pod: Pod) -> ProviderHints:
        wanted = total(pod, lambda container: {"cpu": exclusive_cpus(pod, container)}).get("cpu", 0)
        if not wanted or pod.own_resources:
            return None
        assigned = 0
        for container in pod.containers:
            held = state.held.get((pod.uid, container.name))
            if held is not None:
                if held.bit_count() != exclusive_cpus(pod, container):
                    return {"cpu": ()}
                assigned |= held
        if assigned.bit_count() == wanted:
            return {"cpu": self._masks(assigned, 0, wanted)}
        return {"cpu": self._masks(self.available(state), self._reusable(state, pod) | assigned, wanted)}

    def _masks(self, available: int, reusable: int, wanted: int) -> tuple[Hint, ...]:
        """Preferred is judged by all CPUs there are, reserved ones too; which hints exist, by the free ones."""
        topology = self.topology
        nodes = sorted(topology.numa)
        smallest = len(nodes)
        found = []
        for mask in masks_in_order(nodes):
            cpus = topology.in_numa(bits(mask))
            if cpus.bit_count() >= wanted:
                smallest = min(smallest, mask.bit_count())
            if not reusable & ~cpus and reusable.bit_count() + (available & cpus).bit_count() >= wanted:
                found.append(mask)
        return tuple(Hint(mask, self._preferred(mask, smallest)) for mask in found)

    def _preferred(self, mask: int, smallest: int) -> bool:
        topology = self.topology
        if self.options.align_by_socket:
            of_socket = len(topology.numa) // len(topology.sockets)
            spanned = len(topology.sockets_of(topology.in_numa(bits(mask))))
            if of_socket and spanned == (smallest + of_socket - 1) // of_socket:
                return True
        return mask.bit_count() == smallest

    def allocate(self, state: CpuState, pod: Pod, container: Container, affinity: int | None) -> CpuState:
        """The state after; raises ManagerError where the pod is to be refused."""
        wanted = exclusive_cpus(pod, container)
        if not wanted or pod.own_resources:
            return state
        key = (pod.uid, container.name)
        held = state.held.get(key)
        if held is not None and self._release.checkpoint_before_smt:
            return self._note_reusable(state, pod, container, held)
        self._check_cores(state, wanted)
        if held is not None:
            return self._note_reusable(state, pod, container, held)
        cpus = self._choose(state, wanted, affinity, self._reusable(state, pod))
        state = state._replace(shared=state.shared & ~cpus, held=state.held.put(key, cpus))
        return self._note_reusable(state, pod, container, cpus)

    def _check_cores(self, state: CpuState, wanted: int) -> None:
        """full-pcpus-only: only whole cores, and those of reserved CPUs do not count as free."""
        if not self.options.full_pcpus_only:
            return
        per_core = self.topology.cpus_per_core
        if wanted % per_core:
            text = f"SMT Alignment Error: requested {wanted} cpus not multiple cpus per core = {per_core}"
            raise ManagerError(text, SMT_ALIGNMENT)
        free = (state.shared & ~self.reserved_cores).bit_count()
        if wanted > free:
            text = (
                "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = "
                f"{free}, requested CPUs = {wanted}, CPUs per core = {per_core}"
            )
            raise ManagerError(text, SMT_ALIGNMENT)

    def _note_reusable(self, state: CpuState, pod: Pod, container: Container, cpus: int) -> CpuState:
        """What an init container had is for those after it; what runs on is for nobody."""
        before = self._reusable(state, pod)
        after = before | cpus if container.kind == "init" else before & ~cpus
        return state._replace(reusable=(pod.uid, after))

    def _choose(self, state: CpuState, wanted: int, affinity: int | None, reusable: int) -> int:
        """First from the NUMA nodes of the hint, the rest from anywhere."""
        allocatable = self.available(state) | reusable
        taken = 0
        if affinity is not None:
            aligned = allocatable & self._near(affinity)
            taken = self.take(aligned, min(wanted, aligned.bit_count()))
        return taken | self.take(allocatable & ~taken, wanted - taken.bit_count())

    def _near(self, affinity: int) -> int:
        """The CPUs of a hint; with align-by-socket those of all its sockets."""
        topology = self.topology
        cpus = topology.in_numa(bits(affinity))
        if self.options.align_by_socket:
            near = 0
            for socket in topology.sockets_of(cpus):
                near |= topology.sockets[socket]
            return near
        return cpus

    def take(self, available: int, count: int) -> int:
        """takeByTopology with this manager's options."""
        options = self.options
        spread = options.distribute_cpus_across_cores
        if options.distribute_cpus_across_numa:
            group = self.topology.cpus_per_core if options.full_pcpus_only else 1
            one_socket = options.align_by_socket and self._release.capped_shares
            share = Share(group, spread, one_socket, self._release.capped_shares)
            return take_distributed(self.topology, available, count, share)
        return take_packed(
            self.topology, available, count, spread=spread, uncore=options.prefer_align_cpus_by_uncorecache,
            whole_uncore_cores=self._release.whole_uncore_cores,
        )  # fmt: skip
