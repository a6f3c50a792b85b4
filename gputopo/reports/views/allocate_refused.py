"""A refusal before any device is looked at, as of a plugin that does not start: upstream's words, and why."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.allocate.answer import Answer
from gputopo.allocate.assumed import Assumed
from gputopo.allocate.decider import Decision
from gputopo.allocate.state import State
from gputopo.reports.blocks import Blank, Block
from gputopo.reports.views import allocate_parts as parts


def blocks(
    answer: Answer, state: State, decision: Decision | None = None, assumed: Sequence[Assumed] = (), *,
    quiet: bool = False,
) -> tuple[Block, ...]:  # fmt: skip
    made: list[Block] = [*parts.decides(decision, answer.mechanism), parts.head(answer, state), Blank()]
    made += parts.refusal(answer)
    if not quiet:
        made += [*parts.why(answer.why), Blank(), *parts.notes(assumed, state)]
    return tuple(made)
