"""`allocate kubelet` as blocks: admitted or refused and what is given, the hints, the largest request now."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.allocate.answer import Answer
from gputopo.allocate.outcome import Family, Outcome
from gputopo.allocate.state import State
from gputopo.reports.blocks import Blank, Block, Cell, KeyValue, Note, Notes, Table, cell
from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.node import Gpu, NoteAssumption

_SHOWN_SETS = 40
_SHOWN_FAMILIES = 6


def blocks(
    answer: Answer, state: State, largest: int | None, notes: Sequence[tuple[str, str]] = (),
    others: Sequence[tuple[str, Answer]] = (), *, verbose: bool = False, quiet: bool = False,
) -> tuple[Block, ...]:  # fmt: skip
    """`notes`: assumptions of the verb's own, each with what would settle it. `others`: under other policies."""
    made: list[Block] = [_head(answer, state), Blank(), *_answer(answer, verbose=verbose)]
    if largest is not None and answer.admitted is not True:
        text = f"largest admitted now: {largest}" if largest else "no request for this resource is admitted now"
        made.append(KeyValue("", (cell(text),)))
    if quiet:
        return tuple(made)
    title = "WHY"
    for line in answer.why:
        made.append(KeyValue(title, (cell(line),)))
        title = ""
    title = "OTHERWISE"
    for policy, other in others:
        made.append(KeyValue(title, (cell(f"{policy}: {_in_short(other)}"),)))
        title = ""
    assumed = [Note(cell(text), settle) for text, settle in (*notes, *map(_settled, answer.assumptions))]
    made += [Blank(), Notes("ASSUMED", tuple(assumed))] if assumed else []
    made.append(KeyValue("more", (cell("-o json | gputopo allocate --help", "dim"),), role="dim"))
    return tuple(made)


def _in_short(answer: Answer) -> str:
    if answer.admitted is False:
        return f"refused, {answer.reason or answer.message}"
    if not answer.outcomes:
        return "not decided"
    more = "" if answer.outcomes_complete else " and more"
    sets = set_name(answer.outcomes[0].devices) if len(answer.outcomes) == 1 else f"{len(answer.outcomes)}{more} sets"
    chance = ", or refused: that is chance" if answer.admitted is None else ""
    return f"{sets}{_every(answer.outcomes)}{chance}"


def _settled(one: NoteAssumption) -> tuple[str, str]:
    text, _, settle = one.text.partition(" (to settle: ")
    return text, settle.removesuffix(")")


def _head(answer: Answer, state: State) -> Block:
    where = f" on {state.node.name}" if state.node.name else ""
    parts = [cell(f"{answer.request.resource}: {answer.request.size}{where}", "strong")]
    if answer.request.cpus is not None:
        parts.append(cell(f"{answer.request.cpus} exclusive CPUs"))
    by_numa: dict[str, list[str]] = {}
    for unit in state.free:
        gpu = next((one for one in state.node.gpus if unit.split("::")[0] in (one.id, *_migs(one))), None)
        known = gpu is not None and gpu.numa_nodes
        numa = str(CpuSet.of(gpu.numa_nodes or ())) if gpu is not None and known else "?"
        by_numa.setdefault(numa, []).append(unit)
    for numa, units in sorted(by_numa.items()):
        names = _names(units) if len(units) <= 16 else f"{len(units)} units"
        parts.append(cell(f"free: NUMA {numa} -> {names}"))
    return Table("", tuple(parts), (), ())


def _migs(gpu: Gpu) -> tuple[str, ...]:
    return tuple(one.uuid for one in gpu.mig if one.uuid)


def _names(units: Sequence[str]) -> str:
    return " ".join(_short(unit) for unit in units)


def _short(unit: str) -> str:
    return unit[3:] if unit.startswith("GPU") and unit[3:].replace("::", "").isdigit() else unit


def set_name(units: Sequence[str]) -> str:
    """`{0,1,5}`."""
    return "{" + ",".join(_short(unit) for unit in units) + "}"


def _answer(answer: Answer, *, verbose: bool) -> list[Block]:
    made: list[Block] = []
    if answer.admitted is False:
        made.append(KeyValue("ANSWER", (cell(f"refused: {answer.reason or 'the kubelet does not start'}", "error"),)))
        return [*made, KeyValue("", (cell(answer.message or ""),))]
    if answer.admitted is None:
        text = "whether it is admitted is not decided, see WHY" if not answer.outcomes else (
            f"admitted or refused ({answer.reason or answer.message}), which cannot be predicted: random order"
        )
        made.append(KeyValue("ANSWER", (cell(text, "warning"),)))
    outcomes = answer.outcomes
    if len(outcomes) == 1 and answer.outcomes_complete:
        made.append(KeyValue("" if made else "ANSWER", _outcome(outcomes[0])))
        return made
    if outcomes:
        count = f"one of {len(outcomes)}{'' if answer.outcomes_complete else ' and more'} sets{_every(outcomes)}"
        made.append(KeyValue("" if made else "ANSWER", (cell(count),)))
        shown = outcomes if verbose else outcomes[:_SHOWN_SETS]
        alike = len({one.cpus for one in outcomes}) == 1
        made.append(KeyValue("", tuple(cell(set_name(one.devices), "strong") for one in shown)))
        if len(shown) < len(outcomes):
            made.append(KeyValue("", (cell(f"and {len(outcomes) - len(shown)} more (-v)"),)))
        if alike and outcomes[0].cpus:
            made.append(KeyValue("", (cell(f"CPUs {outcomes[0].cpus}"),)))
    if not answer.outcomes_complete:
        made += [KeyValue("", (cell(_family(one)),)) for one in answer.families[:_SHOWN_FAMILIES]]
    return made


def _outcome(one: Outcome) -> tuple[Cell, ...]:
    parts = [cell(set_name(one.devices), "strong")]
    if one.cross_package:
        parts.append(cell("crosses sockets"))
    elif one.cross_numa:
        parts.append(cell("crosses NUMA nodes"))
    parts.append(cell(f"CPUs {one.cpus}" if one.cpus else "CPUs: the shared pool"))
    if one.memory_nodes is not None:
        parts.append(cell(f"memory of NUMA {','.join(map(str, one.memory_nodes))}"))
    return tuple(parts)


def _every(outcomes: Sequence[Outcome]) -> str:
    crossing = [one.cross_package for one in outcomes]
    if all(crossing):
        return ", and every one crosses sockets"
    known = [one for one in crossing if one is not None]
    if not known or not any(known):
        return ", none crosses sockets" if len(known) == len(crossing) else ""
    return f", {sum(known)} of them cross sockets"


def _family(one: Family) -> str:
    if not one.choose:
        return set_name(one.forced)
    head = f"{set_name(one.forced)} and " if one.forced else ""
    return f"{head}any {one.choose} of {set_name(one.of)}"
