"""What the rules over pods share: the sets that work as one, and what would have been better for each.

Severity follows effect (the order of *better* is CONTRACT §3, allocate/best.py): where every pair of a set has
NVLinks, crossing a socket costs no GPU-GPU bandwidth and is information; over PCIe it is an error while a better set
is free, a warning while only an empty node has one, and information where no better set of the size exists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

from gputopo.allocate.best import Best, Judge, best
from gputopo.pods.kinds import INIT
from gputopo.pods.model import Container, Held, Placed, Pod
from gputopo.topology.gpu_sets import Sight

_LOOSE = ("StatefulSet ", "RayService ")


class Unit(NamedTuple):
    """GPUs that work as one set: those of a container, or of the pods of one job."""

    title: str
    placed: Placed
    containers: tuple[Container, ...]
    job: bool = False

    @property
    def gpus(self) -> tuple[str, ...]:
        return self.placed.gpus or ()

    @property
    def loose(self) -> bool:
        """Whether the pods of a set may as well be replicas that have nothing to do with each other."""
        return self.job and self.title.startswith(_LOOSE)


class Effect(NamedTuple):
    """`severity` None: nothing to say."""

    severity: str | None
    avoidable: str
    better: tuple[tuple[str, ...], ...] = ()  # free for it now, or on an empty node


class Audit:
    """One node's holdings, with the questions that several rules ask answered once."""

    def __init__(
        self, held: Held, repair: Callable[[Audit, Unit], str] | None = None,
        replay: Callable[[Audit, Unit], str] | None = None, refusal: Callable[[Audit, Pod], str] | None = None,
    ) -> None:  # fmt: skip
        """`repair`: the plan that mends a set (repair.py); of replayed.py: `replay`, which setting gave a set, and
        `refusal`, which refuses a pod."""
        self.held = held
        self.node = held.node
        self.sight = Sight(held.node)
        self._judge = Judge(held.node)
        self._better: dict[tuple[str, ...], Best | None] = {}
        self._repair = repair
        self._replay = replay
        self._refusal = refusal

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Containers that hold GPUs, then jobs of several pods. Of a pod's init containers, whose GPUs its app
        containers take over, none."""
        alone = _alone(self.held)
        found = [
            Unit(_short(one, alone), one.placed, (one,))
            for one in self.held.containers
            if one.kind != INIT and one.given and one.placed.gpus != () and any(each.is_gpu for each in one.devices)
        ]
        for owner in self.held.owners:
            if len(owner.pods) > 1:
                places = [at for pod in owner.pods for at in self.held.pods[pod].containers]
                own = tuple(self.held.containers[at] for at in places)
                title = f"{owner.kind} {owner.namespace or '?'}/{owner.name}"
                found.append(Unit(title, owner.placed, own, True))
        return tuple(found)

    @cached_property
    def free(self) -> tuple[str, ...] | None:
        """The GPUs of the node that nothing holds; None: not known, also where only the kubelet's ids of them are."""
        free = self.held.free
        return free if free is None or all(one in self.sight.gpus for one in free) else None

    def better(self, unit: Unit) -> tuple[tuple[str, ...], ...] | None:
        """The best sets of its size out of its own and free GPUs, where they are better; None: not decided."""
        if self.free is None:
            return None
        return self._better_of(unit.gpus, (*unit.gpus, *self.free))

    def better_when_empty(self, unit: Unit) -> tuple[tuple[str, ...], ...] | None:
        return self._better_of(unit.gpus, tuple(gpu.id for gpu in self.node.gpus))

    def _better_of(self, own: Sequence[str], candidates: Sequence[str]) -> tuple[tuple[str, ...], ...] | None:
        if len(own) < 2:
            return ()
        order = [gpu.id for gpu in self.node.gpus if gpu.id in candidates]
        found = best(self.node, order, len(own))
        if found is None:
            return None
        judged = [self._judge.better(one, own) for one in found.sets]
        if any(judged):
            return tuple(one for one, better in zip(found.sets, judged) if better)
        return None if any(one is None for one in judged) else ()

    def on_nvlink(self, unit: Unit) -> bool | None:
        """Whether every pair of the set has NVLinks."""
        pairs = self.sight.pairs(unit.gpus)
        if any(pair is not None and pair.nvlinks == 0 for pair in pairs):
            return False
        return None if any(pair is None or pair.nvlinks is None for pair in pairs) else True

    def effect(self, unit: Unit) -> Effect:
        """Of a set that crosses what it had better not cross."""
        if len(unit.gpus) == len(self.node.gpus):
            return Effect(None, "")
        nvlink = self.on_nvlink(unit)
        now = self.better(unit)
        empty = self.better_when_empty(unit)
        if nvlink:
            return Effect("info", _when(now, empty), now or empty or ())
        if now and unit.loose:
            return Effect("warning", f"{shown(now)} {'is' if len(now) == 1 else 'are'} free and better, if its pods "
                          "work as one: replicas that serve alone do not", now)  # fmt: skip
        if now:
            return Effect("error", f"{shown(now)} {'is' if len(now) == 1 else 'are'} free and better", now)
        if now is None or empty is None:
            return Effect("warning", "not decided: " + ("which GPUs are free is not known" if self.free is None
                          else "the evidence leaves open which set is nearer"))  # fmt: skip
        if empty:
            return Effect("warning", f"not with the GPUs free now; on an empty node {shown(empty)}", empty)
        return Effect("info", f"no better set of {len(unit.gpus)} exists on this node")

    def because(self, unit: Unit, effect: Effect) -> str:
        """Whether it could have been better, and what gave it where that costs something."""
        given = self._replay(self, unit) if self._replay is not None and effect.severity != "info" else ""
        return "; ".join(part for part in (effect.avoidable, given) if part)

    def refusal(self, pod: Pod) -> str:
        """Which setting refuses a pod that was refused, now and on an empty node."""
        return self._refusal(self, pod) if self._refusal is not None else ""

    def repair(self, unit: Unit) -> str:
        return self._repair(self, unit) if self._repair is not None else ""


def _when(now: tuple[tuple[str, ...], ...] | None, empty: tuple[tuple[str, ...], ...] | None) -> str:
    if now:
        return f"{shown(now)} {'is' if len(now) == 1 else 'are'} free and nearer for host memory and NICs"
    if empty:
        return f"not with the GPUs free now; on an empty node {shown(empty)}"
    return ""


def shown(sets: Sequence[Sequence[str]], most: int = 3) -> str:
    """
    >>> shown([("GPU0", "GPU1"), ("GPU2", "GPU3")])
    '{GPU0 GPU1} or {GPU2 GPU3}'
    """
    text = " or ".join("{" + " ".join(one) + "}" for one in sets[:most])
    return text + (f" or {len(sets) - most} more" if len(sets) > most else "")


def split(gpus: Sequence[str], audit: Audit, attribute: str = "packages") -> str:
    """The set by socket or NUMA node: `GPU1 GPU2 GPU3 | GPU4`."""
    parts: dict[tuple[object, ...], list[str]] = {}
    for id in gpus:
        gpu = audit.sight.gpus.get(id)
        parts.setdefault(tuple(getattr(gpu, attribute) or ()) if gpu else (), []).append(id)
    return " | ".join(" ".join(part) for part in parts.values())


def _alone(held: Held) -> Counter[tuple[str | None, ...]]:
    """Of each pod, how many of its containers hold GPUs; init containers do not count."""
    return Counter(
        _pod_of(one) for one in held.containers if one.kind != INIT and any(each.is_gpu for each in one.devices)
    )


def _pod_of(one: Container) -> tuple[str | None, ...]:
    return (one.uid, one.namespace, one.pod)


def _short(one: Container, holding: Counter[tuple[str | None, ...]]) -> str:
    """The pod, where the container is the only one of it that holds GPUs."""
    if holding[_pod_of(one)] == 1 and (one.pod or one.uid):
        return f"{one.namespace or '?'}/{one.pod}" if one.pod else f"pod {one.uid}"
    return one.title
