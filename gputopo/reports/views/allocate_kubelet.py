"""`allocate kubelet` as blocks: admitted or refused and what is given, the hints, other policies, what is left."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.allocate.aftermath import After
from gputopo.allocate.answer import Answer
from gputopo.allocate.assumed import Assumed
from gputopo.allocate.best import Best
from gputopo.allocate.decider import Decision
from gputopo.allocate.kubelet.otherwise import Otherwise
from gputopo.allocate.state import State
from gputopo.reports.blocks import Blank, Block, KeyValue, cell
from gputopo.reports.views import allocate_parts as parts
from gputopo.reports.views.allocate_beside import better, cost, otherwise


def blocks(
    answer: Answer, state: State, decision: Decision | None = None, *, best: Best | None = None,
    after: After | None = None, assumed: Sequence[Assumed] = (), others: Sequence[Otherwise] = (),
    verbose: bool = False, quiet: bool = False,
) -> tuple[Block, ...]:  # fmt: skip
    """`others`: the same under other policies of the Topology Manager."""
    node = state.node
    starts = answer.admitted is not False or answer.reason is not None
    made: list[Block] = [*parts.decides(decision, answer.mechanism), parts.head(answer, state), Blank()]
    if starts:
        chance = "" if len(answer.outcomes) < 2 and not answer.families else (
            f"which of them cannot be predicted: {parts.RANDOM}"
        )
        made += parts.sets(answer, node, chance=chance, verbose=verbose)
    else:
        made += [KeyValue("ANSWER", (cell("refused: the kubelet does not start", "error"),))]
        made += [KeyValue("", (cell(answer.message or ""),))]
    if answer.admitted is None and answer.outcomes:
        text = f"or refused, {answer.reason or answer.message}: that is chance, too"
        made.append(KeyValue("", (cell(text, "warning"),)))
    if answer.admitted is False and after is not None and starts:
        made += parts.largest_now(after.largest)
    if quiet:
        return tuple(made)
    if starts:
        made += [*parts.why(answer.why), *cost(answer, node), *better(answer, state, best)]
    made += otherwise(others, answer, node)
    if answer.admitted is not False and after is not None:
        made += parts.left(after.left, after.largest, answer.unit)
    made += [Blank(), *parts.notes(assumed, state)]
    made.append(KeyValue("more", (cell("-o json | gputopo allocate device-plugin", "dim"),), role="dim"))
    return tuple(made)
