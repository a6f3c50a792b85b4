"""The search for NVLS: one GPU a channel gathers from the NVSwitch what all the others send.

Source: src/graph/search.cc of NVIDIA/nccl v2.30.7 (ncclTopoSearchTryNvls). There is nothing to choose, so no depth.
"""

from __future__ import annotations

from gputopo.nccl.graph import Graph
from gputopo.nccl.hops import Field, Hop
from gputopo.nccl.path_types import PathType
from gputopo.nccl.walk import PERFECT, Attempt, amounts


def nvls_walk(field: Field, attempt: Attempt, best: Graph, steps: int) -> tuple[Graph, int]:
    """The best graph, and the steps that are left."""
    room = list(field.room)
    for head in range(attempt.most):
        if steps <= 0:
            break
        steps -= 1
        if not _gathers(field, attempt, head, room):
            break
        if steps <= 0:
            break
        steps -= 1
        channels = head + 1
        if channels >= attempt.fewest and _is_better(field, attempt, channels, best):
            order = tuple((one,) for one in range(channels))
            best = Graph(
                attempt.pattern, channels, attempt.gbps, attempt.gbps_inter, attempt.type, PathType.PIX,
                attempt.same_channels, attempt.cross_nic, 0, order,
            )  # fmt: skip
            if channels == attempt.most:
                return best, PERFECT
    return best, steps


def _gathers(field: Field, attempt: Attempt, head: int, room: list[int]) -> bool:
    """From the switch to every GPU and back; the head carries twice as much."""
    for hops in (field.from_switch, field.to_switch):
        for gpu, hop in enumerate(hops):
            if not _take(hop, attempt, 2 if gpu == head else 1, room):
                return False
    return True


def _take(hop: Hop, attempt: Attempt, times: int, room: list[int]) -> bool:
    if hop.type is PathType.DIS or (times == 1 and hop.type > attempt.type):
        return False
    steps = amounts(hop, attempt.gbps, times)
    if any(room[link] < amount for link, amount in steps):
        return False
    for link, amount in steps:
        room[link] -= amount
    return True


def _is_better(field: Field, attempt: Attempt, channels: int, best: Graph) -> bool:
    more = best.channels < channels <= field.size
    return more or channels * attempt.gbps_inter > best.channels * best.gbps_inter
