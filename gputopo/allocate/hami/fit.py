"""HAMi's Fit: which GPUs of a node one container gets.

Read at Project-HAMi/HAMi 4707fb0 (2026-08-21): pkg/device/nvidia/device.go (Fit, generateCombinations,
computeWorstSingleCard, computeBestCombination). Index-free and pure: GPUs in the order of the register
annotation go in, UUIDs come out. GPUs in MIG mode and ResourceQuota are not imitated.

    >>> gpus = [Gpu("a", memory=80, numa=0), Gpu("b", memory=80, numa=1), Gpu("c", memory=80, numa=1)]
    >>> fit(gpus, Wanted(2), Pod(Policy("spread"))).chosen
    ('c', 'b')
    >>> fit(gpus, Wanted(3), Pod(Policy("spread", numa_bind=True))).reason
    '1/3 AllocatedCardsInsufficientRequest, 2/3 NumaNotFit'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from gputopo.allocate.hami.devices import Gpu, Scores
from gputopo.allocate.hami.order import MUTEX, TOPOLOGY, Policy, ordered
from gputopo.allocate.hami.request import Wanted, type_fits, uuid_fits

TOO_FEW = "NodeInsufficientDevice"
SHORT = "AllocatedCardsInsufficientRequest"
NUMA_NOT_FIT = "NumaNotFit"


class Pod(NamedTuple):
    """What of a pod and its node bears on every container."""

    policy: Policy = Policy()
    annotations: Mapping[str, str] = {}
    cordoned: Collection[str] = ()


class Fitted(NamedTuple):
    """`chosen` None: the container does not fit; `reason` is the scheduler's word. Both in upstream's order."""

    chosen: tuple[str, ...] | None
    reason: str = ""


def fit(gpus: Sequence[Gpu], wanted: Wanted, pod: Pod, scores: Scores | None = None) -> Fitted:
    """One container on a node whose GPUs are registered in this order. scores None: all pairs alike."""
    return fit_ordered(ordered(gpus, pod.policy, wanted), wanted, pod, scores)


def fit_ordered(gpus: Sequence[Gpu], wanted: Wanted, pod: Pod, scores: Scores | None = None) -> Fitted:
    """Fit itself, on GPUs as the sort left them."""
    if wanted.number <= 0:
        return Fitted(())
    nvidia = [gpu for gpu in gpus if "nvidia" in gpu.type.lower()]
    if wanted.number > len(nvidia):
        return Fitted(None, TOO_FEW)
    topology, bound = pod.policy.has(TOPOLOGY), pod.policy.numa_bind
    why: Counter[str] = Counter()
    found: list[str] = []
    numa: int | None = -1
    for gpu in reversed(nvidia):
        refusal = refused(gpu, pod)
        if refusal:
            why[refusal] += 1
            continue
        if bound and numa != gpu.numa:
            if found and not topology:
                why[NUMA_NOT_FIT] += len(found)
            numa, found = gpu.numa, []
        refusal = full(gpu, wanted, pod)
        if refusal:
            why[refusal] += 1
            continue
        found.append(gpu.id)
        if len(found) == wanted.number and not topology:
            return Fitted(tuple(found))
    if topology and len(found) >= wanted.number:
        return Fitted(best_of(found, wanted.number, scores or {}))
    if found:
        why[SHORT] = len(found)
    return Fitted(None, ", ".join(sorted(f"{times}/{len(nvidia)} {name}" for name, times in why.items())))


def refused(gpu: Gpu, pod: Pod) -> str:
    """What rules a GPU out before its NUMA node is looked at; "" nothing."""
    if not gpu.healthy:
        return "CardNotHealth"
    if gpu.id in pod.cordoned:
        return "CardCordoned"
    return "" if type_fits(gpu, pod.annotations) else "CardTypeMismatch"


def full(gpu: Gpu, wanted: Wanted, pod: Pod) -> str:
    """What rules it out after that; "" nothing."""
    cores = min(wanted.cores, 100)
    if not uuid_fits(gpu, pod.annotations):
        return "CardUuidMismatch"
    if gpu.slots <= gpu.used:
        return "CardTimeSlicingExhausted"
    if pod.policy.has(MUTEX) and gpu.used > 0:
        return "ExclusiveDeviceAllocateConflict"
    if gpu.memory - gpu.used_memory < wanted.memory_on(gpu):
        return "CardInsufficientMemory"
    if gpu.cores - gpu.used_cores < cores:
        return "CardInsufficientCore"
    if gpu.cores == 100 and cores == 100 and gpu.used > 0:
        return "ExclusiveDeviceAllocateConflict"
    if gpu.cores and gpu.used_cores == gpu.cores and cores == 0:
        return "CardComputeUnitsExhausted"
    return ""


def best_of(found: Sequence[str], number: int, scores: Scores) -> tuple[str, ...]:
    """Of more GPUs than asked: the set with the highest sum, or the one with the worst links; the first of equals."""
    if len(found) == number:
        return tuple(found)
    if number == 1:
        return (min(found, key=lambda one: sum(_pair(scores, one, other) for other in found if other != one)),)
    return max(combinations(found, number), key=lambda chosen: total(chosen, scores))


def total(chosen: Sequence[str], scores: Scores) -> int:
    """A pair's score is read in the list of the one that stands first."""
    return sum(_pair(scores, one, other) for one, other in combinations(chosen, 2))


def _pair(scores: Scores, one: str, other: str) -> int:
    return scores.get(one, {}).get(other, 0)
