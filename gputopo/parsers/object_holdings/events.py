"""Events that say why a pod is not where it should be: the kubelet refused it, or no node takes it.

    >>> about = {"kind": "Pod", "namespace": "ml", "name": "a", "uid": "u"}
    >>> said = event({"reason": "TopologyAffinityError", "message": "Resources cannot be allocated with Topology",
    ...     "involvedObject": about, "source": {"host": "n"}, "lastTimestamp": "2026-01-01T00:00:00Z"})
    >>> said.pod.node, said.pod.rejected[0], said.at, said.waits
    ('n', 'TopologyAffinityError', '2026-01-01T00:00:00Z', False)

core/v1 and events.k8s.io/v1 (`regarding`, `note`, `deprecatedLastTimestamp`). An event stays an hour, the pod may be
gone by then: it is of its time, not of now.
"""

from __future__ import annotations

from gputopo.parsers.object_holdings.pods import is_refusal, pod_of_event
from gputopo.parsers.object_holdings.said import EventSaid
from gputopo.terms.kube_object import Body, mapping, text

_WAITS = "FailedScheduling"


def event(body: Body) -> EventSaid | None:
    """`None`: it says nothing of that. Raises WrongShape."""
    reason, message = text(body, "reason"), text(body, "message") or text(body, "note")
    about = mapping(body, "involvedObject") or mapping(body, "regarding")
    if text(about, "kind") != "Pod":
        return None
    if reason == _WAITS:
        return EventSaid(pod_of_event(about, None, rejected=(reason, message)), _time(body), waits=True)
    if not is_refusal(reason, message):
        return None
    source = mapping(body, "source") or mapping(body, "deprecatedSource")
    node = text(source, "host") or text(body, "reportingInstance") or None
    return EventSaid(pod_of_event(about, node, rejected=(reason, message)), _time(body))


def _time(body: Body) -> str | None:
    series = mapping(body, "series")
    return (
        text(series, "lastObservedTime")
        or text(body, "lastTimestamp")
        or text(body, "deprecatedLastTimestamp")
        or text(body, "eventTime")
        or text(body, "firstTimestamp")
        or None
    )
