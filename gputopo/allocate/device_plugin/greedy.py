"""The plugin's greedyAlloc: replicas (time-slicing, MPS), MIG devices, Tegra and WSL; no topology.

Upstream: NVIDIA/k8s-device-plugin v0.20.0 internal/rm/allocate.go. The candidates, available and not
required, come out of a Go map in random order; each step takes the first after sorting by how many
units of its GPU are allocated: an absolute number, required and earlier picks included. Ties go to
the GPU picked least in this call (since v0.20.0), then to chance. So what can happen to the GPUs is a
short list of `Spread`s; which replica of a GPU it is does not matter and is random.

    >>> distributed([Units("G0", total=4, free=2), Units("G1", total=4, free=4)], 3, least_picked=True)
    [Spread(forced={'G0': 1, 'G1': 2}, choose=0, of=(), times=1)]
    >>> [spread.forced for spread in packed([Units("G0", 4, 2), Units("G1", 4, 4)], 3)]
    [{'G0': 2, 'G1': 1}]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from math import comb
from typing import NamedTuple

POLICIES = ("distributed", "packed")


class Units(NamedTuple):
    """A physical device (a GPU, or one MIG device) and its replicas."""

    device: str
    total: int
    free: int  # candidates: available, not required


class Spread(NamedTuple):
    """`forced` units of each device, and `times` units of any `choose` of the devices in `of`."""

    forced: dict[str, int]
    choose: int = 0
    of: tuple[str, ...] = ()
    times: int = 1

    @property
    def ways(self) -> int:
        return comb(len(self.of), self.choose)

    def members(self) -> Iterator[dict[str, int]]:
        """Units of each device, for every choice."""
        for chosen in combinations(self.of, self.choose):
            counts = dict(self.forced)
            for device in chosen:
                counts[device] = counts.get(device, 0) + self.times
            yield counts


def greedy(devices: Sequence[Units], wanted: int, policy: str, *, least_picked: bool) -> list[Spread]:
    """Every outcome for the units beyond the required ones; [] where upstream returns its error.

    wanted: size less the required ones (0 and less: nothing is picked). least_picked: the tie-break of
    v0.20.0. Raises ValueError for an unknown policy.
    """
    if policy not in POLICIES:
        raise ValueError(f"unknown policy {policy!r}")
    if wanted <= 0:
        return [Spread({})]
    if wanted > sum(device.free for device in devices):
        return []
    if policy == "packed":
        return packed(devices, wanted)
    return distributed(devices, wanted, least_picked=least_picked)


def distributed(devices: Sequence[Units], wanted: int, *, least_picked: bool) -> list[Spread]:
    """Fewest allocated first: the counts rise together, so only the last level leaves a choice."""
    picked = {device.device: 0 for device in devices}
    allocated = {device.device: device.total - device.free for device in devices}
    free = {device.device: device.free for device in devices}
    while True:
        lowest = min(allocated[one] for one in free if picked[one] < free[one])
        tied = [one for one in free if picked[one] < free[one] and allocated[one] == lowest]
        if least_picked:
            fewest = min(picked[one] for one in tied)
            tied = [one for one in tied if picked[one] == fewest]
        if wanted <= len(tied):
            break
        for one in tied:
            picked[one] += 1
            allocated[one] += 1
        wanted -= len(tied)
    if wanted == len(tied):
        for one in tied:
            picked[one] += 1
        return [Spread(_some(picked))]
    return [Spread(_some(picked), wanted, tuple(tied))]


def packed(devices: Sequence[Units], wanted: int) -> list[Spread]:
    """Most allocated first: whoever is picked is ahead from then on, until none of it is left."""
    forced: dict[str, int] = {}
    candidates = [device for device in devices if device.free]
    while True:
        most = max(device.total - device.free for device in candidates)
        tied = [device for device in candidates if device.total - device.free == most]
        free = sum(device.free for device in tied)
        if free > wanted:
            return list(_last_level(tied, wanted, forced))
        forced.update((device.device, device.free) for device in tied)
        wanted -= free
        if not wanted:
            return [Spread(forced)]
        candidates = [device for device in candidates if device not in tied]


def _last_level(tied: Sequence[Units], wanted: int, forced: Mapping[str, int]) -> Iterator[Spread]:
    """Some of the tied devices are used up, one gives what is missing: by the number used up of each size."""
    by_free: dict[int, list[str]] = {}
    for device in tied:
        by_free.setdefault(device.free, []).append(device.device)
    for counts in product(*(range(len(names) + 1) for names in by_free.values())):
        missing = wanted - sum(free * count for free, count in zip(by_free, counts))
        if missing < 0:
            continue
        if not missing:
            yield from _used_up(by_free, counts, forced)
            continue
        for device in tied:
            if device.free > missing:
                others = {free: [one for one in by_free[free] if one != device.device] for free in by_free}
                if all(count <= len(names) for count, names in zip(counts, others.values())):
                    yield from _used_up(others, counts, {**forced, device.device: missing})


def _used_up(
    by_free: Mapping[int, Sequence[str]], counts: Sequence[int], forced: Mapping[str, int]
) -> Iterator[Spread]:  # fmt: skip
    """`counts` devices of each size used up. One size may be left to choose from; others are listed."""
    open_sizes = [
        (free, names, count) for (free, names), count in zip(by_free.items(), counts) if 0 < count < len(names)
    ]
    sure = dict(forced)
    for (free, names), count in zip(by_free.items(), counts):
        if count == len(names):
            sure.update(dict.fromkeys(names, free))
    if not open_sizes:
        yield Spread(sure)
        return
    free, names, count = max(open_sizes, key=lambda size: comb(len(size[1]), size[2]))
    listed = [size for size in open_sizes if size[0] != free]
    for chosen in product(*(combinations(some, many) for _, some, many in listed)):
        mine = dict(sure)
        for (size, _, _), ones in zip(listed, chosen):
            mine.update(dict.fromkeys(ones, size))
        yield Spread(mine, count, tuple(names), free)


def _some(counts: Mapping[str, int]) -> dict[str, int]:
    return {device: count for device, count in counts.items() if count}
