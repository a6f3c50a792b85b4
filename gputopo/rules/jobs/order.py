"""The order of CUDA_VISIBLE_DEVICES that gives each tensor-parallel group the best set there is among the job's GPUs.

Ranks take the devices in that order, and groups are consecutive ranks, so an order is a way to cut the GPUs into
groups. Wanted is the cut whose worst group is best; GPUs keep their order inside a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import comb

from gputopo.allocate.best import Judge, Quality
from gputopo.rules.jobs.diagnosis import Diagnosis

_MOST_SETS = 20_000
_MOST_STEPS = 200_000
Set = tuple[str, ...]
Rate = Callable[[Set], "float | None"]


def better_order(diagnosis: Diagnosis, rate: Rate | None = None) -> tuple[str, ...] | None:
    """The GPUs in an order whose worst group is better than the worst is now; None: there is none, or no groups.

    `rate`: GB/s of a set, which then counts before the order of CONTRACT §3.
    """
    job, size = diagnosis.job, diagnosis.job.tensor_parallel
    if not size or size < 2 or len(job.groups) < 2 or any(len(group.gpus) != size for group in job.groups):
        return None
    gpus = [gpu.id for gpu in diagnosis.node.gpus if gpu.id in job.gpus]
    if len(gpus) % size or comb(len(gpus), size) > _MOST_SETS:
        return None
    worth = _worth(diagnosis, gpus, size, rate)
    now = min(worth[_sorted(gpus, group.gpus)] for group in job.groups)
    for least in sorted({value for value in worth.values() if value > now}, reverse=True):
        good = [one for one, value in worth.items() if value >= least]
        cut = _cut(gpus, good)
        if cut is not None:
            return tuple(gpu for one in cut for gpu in one)
    return None


def _sorted(gpus: Sequence[str], own: Sequence[str]) -> Set:
    return tuple(sorted(own, key=gpus.index))


def _worth(
    diagnosis: Diagnosis, gpus: Sequence[str], size: int, rate: Rate | None
) -> dict[Set, tuple[float, ...]]:  # fmt: skip
    """A number of each set, larger is better."""
    judge = Judge(diagnosis.node)
    found = {}
    for one in combinations(gpus, size):
        gbytes = rate(one) if rate is not None else None
        found[one] = (round(gbytes, 3) if gbytes is not None else 0.0, *_places(judge.quality(one)))
    return found


def _places(quality: Quality) -> Iterator[float]:
    for part in quality:
        yield -float(part[1]) if part is not None else -float("inf")


def _cut(gpus: Sequence[str], good: Sequence[Set]) -> list[Set] | None:
    """These GPUs as disjoint sets of `good`, by trying the sets of the first GPU that is left."""
    by_first: dict[str, list[Set]] = {}
    for one in good:
        for gpu in one:
            by_first.setdefault(gpu, []).append(one)
    steps = 0

    def place(left: frozenset[str]) -> list[Set] | None:
        nonlocal steps
        if not left:
            return []
        first = next(gpu for gpu in gpus if gpu in left)
        for one in by_first.get(first, ()):
            steps += 1
            if steps > _MOST_STEPS:
                return None
            if left.issuperset(one):
                rest = place(left.difference(one))
                if rest is not None:
                    return [one, *rest]
        return None

    return place(frozenset(gpus))
