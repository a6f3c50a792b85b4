"""What `allocate koordinator` and `allocate hami` share: the question put to a scheduler, and its answer printed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gputopo.commands import allocate_options as shared
from gputopo.commands.allocate_place import Place, exit_code, is_better, picture_of

if TYPE_CHECKING:
    from gputopo.allocate.aftermath import After
    from gputopo.allocate.answer import Answer
    from gputopo.allocate.assumed import Assumed
    from gputopo.allocate.best import Best
    from gputopo.allocate.decider import Decision
    from gputopo.allocate.outcome import Outcome
    from gputopo.allocate.protocol import Mechanism
    from gputopo.allocate.request import Request
    from gputopo.allocate.state import State
    from gputopo.commands.allocate_reading import Reading
    from gputopo.topology.node import NodeTopology, NoteAssumption


class Answered(NamedTuple):
    answer: Answer
    state: State
    decision: Decision
    assumed: tuple[Assumed, ...]
    best: Best | None
    after: After


def state_of(
    node: NodeTopology, available: str | None, in_use: str | None, lost: Collection[str]
) -> State:  # fmt: skip
    """lost: unhealthy, or taken as the objects say."""
    from gputopo.allocate.state import State

    units = tuple(gpu.id for gpu in node.gpus)
    return State(node, units, shared.free_units(node, units, available, in_use, lost=lost)[0])


def is_joined(node: NodeTopology, names: Iterable[str]) -> bool:
    """Whether every GPU that an object names is one of the node's."""
    return set(names) <= {gpu.id for gpu in node.gpus}


def left_aside(object: str) -> NoteAssumption:
    from gputopo.topology.node import NoteAssumption

    text = f"{object} and the other sources have no GPUs in common by UUID: the others are left aside"
    return NoteAssumption((), f"{text} (to settle: nvidia-smi -L)", None)


def ask(
    mechanism: Mechanism, of_size: Callable[[int], Mechanism], state: State, request: Request, found: Reading
) -> Answered:  # fmt: skip
    """`of_size`: the mechanism asked for another number of GPUs, all else being equal. Raises WrongShape."""
    from gputopo.allocate.aftermath import After, aftermath
    from gputopo.allocate.best import best

    answer = mechanism.answer(state, request)

    def step(outcome: Outcome) -> State:
        return mechanism.step(state, request, outcome)

    def admits(free: State, size: int) -> bool | None:
        return of_size(size).answer(free, request._replace(size=size)).admitted

    after = aftermath(answer, state, step, admits)
    if answer.outcomes and set(step(answer.outcomes[0]).free) & set(answer.outcomes[0].gpus):
        after = After(None, None)  # GPUs in part: how many are left is no number of GPUs
    return Answered(
        answer, state, found.objects.decision(found.version, state.node.name, request.resource),
        _assumed(answer, found), best(state.node, state.free, request.size, request.required), after,
    )  # fmt: skip


def _assumed(answer: Answer, found: Reading) -> tuple[Assumed, ...]:
    from gputopo.allocate.assumed import Assumed
    from gputopo.allocate.decider.decision import IMITATES

    system = IMITATES[answer.mechanism]
    made = [Assumed(f"{system} {answer.version}"), *map(Assumed.of, answer.assumptions)]
    beside = found.beside
    idle = {
        "the kubelet's state files": beside.states, "the kubelet's configuration": beside.kubelet_configs,
        "the device plugin's configuration": beside.plugin_configs,
    }  # fmt: skip
    unread = [name for name, given in idle.items() if given]
    if unread:
        made.append(Assumed(f"not looked at by {system}: {', '.join(unread)}", "--in-use SET, --pods FILE"))
    return tuple(made)


def printed(reports: Sequence[Answered], place: Place) -> int:
    """Prints and gives the exit code."""
    code = max(exit_code(one.answer, by_chance=False) for one in reports)
    if place.shows_blocks:
        from gputopo.reports.views.allocate_scheduler import blocks

        place.show([
            blocks(one.answer, one.state, one.decision, one.best, after=one.after, assumed=one.assumed,
                   verbose=place.verbose, quiet=place.quiet)
            for one in reports
        ], code, [picture_of(one.state.node, one.answer, one.best) for one in reports],
            f"gputopo allocate {reports[0].answer.mechanism}")  # fmt: skip
        return code
    from gputopo.documents.allocation import encode, notes

    place.print([
        encode(
            one.answer, node=one.state.node.name, decides=one.decision, best=one.best,
            better=is_better(one.best, one.answer, one.state), after=one.after, assumptions=notes(one.assumed),
        )
        for one in reports
    ])  # fmt: skip
    return code
