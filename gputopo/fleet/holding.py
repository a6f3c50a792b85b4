"""What pods hold on one node, as far as a fleet counts it: who crosses sockets, and what is free but apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gputopo.fleet.part import Crossing, Held
from gputopo.pods.model import Container, Pod
from gputopo.rules.pods.audit import Audit, Unit

NOT_SAID = "not said"


def held(audits: Sequence[Audit]) -> Held | None:
    """Of the audits of one node; `None`: nothing says who holds what."""
    if not audits:
        return None
    free = [audit.free for audit in audits]
    known = [one for one in free if one is not None]
    lost = [_lost(audit) for audit in audits]
    told = [one for one in lost if one is not None]
    crossing = sorted(one for audit in audits for one in _crossing(audit))
    return Held(sum(map(len, known)) if known else None, sum(told) if told else None, tuple(crossing))


def _lost(audit: Audit) -> int | None:
    """By how many GPUs the largest free set within one socket is smaller than it could be, were the same number of
    free GPUs side by side. `None`: the sockets are not known."""
    free = audit.free
    homes = [gpu.packages for gpu in audit.node.gpus]
    if free is None or any(home is None or len(home) != 1 for home in homes):
        return None
    if not free:
        return 0
    most = max(Counter(audit.sight.gpus[gpu].packages for gpu in free).values())
    return min(len(free), max(Counter(homes).values())) - most


def _crossing(audit: Audit) -> list[Crossing]:
    pods: dict[str, dict[str, bool]] = {}
    for unit in audit.units:
        if not unit.job and _crosses(unit):
            pod = _pod(audit, unit.containers[0])
            title = unit.title if pod is None else pod.title
            own = pods.setdefault(_owner(pod, unit.containers[0]), {})
            own[title] = own.get(title, False) or bool(audit.better(unit))
    return [Crossing(owner, len(own), sum(own.values())) for owner, own in pods.items()]


def _crosses(unit: Unit) -> bool:
    placed = unit.placed
    return bool(placed.cross_numa if placed.cross_package is None else placed.cross_package)


def _pod(audit: Audit, container: Container) -> Pod | None:
    at = next(at for at, one in enumerate(audit.held.containers) if one is container)
    return next((pod for pod in audit.held.pods if at in pod.containers), None)


def _owner(pod: Pod | None, container: Container) -> str:
    """The topmost that is said, else the namespace."""
    namespace = container.namespace
    if pod is not None and pod.owners:
        return f"{pod.owners[-1].kind} {namespace or '?'}/{pod.owners[-1].name}"
    return f"namespace {namespace}" if namespace else NOT_SAID
