"""Shared counters: what is left of every counter of a pool.

Source: checkAvailableCounters and deallocateCountersForDevice of structured/internal/*/allocator_*.go. The key is the
pool's *name* (up to 1.34 the slice's; from 1.36.4 on with the driver's), so pools of two drivers with one name share
their first reader's counters.
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.allocate.dra.amount import Number
from gputopo.allocate.dra.behaviour import Behaviour
from gputopo.allocate.dra.objects import Allocated, Device, Slice
from gputopo.allocate.dra.pools import Pool

Key = tuple[str, str]  # counter set, counter


class Exhausted(NamedTuple):
    """A counter that a device would overdraw."""

    counter_set: str
    counter: str
    wanted: Number
    left: Number


class Ledger:
    def __init__(self, allocated: Allocated, how: Behaviour) -> None:
        self._allocated = allocated
        self._how = how
        self._available: dict[str, dict[Key, Number]] = {}
        self._consumed: dict[str, dict[Key, Number]] = {}

    def reserve(self, device: Device, own: Slice, pool: Pool) -> Exhausted | None:
        """Charges the device, unless that overdraws a counter of the pool: then says which."""
        name = self.name(own)
        available = self.available(own, pool)
        consumed = self._consumed.setdefault(name, {})
        self._charge(consumed, device, 1)
        for key, left in available.items():
            if left < consumed.get(key, 0):
                self._charge(consumed, device, -1)
                wants = sum(one.counters[key[1]].number for one in device.consumes if one.name == key[0]
                            and key[1] in one.counters)  # fmt: skip
                return Exhausted(*key, wants, left - consumed.get(key, 0))
        return None

    def release(self, device: Device, own: Slice) -> None:
        self._charge(self._consumed.setdefault(self.name(own), {}), device, -1)

    def available(self, own: Slice, pool: Pool) -> dict[Key, Number]:
        """Before the claims at hand. Computed once a name."""
        name = self.name(own)
        if name not in self._available:
            self._available[name] = self._left(own, pool)
        return self._available[name]

    def left(self, own: Slice, pool: Pool) -> dict[Key, Number]:
        """After what is charged now."""
        consumed = self._consumed.get(self.name(own), {})
        return {key: number - consumed.get(key, 0) for key, number in self.available(own, pool).items()}

    def name(self, own: Slice) -> str:
        """What counters go by."""
        if self._how.counters_by_driver:
            return f"{own.driver}/{own.pool}"
        return own.pool if self._how.counters_of_pool else own.name

    def _left(self, own: Slice, pool: Pool) -> dict[Key, Number]:
        sets = pool.counter_sets.values() if self._how.counters_of_pool else own.shared_counters
        left = {(one.name, name): counter.number for one in sets for name, counter in one.counters.items()}
        slices = (*pool.slices, *pool.elsewhere) if self._how.counters_of_pool else (own,)
        for each in slices:
            for device in each.devices:
                if device.consumes and self._is_allocated(each, device):
                    for one in device.consumes:
                        for name, counter in one.counters.items():
                            if (one.name, name) in left:
                                left[one.name, name] -= counter.number
        return left

    def _is_allocated(self, own: Slice, device: Device) -> bool:
        id = own.id_of(device)
        held = self._allocated
        if id in held.devices:
            return True
        return self._how.release >= (1, 35) and (id in held.shared or id in held.capacity)

    def _charge(self, consumed: dict[Key, Number], device: Device, sign: int) -> None:
        for one in device.consumes:
            for name, counter in one.counters.items():
                key = (one.name, name)
                consumed[key] = consumed.get(key, 0) + sign * counter.number
