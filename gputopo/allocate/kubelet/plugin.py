"""GetPreferredAllocation of the device plugin's simulator, as the device manager sees it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gputopo.allocate.answer import Answer
from gputopo.allocate.kubelet.device_choice import Plugin, PluginAnswer, PluginError
from gputopo.allocate.kubelet.from_node import Undecided
from gputopo.allocate.protocol import Mechanism
from gputopo.allocate.request import Request
from gputopo.allocate.state import State, physical

_CRASH = "rpc error: the plugin crashed on a padded result"  # the rest of gRPC's text depends on the moment
_BEFORE = ("Allocate failed due to ", "device plugin GetPreferredAllocation rpc failed with err: ")
_AFTER = ", which is unexpected"
_ASK = "gputopo allocate device-plugin"
_MOST_SETS = 20_000  # of a family; more are not followed one by one


def plugin_of(mechanism: Mechanism, state: State, resource: str, doubts: dict[str, None]) -> Plugin:
    """Every answer the plugin can give. Calling it raises Undecided where the simulator cannot say.

    doubts: takes a line where the evidence leaves open whether these are all.
    """

    def ask(available: frozenset[str], must: frozenset[str], size: int) -> Sequence[PluginAnswer]:
        free = tuple(unit for unit in state.units if unit in available)
        required = tuple(unit for unit in state.units if unit in must)
        answer = mechanism.answer(state._replace(free=free), Request(size, required, resource))
        if answer.admitted is False and not answer.outcomes:
            return [_failed(answer)]
        if not answer.outcomes_complete and not answer.families:
            doubts[f"what the plugin prefers of {len(free)} is not decided by the evidence: see {_ASK}"] = None
        found: dict[PluginAnswer, None] = {}
        for devices in _sets(answer):
            found[frozenset(_units(devices, required, free))] = None
        if any(outcome.defect == "padded" for outcome in answer.outcomes):
            found[PluginError(_CRASH)] = None
        if not found:
            raise Undecided("; ".join(answer.why) or "what the plugin answers is not known", "")
        return list(found)

    return ask


def _failed(answer: Answer) -> PluginError:
    """The plugin's own words out of the sentence that the kubelet makes of them."""
    text = answer.message or answer.reason or "it failed"
    for words in _BEFORE:
        text = text.removeprefix(words)
    return PluginError(text.removesuffix(_AFTER))


def _sets(answer: Answer) -> Iterator[tuple[str, ...]]:
    for outcome in answer.outcomes:
        if outcome.defect != "padded":
            yield outcome.devices
    for family in () if answer.outcomes_complete else answer.families:
        if family.ways > _MOST_SETS:
            yield ()  # an answer without devices: the kubelet then picks any, which covers them all
        else:
            yield from family.members()


def _units(devices: Sequence[str], required: Sequence[str], free: Sequence[str]) -> Iterator[str]:
    """The plugin's simulator may name GPUs instead of replicas; which replica of one GPU it is changes nothing."""
    wanted = Counter(devices)
    for unit in (*required, *(one for one in free if one not in required)):
        key = unit if wanted[unit] else physical(unit)
        if wanted[key]:
            wanted[key] -= 1
            yield unit
