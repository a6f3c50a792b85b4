"""A number of GPUs asked through DRA: a claim for so many devices of a class, on what the driver would publish."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gputopo.allocate.answer import Answer
from gputopo.allocate.dra import published
from gputopo.allocate.dra.behaviour import Behaviour
from gputopo.allocate.dra.objects import Allocated, Ask, Claim, ClaimRequest, Constraint, KubeNode, World
from gputopo.allocate.dra.question import ask_published
from gputopo.allocate.dra.selectors import Selectors
from gputopo.allocate.outcome import Outcome
from gputopo.allocate.protocol import give
from gputopo.allocate.request import Request
from gputopo.allocate.state import State


class Dra(NamedTuple):
    """`match`: attributes that all devices must share; `line`: of NVIDIA's driver (published.LINES)."""

    how: Behaviour
    selectors: Selectors
    line: str = "0.4"
    device_class: str = "gpu.nvidia.com"
    match: tuple[str, ...] = ()
    out_of_time: Callable[[], bool] = lambda: False

    @property
    def name(self) -> str:
        return "dra"

    @property
    def version(self) -> str:
        return self.how.version

    def answer(self, state: State, request: Request) -> Answer:
        """Units are whole GPUs, by the node's ids."""
        asked = ClaimRequest("gpus", Ask("gpus", self.device_class, number=request.size))
        constraints = tuple(Constraint((), attribute) for attribute in self.match)
        known = published.published(state.node, self.line)
        held = frozenset(id for id, gpu in known.gpus.items() if gpu not in state.free)
        world = World(
            KubeNode(state.node.name or "node"), (), known.classes,
            (Claim(request.owner or "claim", "", (asked,), constraints),), Allocated(held),
        )  # fmt: skip
        report = ask_published(world, self.selectors, self.how, state.node, self.line, self.out_of_time)
        outcomes = tuple(one._replace(devices=one.gpus) for one in report.answer.outcomes)
        return report.answer._replace(request=request, outcomes=outcomes)

    def step(self, state: State, request: Request, outcome: Outcome) -> State:
        return give(state, request, outcome)
