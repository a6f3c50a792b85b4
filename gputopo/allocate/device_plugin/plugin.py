"""The NVIDIA device plugin as a mechanism: a request for a resource of a node → every answer it can give.

Upstream: NVIDIA/k8s-device-plugin internal/rm/nvml_manager.go. Whole GPUs without replicas go to
BestEffort (aligned.py), all others to greedyAlloc (greedy.py). The plugin only prefers: where it returns
nothing, the kubelet picks at random; where it fails or dies, the kubelet does not admit the pod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from gputopo.allocate.answer import Answer
from gputopo.allocate.device_plugin.aligned import Aligned, aligned, padded, refuses, too_many
from gputopo.allocate.device_plugin.answers import Said, of_aligned, of_spreads
from gputopo.allocate.device_plugin.config import PluginConfig
from gputopo.allocate.device_plugin.greedy import Spread, Units, greedy
from gputopo.allocate.device_plugin.scores import failing_gpus, one_sided, seen_gpus
from gputopo.allocate.device_plugin.simple import simple
from gputopo.allocate.device_plugin.static_dgx import static_dgx
from gputopo.allocate.device_plugin.units import offered, unit_kind
from gputopo.allocate.device_plugin.versions import NEWEST, Behaviour, behaviour
from gputopo.allocate.outcome import Outcome
from gputopo.allocate.request import Request
from gputopo.allocate.state import State, physical
from gputopo.topology.node import NodeTopology

POLICIES = ("best-effort", "simple", "static-dgx1p", "static-dgx1v", "static-dgx2")
UNEXPECTED = "UnexpectedAdmissionError"
_SHORT = "requested number of devices unavailable for {resource}. Requested: {size}, Available: {free}"
_WRAPPED = "Allocate failed due to {error}, which is unexpected"
_PANIC = "internal error in bestEffort GPU allocator: all P2PLinks between 2 GPUs should be bidirectional"
_ONE_AT_A_TIME = (
    'invalid allocation request for "{resource}": invalid request: '
    "maximum request size for shared resources is 1; found {size}"
)


class DevicePlugin(NamedTuple):
    """`ordered`: the order in which the free GPUs are handed over; `None`: any, as the kubelet does it."""

    config: PluginConfig = PluginConfig()
    version: str = NEWEST
    ordered: tuple[str, ...] | None = None
    policy: str = "best-effort"  # others are in upstream's library, but no plugin uses them
    platform: str = ""  # "wsl" | "tegra": greedy whatever the units are

    @property
    def name(self) -> str:
        return "device-plugin"

    @property
    def behaviour(self) -> Behaviour:
        return behaviour(self.version)

    def state(self, node: NodeTopology, resource: str = "nvidia.com/gpu", in_use: Sequence[str] = ()) -> State:
        """All units of a resource, but those in use, free. Raises KeyError where the plugin offers none of it."""
        return State.of(node, offered(node, self.config)[resource], in_use)

    def is_aligned(self, state: State) -> bool:
        """Whether whole GPUs are asked for, so that their links count."""
        tegra_or_wsl = self.platform or self.config.discovery == "tegra"
        return not tegra_or_wsl and unit_kind(state.units) == "gpu"

    def look(self, state: State, request: Request) -> Aligned:
        """The outcome sets of whole GPUs, with the evidence's variants kept apart."""
        return aligned(
            state.node, state.free, request.required, request.size, self.behaviour.link_limit, self.ordered
        )

    def answer(self, state: State, request: Request) -> Answer:
        return self.answer_with(state, request)[0]

    def answer_with(self, state: State, request: Request) -> tuple[Answer, Aligned | None]:
        """The answer, and for whole GPUs what it was made of. Raises ValueError for required units not free."""
        refusal = self._refusal(state, request)
        if refusal is not None:
            return refusal, None
        said = self._said(state, request)
        if not self.is_aligned(state):
            return self._shared(said, state, request), None
        early = self._without_look(said, state, request)
        if early is not None:
            return early, None
        found = self.look(state, request)
        return of_aligned(said, state, found), found

    def _said(self, state: State, request: Request) -> Said:
        return Said(self.name, self.behaviour.version, unit_kind(state.units), request)

    def _refusal(self, state: State, request: Request) -> Answer | None:
        """What the kubelet or the plugin's Allocate refuses, whatever the links are."""
        said = self._said(state, request)
        if request.size > len(state.free):
            message = _SHORT.format(resource=request.resource, size=request.size, free=len(state.free))
            why = f"{len(state.free)} of {len(state.units)} are free; the scheduler already leaves such a pod Pending"
            return said.refused(UNEXPECTED, _WRAPPED.format(error=message), f"{why} (Insufficient {request.resource})")
        if not set(request.required) <= set(state.free):
            lost = ", ".join(one for one in request.required if one not in state.free)
            raise ValueError(f"required, but not free: {lost}")
        sharing = self.config.sharing
        if sharing is not None and sharing.fail_requests_above_one and said.unit == "replica" and request.size > 1:
            error = _ONE_AT_A_TIME.format(resource=request.resource, size=request.size)
            return said.refused(UNEXPECTED, _WRAPPED.format(error=f"rpc error: code = Unknown desc = {error}"))
        return None

    def _without_look(self, said: Said, state: State, request: Request) -> Answer | None:
        """What is answered for whole GPUs before their links are summed up."""
        failing = failing_gpus(state.node)
        if failing is not None:
            error = "error getting list of preferred allocation devices: unable to get device link information"
            return said.refused(
                UNEXPECTED,
                _WRAPPED.format(error=f"rpc error: code = Unknown desc = {error}"),
                f"NVML answers with an error for {', '.join(failing[0])}: {failing[1]}. The plugin reads every GPU "
                "of the node for every request, so no pod that asks for GPUs is admitted",
            )
        if self.policy != "best-effort":
            return self._alternative(said, state, request)
        if request.size > 1:
            for pair in one_sided(state.node, self.behaviour.link_limit):
                if pair.panics and {pair.a, pair.b} <= set(state.free):
                    return said.refused(
                        UNEXPECTED,
                        _PANIC,
                        f"{pair.a} has {pair.forward} NVLinks to {pair.b}, {pair.b} has {pair.backward} to {pair.a}: "
                        "the plugin's process dies",
                    )
        if self.behaviour.ignores_empty_must_include and not request.required and not self._takes_all(state, request):
            why = f"{said.version} mistakes an empty must-include list for all GPUs, returns nothing: random choice"
            return said.random(state.free, (), why)
        if too_many(state.free) and request.size > 1 and self.ordered is None:
            return said.undecided(f"{len(state.free)} GPUs are free: the plugin itself would take hours to answer")
        return None

    def _takes_all(self, state: State, request: Request) -> bool:
        return request.size == len(state.free) == len(seen_gpus(state.node))

    def _alternative(self, said: Said, state: State, request: Request) -> Answer:
        """Simple and StaticDGX: numbers decide, the order of the available GPUs does not."""
        ids = [gpu.id for gpu in seen_gpus(state.node)]
        free = [ids.index(one) for one in state.free]
        must = [ids.index(one) for one in request.required]
        if self.policy == "simple":
            found = simple(free, must, request.size)
        else:
            found = static_dgx(self.policy.removeprefix("static-"), free, must, request.size)
        if not found:
            return said.random(state.free, request.required, f"{self.policy} has no set for this, returns nothing")
        return said.sets(state, [tuple(ids[one] for one in found)])

    def _shared(self, said: Said, state: State, request: Request) -> Answer:
        own = self.behaviour
        if not own.spreads:
            return said.undecided(f"how {own.version} picks among shared or MIG devices was not read (before v0.13)")
        policy = self.config.shared_policy if own.packed and not self._base_manager() else "distributed"
        spreads = greedy(
            _units(state, request), request.size - len(request.required), policy, least_picked=own.least_picked
        )
        return of_spreads(said, state, request, spreads)

    def _base_manager(self) -> bool:
        """Tegra and WSL use the base resource manager, which is always distributed."""
        return bool(self.platform) or self.config.discovery == "tegra"

    def step(self, state: State, request: Request, outcome: Outcome) -> State:
        """Replicas are taken by their lowest numbers: which of one GPU it is changes nothing after it."""
        wanted = Counter(outcome.devices)
        chosen = [one for one in request.required if one in state.free]
        wanted.subtract(physical(one) for one in chosen)
        for unit in state.free:
            key = unit if wanted[unit] > 0 else physical(unit)
            if unit not in chosen and wanted[key] > 0:
                wanted[key] -= 1
                chosen.append(unit)
        return state.taken(request.owner, tuple(chosen), outcome.cpus)


def _units(state: State, request: Request) -> list[Units]:
    totals = Counter(physical(unit) for unit in state.units)
    free = Counter(physical(unit) for unit in state.free if unit not in request.required)
    return [Units(device, total, free[device]) for device, total in totals.items()]


__all__ = ["POLICIES", "DevicePlugin", "Spread", "padded", "refuses"]
