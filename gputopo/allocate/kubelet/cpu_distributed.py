"""`distribute-cpus-across-numa`: where one NUMA node is too small, an even share of each of a few.

Upstream: cpumanager/cpu_assignment.go (takeByTopologyNUMADistributed). Of 1.37 on: nodes of one socket are
preferred with align-by-socket, and no node is asked for more than it has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gputopo.allocate.kubelet.cpu_packed import Accumulator, take_packed, too_few
from gputopo.allocate.kubelet.go_slices import Slice, combinations
from gputopo.allocate.kubelet.machine import CpuTopology
from gputopo.allocate.kubelet.stops import KubeletStops, ManagerError

_LOOPS = "the kubelet loops for ever while it distributes CPUs across NUMA nodes (no node has a whole core left)"


class Share(NamedTuple):
    """How CPUs are shared out. `capped`: never more of a node than it has (1.37)."""

    group: int  # CPUs that stay together
    spread: bool = False
    one_socket: bool = False
    capped: bool = False


class _Found(NamedTuple):
    balance: float
    combo: Slice
    rest: Slice | None
    in_one_socket: bool = False


def take_distributed(topology: CpuTopology, available: int, needed: int, share: Share) -> int:
    """The CPUs taken. Raises ManagerError where there are too few, KubeletStops where the real code hangs."""
    if needed % share.group:
        return take_packed(topology, available, needed, spread=share.spread)
    acc = Accumulator(topology, available, needed, share.spread)
    if acc.satisfied:
        return acc.result
    if acc.failed:
        raise too_few(needed, available)
    nodes = acc.numa_nodes()
    fewest, most = _range(acc, share.group)
    for size in range(fewest, most + 1):
        found = _best(acc, nodes, size, needed, share)
        if found is not None:
            return _hand_out(acc, found, needed, share)
    return take_packed(topology, available, needed, spread=share.spread)


def _range(acc: Accumulator, group: int) -> tuple[int, int]:
    """The fewest and most NUMA nodes to try (rangeNUMANodesNeededToSatisfy)."""
    topology = acc.topology
    groups = (topology.all.bit_count() - 1) // group + 1
    groups_of_node = (groups - 1) // len(topology.numa) + 1
    needed = (acc.needed - 1) // group + 1
    with_free = sum(1 for mask in topology.numa.values() if mask & acc.free)
    return (needed - 1) // groups_of_node + 1, min(needed, with_free)


def _best(acc: Accumulator, nodes: list[int], size: int, needed: int, share: Share) -> _Found | None:
    best: _Found | None = None
    free = {node: (acc.topology.numa[node] & acc.free).bit_count() for node in nodes}
    for combo in combinations(nodes, size):
        if best is not None and best.balance == 0 and (not share.one_socket or best.in_one_socket):
            break
        found = _judge(free, combo, needed, share)
        if found is None:
            continue
        together = share.one_socket and _in_one_socket(acc.topology, combo.values())
        better = found.balance < (math.inf if best is None else best.balance)
        if share.one_socket and together != (best is not None and best.in_one_socket):
            better = together
        if better:
            best = found._replace(in_one_socket=together)
    return best


def _in_one_socket(topology: CpuTopology, nodes: list[int]) -> bool:
    return len(topology.sockets_of(topology.in_numa(nodes))) <= 1


def _even_share(needed: int, nodes: int, group: int) -> int:
    return needed // nodes // group * group


def _judge(free: Mapping[int, int], combo: Slice, needed: int, share: Share) -> _Found | None:
    """How evenly the machine would be left by these nodes; None where they cannot."""
    nodes = combo.values()
    group = share.group
    if sum(free[node] for node in nodes) < needed or sum(free[node] // group for node in nodes) * group < needed:
        return None
    even = _even_share(needed, len(nodes), group)
    if share.one_socket:
        even = min(even, *(free[node] // group * group for node in nodes))
    if any(free[node] < even for node in nodes):
        return None
    left = dict(free)
    for node in nodes:
        left[node] -= even
    rest = needed - even * len(nodes)
    if not rest:
        return _Found(_deviation(left.values()), combo, None)
    return _judge_rest(left, [node for node in nodes if left[node] >= group], rest, group, combo)


def _judge_rest(
    left: Mapping[int, int], nodes: list[int], rest: int, group: int, combo: Slice
) -> _Found:  # fmt: skip
    """Who gives what an even share leaves over: the subset after which the machine is evenest."""
    best: _Found | None = None
    for size in range(len(nodes), 0, -1):
        for subset in combinations(nodes, size):
            chosen = subset.values()
            if sum(left[node] for node in chosen) < rest:
                continue
            balance = _deviation(_after(left, chosen, rest, group).values())
            if best is None or balance < best.balance:
                best = _Found(balance, combo, subset)
    return best or _Found(math.inf, combo, None)


def _after(left: Mapping[int, int], nodes: list[int], rest: int, group: int) -> dict[int, int]:
    after = dict(left)
    while rest > 0:
        before = rest
        for node in nodes:
            if rest == 0:
                break
            if after[node] >= group:
                after[node] -= group
                rest -= group
        if rest == before:
            raise KubeletStops(_LOOPS)
    return after


def _hand_out(acc: Accumulator, found: _Found, needed: int, share: Share) -> int:
    nodes = found.combo.values()
    group = share.group
    even = _even_share(needed, len(nodes), group)
    if share.capped:
        even = min(even, *((acc.topology.numa[node] & acc.free).bit_count() // group * group for node in nodes))
    for node in nodes:
        acc.take(_packed(acc, node, even))
    rest = needed - even * len(nodes)
    givers = found.rest.values() if found.rest is not None else []
    while rest > 0:
        before = rest, acc.free
        for node in givers:
            if rest == 0:
                break
            if (acc.topology.numa[node] & acc.free).bit_count() < group:
                continue
            acc.take(_packed(acc, node, group))
            rest -= group
        if (rest, acc.free) == before:
            raise KubeletStops(_LOOPS)
    if acc.needed:
        many = "not enough" if acc.needed > 0 else "too many"
        raise ManagerError(f"accounting error, {many} CPUs allocated, remaining: {acc.needed}")
    return acc.result


def _packed(acc: Accumulator, node: int, count: int) -> int:
    try:
        return take_packed(acc.topology, acc.topology.numa[node] & acc.free, count, spread=acc.spread)
    except ManagerError:
        return 0  # upstream drops this error


def _deviation(numbers: Iterable[int]) -> float:
    """Rounded to three decimals twice, as upstream does."""
    values = list(numbers)
    mean = _rounded(sum(values) / len(values))
    return _rounded(math.sqrt(sum((value - mean) * (value - mean) for value in values) / len(values)))


def _rounded(value: float) -> float:
    """Half away from zero (Go's math.Round), not half to even (Python's round)."""
    scaled = value * 1000
    floor = math.floor(scaled)
    return (floor + 1 if scaled - floor >= 0.5 else floor) / 1000
