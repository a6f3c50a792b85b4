"""HAMi behind the protocol: one answer where the register annotation is at hand, else one for every order of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gputopo.allocate.answer import Answer, PairScore
from gputopo.allocate.families import compress
from gputopo.allocate.hami.devices import Gpu, Scores
from gputopo.allocate.hami.every_order import Every, Ranges, every
from gputopo.allocate.hami.fit import Pod, fit, total
from gputopo.allocate.hami.order import TOPOLOGY
from gputopo.allocate.hami.pair_scores import PairRange
from gputopo.allocate.hami.request import Wanted, whole_gpus
from gputopo.allocate.outcome import LISTED, Family, Outcome, Viewer
from gputopo.allocate.request import Request
from gputopo.allocate.state import Holding, State
from gputopo.topology.node import NoteAssumption

VERSION = "4707fb0 (2026-08-21)"


class Hami(NamedTuple):
    """The GPUs under their names on the node (`id` of a Gpu here is the node's), the pod, and one container's demand.

    registered: whether the order of `gpus` is that of the annotation; scores: of the annotation, else `ranges`.
    """

    gpus: tuple[Gpu, ...]
    pod: Pod = Pod()
    wanted: Wanted | None = None
    registered: bool = False
    scores: Scores | None = None
    ranges: tuple[PairRange, ...] = ()
    assumptions: tuple[NoteAssumption, ...] = ()

    @property
    def name(self) -> str:
        return "hami"

    @property
    def version(self) -> str:
        return VERSION

    def answer(self, state: State, request: Request) -> Answer:
        wanted = self._wanted(request)
        gpus = self._taken(state, wanted)
        base = Answer(self.name, self.version, "gpu", request, True, scores=self._pair_scores())
        if any(gpu.mode == "mig" for gpu in gpus):
            why = "a GPU in MIG mode: HAMi cuts instances there, which is not simulated"
            return base._replace(admitted=None, outcomes_complete=False, why=(why,), assumptions=self.assumptions)
        found = self._find(gpus, wanted)
        outcomes, families = self._outcomes(state, found)
        refused = bool(found.reason)
        return base._replace(
            admitted=not refused,
            outcomes=outcomes,
            outcomes_complete=found.complete,
            families=families,
            reason="FilteringFailed" if refused else None,
            message=found.reason or None,
            why=self._why(wanted, found),
            assumptions=(*self.assumptions, *self._assumed(request)),
        )

    def step(self, state: State, request: Request, outcome: Outcome) -> State:
        """An exclusive GPU leaves the free ones; of a shared one only who holds it is written down."""
        gone = set(outcome.devices) if self._wanted(request).cores >= 100 else set()
        missing = sorted(gone - set(state.free))
        if missing:
            raise ValueError(f"not free: {', '.join(missing)}")
        return state._replace(
            free=tuple(unit for unit in state.free if unit not in gone),
            held=(*state.held, Holding(request.owner, outcome.devices, None)),
        )

    def _wanted(self, request: Request) -> Wanted:
        return whole_gpus(request.size) if self.wanted is None else self.wanted

    def _taken(self, state: State, wanted: Wanted) -> tuple[Gpu, ...]:
        """A unit that is not free and of which no annotation says how much is used, is used up."""
        free = set(state.free)
        found = []
        for gpu in self.gpus:
            if gpu.id in state.units and gpu.id not in free and not gpu.used and gpu.healthy:
                gpu = gpu.taken(gpu.memory, gpu.cores)
            else:
                for holding in state.held:
                    if gpu.id in holding.devices:
                        gpu = gpu.taken(wanted.memory_on(gpu), min(wanted.cores, 100))
            found.append(gpu)
        return tuple(found)

    def _find(self, gpus: tuple[Gpu, ...], wanted: Wanted) -> Every:
        if self.registered:
            one = fit(gpus, wanted, self.pod, self.scores)
            return Every(reason=one.reason) if one.chosen is None else Every(sets=(one.chosen,))
        if wanted.number <= 0:
            return Every(sets=((),))
        return every(gpus, wanted, self.pod, self._ranges())

    def _ranges(self) -> Ranges:
        return {frozenset((one.a, one.b)): (one.low, one.high) for one in self.ranges}

    def _outcomes(self, state: State, found: Every) -> tuple[tuple[Outcome, ...], tuple[Family, ...]]:
        place = {gpu.id: at for at, gpu in enumerate(state.node.gpus)}
        viewer = Viewer(state.node)

        def in_order(ids: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(sorted(ids, key=lambda one: place.get(one, len(place))))

        family: tuple[Family, ...] = ()
        if found.of:
            family = (Family(in_order(found.forced), found.choose, in_order(found.of)),)
            if family[0].ways > LISTED:
                return (), family
        sets = {in_order(one) for one in found.all()}
        if len(sets) > LISTED:
            return (), compress(sorted(sets, key=lambda one: [place.get(gpu, len(place)) for gpu in one]))
        ranked = sorted(sets, key=lambda one: [place.get(gpu, len(place)) for gpu in one])
        return tuple(viewer.outcome(one, self._sum(one)) for one in ranked), family

    def _sum(self, chosen: tuple[str, ...]) -> int | None:
        """What topology-aware adds up; None where it does not, or where a score is undecided."""
        if not self.pod.policy.has(TOPOLOGY) or len(chosen) < 2:
            return None
        if self.registered:
            return total(chosen, self.scores or {})
        pairs = [one for one in self.ranges if one.a in chosen and one.b in chosen]
        return sum(one.low for one in pairs) if all(one.low == one.high for one in pairs) else None

    def _pair_scores(self) -> tuple[PairScore, ...]:
        if not self.pod.policy.has(TOPOLOGY):
            return ()
        if self.registered:
            ids = [gpu.id for gpu in self.gpus]
            scores: Mapping[str, Mapping[str, int]] = self.scores or {}
            return tuple(
                PairScore(a, b, scores.get(a, {}).get(b, 0), ()) for at, a in enumerate(ids) for b in ids[at + 1 :]
            )
        return tuple(
            PairScore(one.a, one.b, one.low if one.low == one.high else None, one.terms) for one in self.ranges
        )

    def _why(self, wanted: Wanted, found: Every) -> tuple[str, ...]:
        policy = self.pod.policy
        bound = ", numa-bind" if policy.numa_bind else ""
        lines = [f"policy {policy.text}{bound}; the sorted list is walked from its end"]
        if wanted.cores >= 100:
            lines.append("all cores of a GPU: only GPUs that nobody uses")
        if policy.has(TOPOLOGY):
            lines.append(
                "one GPU: the one with the lowest sum of pair scores" if wanted.number == 1
                else "of all sets of fitting GPUs the one with the highest sum of pair scores; the first of equals"
            )  # fmt: skip
            if policy.numa_bind:
                lines.append("with numa-bind only the GPUs of the NUMA node that is walked last are compared")
        elif policy.numa_bind:
            lines.append("all GPUs of the container are on one NUMA node, or it does not fit")
        if not self.registered and not found.reason:
            lines.append("equal GPUs stand in any order: HAMi's device plugin registers them in the order of a Go map")
        return tuple(lines)

    def _assumed(self, request: Request) -> tuple[NoteAssumption, ...]:
        notes = [NoteAssumption((), "no ResourceQuota for GPU memory or cores", None)]
        if self.pod.policy.has(TOPOLOGY) and not self.registered:
            text = "the device plugin of HAMi runs with ENABLE_TOPOLOGY_SCORE=true (else all pairs score 0)"
            notes.append(NoteAssumption((), text, None))
        if request.required:
            notes.append(NoteAssumption(request.required, "HAMi cannot be told to include a GPU: not heeded", None))
        return tuple(notes)
