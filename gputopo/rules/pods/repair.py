"""How a set gets better: which pods to delete, and in which order to start them, proved by asking the plugin again.

The plan is that of `allocate sequence` with NVIDIA's device plugin under Topology Manager policy none, the default; it
is looked for where every held GPU is a whole one of a pod whose GPUs are known, and few pods are on the node.
"""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.allocate.device_plugin.plugin import DevicePlugin
from gputopo.allocate.outcome import Outcome
from gputopo.allocate.sequence.goodness import Goodness
from gputopo.allocate.sequence.repair import Plan, repair
from gputopo.allocate.sequence.walk import Answers
from gputopo.allocate.state import Holding, State
from gputopo.pods.model import Held, Pod
from gputopo.rules.pods.audit import Audit, Unit, shown

_MOST_PODS = 8
_OTHER_POLICY = ("restricted", "single-numa-node", "best-effort")


def plan(audit: Audit, unit: Unit) -> str:
    """One sentence, or nothing where no plan is proved."""
    found = _plan(audit, unit)
    if found is None:
        return ""
    order = [one.owner for one in found.start]
    others = f", start {' then '.join(order)}" if len(order) > 1 else " and let it start again"
    sets = shown(found.sets)
    then = f"{sets} is then the only answer" if found.certain else f"it then gets {sets}"
    return f"delete {' and '.join(found.delete)}{others}: {then}"


def _plan(audit: Audit, unit: Unit) -> Plan | None:
    if unit.job or audit.held.policies.get("topology") in _OTHER_POLICY:
        return None
    pods = _movable(audit.held.whole or audit.held)  # pods that nobody asked for hold their GPUs too
    target = next((pod for pod in pods or () if set(unit.gpus) == set(pod.placed.gpus or ())), None)
    if pods is None or target is None:
        return None
    units = tuple(gpu.id for gpu in audit.node.gpus)
    held = tuple(Holding(pod.title, tuple(pod.placed.gpus or ())) for pod in pods)
    taken = {gpu for one in held for gpu in one.devices}
    state = State(audit.node, units, tuple(gpu for gpu in units if gpu not in taken), held)
    goodness = Goodness(audit.node, units)
    before = {one.owner: one.devices for one in held}

    def wanted(owner: str, outcome: Outcome) -> bool:
        if goodness.is_good(outcome.gpus):
            return True
        return owner != target.title and goodness.is_good(before[owner]) is not True

    answers = Answers(DevicePlugin(), audit.node)
    sizes = {one.owner: len(one.devices) for one in held}
    return repair(answers, state, target.title, sizes, wanted)


def _movable(held: Held) -> Sequence[Pod] | None:
    """The pods that hold whole GPUs; None where something else than such pods holds one, or they are many."""
    pods = [pod for pod in held.pods if pod.placed.gpus != ()]
    if len(pods) > _MOST_PODS or any(pod.placed.gpus is None for pod in pods):
        return None
    titles = [pod.title for pod in pods]
    gpus = [gpu for pod in pods for gpu in pod.placed.gpus or ()]
    if len(set(titles)) < len(titles) or len(set(gpus)) < len(gpus):
        return None
    devices = [each for one in held.containers for each in one.devices if each.is_gpu]
    alone = [one for one in held.containers if one.uses and not one.given]
    if alone or any(each.replica is not None or each.mig is not None for each in devices):
        return None
    return pods
