"""`allocate all` as blocks: one line a mechanism and setting, the best sets, the settings that always give one."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.allocate.assumed import Assumed
from gputopo.allocate.best import Best
from gputopo.allocate.compare import ALWAYS, NEVER, Compared, Comparison
from gputopo.allocate.decider import Decision
from gputopo.allocate.state import State
from gputopo.reports.blocks import Blank, Block, Cell, Column, KeyValue, Row, Table, cell, level_role
from gputopo.reports.views import allocate_parts as parts

_SHOWN = 2
_HEADS = ("MECHANISM", "ANSWER", "SOCKETS", "WEAKEST", "BEST SET")


def blocks(
    comparison: Comparison, decision: Decision, assumed: Sequence[Assumed] = (), *, verbose: bool = False,
    quiet: bool = False,
) -> tuple[Block, ...]:  # fmt: skip
    state = comparison.state
    made: list[Block] = [*parts.decides(decision, "all"), parts.head(comparison.rows[0].answer, state)]
    rows = [Row(tuple(cell(word, "dim") for word in _HEADS))]
    rows += [_row(one, state, verbose=verbose) for one in comparison.rows]
    columns = (Column(), Column(fold=True), Column(), Column(), Column())
    made += [Blank(), Table("", (), columns, tuple(rows), 0), Blank()]
    made += _best(comparison, verbose=verbose)
    if not quiet:
        made += [Blank(), *parts.notes(assumed, state)]
        made.append(KeyValue("more", (cell("-v (all sets) | -o json | gputopo allocate MECHANISM (why)", "dim"),),
                             role="dim"))  # fmt: skip
    return tuple(made)


def _row(one: Compared, state: State, *, verbose: bool) -> Row:
    return Row((
        cell(f"{one.name} {one.setting}"), _answer(one, state, verbose=verbose), _sockets(one), _weakest(one),
        _gives(one),
    ))  # fmt: skip


def _answer(one: Compared, state: State, *, verbose: bool) -> Cell:
    answer = one.answer
    if answer.admitted is False:
        return cell(f"refused: {answer.reason or answer.message or ''}".rstrip(": "), "error")
    if not answer.outcomes:
        return cell("not decided", "warning")
    most = len(answer.outcomes) if verbose else _SHOWN
    shown = " ".join(_named(state, outcome.devices) for outcome in answer.outcomes[:most])
    if not answer.outcomes_complete:
        return cell(f"{shown} ... and more")
    return cell(shown + (f" ... {len(answer.outcomes)} in all" if len(answer.outcomes) > most else ""))


def _named(state: State, devices: Sequence[str]) -> str:
    return parts.set_name(state.node, devices)


def _sockets(one: Compared) -> Cell:
    if not one.answer.outcomes or one.answer.admitted is False:
        return ()
    flags = {outcome.cross_package for outcome in one.answer.outcomes}
    noun = "cross"
    if flags == {None}:
        flags = {outcome.cross_numa for outcome in one.answer.outcomes}
        noun = "cross NUMA"
    if True not in flags and (None in flags or not one.answer.outcomes_complete):
        return cell("?")
    if flags == {False}:
        return cell("one")
    always = flags == {True} and one.answer.outcomes_complete
    return cell(noun if always else f"can {noun}", "warning")


def _weakest(one: Compared) -> Cell:
    if len(one.answer.request.required) + one.answer.request.size < 2:
        return ()
    levels = dict.fromkeys(
        outcome.weakest.level if outcome.weakest is not None else "?" for outcome in one.answer.outcomes
    )
    if not levels or one.answer.admitted is False:
        return ()
    if not one.answer.outcomes_complete:
        levels["?"] = None
    first = next(iter(levels))
    return cell(" or ".join(levels), level_role(first) if len(levels) == 1 else "")


def _gives(one: Compared) -> Cell:
    if one.gives_best is None:
        return cell("?" if one.answer.outcomes and one.answer.admitted is not False else "")
    return cell(one.gives_best, {ALWAYS: "strong", NEVER: "warning"}.get(one.gives_best, ""))


def _best(comparison: Comparison, *, verbose: bool) -> list[Block]:
    made: list[Block] = []
    now, empty = comparison.now, comparison.empty
    if now is None:
        made.append(KeyValue("BEST", (cell("none: not enough GPUs are free"),)))
    else:
        made.append(KeyValue("BEST", (cell(_sets(comparison.state, now, verbose=verbose)),)))
        if not now.decided:
            made.append(KeyValue("", (cell("the evidence leaves open which of them"),)))
    if empty is not None and len(comparison.state.free) < len(comparison.state.units):
        text = f"on the empty node: {_sets(comparison.state, empty, verbose=verbose)}"
        made.append(KeyValue("", (cell(text),)))
    would = comparison.would
    if now is not None:
        names = tuple(cell(f"{row.name} {row.setting}") for row in would)
        said = (cell("always a best set:"), *names) if would else (cell("no mechanism gives a best set for certain"),)
        made.append(KeyValue("SETTING", said))
    return made


def _sets(state: State, found: Best, *, verbose: bool) -> str:
    most = len(found.sets) if verbose else 6
    shown = " ".join(_named(state, one) for one in found.sets[:most])
    return shown + (f" ... {len(found.sets)} alike" if len(found.sets) > most else "")
