"""Whether a claim can be had at all, asked with fewer conditions than the search has: a sure no, or a perhaps.

For one value of every matchAttribute constraint each request needs enough devices that have those values; enough
different ones where a distinctAttribute covers it; enough counters; and the requests together enough devices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gputopo.allocate.dra import features
from gputopo.allocate.dra.amount import Number
from gputopo.allocate.dra.asks import Wanted
from gputopo.allocate.dra.candidates import RequestKey
from gputopo.allocate.dra.constraints import DistinctAttribute, MatchAttribute
from gputopo.allocate.dra.counters import Ledger
from gputopo.allocate.dra.search import Search

_MOST_COMBINATIONS = 20_000
ByValue = Mapping[object, int]


class Relaxation:
    def __init__(
        self, search: Search, tried: Mapping[RequestKey, int], masks: Mapping[RequestKey, int],
        by_value: Sequence[ByValue], claim: int,
    ) -> None:  # fmt: skip
        """`masks`: of `tried`, the devices with every attribute that a constraint asks for."""
        self._search = search
        self._tried = tried
        self._masks = masks
        self._ledger = Ledger(search.world.allocated, search.how)
        self._by_value = by_value
        self._claim = claim
        self._requests = range(len(search.world.claims[claim].requests))
        self._constraints = search.constraints[claim]
        self._match = [at for at, one in enumerate(self._constraints) if isinstance(one, MatchAttribute)]
        self._left = _MOST_COMBINATIONS
        self._shared = search.how.on(features.CAPACITY) and any(one.device.allow_multiple for one in search.lined)
        self._consuming = sum(
            1 << one.place for one in search.lined if one.device.consumes and search.how.on(features.PARTITIONS)
        )

    def possible(self) -> bool:
        """False is certain. An All request takes part in nothing here."""
        keys = [key for key in self._masks if key[0] == self._claim]
        return self._some_values({key: self._masks[key] for key in keys}, 0)

    def _some_values(self, masks: dict[RequestKey, int], place: int) -> bool:
        self._left -= 1
        if self._left < 0:
            return True
        if not all(self._enough(masks, number, deep=False) for number in self._requests):
            return False
        if place == len(self._match):
            return all(self._enough(masks, number, deep=True) for number in self._requests) and self._together(masks)
        at = self._match[place]
        constraint = self._constraints[at]
        covered = [
            key for key in masks
            if constraint.covers(self._search.wanted[key].request, self._search.wanted[key].subrequest)
        ]  # fmt: skip
        if not covered:
            return self._some_values(masks, place + 1)
        open_ = 0
        for key in covered:
            open_ |= masks[key]
        for having in self._by_value[at].values():
            if having & open_:
                narrowed = {key: mask & having if key in covered else mask for key, mask in masks.items()}
                if self._some_values(narrowed, place + 1):
                    return True
        # A list may also choose a subrequest that the constraint does not cover.
        if any(key not in covered and key[:2] in {one[:2] for one in covered} for key in masks):
            return self._some_values({key: 0 if key in covered else mask for key, mask in masks.items()}, place + 1)
        return False

    def _enough(self, masks: Mapping[RequestKey, int], number: int, deep: bool) -> bool:
        """Whether some alternative of the request finds its devices."""
        return any(
            self._alternative(key, self._search.wanted[key], mask, deep)
            for key, mask in masks.items() if key[1] == number
        )  # fmt: skip

    def _alternative(self, key: RequestKey, wanted: Wanted, mask: int, deep: bool) -> bool:
        if wanted.all_devices is not None:
            return True
        if mask.bit_count() < wanted.number:
            return False
        if not deep:
            return True
        if not self._different(key, wanted, mask):
            return False
        if not mask & self._consuming or self._shared:
            return True
        return (mask & ~self._consuming).bit_count() + self._by_counters(mask & self._consuming) >= wanted.number

    def _different(self, key: RequestKey, wanted: Wanted, mask: int) -> bool:
        """Two devices of one request differ even where only one value is remembered.

        That one is forgotten when a device passes here and fails a later constraint: any other value then lets
        an equal one in.
        """
        covering = [at for at, one in enumerate(self._constraints) if one.covers(wanted.request, wanted.subrequest)]
        for at in covering:
            one = self._constraints[at]
            if not isinstance(one, DistinctAttribute):
                continue
            least = wanted.number if one.memory == "all" else min(2, wanted.number) if one.memory == "last" else 1
            seen = self._tried[key] if one.memory == "last" and at != covering[-1] else mask
            if sum(1 for having in self._by_value[at].values() if having & seen) < least:
                return False
        return True

    def _by_counters(self, mask: int) -> int:
        """How many of these devices the counters allow at most, each counter looked at alone."""
        pools: dict[str, list[int]] = {}
        while mask:
            lowest = mask & -mask
            mask ^= lowest
            place = lowest.bit_length() - 1
            own = self._search.lined[place]
            pools.setdefault(self._ledger.name(own.slice), []).append(place)
        return sum(self._of_pool(places) for places in pools.values())

    def _of_pool(self, places: Sequence[int]) -> int:
        first = self._search.lined[places[0]]
        available = self._ledger.available(first.slice, first.pool)
        most = len(places)
        for (of_set, name), left in available.items():
            wants: list[Number] = []
            for place in places:
                consumed = self._search.lined[place].device.consumes
                own = (one.counters for one in consumed if one.name == of_set)
                wants.append(sum(counters[name].number for counters in own if name in counters))
            fits = 0
            for want in sorted(wants):
                if want > left:
                    break
                left -= want
                fits += 1
            most = min(most, fits)
        return most

    def _together(self, masks: Mapping[RequestKey, int]) -> bool:
        """Requests without alternatives need devices of their own."""
        if self._shared:
            return True
        union, needed = 0, 0
        for number in self._requests:
            own = [(self._search.wanted[key], mask) for key, mask in masks.items() if key[1] == number]
            if len(own) == 1 and own[0][0].all_devices is None and not own[0][0].ask.admin_access:
                union |= own[0][1]
                needed += own[0][0].number
        return union.bit_count() >= needed
