"""The depth-first search: claims, requests, devices in order; the first full solution is the answer.

Source: allocateOne and allocateDevice of structured/internal/*/allocator_*.go. No scoring, no memory of failures.
Where upstream keeps something it should have taken back (`Behaviour.counters_leak`), so does this.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from gputopo.allocate.dra import capacity, features, taints
from gputopo.allocate.dra.amount import Amount, plain
from gputopo.allocate.dra.asks import Prepared, Wanted
from gputopo.allocate.dra.behaviour import Behaviour
from gputopo.allocate.dra.candidates import Candidate, RequestKey, Selectable
from gputopo.allocate.dra.counters import Ledger
from gputopo.allocate.dra.failure import LIMIT, Failure
from gputopo.allocate.dra.objects import DeviceId, World

DONE, FAILED, OVERFLOW = 1, 0, 2
CHECK_EVERY = 256  # steps between two looks at the clock


class TimedOut(Exception):
    """The search was ended before it had an answer."""


class Taken(NamedTuple):
    wanted: Wanted
    candidate: Candidate
    consumed: Mapping[str, Amount] | None  # of a shared device
    shared: bool


class Pruning(Protocol):
    """What may be left out without changing the answer."""

    def candidates(self, search: Search, key: RequestKey, start: int) -> Iterator[Candidate]: ...

    def hopeless(self, search: Search, key: RequestKey, left: int, start: int) -> bool:
        """Whether the rest of this claim certainly cannot be had."""


class Search:
    def __init__(
        self, world: World, lined: Sequence[Candidate], prepared: Prepared, selectable: Selectable, how: Behaviour,
        out_of_time: Callable[[], bool] | None = None, pruning: Pruning | None = None,
    ) -> None:  # fmt: skip
        self.world = world
        self.lined = lined
        self.wanted = prepared.wanted
        self.constraints = prepared.constraints
        self.selectable = selectable
        self.how = how
        self.results: list[list[Taken]] = [[] for _ in world.claims]
        self.chosen: dict[tuple[int, int], int] = {}
        self.allocating: dict[DeviceId, set[int]] = {}
        self.ledger = Ledger(world.allocated, how)
        self._consumed: dict[DeviceId, dict[str, Amount]] = {}
        self._steps = 0
        self._out_of_time = out_of_time
        self.pruning = pruning

    def run(self) -> bool:
        """Raises Failure for what ends the attempt, TimedOut."""
        # One frame a device, request, list and claim.
        frames = 4 * sum(1 + LIMIT + 3 * len(claim.requests) for claim in self.world.claims)
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, before + frames))
        try:
            return self._one((0, 0, 0), 0, False, 0) == DONE
        finally:
            sys.setrecursionlimit(before)

    def _one(self, key: RequestKey, device: int, in_list: bool, start: int) -> int:
        self._steps += 1
        if self._steps % CHECK_EVERY == 0 and self._out_of_time is not None and self._out_of_time():
            raise TimedOut
        claim, request, _ = key
        if claim >= len(self.world.claims):
            return DONE
        if request >= len(self.world.claims[claim].requests):
            found = self._one((claim + 1, 0, 0), 0, False, 0)
            return FAILED if found == OVERFLOW else found
        wanted = self.wanted[key]
        if not in_list and wanted.parent is not None:
            return self._list(key, device)
        needs_one = self.how.all_needs_one and wanted.all_devices is not None
        if needs_one and not wanted.all_devices:
            return FAILED
        if device >= wanted.number:
            return self._one((claim, request + 1, 0), 0, False, 0)
        if len(self.results[claim]) + wanted.number - device > LIMIT:
            return OVERFLOW
        if wanted.all_devices is not None:
            return self._all(key, wanted, device, in_list)
        if self.pruning is not None and self.pruning.hopeless(self, key, wanted.number - device, start):
            return FAILED
        return self._exact(key, wanted, device, in_list, start)

    def _list(self, key: RequestKey, device: int) -> int:
        """firstAvailable: the first subrequest that leads to a full solution."""
        claim, request, _ = key
        all_overflow = True
        place = 0
        while (claim, request, place) in self.wanted:
            found = self._one((claim, request, place), device, True, 0)
            if found == DONE:
                self.chosen[claim, request] = place
                return DONE
            all_overflow = all_overflow and found == OVERFLOW
            place += 1
        return OVERFLOW if all_overflow else FAILED

    def _all(self, key: RequestKey, wanted: Wanted, device: int, in_list: bool) -> int:
        assert wanted.all_devices is not None
        undo = self._take(key, wanted, wanted.all_devices[device], device, must=True)
        if undo is None:
            return FAILED
        after = (key[0], key[1], 0) if self.how.all_loses_subrequest else key
        found = self._one(after, device + 1, in_list, 0)
        if found != DONE:
            undo()
        return found

    def _exact(self, key: RequestKey, wanted: Wanted, device: int, in_list: bool, start: int) -> int:
        for one in self._candidates(key, start):
            if not self._usable(key, wanted, one):
                continue
            undo = self._take(key, wanted, one, device, must=False)
            if undo is None:
                continue
            found = self._one(key, device + 1, in_list, one.place + 1 if self._in_order else 0)
            if found == DONE:
                return DONE
            undo()
            if found == OVERFLOW:
                return OVERFLOW
        return FAILED

    @property
    def _in_order(self) -> bool:
        # Permutations find the same first answer where what was tried before leaves no trace: then pruning is given.
        return self.how.combinations or self.pruning is not None

    def _candidates(self, key: RequestKey, start: int) -> Iterator[Candidate]:
        if self.pruning is not None:
            yield from self.pruning.candidates(self, key, start)
            return
        for place in range(start, len(self.lined)):
            one = self.lined[place]
            if not self.how.bad_pools_skipped:
                if one.pool.invalid:
                    raise Failure("pool-invalid", one.pool.name, one.pool.invalid)
            elif one.pool.invalid or one.pool.incomplete:
                continue
            yield one

    def _usable(self, key: RequestKey, wanted: Wanted, one: Candidate) -> bool:
        if self.in_use(key, wanted, one):
            return False
        if not self.selectable.matches(key, wanted.ask, wanted.device_class, one):
            return False
        return not self.how.on(features.CAPACITY) or self.lacks(wanted, one) is None

    def in_use(self, key: RequestKey, wanted: Wanted, one: Candidate) -> bool:
        if wanted.ask.admin_access:
            return key[0] in self.allocating.get(one.id, ())
        return one.id in self.world.allocated.devices or bool(self.allocating.get(one.id))

    def lacks(self, wanted: Wanted, one: Candidate) -> capacity.Shortage | None:
        taken = [of[one.id] for of in (self.world.allocated.capacity, self._consumed) if one.id in of]
        return capacity.shortage(one.device, wanted.ask.capacity, taken)

    def _take(
        self, key: RequestKey, wanted: Wanted, one: Candidate, place: int, must: bool
    ) -> Callable[[], None] | None:
        """Marks the device as taken; the function undoes that. `None`: it cannot be taken."""
        shared = self.how.on(features.CAPACITY) and bool(one.device.allow_multiple)
        if not (shared and wanted.ask.admin_access) and self.in_use(key, wanted, one):
            return None
        reserved = False
        if one.device.consumes:
            if not self.how.on(features.PARTITIONS):
                return None
            held = one.id in self.world.allocated.capacity or one.id in self._consumed
            if not (self.how.counters_once and shared and held):
                if self.ledger.reserve(one.device, one.slice, one.pool) is not None:
                    return None
                reserved = True
        added = self._constrain(key[0], wanted, one, must) if not self.tainted(wanted, one) else None
        if added is None:
            if reserved and not self.how.counters_leak:
                self.ledger.release(one.device, one.slice)
            return None
        if not shared:
            self.allocating.setdefault(one.id, set()).add(key[0])
        if self.how.on(features.CAPACITY) and self.lacks(wanted, self._checked(one, place)) is not None:
            if not self.how.counters_leak:
                self._undo(key[0], wanted, one, reserved, shared, None)
            return None
        consumed = None
        if shared:
            consumed = capacity.consumption(one.device, wanted.ask.capacity)
            self._consume(one.id, consumed, 1)
        self.results[key[0]].append(Taken(wanted, one, consumed or None, shared))

        def undo() -> None:
            self.results[key[0]].pop()
            self._undo(key[0], wanted, one, reserved, shared, consumed)

        return undo

    def tainted(self, wanted: Wanted, one: Candidate) -> bool:
        if not self.how.on(features.TAINTS) or not one.device.taints:
            return False
        return taints.blocking(one.device, wanted.ask.tolerations, self.how.none_blocks) is not None

    def _constrain(self, claim: int, wanted: Wanted, one: Candidate, must: bool) -> bool | None:
        """True: every constraint took the device. `None`: one did not, and the earlier ones gave it back."""
        own = self.constraints[claim]
        for place, constraint in enumerate(own):
            if constraint.add(wanted.request, wanted.subrequest, one.device, one.id):
                continue
            if must:
                raise Failure(
                    "constraint-all", str(one.id), claim=str(self.world.claims[claim]), request=wanted.ask.name
                )
            for earlier in own[:place]:
                earlier.remove(wanted.request, wanted.subrequest, one.device, one.id)
            return None
        return True

    def _checked(self, one: Candidate, place: int) -> Candidate:
        """1.34 looks at the device of this place in the request instead."""
        if not self.how.capacity_of_wrong_device:
            return one
        devices = one.slice.devices
        if place >= len(devices):
            what = f"index out of range [{place}] with length {len(devices)}"
            raise Failure("crash", detail=what, request=str(place))
        return Candidate(one.slice.id_of(devices[place]), devices[place], one.slice, one.pool, place)

    def _undo(
        self, claim: int, wanted: Wanted, one: Candidate, reserved: bool, shared: bool,
        consumed: Mapping[str, Amount] | None,
    ) -> None:  # fmt: skip
        for constraint in self.constraints[claim]:
            constraint.remove(wanted.request, wanted.subrequest, one.device, one.id)
        self.allocating.get(one.id, set()).discard(claim)
        if shared and consumed:
            self._consume(one.id, consumed, -1)
        # Up to 1.36.2 a shared device keeps its counters when it is taken back.
        if reserved and not (shared and self.how.counters_leak):
            self.ledger.release(one.device, one.slice)

    def _consume(self, id: DeviceId, amounts: Mapping[str, Amount], sign: int) -> None:
        known = self._consumed.get(id, {})
        summed = dict(known)
        for name, one in amounts.items():
            before = known.get(name)
            total = sign * one.number + (before.number if before is not None else 0)
            summed[name] = Amount(plain(total), (before or one).form)
        if sign < 0 and not any(one.number for one in summed.values()):
            self._consumed.pop(id, None)
        else:
            self._consumed[id] = summed
