"""Koordinator behind the protocol: every set koord-scheduler can give, and the reading its documents have.

koord-scheduler's choice on one node is deterministic; several outcomes come from what is not known of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from gputopo.allocate.answer import Answer
from gputopo.allocate.koordinator.allocator import Allocation, Rules, allocate
from gputopo.allocate.koordinator.demand import Demand, whole_gpus
from gputopo.allocate.koordinator.devices import GPU, RDMA, WHOLE_GPU, Devices, Resources
from gputopo.allocate.koordinator.partitions import Partition, Table, built_in, index
from gputopo.allocate.outcome import Outcome, Viewer
from gputopo.allocate.request import Request
from gputopo.allocate.state import Holding, State
from gputopo.topology.node import NoteAssumption

VERSION = "a7a1b76 (2026-07-24)"


class Koordinator(NamedTuple):
    """A node's devices under every possibility, its table and the demand. Names are those of the node here.

    demand: what the pod requires beside the number of GPUs; of None, `Request.size` whole GPUs are asked.
    """

    ways: tuple[Devices, ...]
    gpus: Mapping[int, str]
    nics: Mapping[int, str] = {}
    table: Table | None = None
    table_from: str = ""  # where the table stands: "Device node-a", "built in for H100"
    honor: bool = False
    demand: Demand | None = None
    assumptions: tuple[NoteAssumption, ...] = ()
    complete: bool = True

    @property
    def name(self) -> str:
        return "koordinator"

    @property
    def version(self) -> str:
        return VERSION

    def answer(self, state: State, request: Request) -> Answer:
        demand = self._demand(request)
        now = [self._taken(devices, state) for devices in self.ways]
        found = [allocate(devices, self._rules(), demand) for devices in now]
        documented = [allocate(devices, self._rules(highest_first=True), demand) for devices in now]
        outcomes = self._outcomes(state, found)
        refusals = tuple(dict.fromkeys(word for one in found for word in (one.refusal, one.or_refusal) if word))
        return Answer(
            mechanism=self.name,
            version=self.version,
            unit="gpu",
            request=request,
            admitted=True if not refusals else None if outcomes else False,
            outcomes=outcomes,
            outcomes_complete=self.complete,
            reason="Unschedulable" if refusals and not outcomes else None,
            message=" or ".join(refusals) or None,
            why=(*self._why(found), *self._documented(state, outcomes, documented)),
            assumptions=(*self.assumptions, *_unseen(request)),
        )

    def step(self, state: State, request: Request, outcome: Outcome) -> State:
        """A whole GPU is taken; a NIC, and a GPU in part, are shared: who holds them is what counts."""
        wanted = self._demand(request).gpus
        whole = wanted is not None and not wanted.shared
        gone = {device for device in outcome.devices if device in outcome.gpus} if whole else set()
        missing = sorted(gone - set(state.free))
        if missing:
            raise ValueError(f"not free: {', '.join(missing)}")
        return state._replace(
            free=tuple(unit for unit in state.free if unit not in gone),
            held=(*state.held, Holding(request.owner, outcome.devices, None)),
        )

    def _demand(self, request: Request) -> Demand:
        if self.demand is None:
            return Demand(gpus=whole_gpus(request.size))
        return self.demand

    def _rules(self, highest_first: bool = False) -> Rules:
        return Rules(index(self.table, highest_first) if self.table is not None else None, self.honor)

    def _taken(self, devices: Devices, state: State) -> Devices:
        """The devices with what the state says is taken: a unit that is not free is used up."""
        used: dict[tuple[str, int], Resources] = dict(devices.used)
        minors = {name: (GPU, minor) for minor, name in self.gpus.items()}
        minors |= {name: (RDMA, minor) for minor, name in self.nics.items()}
        share: dict[str, Resources] = {}
        if self.demand is not None and self.demand.nics is not None:
            share = dict.fromkeys(self.nics.values(), self.demand.nics.each)
        if self.demand is not None and self.demand.gpus is not None:
            share |= dict.fromkeys(self.gpus.values(), self.demand.gpus.each)
        free = set(state.free)
        for holding in state.held:
            for device in holding.devices:
                if device in minors and (device in free or device not in state.units or minors[device] in devices.used):
                    used[minors[device]] = _sum(used.get(minors[device], {}), share.get(device, {}))
        for one in devices.of(GPU):
            name = self.gpus.get(one.minor, "")
            if name in state.units and name not in free and one.usable and (GPU, one.minor) not in devices.used:
                used[GPU, one.minor] = {**WHOLE_GPU, **one.total}
        return devices._replace(used=used)

    def _outcomes(self, state: State, found: list[Allocation]) -> tuple[Outcome, ...]:
        viewer = Viewer(state.node)
        outcomes: dict[tuple[str, ...], Outcome] = {}
        for one in found:
            if one.refusal:
                continue
            gpus = tuple(self.gpus.get(minor, f"minor {minor}") for minor in sorted(one.minors.get(GPU, ())))
            nics = tuple(self.nics.get(minor, f"rdma {minor}") for minor in sorted(one.minors.get(RDMA, ())))
            seen = viewer.outcome(gpus, _score(one))
            outcomes.setdefault(gpus + nics, seen._replace(devices=(*gpus, *nics)))
        return tuple(outcomes.values())

    def _names(self, minors: tuple[int, ...]) -> str:
        return set_text(self.gpus.get(minor, f"minor {minor}") for minor in sorted(minors))

    def _why(self, found: list[Allocation]) -> tuple[str, ...]:
        lines = [f"partition table: {self.table_from or 'none'}, {'Honor' if self.honor else 'Prefer'}"]
        picked = found[0].picked
        if picked is not None and picked.partition is not None:
            lines += _runners_up(picked.partition, picked.candidates, self._names)
        elif picked is not None:
            lines.append(f"no partition: {picked.refusal}")
        if any(one.by == "tree" for one in found):
            lines.append("the smallest of root complex, NUMA node, node that has enough free, fullest first")
        if any(one.by == "default" for one in found):
            lines.append("a GPU without topology: the lowest minors that are free")
        return tuple(lines)

    def _documented(
        self, state: State, outcomes: tuple[Outcome, ...], found: list[Allocation]
    ) -> tuple[str, ...]:  # fmt: skip
        """What the comment in the code and docs/proposals say: the highest allocationScore first."""
        if self.table is None or not any(len({one.score for one in rows}) > 1 for rows in self.table.values()):
            return ()
        theirs = self._outcomes(state, found)
        code = "the code walks allocationScore upwards, its documents say the highest is preferred"
        if {one.devices for one in theirs} == {one.devices for one in outcomes}:
            return (f"{code}: here both give the same",)
        said = " or ".join(set_text(one.devices) for one in theirs)
        refused = "; ".join(dict.fromkeys(one.refusal for one in found if one.refusal))
        return (f"{code}: as documented it would be {said or 'refused: ' + refused}",)


def set_text(devices: Iterable[str]) -> str:
    """`{2,3}` of GPU2 and GPU3; other names as they are."""
    return "{" + ",".join(one[3:] if one.startswith("GPU") and one[3:].isdigit() else one for one in devices) + "}"


def _score(found: Allocation) -> int | None:
    if found.by != "partition" or found.picked is None or len(found.picked.candidates) < 2:
        return None
    chosen = found.picked.partition
    return next(score for one, score in found.picked.candidates if one is chosen)


def _runners_up(
    chosen: Partition, candidates: tuple[tuple[Partition, int], ...], names: Callable[[tuple[int, ...]], str]
) -> list[str]:  # fmt: skip
    if len(candidates) < 2:
        return [f"the only feasible partition: {names(chosen.minors)}, allocationScore {chosen.score}"]
    ranked = sorted(candidates, key=lambda one: -one[1])
    shown = ", ".join(f"{names(one.minors)} {score}" for one, score in ranked[:6])
    return [f"what stays whole (10000 x 8, 100 x 4, 1 x 2, times allocationScore): {shown}; of equals the first listed"]


def _sum(one: Resources, other: Resources) -> Resources:
    return {
        name: one.get(name, Fraction(0)) + other.get(name, Fraction(0)) for name in {*one, *other}
    }


def _unseen(request: Request) -> tuple[NoteAssumption, ...]:
    notes = [NoteAssumption((), "no reservation, no preemption, no NUMA policy of Koordinator on this node", None)]
    if request.required:
        notes.append(NoteAssumption(request.required, "Koordinator cannot be told to include a GPU: not heeded", None))
    return tuple(notes)


def table_for(
    device_table: Table | None, device_honors: bool, node_labels: Mapping[str, str], node_honors: bool, where: str = ""
) -> tuple[Table | None, str, bool]:  # fmt: skip
    """(table, where it is from, honor). The policy label counts where the table is: Device, else Node."""
    if device_table is not None:
        return device_table, where, device_honors
    table = built_in(node_labels)
    model = node_labels.get("node.koordinator.sh/gpu-model", "")
    return table, f"built in for {model}" if table is not None else "", node_honors
