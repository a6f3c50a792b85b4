"""Which setting of the kubelet gives such a set, and which refuses it: the allocation done again.

It is done with the set's own GPUs and those free now, for the GPUs alone (no CPU or memory hints): what was free when
the pod came is in no file. Where no source says the Topology Manager's policy, each of the four is asked.
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.allocate.answer import Answer
from gputopo.allocate.device_plugin.plugin import DevicePlugin
from gputopo.allocate.kubelet.mechanism import KubeletNode
from gputopo.allocate.kubelet.merge import BEST_EFFORT, NONE, RESTRICTED, SINGLE_NUMA_NODE
from gputopo.allocate.kubelet.releases import DEFAULT, Release
from gputopo.allocate.kubelet.startup import Settings
from gputopo.allocate.request import Request
from gputopo.allocate.state import State
from gputopo.pods.model import Pod
from gputopo.rules.pods.audit import Audit, Unit
from gputopo.rules.wording import listed

POLICIES = (NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE)
_RESOURCE = "nvidia.com/gpu"


class Replayed(NamedTuple):
    policy: str
    answer: Answer


def replay(audit: Audit, free: tuple[str, ...], size: int) -> tuple[Replayed, ...]:
    """What each policy that the node may have answers to a request for so many GPUs."""
    units = tuple(gpu.id for gpu in audit.node.gpus)
    state = State(audit.node, units, tuple(id for id in units if id in free))
    said = audit.held.policies.get("topology")
    scope = audit.held.policies.get("topologyScope", "container")
    policies = (said,) if said in POLICIES else POLICIES
    asked = Request(size, resource=_RESOURCE)
    return tuple(
        Replayed(policy, KubeletNode(Settings(Release(DEFAULT), policy, scope), DevicePlugin()).answer(state, asked))
        for policy in policies
    )


def given(audit: Audit, unit: Unit) -> str:
    """`topology manager policy none gives it; restricted and single-numa-node refuse it (…)`; empty: not to be said.

    Of whole GPUs that a device plugin gave to one container.
    """
    devices = [each for one in unit.containers for each in one.devices if each.is_gpu]
    if unit.job or audit.free is None or not unit.gpus or any(
        each.resource != _RESOURCE or each.replica is not None or each.mig is not None for each in devices
    ):  # fmt: skip
        return ""
    by_verdict: dict[str, list[str]] = {}
    for one in replay(audit, (*unit.gpus, *audit.free), len(unit.gpus)):
        verdict = _verdict(one.answer, unit.gpus)
        if verdict:
            by_verdict.setdefault(verdict, []).append(one.policy)
    if not by_verdict:
        return ""
    known = audit.held.policies.get("topology") in POLICIES
    words = [f"{listed(policies)} {_agree(verdict, len(policies))}" for verdict, policies in by_verdict.items()]
    unsaid = "" if known else "; the policy is in no source"
    return f"topology manager policy {', '.join(words)} (replayed with its own and the free GPUs{unsaid})"


def _verdict(answer: Answer, gpus: tuple[str, ...]) -> str:
    if answer.admitted is False:
        return "refuses it"
    sets = {frozenset(one.gpus) for one in answer.outcomes}
    if frozenset(gpus) in sets:
        return "gives it" if answer.admitted and len(sets) == 1 and answer.outcomes_complete else "can give it"
    return "gives another" if sets and answer.outcomes_complete else ""


def _agree(verdict: str, number: int) -> str:
    """
    >>> _agree("refuses it", 2), _agree("can give it", 2)
    ('refuse it', 'can give it')
    """
    if number == 1:
        return verdict
    for one, many in (("refuses", "refuse"), ("gives", "give"), ("admits", "admit")):
        verdict = verdict.replace(f"{one} ", f"{many} ")
    return verdict


def refused(audit: Audit, pod: Pod) -> str:
    """`asked again for 8 GPUs: single-numa-node refuses it on an empty node too, …`; empty: nothing to ask with."""
    size = dict(pod.requests).get(_RESOURCE, 0)
    units = tuple(gpu.id for gpu in audit.node.gpus)
    if not size or audit.free is None or not units:
        return ""
    if size > len(units):
        return f"it asks for {size} GPUs, and the node has {len(units)}"
    by_verdict: dict[str, list[str]] = {}
    for now, empty in zip(replay(audit, audit.free, size), replay(audit, units, size)):
        verdict = _refusal(now.answer, empty.answer)
        if verdict:
            by_verdict.setdefault(verdict, []).append(now.policy)
    if not by_verdict:
        return ""
    words = [f"{listed(policies)} {_agree(verdict, len(policies))}" for verdict, policies in by_verdict.items()]
    unsaid = "" if audit.held.policies.get("topology") in POLICIES else "; the policy is in no source"
    free = len(audit.free)
    return f"replayed for {size} GPUs, {free} free now: policy {', '.join(words)} (for its GPUs alone{unsaid})"


def _refusal(now: Answer, empty: Answer) -> str:
    if now.admitted:
        return "admits it now"
    if now.admitted is None:
        return ""
    if empty.admitted is False:
        return "refuses it on an empty node too"
    return "refuses it now, not on an empty node" if empty.admitted else "refuses it now"
