"""DRA as a mechanism beside the others: asked for a number of GPUs on a node."""

from __future__ import annotations

from itertools import combinations

from gputopo.allocate.dra.behaviour import of
from gputopo.allocate.dra.mechanism import Dra
from gputopo.allocate.dra.selectors import cel
from gputopo.allocate.protocol import Mechanism
from gputopo.allocate.request import Request
from gputopo.allocate.state import State
from gputopo.topology.node import Gpu, NodeTopology


def node(gpus: int) -> NodeTopology:
    """Two GPUs a NUMA node."""
    return NodeTopology("n", gpus=tuple(Gpu(f"GPU{at}", minor=gpus - at, numa_nodes=(at // 2,)) for at in range(gpus)))


def made(*match: str) -> Mechanism:
    return Dra(of((1, 36)), cel((1, 36), False), "0.5", match=match)


def test_any_free_gpus_can_be_the_answer_since_the_order_of_the_slice_is_random() -> None:
    state = State.of(node(4), ("GPU0", "GPU1", "GPU2", "GPU3"), in_use=("GPU1",))
    found = made().answer(state, Request(2))
    assert found.admitted is True
    free = ("GPU0", "GPU2", "GPU3")
    assert {frozenset(one.devices) for one in found.outcomes} == set(map(frozenset, combinations(free, 2)))
    after = made().step(state, Request(2, owner="a"), found.outcomes[0])
    assert len(after.free) == 1


def test_matching_an_attribute_leaves_only_the_groups_that_share_it() -> None:
    state = State.of(node(4), ("GPU0", "GPU1", "GPU2", "GPU3"))
    found = made("resource.kubernetes.io/numaNode").answer(state, Request(2))
    assert [one.devices for one in found.outcomes] == [("GPU0", "GPU1"), ("GPU2", "GPU3")]
    assert made("resource.kubernetes.io/numaNode").answer(state, Request(3)).admitted is False


def test_sets_beyond_what_is_listed_are_families() -> None:
    state = State.of(node(16), tuple(f"GPU{at}" for at in range(16)))
    found = made().answer(state, Request(8))
    assert (found.outcomes, found.outcomes_complete) == ((), True)
    assert [(one.choose, len(one.of), one.ways) for one in found.families] == [(8, 16, 12870)]
