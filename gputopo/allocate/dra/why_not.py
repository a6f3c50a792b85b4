"""Why a claim cannot be had: which request stops, and for every device the first test that it fails.

The scheduler only says "cannot allocate all claims". The tests are in upstream's order: in use, class, selectors,
node, capacity, counters, taints, constraints; each against what the earlier requests got.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from gputopo.allocate.dra import features, taints
from gputopo.allocate.dra.asks import Wanted, prepare
from gputopo.allocate.dra.behaviour import Behaviour
from gputopo.allocate.dra.candidates import Candidate, Miss, RequestKey, Selectable, lined_up
from gputopo.allocate.dra.constraints import AnyConstraint, MatchAttribute, lookup, shown
from gputopo.allocate.dra.counters_short import Short, counters_short
from gputopo.allocate.dra.failure import Failure
from gputopo.allocate.dra.objects import Device, World
from gputopo.allocate.dra.pools import Pool, gather
from gputopo.allocate.dra.pruning import leaves_traces, pruning_for
from gputopo.allocate.dra.published import DRIVER, since
from gputopo.allocate.dra.search import Search, TimedOut
from gputopo.allocate.dra.selectors import Selectors

_READS = re.compile(r"device\.(attributes|capacity)\[['\"]([^'\"]+)['\"]\](?:\.(\w+)|\[['\"]([^'\"]+)['\"]\])")


class Verdict(NamedTuple):
    """`test`: "fits", or the test that failed: in-use, class, selector, node, capacity, counter, taint, constraint,
    binding-conditions, counters-gate, error."""

    device: str
    test: str
    says: str


class WhyNot(NamedTuple):
    """`number`: devices asked for; `groups`: of a matchAttribute that stops it, how many devices share each value."""

    claim: str
    request: str
    number: int
    verdicts: tuple[Verdict, ...]
    groups: tuple[tuple[str, str, int], ...] = ()  # (attribute, value, devices that would do otherwise)
    pools: tuple[str, ...] = ()  # that give nothing, and why
    counters: tuple[Short, ...] = ()  # that keep the devices which would do alone from being had together

    @property
    def fitting(self) -> int:
        return sum(one.test == "fits" for one in self.verdicts)


def why_not(
    world: World, selectors: Selectors, how: Behaviour, out_of_time: Callable[[], bool] | None = None
) -> WhyNot | None:
    """`None`: it cannot be told (in time). Only for an attempt that was refused without a failure."""
    try:
        pools = gather(world.slices, world.node, how)
        for shorter in _longer_and_longer(world):
            if _searched(shorter, pools, selectors, how, out_of_time) is None:
                return _explained(shorter, pools, selectors, how, out_of_time)
    except (Failure, TimedOut):
        return None
    return None


def _longer_and_longer(world: World) -> list[World]:
    """With one request more each time."""
    return [
        world._replace(claims=(*world.claims[:at], claim._replace(requests=claim.requests[:number])))
        for at, claim in enumerate(world.claims)
        for number in range(1, len(claim.requests) + 1)
    ]


def _searched(
    world: World, pools: Sequence[Pool], selectors: Selectors, how: Behaviour,
    out_of_time: Callable[[], bool] | None,
) -> Search | None:  # fmt: skip
    """The search after its success; `None`: there is no solution."""
    prepared = prepare(world, pools, Selectable(world.node, world.claims, selectors, how), how)
    selectable = Selectable(world.node, world.claims, selectors, how)
    search = Search(world, lined_up(pools), prepared, selectable, how, out_of_time)
    pruning = pruning_for(search, out_of_time)
    if pruning is not None and pruning.unsatisfiable:
        return None
    if pruning is not None and not leaves_traces(search):
        search.pruning = pruning
    return search if search.run() else None


def _explained(
    world: World, pools: Sequence[Pool], selectors: Selectors, how: Behaviour,
    out_of_time: Callable[[], bool] | None,
) -> WhyNot:  # fmt: skip
    """The last request of the last claim is the one that stops."""
    at = len(world.claims) - 1
    claim = world.claims[at]
    number = len(claim.requests) - 1
    before = world._replace(claims=(*world.claims[:at], claim._replace(requests=claim.requests[:number])))
    state = _searched(before, pools, selectors, how, out_of_time)
    assert state is not None
    prepared = prepare(world, pools, Selectable(world.node, world.claims, selectors, how), how)
    request = claim.requests[number]
    state.selectable = Selectable(world.node, world.claims, selectors, how)
    verdicts: list[Verdict] = []
    groups: list[tuple[str, str, int]] = []
    short: list[Short] = []
    for place in range(max(1, len(request.first_available))):
        key = (at, number, place)
        wanted = prepared.wanted[key]
        lined = lined_up(pools)
        own = [_verdict(state, key, wanted, one) for one in lined]
        fitting = [one for one, verdict in zip(lined, own) if verdict.test == "fits"]
        groups += _groups(state, key, wanted, own)
        short += counters_short(state.ledger, fitting, wanted.number)
        prefix = f"{wanted.ask.name}: " if request.first_available else ""
        verdicts += [one._replace(says=prefix + one.says) for one in own]
    least = min(one.number for key, one in prepared.wanted.items() if key[:2] == (at, number))
    return WhyNot(str(claim), request.name, least, tuple(verdicts), tuple(groups), tuple(_useless(pools)), tuple(short))


def _useless(pools: Sequence[Pool]) -> list[str]:
    found = []
    for pool in pools:
        if pool.incomplete:
            found.append(f"pool {pool} is incomplete: fewer slices than its resourceSliceCount, so it gives nothing")
        elif pool.invalid:
            found.append(f"pool {pool} is invalid: {pool.invalid}")
    return found


def _verdict(state: Search, key: RequestKey, wanted: Wanted, one: Candidate) -> Verdict:
    name = str(one.id)
    if (one.pool.invalid or one.pool.incomplete) and state.how.bad_pools_skipped:
        return Verdict(name, "pool", "its pool is incomplete or invalid")
    if state.in_use(key, wanted, one):
        mine = state.allocating.get(one.id)
        says = "taken by an earlier request of this pod" if mine else "allocated to another claim"
        return Verdict(name, "in-use", says)
    try:
        miss = state.selectable.miss(key, wanted.ask, wanted.device_class, one)
    except Failure as failure:
        return Verdict(name, "error", f"{failure}{near_miss(failure.detail, one.device, one.id.driver)}")
    if miss is not None:
        return Verdict(name, miss.test, _missed(miss, wanted, one))
    return _taken(state, key, wanted, one) or Verdict(name, "fits", "fits")


def _missed(miss: Miss, wanted: Wanted, one: Candidate) -> str:
    if miss.test == "binding-conditions":
        return "has binding conditions, and the feature is off"
    if miss.test == "node":
        return "is for other nodes"
    values = reads(miss.expression or "", one.device, one.id.driver)
    whose = f"class {wanted.device_class.name}" if miss.test == "class" else "the request"
    return f"selector #{miss.selector} of {whose} is false: {values or miss.expression}"


def _taken(state: Search, key: RequestKey, wanted: Wanted, one: Candidate) -> Verdict | None:
    name, how = str(one.id), state.how
    if how.on(features.CAPACITY):
        short = state.lacks(wanted, one)
        if short is not None and short.wanted is None:
            return Verdict(name, "capacity", f"has no capacity {short.name}")
        if short is not None:
            left = "more than its policy allows" if short.left is None else f"{short.left} left"
            return Verdict(name, "capacity", f"capacity {short.name}: {short.wanted} wanted, {left}")
    if one.device.consumes:
        if not how.on(features.PARTITIONS):
            return Verdict(name, "counters-gate", "consumes counters, and DRAPartitionableDevices is off")
        lack = state.ledger.reserve(one.device, one.slice, one.pool)
        if lack is not None:
            what = f"counter {lack.counter} of {lack.counter_set}: {lack.wanted} wanted, {lack.left} left"
            return Verdict(name, "counter", what)
        state.ledger.release(one.device, one.slice)
    if how.on(features.TAINTS):
        taint = taints.blocking(one.device, wanted.ask.tolerations, how.none_blocks)
        if taint is not None:
            return Verdict(name, "taint", f"taint {taint.key}={taint.value}:{taint.effect} is not tolerated")
    return _constrained(state, key, wanted, one)


def _constrained(state: Search, key: RequestKey, wanted: Wanted, one: Candidate) -> Verdict | None:
    for constraint in state.constraints[key[0]]:
        if not constraint.covers(wanted.request, wanted.subrequest):
            continue
        found = lookup(one.device, one.id.driver, constraint.attribute)
        kind = _kind(constraint)
        if found is None:
            what = f"{kind} {constraint.attribute}: the device has no such attribute"
            lines = since(constraint.attribute) if one.id.driver == DRIVER else None
            more = f"; NVIDIA's driver publishes it in {lines}" if lines else ""
            near = _nearest(constraint.attribute, one.device, one.id.driver)
            return Verdict(str(one.id), "constraint", what + (more or near))
        met = constraint.met()
        if constraint.add(wanted.request, wanted.subrequest, one.device, one.id):
            constraint.remove(wanted.request, wanted.subrequest, one.device, one.id)
            continue
        what = f"{kind} {constraint.attribute}: has {shown(found)}, the devices before it have {met}"
        return Verdict(str(one.id), "constraint", what)
    return None


def _kind(constraint: AnyConstraint) -> str:
    return "matchAttribute" if isinstance(constraint, MatchAttribute) else "distinctAttribute"


def _groups(
    state: Search, key: RequestKey, wanted: Wanted, verdicts: Sequence[Verdict]
) -> tuple[tuple[str, str, int], ...]:
    """Devices that pass alone, by the value of each matchAttribute over several of them."""
    fits = {one.device for one in verdicts if one.test == "fits"}
    found: dict[tuple[str, str], int] = {}
    for constraint in state.constraints[key[0]]:
        if isinstance(constraint, MatchAttribute) and constraint.covers(wanted.request, wanted.subrequest):
            for one in state.lined:
                attribute = lookup(one.device, one.id.driver, constraint.attribute)
                if str(one.id) in fits and attribute is not None:
                    value = (constraint.attribute, shown(attribute))
                    found[value] = found.get(value, 0) + 1
    return tuple((attribute, value, number) for (attribute, value), number in found.items())


def reads(expression: str, device: Device, driver: str) -> str:
    """What an expression reads of a device, with the values: `productName is NVIDIA A100`."""
    found = []
    if "device.driver" in expression:
        found.append(f"driver is {driver}")
    for table, domain, name, quoted in _READS.findall(expression):
        key = name or quoted
        if not key:
            continue
        attribute = lookup(device, driver, f"{domain}/{key}")
        capacity = device.capacity.get(f"{domain}/{key}") or (device.capacity.get(key) if domain == driver else None)
        if table == "attributes":
            found.append(f"{key} is {shown(attribute) if attribute is not None else 'absent'}")
        else:
            found.append(f"{key} is {capacity.value if capacity is not None else 'absent'}")
    return ", ".join(dict.fromkeys(found))


def near_miss(text: str, device: Device, driver: str) -> str:
    """Beside "no such key: model": what the device has instead."""
    key = re.search(r"no such key: (\S+)", text)
    return _nearest(key[1], device, driver) if key else ""


_INSTEAD = {"model": "productName", "name": "productName", "nvlinkDomain": "", "memory": ""}


def _nearest(attribute: str, device: Device, driver: str) -> str:
    """The attribute that was probably meant: the same name in another domain, or one written nearly alike."""
    bare = attribute.rpartition("/")[2]
    names = {name.rpartition("/")[2].lower(): name for name in device.attributes}
    meant = _INSTEAD.get(bare)
    if meant and meant in device.attributes:
        return f"; it has {meant}"
    close = get_close_matches(bare.lower(), list(names), 1, 0.75)
    if close:
        name = names[close[0]]
        full = name if "/" in name else f"{driver}/{name}"
        return f"; it has {name}" + (f" ({full})" if full != name else "")
    listed = ", ".join(list(device.attributes)[:12])
    return f"; it has {listed}" if listed else "; it has no attributes"
