"""What a search may leave out without changing its answer.

The real search tries everything, and some of what it tries leaves traces: a selector that fails ends the attempt, a
rejected device may keep its counters, a distinct value is forgotten. So this is used only where no selector fails on
any device, and inside the search only where nothing that is left out could leave a trace (`traces`).

Sets of devices are bit masks over their places in the search's order. All tests are relaxations: they ask for less
than the search does, so what they refuse has no solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gputopo.allocate.dra import features
from gputopo.allocate.dra.asks import Wanted
from gputopo.allocate.dra.candidates import Candidate, RequestKey
from gputopo.allocate.dra.constraints import AnyConstraint, DistinctAttribute, MatchAttribute, lookup, values
from gputopo.allocate.dra.failure import LIMIT, Failure
from gputopo.allocate.dra.relaxation import Relaxation
from gputopo.allocate.dra.search import Search, TimedOut

_CHECK_EVERY = 512


def pruning_for(search: Search, out_of_time: Callable[[], bool] | None = None) -> Pruned | None:
    """`None`: the search must be run as it is. Raises TimedOut."""
    if not _predictable(search):
        return None
    masks: dict[RequestKey, int] = {}
    steps = 0
    for key, wanted in search.wanted.items():
        mask = 0
        for one in search.lined:
            steps += 1
            if steps % _CHECK_EVERY == 0 and out_of_time is not None and out_of_time():
                raise TimedOut
            try:
                if _could_take(search, key, wanted, one):
                    mask |= 1 << one.place
            except Failure:
                return None
        masks[key] = mask
    return Pruned(search, masks)


def _predictable(search: Search) -> bool:
    how = search.how
    shared = how.on(features.CAPACITY) and any(one.device.allow_multiple for one in search.lined)
    if shared and not how.combinations:  # permutations may take a shared device twice for one request
        return False
    if how.capacity_of_wrong_device and how.on(features.CAPACITY):
        return False
    if not how.bad_pools_skipped and any(one.pool.invalid for one in search.lined):
        return False
    drivers: dict[str, set[str]] = {}
    for one in search.lined:
        if one.device.consumes:
            drivers.setdefault(one.pool.name, set()).add(one.pool.driver)
    if any(len(named) > 1 for named in drivers.values()):  # whoever reads the counters first decides
        return False
    for at, claim in enumerate(search.world.claims):
        most = 0
        for number in range(len(claim.requests)):
            wanted = [one for key, one in search.wanted.items() if key[:2] == (at, number)]
            if any(one.all_devices is not None for one in wanted) and (search.constraints[at] or len(wanted) > 1):
                return False
            most += max(one.number for one in wanted)
        if most > LIMIT:
            return False
    return True


def _could_take(search: Search, key: RequestKey, wanted: Wanted, one: Candidate) -> bool:
    """Whether the request can take the device when nothing else is taken. Raises Failure of a selector."""
    selectable = search.selectable.matches(key, wanted.ask, wanted.device_class, one)
    if not selectable or one.pool.invalid or (one.pool.incomplete and search.how.bad_pools_skipped):
        return False
    if search.in_use(key, wanted, one) or search.tainted(wanted, one):
        return False
    if one.device.consumes and not search.how.on(features.PARTITIONS):
        return False
    return not search.how.on(features.CAPACITY) or search.lacks(wanted, one) is None


class Pruned:
    def __init__(self, search: Search, masks: dict[RequestKey, int]) -> None:
        self._lined = search.lined
        self.masks = dict(masks)
        # Per claim and constraint: value → the devices that have it.
        self.by_value: list[list[dict[object, int]]] = [
            [self._by_value(constraint) for constraint in own] for own in search.constraints
        ]
        self._with_attribute(search)
        self.unsatisfiable = any(
            not Relaxation(search, masks, self.masks, self.by_value[at], at).possible()
            for at in range(len(search.world.claims))
        )

    def _by_value(self, constraint: AnyConstraint) -> dict[object, int]:
        found: dict[object, int] = {}
        for one in self._lined:
            attribute = lookup(one.device, one.id.driver, constraint.attribute)
            own = values(attribute) if attribute is not None else None
            if attribute is not None and own is None:
                found["", ""] = found.get(("", ""), 0) | 1 << one.place
            for value in own[1] if own is not None else ():
                key = (own[0], value) if own is not None else None
                found[key] = found.get(key, 0) | 1 << one.place
        return found

    def _with_attribute(self, search: Search) -> None:
        """Devices without the attribute of a constraint never get through it."""
        for key, wanted in search.wanted.items():
            for place, constraint in enumerate(search.constraints[key[0]]):
                if constraint.covers(wanted.request, wanted.subrequest):
                    present = 0
                    for mask in self.by_value[key[0]][place].values():
                        present |= mask
                    self.masks[key] &= present

    def candidates(self, search: Search, key: RequestKey, start: int) -> Iterator[Candidate]:
        """A device that is passed over would be refused without a trace."""
        if any(isinstance(one, DistinctAttribute) for one in search.constraints[key[0]]):
            for place in range(start, len(self._lined)):
                if not self._lined[place].pool.invalid and not self._lined[place].pool.incomplete:
                    yield self._lined[place]
            return
        left = self._open(search, key) >> start << start
        while left:
            lowest = left & -left
            left ^= lowest
            yield self._lined[lowest.bit_length() - 1]

    def hopeless(self, search: Search, key: RequestKey, left: int, start: int) -> bool:
        taken = self._taken(search)
        free = self._open(search, key) & (-1 if search.wanted[key].ask.admin_access else ~taken)
        if (free >> start).bit_count() < left:
            return True
        claim = search.world.claims[key[0]]
        for number in range(key[1] + 1, len(claim.requests)):
            if not self._has_room(search, key[0], number, taken):
                return True
        return False

    def _has_room(self, search: Search, claim: int, number: int, taken: int) -> bool:
        place = 0
        while (claim, number, place) in search.wanted:
            key = (claim, number, place)
            wanted = search.wanted[key]
            if wanted.all_devices is not None or wanted.ask.admin_access:
                return True
            if (self._open(search, key) & ~taken).bit_count() >= wanted.number:
                return True
            place += 1
        return False

    def _open(self, search: Search, key: RequestKey) -> int:
        """Devices that the constraints would take now."""
        wanted = search.wanted[key]
        mask = self.masks[key]
        for place, constraint in enumerate(search.constraints[key[0]]):
            if (
                isinstance(constraint, MatchAttribute) and constraint.count
                and constraint.covers(wanted.request, wanted.subrequest)
            ):  # fmt: skip
                mask &= self._like(constraint, self.by_value[key[0]][place])
        return mask

    def _like(self, constraint: MatchAttribute, by_value: dict[object, int]) -> int:
        if constraint.common is not None:
            mask = 0
            for value in constraint.common[1]:
                mask |= by_value.get((constraint.common[0], value), 0)
            return mask
        assert constraint.value is not None
        return by_value.get((constraint.value.kind, constraint.value.value), 0)

    def _taken(self, search: Search) -> int:
        mask = 0
        for one in (one for claim in search.results for one in claim):
            if not one.shared and not one.wanted.ask.admin_access:
                mask |= 1 << one.candidate.place if one.candidate.place >= 0 else 0
        return mask


def leaves_traces(search: Search) -> bool:
    """Whether something the search tries changes what it accepts later."""
    how = search.how
    consuming = [one for one in search.lined if one.device.consumes] if how.on(features.PARTITIONS) else []
    shared = how.on(features.CAPACITY) and any(one.device.allow_multiple for one in search.lined)
    if consuming and (how.counters_leak or shared):
        return True
    for constraint in (one for own in search.constraints for one in own):
        if isinstance(constraint, DistinctAttribute):
            if not how.combinations and constraint.memory == "last":
                return True
            continue
        for one in search.lined:
            attribute = lookup(one.device, one.id.driver, constraint.attribute)
            if attribute is not None and isinstance(attribute.value, tuple):
                return True
    return False
