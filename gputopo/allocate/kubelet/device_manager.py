"""Device manager: what it keeps, its hints for a container or pod, and all ways an allocation can go.

Upstream: devicemanager/{manager,topology_hints,pod_devices}.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import permutations
from typing import NamedTuple

from gputopo.allocate.kubelet.device_choice import Call, Choice, Plugin, Question, choose
from gputopo.allocate.kubelet.device_hints import Devices, has_topology, resource_hints
from gputopo.allocate.kubelet.frozen_map import FrozenMap
from gputopo.allocate.kubelet.hints import Hint, ResourceHints
from gputopo.allocate.kubelet.pod import Container, Pod, devices, total
from gputopo.allocate.kubelet.releases import Release

Ids = frozenset[str]
Expand = Callable[[Choice], Iterable[Ids]]  # the sets of a family that are followed


class Resource(NamedTuple):
    devices: Devices
    plugin: Plugin | None  # None: does not offer GetPreferredAllocation


class DeviceState(NamedTuple):
    """`allocated` may hold more than `held`: what a failed allocation left behind."""

    allocated: FrozenMap[str, Ids] = FrozenMap()
    held: FrozenMap[tuple[str, str, str], Ids] = FrozenMap()  # (pod, container, resource)
    reusable: tuple[str, FrozenMap[str, Ids]] | None = None  # of the last pod that was allocated for


class Allocated(NamedTuple):
    state: DeviceState
    calls: tuple[Call, ...]
    error: str | None
    families: tuple[tuple[str, Choice], ...] = ()  # of this container, by resource


class DeviceManager:
    def __init__(self, numa_ids: tuple[int, ...], resources: Mapping[str, Resource], release: Release) -> None:
        self.numa_ids = numa_ids
        self.resources = resources
        self._release = release

    def without(self, state: DeviceState, active: Ids) -> DeviceState:
        """UpdateAllocatedDevices: only when a pod is gone, and then leftovers of failures go too."""
        gone = [key for key in state.held if key[0] not in active]
        if not gone:
            return state
        held = state.held.drop(*gone)
        allocated: dict[str, Ids] = {}
        for (_, _, resource), ids in held.items():
            allocated[resource] = allocated.get(resource, frozenset()) | ids
        return state._replace(held=held, allocated=FrozenMap(allocated))

    def _known(self, wanted: Mapping[str, int]) -> dict[str, int]:
        return {name: count for name, count in wanted.items() if name in self.resources}

    def _reusable(self, state: DeviceState, pod: Pod, resource: str) -> Ids:
        if state.reusable is None or state.reusable[0] != pod.uid:
            return frozenset()
        return state.reusable[1].get(resource, frozenset())

    def hints(self, state: DeviceState, pod: Pod, container: Container) -> dict[str, ResourceHints]:
        return {
            name: self._hints(
                state, name, count, state.held.get((pod.uid, container.name, name), frozenset()),
                self._reusable(state, pod, name),
            )
            for name, count in self._known(devices(container)).items()
        }  # fmt: skip

    def pod_hints(self, state: DeviceState, pod: Pod) -> dict[str, ResourceHints]:
        found = {}
        for name, count in self._known(total(pod, devices)).items():
            held = frozenset(
                one for key, ids in state.held.items() if (key[0], key[2]) == (pod.uid, name) for one in ids
            )
            found[name] = self._hints(state, name, count, held, frozenset())
        return found

    def _hints(self, state: DeviceState, name: str, count: int, held: Ids, reusable: Ids) -> ResourceHints:
        every = self.resources[name].devices
        if not has_topology(every):
            return None
        if held:
            if len(held) != count:
                return ()
            return resource_hints(self.numa_ids, every, held, (), count, self._release)
        free = self.free(state, name)
        return resource_hints(self.numa_ids, every, free, reusable, count, self._release)

    def free(self, state: DeviceState, name: str) -> Ids:
        every = self.resources[name].devices
        return frozenset(one for one, device in every.items() if device.healthy) - state.allocated.get(
            name, frozenset()
        )

    def allocate(
        self, state: DeviceState, pod: Pod, container: Container, hint: Hint, active: Ids, expand: Expand
    ) -> list[Allocated]:  # fmt: skip
        """Every way; the resources of a container are visited in Go map order."""
        if state.reusable is None or state.reusable[0] != pod.uid:
            state = state._replace(reusable=(pod.uid, FrozenMap()))
        wanted = self._known(devices(container))
        if wanted:
            state = self.without(state, active)
        ends: dict[Allocated, None] = {}
        for order in permutations(wanted):
            for end in self._in_order(state, pod, container, hint, {name: wanted[name] for name in order}, expand):
                ends[end] = None
        return [self._noted(end, pod, container) for end in ends]

    def _in_order(
        self, state: DeviceState, pod: Pod, container: Container, hint: Hint, wanted: Mapping[str, int],
        expand: Expand,
    ) -> Iterable[Allocated]:  # fmt: skip
        ways = [Allocated(state, (), None)]
        for name, count in wanted.items():
            ways = [
                after
                for way in ways
                for after in ([way] if way.error else self._one(way, pod, container, hint, name, count, expand))
            ]
        # In another order of the resources the same calls and families are the same end.
        return [
            way._replace(calls=tuple(sorted(way.calls, key=_by_name)), families=tuple(sorted(way.families, key=_first)))
            for way in ways
        ]

    def _one(
        self, way: Allocated, pod: Pod, container: Container, hint: Hint, name: str, count: int, expand: Expand
    ) -> Iterable[Allocated]:  # fmt: skip
        state = way.state
        key = (pod.uid, container.name, name)
        resource = self.resources[name]
        question = Question(
            name, resource.devices, state.allocated.get(name, frozenset()), state.held.get(key),
            self._reusable(state, pod, name), count, hint.mask, resource.plugin,
        )  # fmt: skip
        for choice in choose(question, pod.uid, container.name):
            calls = (*way.calls, *choice.calls)
            families = (*way.families, (name, choice))
            for ids in [choice.forced] if choice.error else expand(choice):
                after = state
                if ids:
                    after = after._replace(allocated=after.allocated.put(name, question.allocated | ids))
                    if not choice.error:
                        after = after._replace(held=after.held.put(key, ids))
                yield Allocated(after, calls, choice.error, families)

    def _noted(self, end: Allocated, pod: Pod, container: Container) -> Allocated:
        """What an init container got is for those after it; what runs on is for nobody."""
        state = end.state
        if end.error or state.reusable is None:
            return end
        reusable = state.reusable[1]
        for name in self.resources:
            ids = state.held.get((pod.uid, container.name, name))
            if ids is not None:
                before = reusable.get(name, frozenset())
                reusable = reusable.put(name, before | ids if container.kind == "init" else before - ids)
        return end._replace(state=state._replace(reusable=(pod.uid, reusable)))


def _by_name(call: Call) -> tuple[str, int]:
    return call.resource, call.size


def _first(family: tuple[str, Choice]) -> str:
    return family[0]
