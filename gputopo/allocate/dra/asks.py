"""The look at the claims before the search: classes, modes, gates, how many devices, which ones "all" are.

Source: Allocate and validateDeviceRequest of structured/internal/*/allocator_*.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gputopo.allocate.dra import capacity, constraints, features
from gputopo.allocate.dra.behaviour import Behaviour
from gputopo.allocate.dra.candidates import Candidate, RequestKey, Selectable
from gputopo.allocate.dra.constraints import AnyConstraint
from gputopo.allocate.dra.failure import LIMIT, Failure
from gputopo.allocate.dra.objects import ALL, EXACT_COUNT, Ask, Claim, ClaimRequest, DeviceClass, DeviceId, World
from gputopo.allocate.dra.pools import Pool


class Wanted(NamedTuple):
    """A request (or subrequest) ready to be searched for. `parent`: the request of a list."""

    ask: Ask
    parent: str | None
    device_class: DeviceClass
    number: int
    all_devices: tuple[Candidate, ...] | None = None  # None: ExactCount

    @property
    def request(self) -> str:
        """The name constraints go by."""
        return self.parent if self.parent is not None else self.ask.name

    @property
    def subrequest(self) -> str:
        return self.ask.name if self.parent is not None else ""

    @property
    def name(self) -> str:
        return f"{self.parent}/{self.ask.name}" if self.parent is not None else self.ask.name


class Prepared(NamedTuple):
    wanted: dict[RequestKey, Wanted]
    constraints: tuple[tuple[AnyConstraint, ...], ...]  # a list a claim


def prepare(world: World, pools: Sequence[Pool], selectable: Selectable, how: Behaviour) -> Prepared:
    """Raises Failure for what ends the attempt before the search."""
    wanted: dict[RequestKey, Wanted] = {}
    made: list[tuple[AnyConstraint, ...]] = []
    for at, claim in enumerate(world.claims):
        least = 0
        for number, request in enumerate(claim.requests):
            _check_gates(claim, request, how)
            if not request.first_available:
                one = _wanted(world, claim, request.exactly, None, (at, number, 0), pools, selectable, how)
                wanted[at, number, 0] = one
                least = _added(least, one.number, claim, request, how)
                continue
            numbers = []
            for place, ask in enumerate(request.first_available):
                key = (at, number, max(0, place - 1) if how.late_key else place)
                one = _wanted(world, claim, ask, request.name, key, pools, selectable, how)
                wanted[at, number, place] = one
                numbers.append(one.number)
            least = _added(least, min(numbers), claim, request, how)
        if least > LIMIT:
            raise Failure("limit", str(least), claim=str(claim))
        made.append(tuple(constraints.of_claim(claim, how)))
    return Prepared(wanted, tuple(made))


def _added(least: int, more: int, claim: Claim, request: ClaimRequest, how: Behaviour) -> int:
    if how.limit_by_request and least + more > LIMIT:
        raise Failure("limit", str(more), str(least), claim=str(claim), request=request.name)
    return least + more


def _check_gates(claim: Claim, request: ClaimRequest, how: Behaviour) -> None:
    if request.first_available and not how.on(features.LIST):
        raise Failure("feature-off", detail=features.LIST, claim=str(claim), request=request.name)
    if not how.capacity_gate or how.on(features.CAPACITY):
        return
    if not request.first_available and request.exactly.capacity is not None:
        raise Failure("feature-off", detail=features.CAPACITY, claim=str(claim), request=request.name)
    for ask in request.first_available:
        if ask.capacity is not None:
            own = how.release >= (1, 35)  # 1.34 names the request
            raise Failure("feature-off", detail=features.CAPACITY, claim=str(claim),
                          request=ask.name if own else request.name, subrequest=own)  # fmt: skip


def _wanted(
    world: World, claim: Claim, ask: Ask, parent: str | None, key: RequestKey,
    pools: Sequence[Pool], selectable: Selectable, how: Behaviour,
) -> Wanted:  # fmt: skip
    where: dict[str, Any] = {"claim": str(claim), "request": ask.name}
    for place, selector in enumerate(ask.selectors):
        if selector.expression is None:
            raise Failure("unsupported", "selector", str(place), **where)
    if ask.admin_access is not None and not how.on(features.ADMIN):
        raise Failure("feature-off", detail=features.ADMIN, **where)
    if not ask.device_class:
        raise Failure("unsupported", "class", **where)
    device_class = world.classes.get(ask.device_class)
    if device_class is None:
        raise Failure("class-missing", ask.device_class, **where)
    if ask.mode == EXACT_COUNT:
        return Wanted(ask, parent, device_class, ask.number)
    if ask.mode != ALL:
        raise Failure("unsupported", "mode", ask.mode, **where)
    found: list[Candidate] = []
    for pool in pools:
        if pool.incomplete:
            raise Failure("pool-updating", str(pool), **where)
        if pool.invalid:
            raise Failure("pool-invalid", str(pool), **where)
        for own in pool.slices:
            for device in own.devices:
                one = Candidate(DeviceId(pool.driver, pool.name, device.name), device, own, pool, -1)
                if selectable.matches(key, ask, device_class, one) and _fits(world, ask, one, how):
                    found.append(one)
    return Wanted(ask, parent, device_class, len(found), tuple(found))


def _fits(world: World, ask: Ask, one: Candidate, how: Behaviour) -> bool:
    if not how.on(features.CAPACITY):
        return True
    taken = world.allocated.capacity.get(one.id) if how.all_in_use_counts else None
    return capacity.shortage(one.device, ask.capacity, [taken] if taken is not None else []) is None
