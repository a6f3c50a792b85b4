"""The kubelet behind the protocol of every mechanism: one pod with one request, on a node."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import comb
from typing import NamedTuple

from gputopo.allocate.answer import Answer
from gputopo.allocate.kubelet import from_node
from gputopo.allocate.kubelet.admission import Kubelet, Traced, admit, providers_hints
from gputopo.allocate.kubelet.admission import State as KubeletState
from gputopo.allocate.kubelet.device_choice import Choice
from gputopo.allocate.kubelet.device_hints import Device
from gputopo.allocate.kubelet.device_manager import DeviceState, Ids, Resource
from gputopo.allocate.kubelet.explain import lines, mask_text, refusal
from gputopo.allocate.kubelet.from_node import Undecided
from gputopo.allocate.kubelet.frozen_map import FrozenMap
from gputopo.allocate.kubelet.machine import Machine
from gputopo.allocate.kubelet.memory_state import Bank, MemoryState
from gputopo.allocate.kubelet.merge import NONE
from gputopo.allocate.kubelet.numa_mask import bits
from gputopo.allocate.kubelet.plugin import plugin_of
from gputopo.allocate.kubelet.pod import GUARANTEED, Container, Pod, devices
from gputopo.allocate.kubelet.releases import NEWEST
from gputopo.allocate.kubelet.startup import Refused, Settings, kubelet
from gputopo.allocate.outcome import LISTED, Family, Outcome, Viewer
from gputopo.allocate.protocol import Mechanism
from gputopo.allocate.request import Request
from gputopo.allocate.state import Holding, State, physical
from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.node import NoteAssumption

_FOLLOWED = 5_000  # sets of one family that are followed one by one
_NOT_ASKED = "the plugin is not asked: there is nothing left to choose"
_NOT_OFFERED = "the plugin offers no choice (GetPreferredAllocation): the kubelet picks in random order"
_OTHERS = "in use"  # owner of what is taken without a holding


class KubeletNode(NamedTuple):
    """`plugin` None: one that does not offer GetPreferredAllocation. `pod`: the pod that the request is part of."""

    settings: Settings
    plugin: Mechanism | None = None
    pod: Pod | None = None
    assumptions: tuple[NoteAssumption, ...] = ()

    @property
    def name(self) -> str:
        return "kubelet"

    @property
    def version(self) -> str:
        return f"v1.{min(self.settings.release.minor, NEWEST)}"

    def answer(self, state: State, request: Request) -> Answer:
        blank = Answer(self.name, self.version, _unit(state), request, None, assumptions=self.assumptions)
        doubts: dict[str, None] = {}
        try:
            made, before, assumed = _start(self, state, request, doubts)
        except Undecided as gap:
            return blank._replace(outcomes_complete=False, why=(f"{gap.what} (to settle: {gap.settled_by})",))
        except Refused as refused:
            stays = ("the kubelet does not start with this configuration",)
            return blank._replace(admitted=False, message=" | ".join(refused.messages), why=stays)
        pod = pod_of(request) if self.pod is None else resized(self.pod, request)
        try:
            ends = admit(made, before, pod, _bounded)
        except Undecided as gap:
            return blank._replace(outcomes_complete=False, why=(gap.what,))
        answer = _answered(blank._replace(assumptions=(*self.assumptions, *assumed)), state, ends)
        if doubts and answer.outcomes:
            answer = answer._replace(outcomes_complete=_is_everything(answer, state), why=tuple(doubts))
        why = [*_refusals(made, pod, ends), *_hints(made, before, pod), *_asked(ends, self.plugin is not None)]
        return answer._replace(why=(*answer.why, *why))

    def step(self, state: State, request: Request, outcome: Outcome) -> State:
        after = state.taken(request.owner, outcome.devices, outcome.cpus)
        if state.memory is None or not request.memory_bytes or not outcome.memory_nodes:
            return after
        left, memory = request.memory_bytes, []
        for node, free in state.memory:
            part = min(left, free) if node in outcome.memory_nodes else 0
            left -= part
            memory.append((node, free - part))
        return after._replace(memory=tuple(memory))

    def largest(self, state: State, request: Request) -> int | None:
        """The most units, below those asked for, that are admitted now, all else being equal; 0: none."""
        if self.pod is not None and len(asking(self.pod, request.resource)) != 1:
            return None
        for size in range(min(request.size - 1, len(state.free)), 0, -1):
            if self.answer(state, request._replace(size=size)).admitted:
                return size
        return 0


def pod_of(request: Request) -> Pod:
    """A pod of one container. Exclusive CPUs or pinned memory mean that it is Guaranteed."""
    limits = {request.resource: Fraction(request.size)}
    if request.cpus is not None:
        limits["cpu"] = Fraction(request.cpus)
    if request.memory_bytes is not None:
        limits["memory"] = Fraction(request.memory_bytes)
    guaranteed = request.cpus is not None or request.memory_bytes is not None
    container = Container.of("container", limits)
    return Pod(request.owner or "pod", (container,), qos_class=GUARANTEED if guaranteed else None)


def asking(pod: Pod, resource: str) -> list[Container]:
    """The containers that ask for a resource."""
    return [one for one in pod.containers if devices(one).get(resource)]


def resized(pod: Pod, request: Request) -> Pod:
    """The pod with the request's size, where one container alone asks for the resource."""
    if len(asking(pod, request.resource)) != 1:
        return pod
    size = {request.resource: Fraction(request.size)}
    return pod._replace(containers=tuple(
        one._replace(limits={**one.limits, **size}, requests={**one.requests, **size})
        if devices(one).get(request.resource) else one
        for one in pod.containers
    ))  # fmt: skip


def _unit(state: State) -> str:
    if any(physical(unit) != unit for unit in state.units):
        return "replica"
    return "mig" if any(unit.startswith("MIG-") for unit in state.units) else "gpu"


def _start(
    asked: KubeletNode, state: State, request: Request, doubts: dict[str, None]
) -> tuple[Kubelet, KubeletState, tuple[NoteAssumption, ...]]:  # fmt: skip
    settings = asked.settings
    static, pinned = settings.cpu_policy == "static", settings.memory_policy == "Static"
    if settings.policy == NONE and not (static or pinned):  # nobody looks at NUMA nodes
        seen = from_node.Seen(Machine((0,), ()), ())
        places = {unit: Device(None, True) for unit in state.units}
    else:
        seen = from_node.machine(state.node, cpus=static, memory=pinned)
        places = from_node.devices(state.node, state.units)
    plugin = plugin_of(asked.plugin, state, request.resource, doubts) if asked.plugin is not None else None
    made, fresh = kubelet(settings, seen.machine, {request.resource: Resource(places, plugin)})
    return made, _in_use(fresh, state, request.resource), seen.assumptions


def _in_use(fresh: KubeletState, state: State, resource: str) -> KubeletState:
    """What other pods hold already."""
    taken = frozenset(state.units) - frozenset(state.free)
    named = frozenset(unit for holding in state.held for unit in holding.devices)
    holdings = (*state.held, *((Holding(_OTHERS, tuple(taken - named)),) if taken - named else ()))
    held: dict[tuple[str, str, str], Ids] = {}
    cpus: dict[tuple[str, str], int] = {}
    for number, holding in enumerate(holdings):
        if holding.devices:
            held[holding.owner, str(number), resource] = frozenset(holding.devices)
        if holding.cpus:
            cpus[holding.owner, str(number)] = holding.cpus.mask
    exclusive = 0
    for mask in cpus.values():
        exclusive |= mask
    pool = fresh.cpus and fresh.cpus._replace(shared=fresh.cpus.shared & ~exclusive, held=FrozenMap(cpus))
    return KubeletState(
        frozenset(holding.owner for holding in holdings),
        DeviceState(FrozenMap({resource: taken}) if taken else FrozenMap(), FrozenMap(held)),
        pool,
        _memory_left(fresh.memory, state.memory),
    )


def _memory_left(
    fresh: MemoryState | None, free: tuple[tuple[int, int], ...] | None
) -> MemoryState | None:  # fmt: skip
    """What is pinned already counts as single-node blocks: its grouping is not in a State."""
    if fresh is None or free is None:
        return fresh
    nodes = fresh.nodes
    for node, size in free:
        if node in nodes:
            bank = nodes[node].banks["memory"]
            used = max(0, bank.free - size)
            cell = nodes[node]._replace(
                assignments=1 if used else 0,
                banks=nodes[node].banks.put("memory", Bank(bank.allocatable, bank.free - used, used)),
            )
            nodes = nodes.put(node, cell)
    return fresh._replace(nodes=nodes)


def _bounded(choice: Choice) -> Iterable[Ids]:
    if choice.ways <= _FOLLOWED:
        return choice.sets()
    return [next(choice.sets())]


def _answered(blank: Answer, state: State, ends: list[Traced]) -> Answer:
    verdicts = {end.result.admit for end in ends}
    refused = [end.result for end in ends if not end.result.admit]
    first = refused[0] if refused else None
    outcomes, families, complete = _outcomes(state, ends)
    return blank._replace(
        admitted=verdicts.pop() if len(verdicts) == 1 else None,
        outcomes=outcomes,
        outcomes_complete=complete,
        families=families,
        reason=first.reason if first else None,
        message=first.message if first else None,
    )


def _is_everything(answer: Answer, state: State) -> bool:
    """Whether every set of the size is listed: then there is no other, whatever the evidence leaves open."""
    return len({one.devices for one in answer.outcomes}) == comb(len(state.free), answer.request.size)


def _outcomes(state: State, ends: list[Traced]) -> tuple[tuple[Outcome, ...], tuple[Family, ...], bool]:
    order = {unit: at for at, unit in enumerate(state.units)}
    viewer = Viewer(state.node)
    found: dict[Outcome, None] = {}
    families: dict[Family, None] = {}
    complete = True
    for end in ends:
        if not end.result.admit:
            continue
        for choices in end.families.values():
            for _, choice in choices:
                complete = complete and choice.ways <= _FOLLOWED
                families[_family(choice, order)] = None
        given = end.result.containers.values()
        units = {unit for one in given for ids in one.devices.values() for unit in ids}
        cpus = 0
        for one in given:
            cpus |= one.cpus
        nodes = {node for one in given for block in one.blocks for node in bits(block.mask)}
        outcome = viewer.outcome(sorted(units, key=order.__getitem__))
        outcome = outcome._replace(cpus=CpuSet(cpus) if cpus else None, memory_nodes=tuple(sorted(nodes)) or None)
        found[outcome] = None
    listed = sorted(found, key=lambda one: [order[unit] for unit in one.devices])
    if len(listed) > LISTED:
        return tuple(listed[:LISTED]), tuple(families), False
    return tuple(listed), () if complete else tuple(families), complete


def _family(choice: Choice, order: dict[str, int]) -> Family:
    forced = sorted(choice.forced, key=order.__getitem__)
    of = sorted(choice.of, key=order.__getitem__)
    return Family(tuple(forced), choice.choose, tuple(of))


def _counts(pod: Pod) -> dict[str, int]:
    """The sizes of a one-container pod, for the text of hints."""
    return devices(pod.containers[0]) if len(pod.containers) == 1 else {}


def _hints(made: Kubelet, before: KubeletState, pod: Pod) -> list[str]:
    if made.policy == NONE:
        return ["topology manager policy none: no hints are made, nothing is aligned"]
    whole = made.scope == "pod" or len(pod.containers) == 1
    if not whole:
        return []
    container = None if made.scope == "pod" else pod.containers[0]
    return lines(providers_hints(made, before, pod, container), _counts(pod))


def _asked(ends: list[Traced], offered: bool) -> list[str]:
    """The stored hint, and what the plugin was asked with."""
    found: dict[str, None] = {}
    for end in ends:
        for name, given in end.result.containers.items():
            if given.hint.mask is not None:
                word = "preferred" if given.hint.preferred else "not preferred"
                found[f"{name}: merged hint {mask_text(given.hint.mask)}, {word}"] = None
        if end.result.admit and not end.result.calls and any(one.devices for one in end.result.containers.values()):
            found[_NOT_ASKED if offered else _NOT_OFFERED] = None
        for call in end.result.calls:
            must = f", to include {_by_number(call.must_include)}" if call.must_include else ""
            found[f"the plugin is asked for {call.size} of {_by_number(call.available)}{must}"] = None
    return list(found)


def _by_number(units: Iterable[str]) -> str:
    """GPU10 after GPU9."""
    return " ".join(sorted(units, key=lambda unit: (len(unit), unit)))


def _refusals(made: Kubelet, pod: Pod, ends: list[Traced]) -> list[str]:
    found: dict[str, None] = {}
    for end in ends:
        if end.refusal is not None:
            where = f"{end.refusal.container}: " if end.refusal.container and len(pod.containers) > 1 else ""
            found[f"{where}{refusal(made.policy, end.refusal, _counts(pod))}"] = None
    return list(found)
