"""The protocol of every mechanism: a frozen value with its options, asked by `answer`, moved by `step`.

Written as a Protocol, so that a mechanism is any class with these members and imports nothing from
here. `step` is pure: the state it is given stays as it was, so a sequence can be searched.
"""

from __future__ import annotations

from typing import Protocol

from gputopo.allocate.answer import Answer
from gputopo.allocate.outcome import Outcome
from gputopo.allocate.request import Request
from gputopo.allocate.state import State


class Mechanism(Protocol):
    @property
    def name(self) -> str:
        """As on the command line: `device-plugin`, `kubelet` …"""

    @property
    def version(self) -> str:
        """Of the upstream code that is imitated."""

    def answer(self, state: State, request: Request) -> Answer:
        """Every outcome the real code can have. Never raises for a request the real code would refuse."""

    def step(self, state: State, request: Request, outcome: Outcome) -> State:
        """The state after `outcome`, one of the answer's, was given to the request's owner."""


def give(state: State, request: Request, outcome: Outcome) -> State:
    """`step` of a mechanism that hands out whole units and CPUs, nothing else."""
    return state.taken(request.owner, outcome.devices, outcome.cpus)
