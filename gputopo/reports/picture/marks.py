"""What a person asked to see on a picture: a set of GPUs, a better one beside it, what pods hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gputopo.allocate.best import Judge, best, islands
from gputopo.errors import GputopoError
from gputopo.reports.picture.parts import Asked, Box, Holder, paths
from gputopo.reports.views.words import cut, numbers, several
from gputopo.rules.pods.audit import Audit
from gputopo.rules.wording import counted, one_line
from gputopo.topology.gpu_sets import Sight
from gputopo.topology.node import NodeTopology

_LONGEST = 80


def asked(node: NodeTopology, rooms: tuple[Box, ...], letter: str, gpus: tuple[str, ...]) -> Asked:
    """A set with its weakest pair and what it crosses."""
    sight = Sight(node)
    seen = sight.see(gpus)
    around = paths(rooms)
    in_rooms = Counter(around[gpu][0].id for gpu in gpus if gpu in around)
    ordered = tuple(room.id for room in rooms if room.id in in_rooms)
    lines = [f"{letter}  {several(gpus, 12)}", *_where(seen.packages, seen.numa_nodes, list(in_rooms.values()))]
    weakest, level = None, ""
    if seen.weakest is not None:
        level = seen.weakest.level
        alike = sum(pair is not None and pair.level == level for pair in sight.pairs(gpus))
        total = len(gpus) * (len(gpus) - 1) // 2
        if alike == total > 1:
            lines.append(f"every pair {level}")
        else:
            weakest = (seen.weakest.a, seen.weakest.b)
            more = f" ({alike} of {counted(total, 'pair')})" if total > 1 else ""
            lines.append(f"weakest pair {seen.weakest.a}-{seen.weakest.b} {level}{more}")
    elif len(gpus) > 1:
        lines.append("weakest pair not decided by this evidence")
    _, broken = islands(node, gpus)
    lines += [f"leaves the NVLink island {several(island, 8)}" for island in broken[:2]]
    return Asked(letter, gpus, weakest, level, ordered, tuple(lines))


def _where(packages: tuple[str, ...] | None, numa: tuple[int, ...] | None, split: Sequence[int]) -> list[str]:
    shares = "+".join(map(str, sorted(split, reverse=True)))
    if packages is not None:
        if len(packages) > 1:
            return [f"crosses sockets ({shares})"]
        near = f", crosses NUMA nodes {numbers(numa)}" if numa is not None and len(numa) > 1 else ""
        return [f"one socket{near}"]
    if numa is None:
        return ["sockets and NUMA nodes not in this evidence"]
    return [f"{'crosses ' if len(numa) > 1 else ''}NUMA {numbers(numa)} (sockets not in this evidence)"]


def verdict(node: NodeTopology, first: Asked, second: Asked) -> str:
    """Which of the two is better, in the order of the contract; of unlike sizes nothing is said."""
    if len(first.gpus) != len(second.gpus):
        return f"not compared: {len(first.gpus)} and {len(second.gpus)} GPUs"
    judge = Judge(node)
    forward, backward = judge.better(first.gpus, second.gpus), judge.better(second.gpus, first.gpus)
    if forward is None or backward is None:
        return "which one is better depends on what is not in this evidence"
    if forward:
        return f"{first.letter} is better"
    return f"{second.letter} is better" if backward else "neither is better"


def best_set(node: NodeTopology, size: int) -> tuple[str, ...]:
    """The first of the best sets of that size. Raises GputopoError where the evidence does not tell."""
    found = best(node, [gpu.id for gpu in node.gpus], size)
    if found is None or not found.decided:
        why = "too many sets to look at" if found is None else "the evidence leaves open which set is best"
        raise GputopoError(why, "--against best", "name a set: --against 0,1,2,3")
    return found.sets[0]


def holders(audit: Audit) -> tuple[Holder, ...]:
    """Pods with what they hold; what holds something and is no pod, one by one."""
    held = audit.held
    found: list[Holder] = []
    inside = {place for pod in held.pods for place in pod.containers}
    sets = [(pod.title, [held.containers[at] for at in pod.containers], pod.placed) for pod in held.pods]
    sets += [(one.title, [one], one.placed) for at, one in enumerate(held.containers) if at not in inside]
    for title, containers, placed in sets:
        devices = [*(placed.gpus or ()), *(one.nic for each in containers for one in each.devices if one.nic)]
        if not devices:
            continue
        crosses = " crosses sockets" if placed.cross_package else " crosses NUMA nodes" if placed.cross_numa else ""
        weakest = placed.seen.weakest if placed.seen is not None else None
        level = f", weakest pair {weakest.level}" if weakest is not None else ""
        gpus = several(placed.gpus or (), 8)
        name = cut(one_line(title), _LONGEST)
        found.append(Holder(len(found) + 1, name, tuple(dict.fromkeys(devices)), f"{name}  {gpus}{level}{crosses}"))
    return tuple(found)
