"""`allocate koordinator` and `allocate hami` as blocks: who decides, the answer, why, what would be better."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.allocate.aftermath import After
from gputopo.allocate.answer import Answer
from gputopo.allocate.assumed import Assumed
from gputopo.allocate.best import Best
from gputopo.allocate.decider import Decision
from gputopo.allocate.state import State
from gputopo.reports.blocks import Blank, Block, KeyValue, cell
from gputopo.reports.views import allocate_parts as parts
from gputopo.reports.views.allocate_beside import better, cost


def blocks(
    answer: Answer, state: State, decision: Decision | None = None, best: Best | None = None, *,
    after: After | None = None, assumed: Sequence[Assumed] = (), verbose: bool = False, quiet: bool = False,
) -> tuple[Block, ...]:  # fmt: skip
    """best: of the free GPUs, of this size."""
    made: list[Block] = [*parts.decides(decision, answer.mechanism), parts.head(answer, state), Blank()]
    made += parts.sets(answer, state.node, verbose=verbose)
    if answer.admitted is None and answer.outcomes and answer.message:
        text = f"or refused, as what is not known may be: {answer.message}"
        made.append(KeyValue("", (cell(text, "warning"),)))
    if answer.admitted is False and after is not None:
        made += parts.largest_now(after.largest)
    if quiet:
        return tuple(made)
    made += [*parts.why(answer.why), *cost(answer, state.node), *better(answer, state, best)]
    if verbose and answer.scores:
        pairs = [f"{one.a}-{one.b} {'?' if one.score is None else one.score}" for one in answer.scores]
        made.append(KeyValue("SCORES", tuple(cell(text) for text in pairs)))
    if answer.admitted is not False and after is not None:
        made += parts.left(after.left, after.largest, answer.unit)
    made += [Blank(), *parts.notes(assumed, state)]
    scores = "" if verbose or not answer.scores else "-v (pair scores) | "
    more = f"{scores}-o json | gputopo allocate device-plugin"
    made.append(KeyValue("more", (cell(more, "dim"),), role="dim"))
    return tuple(made)
