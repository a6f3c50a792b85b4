"""Device manager: which devices a container gets, and when the plugin is asked with what.

Upstream: devicemanager/manager.go (devicesToAllocate, filterByAffinity). Wherever the code iterates over a Go
set, any of its members can come first: the result is a family, `forced` and any `choose` of `of`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

from gputopo.allocate.kubelet.device_hints import Devices, has_topology


class PluginError(NamedTuple):
    """GetPreferredAllocation answered with an error."""

    text: str


PluginAnswer = frozenset[str] | PluginError
# available, mustInclude, size → every answer the plugin can give. None: it does not offer the call.
Plugin = Callable[[frozenset[str], frozenset[str], int], Sequence[PluginAnswer]]


class Call(NamedTuple):
    """One GetPreferredAllocation; `answer` None: it failed."""

    resource: str
    available: frozenset[str]
    must_include: frozenset[str]
    size: int
    answer: frozenset[str] | None


class Choice(NamedTuple):
    """`forced` and any `choose` of `of`; `taken` of an error stay marked as allocated."""

    forced: frozenset[str]
    choose: int = 0
    of: frozenset[str] = frozenset()
    calls: tuple[Call, ...] = ()
    error: str | None = None

    @property
    def ways(self) -> int:
        return comb(len(self.of), self.choose)

    def sets(self) -> Iterator[frozenset[str]]:
        for chosen in combinations(sorted(self.of), self.choose):
            yield self.forced | frozenset(chosen)


class Question(NamedTuple):
    """`held`: what the container has already; `mask` None: no affinity is stored, or any node."""

    resource: str
    devices: Devices
    allocated: frozenset[str]
    held: frozenset[str] | None
    reusable: frozenset[str]
    required: int
    mask: int | None
    plugin: Plugin | None
    registered: bool = True


def choose(question: Question, pod: str, container: str) -> list[Choice]:
    """Every way it can go. Nothing to allocate is one choice without devices."""
    name = question.resource
    need = question.required
    if question.held is not None:
        need -= len(question.held)
        if need:
            return [_refused(
                f'pod "{pod}" container "{container}" changed request for resource "{name}" from '
                f"{len(question.held)} to {question.required}"
            )]  # fmt: skip
    healthy = frozenset(one for one, device in question.devices.items() if device.healthy)
    if not question.registered:
        return [_refused(f"cannot allocate unregistered device {name}")]
    if not healthy:
        return [_refused(f"no healthy devices present; cannot allocate unhealthy devices {name}")]
    if question.held and not question.held <= healthy:
        return [_refused(
            f"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {name}"
        )]  # fmt: skip
    if not need:
        return [Choice(frozenset())]
    reusable = question.reusable
    if len(reusable) >= need:
        return [Choice(frozenset(), need, reusable)]
    need -= len(reusable)
    available = healthy - question.allocated - reusable
    if len(available) < need:
        short = f"requested number of devices unavailable for {name}. Requested: {need}, Available: {len(available)}"
        return [_refused(short, reusable)]
    return _from_available(question, available, need)


def _refused(error: str, taken: Collection[str] = ()) -> Choice:
    return Choice(frozenset(taken), error=error)


def _from_available(question: Question, available: frozenset[str], need: int) -> list[Choice]:
    taken = question.reusable
    aligned, unaligned, without = by_affinity(question.devices, available, question.mask)
    if need < len(aligned):
        asked = _ask(question, aligned | taken, taken)
        return [_completed(taken, need, call, answer, aligned, (aligned,)) for call, answer in asked]
    taken = taken | aligned
    need -= len(aligned)
    if not need:
        return [Choice(taken)]
    asked = _ask(question, available | taken, taken)
    return [_completed(taken, need, call, answer, available, (unaligned, without)) for call, answer in asked]


def by_affinity(
    devices: Devices, available: frozenset[str], mask: int | None
) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:  # fmt: skip
    """Aligned (any of its nodes is in the hint), unaligned, without topology."""
    if mask is None or not has_topology(devices):
        return frozenset(), frozenset(), available
    without = frozenset(one for one in available if not devices[one].numa)
    aligned = frozenset(one for one in available if devices[one].mask & mask)
    return aligned, available - aligned - without, without


def _ask(
    question: Question, available: frozenset[str], must: frozenset[str]
) -> list[tuple[Call | None, PluginAnswer]]:  # fmt: skip
    if question.plugin is None:
        return [(None, frozenset())]
    size = question.required
    return [
        (Call(question.resource, available, must, size, None if isinstance(one, PluginError) else one), one)
        for one in question.plugin(available, must, size)
    ]


def _completed(
    taken: frozenset[str], need: int, call: Call | None, answer: PluginAnswer, offered: frozenset[str],
    fallback: tuple[frozenset[str], ...],
) -> Choice:  # fmt: skip
    """First what the plugin names of the offered ones, then the sets it falls back to, each in any order."""
    calls = () if call is None else (call,)
    if isinstance(answer, PluginError):
        error = f"device plugin GetPreferredAllocation rpc failed with err: {answer.text}"
        return Choice(taken, calls=calls, error=error)
    for stage in (answer & offered, *fallback):
        fresh = stage - taken
        if len(fresh) >= need:
            return Choice(taken, need, fresh, calls)
        taken = taken | fresh
        need -= len(fresh)
    raise AssertionError("the available devices were counted before")
