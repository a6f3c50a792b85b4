"""Which NUMA node lies in which socket, from the counts lscpu prints. It prints no such line.

Certain: one socket holds everything. Supposed, and said so: as many nodes with CPUs as sockets are one
each; a multiple (sub-NUMA clustering, NPS) is spread evenly. Firmware numbers CPUs in one of two ways, and
the nodes follow: in blocks (socket 0 first, nodes 0-1 of it, then 2-3), or in turns (CPU n is in socket
n mod sockets, so even CPUs and with them nodes 0 and 2 are one socket). Nodes without CPUs (memory of a
GPU, CXL) are no part of this: a GB200 node counts 34 of them and has two sockets.

    >>> blocks = {0: CpuSet.parse_list("0-1"), 1: CpuSet.parse_list("2-3"), 2: CpuSet.parse_list("4-5"),
    ...           3: CpuSet.parse_list("6-7")}
    >>> place_nodes(blocks, Counts(sockets=2, cores=4, threads=1)).nodes
    ((0, 1), (2, 3))
    >>> turns = {0: CpuSet.parse_list("0,4"), 1: CpuSet.parse_list("1,5"), 2: CpuSet.parse_list("2,6"),
    ...          3: CpuSet.parse_list("3,7")}
    >>> place_nodes(turns, Counts(sockets=2, cores=4, threads=1)).nodes
    ((0, 2), (1, 3))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.unknown import Said, Unknown

_NUMBERS = "sockets are numbered from 0 on: lscpu prints no physical_package_id"
_NOT_PRINTED = "lscpu prints how many sockets there are, not which node is where"


class Counts(NamedTuple):
    sockets: int | None = None
    cores: int | None = None  # of one socket
    threads: int | None = None  # of one core
    online: CpuSet | None = None
    complete: bool = True  # False: fewer NUMA nodes are listed than counted


class Sockets(NamedTuple):
    """NUMA nodes and CPUs by socket, or the reason why they are unknown."""

    nodes: tuple[tuple[int, ...], ...] = ()
    cpus: tuple[CpuSet | None, ...] = ()
    assumptions: tuple[str, ...] = ()
    unknown: str | None = None


def place_nodes(nodes: Mapping[int, Said[CpuSet]], counts: Counts) -> Sockets:
    """Where the nodes lie. `nodes` is what lscpu lists, those without CPUs included."""
    if counts.sockets is None or counts.sockets < 1:
        return Sockets(unknown="no line of the text says how many sockets there are")
    known = {n: cpus for n, cpus in nodes.items() if isinstance(cpus, CpuSet) and cpus}
    count = f"lscpu counts {counts.sockets} sockets"
    if any(isinstance(cpus, Unknown) or cpus is None for cpus in nodes.values()):
        return Sockets(unknown=f"{count}; the CPUs of a NUMA node cannot be read")
    if counts.sockets == 1:
        cpus = counts.online if not counts.complete else _union(known.values()) or counts.online
        return Sockets((tuple(sorted(known)),), (cpus,), (_NUMBERS,))
    if not counts.complete:
        return Sockets(unknown=f"{count}; not every NUMA node is listed")
    if not known or len(known) % counts.sockets:
        return Sockets(unknown=f"{count} and lists {len(known)} NUMA nodes with CPUs: {_NOT_PRINTED}")
    groups = _groups(known, counts)
    if groups is None:
        return Sockets(unknown=f"{count}; the numbers of the CPUs fit two ways of placing the nodes")
    cpus_of = tuple(_union(known[node] for node in group) for group in groups)
    if not _fits(cpus_of, counts):
        return Sockets(unknown=f"{count}; the NUMA nodes cannot be spread over them with as many CPUs each")
    supposed = " are one socket, ".join(_names(group) for group in groups[:2])
    if len(groups[0]) == 1:
        text = f"each of the {len(groups)} NUMA nodes with CPUs is one socket: {_NOT_PRINTED}"
    else:
        more = " and so on" if len(groups) > 2 else ""
        text = f"NUMA nodes {supposed} another{more}: {_NOT_PRINTED}"
    return Sockets(groups, cpus_of, (text, _NUMBERS))


def _groups(nodes: Mapping[int, CpuSet], counts: Counts) -> tuple[tuple[int, ...], ...] | None:
    sockets = counts.sockets or 1
    numbers = sorted(nodes)
    size = len(numbers) // sockets
    blocks = tuple(tuple(numbers[at : at + size]) for at in range(0, len(numbers), size))
    if size == 1 or any(cpus.mask & cpus.mask << 1 for cpus in nodes.values()):
        return blocks  # CPUs that follow each other in one node: numbered in blocks
    by_turn: dict[int, list[int]] = {}
    for number in numbers:
        turns = {cpu % sockets for cpu in nodes[number]}
        if len(turns) > 1:
            return None
        by_turn.setdefault(turns.pop(), []).append(number)
    several = all(len(cpus) > (counts.threads or 2) for cpus in nodes.values())
    # One core a node: its second thread has a far number in either way.
    if not several or len(by_turn) != sockets or any(len(group) != size for group in by_turn.values()):
        return None
    return tuple(tuple(group) for _, group in sorted(by_turn.items()))


def _fits(cpus: tuple[CpuSet, ...], counts: Counts) -> bool:
    """Whether every socket gets as many CPUs; where the text says how many, that many."""
    sizes = {len(each) for each in cpus}
    wanted = counts.cores * counts.threads if counts.cores and counts.threads else None
    return len(sizes) == 1 and (wanted is None or sizes == {wanted})


def _union(sets: Iterable[CpuSet]) -> CpuSet:
    mask = 0
    for each in sets:
        mask |= each.mask
    return CpuSet(mask)


def _names(nodes: tuple[int, ...]) -> str:
    return str(CpuSet.of(nodes))
