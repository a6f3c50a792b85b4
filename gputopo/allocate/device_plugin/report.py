"""One question to the device plugin with all that is said beside its answer: why, what is best, what would help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gputopo.allocate.answer import Answer
from gputopo.allocate.best import Best, Judge, best
from gputopo.allocate.device_plugin.aligned import Aligned, padded, refuses
from gputopo.allocate.device_plugin.doubts import OneWay, one_way_pairs
from gputopo.allocate.device_plugin.explain import Grouping, Way, freed, grouping, ways
from gputopo.allocate.device_plugin.fabric import Fit, FmPartition, fit, module_ids
from gputopo.allocate.device_plugin.plugin import DevicePlugin
from gputopo.allocate.device_plugin.visible import Visible, visible
from gputopo.allocate.outcome import Outcome
from gputopo.allocate.request import Request
from gputopo.allocate.state import State, physical

_MOST_FREED = 16  # GPUs in use that are tried one by one


class Remedy(NamedTuple):
    """A GPU that is in use, and what could be answered, better in every case, if it alone came back."""

    unit: str
    sets: tuple[tuple[str, ...], ...]
    scores: tuple[int, ...]


class Report(NamedTuple):
    plugin: DevicePlugin
    state: State
    request: Request
    answer: Answer
    found: Aligned | None = None  # of whole GPUs
    ways: tuple[Way, ...] = ()
    grouping: Grouping | None = None
    best: Best | None = None
    better: bool | None = None  # whether the best set is better than every outcome
    better_than_some: bool | None = None
    remedies: tuple[Remedy, ...] = ()
    switched: tuple[str, ...] = ()  # GPUs whose NVLinks end at a switch, which the plugin does not see
    visible: Visible | None = None  # of the first outcome
    fits: tuple[Fit, ...] | None = None  # of the outcomes, to the Fabric Manager's partitions; None: not asked, or
    modules_unknown: bool = False  # asked, but the GPUs' module ids are not known
    one_way: tuple[OneWay, ...] = ()  # pairs whose NVLinks the evidence shows in one direction only
    left: int | None = None  # units free afterwards


def report(
    plugin: DevicePlugin, state: State, request: Request, partitions: Sequence[FmPartition] | None = None
) -> Report:  # fmt: skip
    """Raises ValueError for required units that are not free."""
    answer, found = plugin.answer_with(state, request)
    made = Report(plugin, state, request, answer, found)
    if answer.admitted is False or not answer.outcomes:
        return made
    outcomes = answer.outcomes
    made = made._replace(
        left=len(state.free) - request.size,
        visible=visible(
            state.node, outcomes[0].devices, plugin.config,
            unique_ids=plugin.behaviour.unique_ids, resource=request.resource,
        ),
    )  # fmt: skip
    if partitions is not None:
        modules = module_ids(state.node)
        free = tuple(dict.fromkeys(physical(unit) for unit in state.free))
        made = made._replace(
            modules_unknown=modules is None,
            fits=None if modules is None else tuple(fit(partitions, modules, one.gpus, free) for one in outcomes),
        )
    return _of_gpus(made) if plugin.is_aligned(state) else made


def _of_gpus(made: Report) -> Report:
    state, request = made.state, made.request
    node, free = state.node, state.free
    one_way = tuple(one for one in one_way_pairs(node) if {one.a, one.b} <= set(free)) if request.size > 1 else ()
    if one_way:
        made = made._replace(answer=made.answer._replace(admitted=None), one_way=one_way)
    judge = Judge(node)
    found_best = best(node, free, request.size, request.required)
    outcomes = made.answer.outcomes
    verdicts = [judge.better(found_best.sets[0], one.gpus) for one in outcomes] if found_best is not None else [None]
    found = made.found
    groups = grouping(node, free)
    made = made._replace(
        best=found_best,
        better=_all(verdicts),
        better_than_some=True if True in verdicts else None if None in verdicts else False,
        grouping=groups,
        switched=tuple(
            dict.fromkeys(id for pair in node.pairs if pair.via_switch and pair.nvlinks for id in (pair.a, pair.b))
        ),
    )
    if found is None or request.size < 2:
        return made
    order = [groups.of[gpu] for gpu in found.available] if groups is not None else None
    must = [found.available.index(one) for one in request.required]
    own = ways(found.variants[0].scores, order, request.size, must) if len(found.variants) == 1 else ()
    return made._replace(ways=own, remedies=_remedies(made, judge, outcomes))


def _all(verdicts: Sequence[bool | None]) -> bool | None:
    if all(verdicts):
        return True
    return False if False in verdicts else None


def _remedies(made: Report, judge: Judge, outcomes: Sequence[Outcome]) -> tuple[Remedy, ...]:
    state, request = made.state, made.request
    if made.plugin.ordered is not None or not 0 < len(state.units) - len(state.free) <= _MOST_FREED:
        return ()
    remedies = []
    for unit, found in freed(state, request.required, request.size, made.plugin.behaviour.link_limit).items():
        sets = sorted(one for one in found.outcomes if not refuses(one) and not padded(one))
        named = [tuple(found.available[at] for at in one if at is not None) for one in sets]
        if named and all(judge.better(one, other.gpus) for one in named for other in outcomes):
            scores = {
                sum(variant.scores[a or 0][b or 0] for place, a in enumerate(one) for b in one[place + 1 :])
                for variant in found.variants
                for one in variant.outcomes
            }
            remedies.append(Remedy(unit, tuple(named), tuple(sorted(scores))))
    return tuple(remedies)
