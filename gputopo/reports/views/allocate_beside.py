"""What stands beside an answer, whatever mechanism it is of: what the sets cost, what is better, other policies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from gputopo.allocate.answer import Answer
from gputopo.allocate.assumed import Assumed
from gputopo.allocate.best import Best, Judge, islands
from gputopo.allocate.state import State
from gputopo.reports.blocks import Block, Cell, KeyValue, cell
from gputopo.reports.views.allocate_parts import set_name, shape
from gputopo.rules.wording import counted
from gputopo.topology.node import NodeTopology, NoteAssumption

if TYPE_CHECKING:
    from gputopo.allocate.device_plugin.report import Remedy
    from gputopo.allocate.kubelet.otherwise import Otherwise

_SHOWN = 6


def cost(answer: Answer, node: NodeTopology) -> list[Block]:
    """What the sets mean for traffic between GPUs and with the host."""
    outcomes = [one for one in answer.outcomes if len(one.gpus) > 1]
    if answer.unit != "gpu" or not outcomes or len(outcomes) < len(answer.outcomes):
        return []
    if _is_one_switch(node, [one.gpus for one in outcomes]):
        text = "none: one NVSwitch fabric joins any of these GPUs"
    else:
        weakest = {one.weakest.level if one.weakest is not None else None for one in outcomes}
        if None in weakest:
            text = "the weakest pair is not decided by the evidence"
        else:
            text = f"weakest pair {' or '.join(sorted(str(level) for level in weakest))}"
        broken = {island for one in outcomes for island in islands(node, one.gpus)[1]}
        if broken:
            text += f"; may break {counted(len(broken), 'NVLink island')}"
    made: list[Block] = [KeyValue("COST", (cell(text),), key="GPU-GPU")]
    host = _host(answer, node)
    return [*made, KeyValue("", (cell(host),), key="host")] if host else made


def _is_one_switch(node: NodeTopology, sets: Sequence[tuple[str, ...]]) -> bool:
    """Whether every pair of every set is joined by an NVSwitch fabric."""
    switched = {frozenset((pair.a, pair.b)) for pair in node.pairs if pair.via_switch and pair.nvlinks}
    return all(frozenset(two) in switched for one in sets for two in combinations(one, 2))


def _host(answer: Answer, node: NodeTopology) -> str:
    outcomes = answer.outcomes
    place = "socket" if all(one.cross_package for one in outcomes) else "NUMA node"
    if not all(one.cross_package or one.cross_numa for one in outcomes):
        return ""
    shapes = {shape(one.gpus, node) for one in outcomes}
    only = shapes.pop() if len(shapes) == 1 else None
    alone = only is not None and len(only) == 2 and only[1] == 1 < only[0]
    whose = "the lone GPU's" if alone else "each GPU's"
    return f"{whose} pinned memory and threads should sit on its own {place}"


def better(answer: Answer, state: State, best: Best | None, remedies: Sequence[Remedy] = ()) -> list[Block]:
    """The best sets of the free GPUs beside what can be given, and what one more free GPU would change."""
    if best is None or not best.sets or answer.unit != "gpu" or answer.request.size < 2:
        return []
    named = _sets(state.node, best.sets)
    if answer.admitted is False:
        return [KeyValue("BEST", (cell(f"of the free GPUs: {named}"),))]
    if not answer.outcomes:
        return []
    judge = Judge(state.node)
    verdicts = [judge.better(best.sets[0], one.gpus) for one in answer.outcomes]
    worse = verdicts.count(True)
    several = len(verdicts) > 1
    if None in verdicts and not worse:
        text = "not decided: levels that the evidence leaves open decide which set is best"
    elif worse == len(verdicts):
        text = f"free and better, but never given: {named}"
    elif worse:
        text = f"best now: {named}; {worse} of these {len(verdicts)} are worse"
    elif remedies or len(state.free) < len(state.units):
        text = "nothing now"
    else:
        text = f"nothing: no set is better than {'these' if several else 'this'}"
    return [KeyValue("BETTER", (cell(text), *_freed(state.node, remedies[:_SHOWN])))]


def _freed(node: NodeTopology, remedies: Sequence[Remedy]) -> list[Cell]:
    """`GPU0 freed: only {0,1,2,3}, score 120`; a score that all have once, at the end."""
    scores = {one.scores for one in remedies}
    common = len(scores) == 1 and len(remedies) > 1
    made = []
    for one in remedies:
        only = "only " if len(one.sets) == 1 else ""
        score = f", score {one.scores[0]}" if len(one.scores) == 1 and not common else ""
        made.append(cell(f"{one.unit} freed: {only}{_sets(node, one.sets)}{score}"))
    if common and len(remedies[0].scores) == 1:
        made.append(cell(f"score {remedies[0].scores[0]} each"))
    return made


def _sets(node: NodeTopology, sets: Sequence[tuple[str, ...]]) -> str:
    shown = " ".join(set_name(node, one) for one in sets[:_SHOWN])
    return shown + (f" and {len(sets) - _SHOWN} more as good" if len(sets) > _SHOWN else "")


def otherwise(others: Iterable[Otherwise], answer: Answer, node: NodeTopology) -> list[Block]:
    """What other policies of the Topology Manager make of the request; alike ones together."""
    found: dict[tuple[str, ...], list[str]] = {}
    for one in others:
        policy = f"{one.policy} (this kubelet's own)" if one.in_force else one.policy
        found.setdefault(_in_short(one, answer, node), []).append(policy)
    made: list[Block] = []
    for said, policies in found.items():
        first = "" if made else "Topology Manager "
        reason = Assumed.of(NoteAssumption((), said[1], None)) if len(said) > 1 else Assumed("")
        because = f" ({reason.text})" if reason.text else ""
        settle = cell(f"settle it: {reason.settle}") if reason.settle else ()
        text = cell(f"{first}{', '.join(policies)}: {said[0]}{because}")
        made.append(KeyValue("" if made else "OTHERWISE", (text, settle)))
    return made


def _in_short(one: Otherwise, answer: Answer, node: NodeTopology) -> tuple[str, ...]:
    other = one.answer
    if other.admitted is False:
        largest = f"; largest admitted now: {one.largest}" if one.largest else ""
        reasons = other.why[:1] if other.reason == "TopologyAffinityError" else ()
        return f"refused, {other.reason or other.message}{largest}", *reasons
    if not other.outcomes:
        return ("not decided", *other.why[:1])
    chance = "" if other.admitted else f", or refused ({other.reason}): that is chance"
    devices = {tuple(sorted(outcome.devices)) for outcome in other.outcomes}
    if devices == {tuple(sorted(outcome.devices)) for outcome in answer.outcomes}:
        same = "the same set" if len(devices) == 1 else f"the same {len(devices)} sets"
        return (f"{same if other.outcomes_complete else 'the same'}{chance}",)
    if len(devices) == 1:
        return (f"{set_name(node, other.outcomes[0].devices)}{chance}",)
    more = "" if other.outcomes_complete else "more than "
    shown = " ".join(set_name(node, outcome.devices) for outcome in other.outcomes[:_SHOWN])
    return (f"{more}{len(devices)} sets{chance}" if len(devices) > _SHOWN or more else f"{shown}{chance}",)
