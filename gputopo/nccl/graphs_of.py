"""The graphs of a set, as NCCL searches them one after another: ring, then tree with as many channels, then NVLS.

Source: src/init.cc of NVIDIA/nccl v2.30.7 (initTransportsRank).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gputopo.nccl.bound import Bound, ring_bound
from gputopo.nccl.graph import Graph, Pattern
from gputopo.nccl.hops import Field, field_of
from gputopo.nccl.machines import Machine
from gputopo.nccl.search import find
from gputopo.nccl.walk import TimeIsUpError

_RING_CHANNELS, _NVLS_CHANNELS = 32, 64


class Graphs(NamedTuple):
    """`None`: the deadline came first, and `bound` is what is known of the ring. One GPU has none of them."""

    ring: Graph | None
    tree: Graph | None
    nvls: Graph | None
    field: Field
    bound: Bound | None

    @property
    def complete(self) -> bool:
        return self.field.size < 2 or None not in (self.ring, self.tree, self.nvls)


def graphs_of(machine: Machine, expired: Callable[[], bool] = lambda: False) -> Graphs:
    """`expired` is asked now and then; when it says yes, what is not found yet stays away."""
    field = field_of(machine.reach)
    if field.size < 2:
        return Graphs(None, None, None, field, None)
    version = machine.settings.version
    ring = tree = nvls = None
    try:
        nvls = find(field, Pattern.NVLS, 1, _NVLS_CHANNELS, version, expired)
        ring = find(field, Pattern.RING, 1, _RING_CHANNELS, version, expired)
        if ring.channels:
            tree = find(field, Pattern.BALANCED_TREE, ring.channels, ring.channels, version, expired)
        else:  # NCCL has ended here; with a tree of no channels its code would divide by zero
            tree = ring._replace(pattern=Pattern.BALANCED_TREE)
    except TimeIsUpError:
        pass
    return Graphs(ring, tree, nvls, field, ring_bound(field))
