"""Which containers still are: those of pods that ended are left out where the live pods are known.

The kubelet forgets a pod's devices only when it next allocates or lists, so its checkpoint names pods that are gone
(kubernetes/kubernetes#137010). Its own podresources answer, since 1.34, and a list of the node's pods tell which live.
"""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.holdings import PodRecord
from gputopo.pods.same import Group, record_of
from gputopo.pods.spoken import Spoken
from gputopo.topology.node import NoteAssumption

_ENDED = ("Succeeded", "Failed")
_NOT_LISTED = "the kubelet's list of live pods has no such container"
_RUNTIMES = ("crictl-inspect", "docker-inspect")  # whose container that does not run holds nothing; a pod's waits
_MAY_BE_STALE = ("kubelet-checkpoint", "cpu-manager-state", "memory-manager-state", "dra-manager-state")


def living(
    groups: Sequence[Group], pods: dict[str, PodRecord], spoken: Sequence[Spoken]
) -> tuple[list[Group], list[NoteAssumption]]:
    """(the containers of live pods, what is assumed or was left out)"""
    listed = [one for one in spoken if one.records.pods_complete]
    uids = {pod.uid for one in listed for pod in one.records.pods or () if pod.phase not in _ENDED}
    names = {(pod.namespace, pod.name) for one in listed for pod in one.records.pods or () if pod.phase not in _ENDED}
    kept: list[Group] = []
    gone: dict[str, str] = {}
    doubtful = False
    for one in groups:
        record = record_of(pods, one.uid, one.namespace, one.pod)
        if record is not None and record.phase in _ENDED:
            if not all(said.source.format == "kube-objects" for said in one.said):
                gone[f"pod {one.uid or f'{one.namespace}/{one.pod}'}"] = f"its phase is {record.phase}"
            continue
        if all(said.source.format in _RUNTIMES and said.holding.running is False for said in one.said):
            gone[_title(one)] = "it does not run"
            continue
        only_files = all(said.source.format in _MAY_BE_STALE for said in one.said)
        if only_files and listed and one.uid not in uids and (one.namespace, one.pod) not in names:
            if one.uid and _has_uids(listed):
                gone[f"pod {one.uid}"] = "no live pod has this UID"
                continue
            if not _is_init(one, groups):
                gone[f"pod {one.uid or '?'}"] = _NOT_LISTED
                continue
        doubtful = doubtful or (only_files and not listed)
        kept.append(one)
    notes = [NoteAssumption((name.partition(" ")[2],), f"{name} {_left_out(why)}", None) for name, why in gone.items()]
    if doubtful:
        text = "every container in the kubelet's files still runs; it may be stale: kubectl get pods, or podresources"
        notes.append(NoteAssumption((), text, None))
    return kept, notes


def _title(one: Group) -> str:
    pod = f"{one.namespace or '?'}/{one.pod}/" if one.pod else f"pod {one.uid}/" if one.uid else ""
    return f"container {pod}{one.name or '?'}"


def _left_out(why: str) -> str:
    """By its UID alone a pod is not told from one whose running containers hold nothing."""
    if why == _NOT_LISTED:
        return f"has ended, or only its init containers held anything: {why}"
    return f"has ended and holds nothing: {why}"


def _has_uids(listed: Sequence[Spoken]) -> bool:
    return any(pod.uid for one in listed for pod in one.records.pods or ())


def _is_init(one: Group, groups: Sequence[Group]) -> bool:
    """podresources leaves ordinary init containers out: another container of the same pod is in it."""
    return bool(one.uid) and any(
        other.uid == one.uid and any(said.source.format == "podresources" for said in other.said) for other in groups
    )
