"""The same request under the other policies of the Topology Manager."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gputopo.allocate.answer import Answer
from gputopo.allocate.kubelet.mechanism import KubeletNode
from gputopo.allocate.request import Request
from gputopo.allocate.state import State


class Otherwise(NamedTuple):
    """`largest`: where it is refused, the most units that are admitted now."""

    policy: str
    answer: Answer
    largest: int | None = None
    in_force: bool = False  # the kubelet's own policy, of an answer that is not the kubelet's


def largest_now(mechanism: KubeletNode, state: State, request: Request, refused: Answer) -> int | None:
    """The most units that are admitted now.

    Where hints refuse, the plugin need not be asked: which devices it prefers decides nothing for one container.
    """
    asked = mechanism._replace(plugin=None) if refused.reason == "TopologyAffinityError" else mechanism
    return asked.largest(state, request)


def otherwise(
    mechanism: KubeletNode, state: State, request: Request, policies: Iterable[str], in_force: str | None = None
) -> tuple[Otherwise, ...]:  # fmt: skip
    made = []
    for policy in policies:
        other = mechanism._replace(settings=mechanism.settings._replace(policy=policy))
        answer = other.answer(state, request)
        largest = largest_now(other, state, request, answer) if answer.admitted is False and answer.reason else None
        made.append(Otherwise(policy, answer, largest, policy == in_force))
    return tuple(made)
