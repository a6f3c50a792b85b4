"""The pods that were asked for: of a namespace, with labels. What others hold stays known, so that free stays right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from gputopo.pods.model import Held, Pod

Matches = Callable[[Mapping[str, str]], bool]


class Selection(NamedTuple):
    namespace: str | None = None
    labels: Matches | None = None  # a pod whose labels no source says does not match

    def __bool__(self) -> bool:
        return self.namespace is not None or self.labels is not None

    def has(self, pod: Pod) -> bool:
        if self.namespace is not None and pod.namespace != self.namespace:
            return False
        return self.labels is None or (pod.labels is not None and self.labels(dict(pod.labels)))


def narrowed(held: Held, selection: Selection) -> Held:
    """With these pods, and those that hold one of their GPUs; processes in no pod go.

    `held`, `free` and `whole` are those of all pods.
    """
    if not selection:
        return held
    chosen = {at for at, pod in enumerate(held.pods) if selection.has(pod)}
    units = {unit for at in chosen for unit in _units(held, held.pods[at])}
    kept = [at for at, pod in enumerate(held.pods) if at in chosen or units & _units(held, pod)]
    places = sorted(place for at in kept for place in held.pods[at].containers)
    containers = tuple(held.containers[place] for place in places)
    moved = {place: at for at, place in enumerate(places)}
    moved_pods = {old: new for new, old in enumerate(kept)}
    pods = tuple(
        held.pods[at]._replace(containers=tuple(moved[place] for place in held.pods[at].containers)) for at in kept
    )
    owners = tuple(
        one._replace(pods=tuple(moved_pods[at] for at in one.pods if at in moved_pods))
        for one in held.owners
        if any(at in chosen for at in one.pods)
    )
    titles = {one.title for one in containers} | {pod.title for pod in pods}
    return held._replace(
        whole=held,
        containers=containers,
        pods=pods,
        owners=owners,
        rejected=tuple(one for one in held.rejected if selection.has(one)),
        earlier=tuple(one for one in held.earlier if selection.labels is None and one.namespace == selection.namespace),
        conflicts=tuple(one for one in held.conflicts if set(one.subjects) & titles),
    )


def _units(held: Held, pod: Pod) -> set[str]:
    return {each.unit for at in pod.containers for each in held.containers[at].devices if each.is_gpu}
