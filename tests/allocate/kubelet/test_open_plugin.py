"""What the evidence leaves open of the plugin's preference stays open in the kubelet's answer."""

from __future__ import annotations

import pytest

from gputopo.allocate.answer import Answer
from gputopo.allocate.kubelet.mechanism import KubeletNode
from gputopo.allocate.kubelet.releases import DEFAULT, Release
from gputopo.allocate.kubelet.startup import Settings
from gputopo.allocate.outcome import Outcome
from gputopo.allocate.request import Request
from gputopo.allocate.state import State
from gputopo.topology.node import Gpu, NodeTopology, NumaNode

UNITS = ("GPU0", "GPU1", "GPU2")


class Open:
    """Prefers the first ones, and perhaps others."""

    name, version = "device-plugin", "test"

    def __init__(self, complete: bool) -> None:
        self.complete = complete

    def answer(self, state: State, request: Request) -> Answer:
        chosen = state.free[: request.size]
        return Answer(self.name, self.version, "gpu", request, True, (Outcome(chosen, chosen),), self.complete)

    def step(self, state: State, request: Request, outcome: Outcome) -> State:
        return state


@pytest.mark.parametrize(
    ("complete", "size", "expected"),
    [(True, 2, True), (False, 2, False), (False, 3, True)],  # of 3 there is one set of 3, whatever is open
)
def test_open_stays_open(complete: bool, size: int, expected: bool) -> None:
    node = NodeTopology(
        gpus=tuple(Gpu(id, numa_nodes=(0,)) for id in UNITS), numa_nodes=(NumaNode("NUMA0", 0, "cpu", None, None),)
    )
    found = KubeletNode(Settings(Release(DEFAULT)), Open(complete)).answer(State.of(node, UNITS), Request(size))
    assert (found.admitted, found.outcomes_complete) == (True, expected)
    if not expected:
        assert found.why[0].endswith("is not decided by the evidence: see gputopo allocate device-plugin")
