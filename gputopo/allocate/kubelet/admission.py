"""A pod through all managers, as the Topology Manager's scope leads it: every result the real code can have.

Upstream: topologymanager/scope.go, scope_{none,container,pod}.go; the hint providers are asked in the order
device, CPU, Memory manager. A result comes with the state it leaves: a refused pod leaves what its earlier
containers got, until it is found to be inactive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gputopo.allocate.kubelet import memory_state
from gputopo.allocate.kubelet.cpu_manager import CpuManager, CpuState
from gputopo.allocate.kubelet.device_choice import Call, Choice
from gputopo.allocate.kubelet.device_manager import DeviceManager, DeviceState, Expand, Ids
from gputopo.allocate.kubelet.frozen_map import FrozenMap
from gputopo.allocate.kubelet.hints import Hint, ProviderHints
from gputopo.allocate.kubelet.memory_manager import MemoryManager
from gputopo.allocate.kubelet.memory_state import Block, MemoryState
from gputopo.allocate.kubelet.merge import NONE, NumaInfo, merge
from gputopo.allocate.kubelet.pod import Container, Pod
from gputopo.allocate.kubelet.stops import TOPOLOGY_AFFINITY, KubeletStops, ManagerError

NOT_ALIGNED = "Resources cannot be allocated with Topology locality"
NO_AFFINITY = Hint(None, False)  # what is stored where nothing was ever merged


class Kubelet(NamedTuple):
    """A kubelet that has started. `cpus`, `memory` None: policy none."""

    numa: NumaInfo
    policy: str
    scope: str
    devices: DeviceManager
    cpus: CpuManager | None
    memory: MemoryManager | None


class State(NamedTuple):
    active: Ids
    devices: DeviceState
    cpus: CpuState | None
    memory: MemoryState | None


class Given(NamedTuple):
    """What a container of an admitted pod has. `cpus` 0: the shared pool, which is `shared`."""

    hint: Hint
    devices: FrozenMap[str, Ids]
    cpus: int
    shared: int
    blocks: tuple[Block, ...]


class Result(NamedTuple):
    """`admit` None: the real kubelet neither admits nor refuses here; `message` says why."""

    admit: bool | None
    reason: str | None
    message: str | None
    containers: FrozenMap[str, Given]
    calls: tuple[Call, ...]  # GetPreferredAllocation, in order of resource


class Refusal(NamedTuple):
    """What was merged when the Topology Manager refused: for explanations, not part of the result."""

    container: str | None  # None: the pod as a whole
    providers: tuple[ProviderHints, ...]
    hint: Hint


Families = FrozenMap[str, tuple[tuple[str, Choice], ...]]  # container → (resource, its choice)


class Traced(NamedTuple):
    state: State
    result: Result
    refusal: Refusal | None = None
    families: Families = FrozenMap()  # of which the result is a member


class _Path(NamedTuple):
    """One way through a pod so far."""

    state: State
    calls: tuple[Call, ...]
    hints: FrozenMap[str, Hint]
    families: Families


def every_set(choice: Choice) -> Iterator[Ids]:
    return choice.sets()


def removed(state: State, uid: str) -> State:
    """A pod is not active any more; the managers notice when they are next asked."""
    return state._replace(active=state.active - {uid})


def admit(kubelet: Kubelet, state: State, pod: Pod, expand: Expand = every_set) -> list[Traced]:
    """Every end of one admission, each with the state after it."""
    state = state._replace(active=state.active | {pod.uid})
    paths = [_Path(state, (), FrozenMap(), FrozenMap())]
    ends: dict[Traced, None] = {}
    try:
        whole = kubelet.policy != NONE and kubelet.scope == "pod"
        if whole:
            paths = [path for start in paths for path in _merged(kubelet, start, pod, None, ends)]
        for container in pod.containers:
            paths = [after for path in paths for after in _container(kubelet, path, pod, container, expand, ends)]
    except KubeletStops as stop:
        ends[Traced(state, Result(None, None, str(stop), FrozenMap(), ()))] = None
        return list(ends)
    for path in paths:
        ends[Traced(path.state, _admitted(path, pod), None, path.families)] = None
    return list(ends)


def _container(
    kubelet: Kubelet, path: _Path, pod: Pod, container: Container, expand: Expand, ends: dict[Traced, None]
) -> Iterator[_Path]:  # fmt: skip
    paths: Iterable[_Path] = (path,)
    if kubelet.policy != NONE and kubelet.scope != "pod":
        paths = _merged(kubelet, path, pod, container, ends)
    for one in paths:
        yield from _allocated(kubelet, one, pod, container, expand, ends)


def _merged(
    kubelet: Kubelet, path: _Path, pod: Pod, container: Container | None, ends: dict[Traced, None]
) -> Iterator[_Path]:  # fmt: skip
    """The hints of all providers, merged and stored; a refusal is an end."""
    for state in _swept(kubelet, path.state):
        providers = providers_hints(kubelet, state, pod, container)
        hint, admitted = merge(kubelet.numa, kubelet.policy, providers)
        if admitted:
            names = [container.name] if container else [one.name for one in pod.containers]
            yield path._replace(state=state, hints=FrozenMap({**path.hints, **dict.fromkeys(names, hint)}))
            continue
        refusal = Refusal(container.name if container else None, _frozen(providers), hint)
        result = Result(False, TOPOLOGY_AFFINITY, NOT_ALIGNED, FrozenMap(), path.calls)
        ends[Traced(_inactive(state, pod), result, refusal)] = None


def providers_hints(
    kubelet: Kubelet, state: State, pod: Pod, container: Container | None
) -> tuple[ProviderHints, ...]:  # fmt: skip
    """Of device, CPU and Memory manager; of a container, or of the pod as a whole."""
    found: list[ProviderHints] = []
    if container is None:
        found.append(kubelet.devices.pod_hints(state.devices, pod))
    else:
        found.append(kubelet.devices.hints(state.devices, pod, container))
    if kubelet.cpus is None or state.cpus is None:
        found.append(None)
    elif container is None:
        found.append(kubelet.cpus.pod_hints(state.cpus, pod))
    else:
        found.append(kubelet.cpus.hints(state.cpus, pod, container))
    if kubelet.memory is None or state.memory is None:
        found.append(None)
    elif container is None:
        found.append(kubelet.memory.pod_hints(state.memory, pod))
    else:
        found.append(kubelet.memory.hints(state.memory, pod, container))
    return tuple(found)


def _frozen(providers: Iterable[ProviderHints]) -> tuple[ProviderHints, ...]:
    return tuple(FrozenMap(one) if one is not None else None for one in providers)


def _swept(kubelet: Kubelet, state: State) -> list[State]:
    """The managers drop what pods hold that are not active any more."""
    devices = kubelet.devices.without(state.devices, state.active)
    cpus = kubelet.cpus.without(state.cpus, state.active) if kubelet.cpus and state.cpus else state.cpus
    memories: tuple[MemoryState | None, ...] = (state.memory,)
    if state.memory is not None:
        memories = memory_state.without(state.memory, state.active)
    return [State(state.active, devices, cpus, memory) for memory in memories]


def _inactive(state: State, pod: Pod) -> State:
    return removed(state, pod.uid)


def _allocated(
    kubelet: Kubelet, path: _Path, pod: Pod, container: Container, expand: Expand, ends: dict[Traced, None]
) -> Iterator[_Path]:  # fmt: skip
    """Allocate of the three managers in turn; an error is an end."""
    hint = path.hints.get(container.name, NO_AFFINITY)
    active = path.state.active
    for way in kubelet.devices.allocate(path.state.devices, pod, container, hint, active, expand):
        state = path.state._replace(devices=way.state)
        calls = (*path.calls, *way.calls)
        if way.error is not None:
            error = ManagerError(way.error)
            ends[Traced(_inactive(state, pod), _failed(error, calls))] = None
            continue
        families = path.families.put(container.name, way.families)
        for after in _cpus_and_memory(kubelet, state, pod, container, hint):
            if isinstance(after[1], ManagerError):
                ends[Traced(_inactive(after[0], pod), _failed(after[1], calls))] = None
            else:
                yield path._replace(state=after[0], calls=calls, families=families)


def _cpus_and_memory(
    kubelet: Kubelet, state: State, pod: Pod, container: Container, hint: Hint
) -> Iterator[tuple[State, ManagerError | None]]:  # fmt: skip
    cpus = state.cpus
    if kubelet.cpus is not None and cpus is not None:
        cpus = kubelet.cpus.without(cpus, state.active)
        try:
            cpus = kubelet.cpus.allocate(cpus, pod, container, hint.mask)
        except ManagerError as error:
            yield state._replace(cpus=cpus), error
            return
    state = state._replace(cpus=cpus)
    if kubelet.memory is None or state.memory is None:
        yield state, None
        return
    for memory in memory_state.without(state.memory, state.active):
        try:
            yield state._replace(memory=kubelet.memory.allocate(memory, pod, container, hint)), None
        except ManagerError as error:
            yield state._replace(memory=memory), error


def _failed(error: ManagerError, calls: tuple[Call, ...]) -> Result:
    return Result(False, error.reason, error.message, FrozenMap(), _sorted(calls))


def _sorted(calls: tuple[Call, ...]) -> tuple[Call, ...]:
    return tuple(sorted(calls, key=lambda call: call.resource))


def _admitted(path: _Path, pod: Pod) -> Result:
    given = {container.name: _given(path, pod, container.name) for container in pod.containers}
    return Result(True, None, None, FrozenMap(given), _sorted(path.calls))


def _given(path: _Path, pod: Pod, name: str) -> Given:
    state = path.state
    devices: dict[str, Ids] = {
        resource: ids for (uid, container, resource), ids in state.devices.held.items()
        if (uid, container) == (pod.uid, name)
    }  # fmt: skip
    key = (pod.uid, name)
    return Given(
        path.hints.get(name, NO_AFFINITY), FrozenMap(devices),
        state.cpus.held.get(key, 0) if state.cpus else 0,
        state.cpus.shared if state.cpus else 0,
        state.memory.held.get(key, ()) if state.memory else (),
    )  # fmt: skip


def start(kubelet: Kubelet, memory: MemoryState | None) -> State:
    """Nobody has anything."""
    return State(frozenset(), DeviceState(), kubelet.cpus.start() if kubelet.cpus else None, memory)
