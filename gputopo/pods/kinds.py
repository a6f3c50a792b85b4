"""Init, sidecar or app: from the pod object, else from what the kubelet's files show.

An init container's memory block is shrunk to 0 when the app container takes it over (facts: kubelet.md §5.1), and its
devices are handed on, so that of two overlapping containers of a pod the proper subset is the init container.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gputopo.pods.same import Group

INIT, APP = "init", "app"


class Kind(NamedTuple):
    kind: str | None
    basis: str


def kinds(groups: Sequence[Group], units: Sequence[frozenset[str]]) -> list[Kind]:
    """`units`: the ids that each group holds."""
    pods: dict[tuple[str | None, ...], list[int]] = {}
    for at, one in enumerate(groups):
        pods.setdefault(_pod_of(one), []).append(at)
    return [_kind(at, pods[_pod_of(one)], groups, units) for at, one in enumerate(groups)]


def _kind(at: int, of_pod: Sequence[int], groups: Sequence[Group], units: Sequence[frozenset[str]]) -> Kind:
    own = groups[at]
    for said in own.said:
        if said.holding.kind is not None:
            return Kind(said.holding.kind, "")
    for said in own.said:
        if any(block.size == 0 for block in said.holding.memory or ()):
            return Kind(INIT, "its memory block is empty: the app container took it over")
    equal = False
    for other in of_pod if own.uid or own.pod is not None else ():
        if other == at or not units[at] or not units[at] & units[other]:
            continue
        if units[at] < units[other]:
            return Kind(INIT, f"container {groups[other].name} of its pod holds the same devices and more")
        equal = equal or units[at] == units[other]
    if equal:
        return Kind(None, "two containers of its pod hold the same devices: which is the init container is not said")
    return Kind(APP, "")


def _pod_of(one: Group) -> tuple[str | None, ...]:
    return (one.uid,) if one.uid else (one.namespace, one.pod)
